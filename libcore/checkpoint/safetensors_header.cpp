// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/safetensors_header.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>

#include "libcore/base/error.h"

namespace convoy::checkpoint {
namespace {

using nlohmann::json;

constexpr const char* kMetadata = "__metadata__";

// Receives the parser's events. The header is an object of entries; an entry is an object of dtype, shape and
// data_offsets.
class HeaderEvents final : public nlohmann::json_sax<json> {
 public:
  explicit HeaderEvents(std::string_view where) : where_(where) {}

  std::vector<SafetensorsEntry> take() { return std::move(entries_); }

  bool null() override { return unexpected("null"); }
  bool boolean(bool value) override { return unexpected(value ? "true" : "false"); }
  bool number_float(double /*value*/, const std::string& text) override { return unexpected(text); }
  bool number_integer(std::int64_t value) override {
    if (field_ == Field::kShape || field_ == Field::kOffsets) {
      refuse(fmt::format("{} holds {}, expected integers that are not negative", field_name(), value));
    }
    return unexpected(std::to_string(value));
  }

  bool number_unsigned(std::uint64_t value) override {
    if (!in_list_) return unexpected(std::to_string(value));
    if (field_ == Field::kShape) entries_.back().shape.push_back(value);
    if (field_ == Field::kOffsets) offsets_.push_back(value);
    return true;
  }

  bool string(std::string& value) override {
    if (depth_ == 2 && in_metadata_) return true;
    if (field_ != Field::kDtype) return unexpected(json(value).dump());
    entries_.back().dtype = value;
    field_ = Field::kNone;
    return true;
  }

  bool binary(json::binary_t& /*value*/) override { return unexpected("binary"); }

  bool start_object(std::size_t /*size*/) override {
    if (depth_ == 2 || in_list_ || (depth_ == 1 && !named_)) return unexpected("an object");
    ++depth_;
    named_ = false;
    seen_ = 0;
    return true;
  }

  bool end_object() override {
    if (depth_ == 2 && !in_metadata_) finish_entry();
    if (depth_ == 2) in_metadata_ = false;
    --depth_;
    return true;
  }

  bool key(std::string& name) override {
    if (depth_ == 1) return begin_entry(name);
    if (in_metadata_)
      return metadata_names_.insert(name).second ||
             refuse(fmt::format("metadata key {} occurs twice", json(name).dump()));
    field_ = name == "dtype"          ? Field::kDtype
             : name == "shape"        ? Field::kShape
             : name == "data_offsets" ? Field::kOffsets
                                      : Field::kNone;
    if (field_ == Field::kNone)
      refuse(fmt::format("unknown field {}, expected dtype, shape and data_offsets", json(name).dump()));
    const unsigned bit = 1u << static_cast<unsigned>(field_);
    if ((seen_ & bit) != 0) refuse(fmt::format("field {} occurs twice", name));
    seen_ |= bit;
    return true;
  }

  bool start_array(std::size_t /*size*/) override {
    if (in_list_ || (field_ != Field::kShape && field_ != Field::kOffsets)) return unexpected("a list");
    in_list_ = true;
    return true;
  }

  bool end_array() override {
    in_list_ = false;
    field_ = Field::kNone;
    return true;
  }

  bool parse_error(std::size_t /*position*/, const std::string& /*token*/, const json::exception& error) override {
    throw DataError(fmt::format("{}: the header is not JSON: {}; the file is damaged or no safetensors file", where_,
                                error.what()));
  }

 private:
  enum class Field : unsigned { kNone, kDtype, kShape, kOffsets };

  const char* field_name() const { return field_ == Field::kShape ? "shape" : "data_offsets"; }

  [[noreturn]] bool refuse(const std::string& what) const {
    const std::string tensor = in_entry_ ? fmt::format("tensor {}: ", entries_.back().name) : "header: ";
    throw DataError(fmt::format("{}: {}{}; the file is damaged or was written wrongly", where_, tensor, what));
  }

  bool unexpected(std::string_view what) const {
    refuse(fmt::format("found {} where the format has something else", what));
  }

  bool begin_entry(const std::string& name) {
    named_ = true;
    in_entry_ = false;
    if (!names_.insert(name).second)
      refuse(fmt::format("tensor name {} occurs twice, names must be unique", json(name).dump()));
    in_metadata_ = name == kMetadata;
    if (in_metadata_) return true;
    in_entry_ = true;
    entries_.push_back({.name = name, .dtype = {}, .shape = {}});
    offsets_.clear();
    return true;
  }

  void finish_entry() {
    constexpr unsigned kAll = 0b1110;
    if (seen_ != kAll) refuse("lacks one of dtype, shape and data_offsets");
    if (offsets_.size() != 2) refuse(fmt::format("data_offsets has {} numbers, expected 2", offsets_.size()));
    entries_.back().begin = offsets_[0];
    entries_.back().end = offsets_[1];
    in_entry_ = false;
  }

  std::string_view where_;
  std::vector<SafetensorsEntry> entries_;
  std::unordered_set<std::string> names_, metadata_names_;
  std::vector<std::uint64_t> offsets_;
  Field field_ = Field::kNone;
  unsigned seen_ = 0;
  int depth_ = 0;
  bool named_ = false, in_entry_ = false, in_metadata_ = false, in_list_ = false;
};

}  // namespace

std::vector<SafetensorsEntry> parse_safetensors_header(std::string_view json_text, std::string_view where) {
  HeaderEvents events(where);
  json::sax_parse(json_text, &events);
  return events.take();
}

}  // namespace convoy::checkpoint
