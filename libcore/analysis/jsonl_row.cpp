// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/jsonl_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "libcore/analysis/display.h"
#include "libcore/trace/record_check.h"

namespace convoy::analysis {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr std::size_t kLongestHost = 255;
constexpr std::size_t kMostDigits = 6;
constexpr double kExact = 9007199254740992.0;  // 2^53: whole numbers up to here are what they were in a double
constexpr std::uint64_t kMostBytes = std::numeric_limits<std::uint32_t>::max() * trace::Event::kByteUnit;
constexpr std::uint64_t kMostSequence = std::numeric_limits<std::uint32_t>::max();
constexpr std::array<std::string_view, 15> kKeys = {"rank",     "host",        "tp",    "pp",    "dp",
                                                    "step",     "kind",        "name",  "group", "sequence",
                                                    "start_ns", "duration_ns", "bytes", "peer",  "overlapped"};

std::string shown(const Json& value) {
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  return shortened(printable(value.dump(-1, ' ', false, Json::error_handler_t::replace)), 60);
}

// Reads keys of one object; the first problem stays.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}

  std::string problem;

  const Json* find(const char* key, bool required) {
    const auto found = object_.find(key);
    if (found != object_.end() && !found->is_null()) return &*found;
    if (required) fail(fmt::format("{} is missing", key));
    return nullptr;
  }

  // A whole number from `least` to `most`; unset and no problem if it is absent and not required.
  std::optional<std::uint64_t> number(const char* key, bool required, std::uint64_t least, std::uint64_t most) {
    const Json* value = find(key, required);
    if (value == nullptr) return std::nullopt;
    const std::optional<std::uint64_t> whole = whole_number(*value);
    if (whole && *whole >= least && *whole <= most) return whole;
    fail(fmt::format("{} is {}, expected a whole number from {} to {}", key, shown(*value), least, most));
    return std::nullopt;
  }

  std::optional<std::string> text(const char* key, bool required) {
    const Json* value = find(key, required);
    if (value == nullptr) return std::nullopt;
    if (value->is_string()) return value->get<std::string>();
    fail(fmt::format("{} is {}, expected a string", key, shown(*value)));
    return std::nullopt;
  }

  bool flag(const char* key) {
    const Json* value = find(key, false);
    if (value == nullptr) return false;
    if (!value->is_boolean()) fail(fmt::format("{} is {}, expected true or false", key, shown(*value)));
    return value->is_boolean() && value->get<bool>();
  }

  bool is_negative(const char* key) const {
    const auto found = object_.find(key);
    return found != object_.end() && found->is_number() && found->get<double>() < 0.0;
  }

  void fail(std::string why) {
    if (problem.empty()) problem = std::move(why);
  }

 private:
  // Some writers print whole numbers as 1.5e9.
  static std::optional<std::uint64_t> whole_number(const Json& value) {
    if (value.is_number_unsigned()) return value.get<std::uint64_t>();
    if (!value.is_number_float()) return std::nullopt;
    const double real = value.get<double>();
    if (!(real >= 0.0 && real <= kExact) || real != std::floor(real)) return std::nullopt;
    return static_cast<std::uint64_t>(real);
  }

  const Json& object_;
};

std::string why_no_json(std::string_view line) {
  try {
    [[maybe_unused]] const Json accepted = Json::parse(line);
  } catch (const Json::parse_error& error) {
    return fmt::format("it is no JSON at byte {} of the line", error.byte);
  } catch (const Json::exception&) {
    return "a number in it is beyond what a double holds";
  }
  return "it is no JSON";
}

// The row, and as a problem a key that it has twice: which of the two values counts, a reader cannot know. Of what is
// nested nothing is read.
Json parse_row(std::string_view line, std::string& problem) {
  std::vector<std::string> keys;
  return Json::parse(
      line,
      [&](int depth, Json::parse_event_t event, Json& parsed) {
        if (event != Json::parse_event_t::key || depth != 1) return true;
        keys.push_back(parsed.get<std::string>());
        if (problem.empty() && std::ranges::count(keys, keys.back()) > 1)
          problem = fmt::format("{} is there twice", shortened(printable(keys.back()), 60));
        return true;
      },
      false);
}

std::optional<trace::GroupKind> kind_of_group(std::string_view group) {
  if (group == "world") return trace::GroupKind::kWorld;
  const std::string_view digits = group.substr(std::min<std::size_t>(2, group.size()));
  const bool numbered = !digits.empty() && digits.size() <= kMostDigits &&
                        std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  if (!numbered) return std::nullopt;
  if (group.starts_with("tp")) return trace::GroupKind::kTensor;
  if (group.starts_with("pp")) return trace::GroupKind::kPipeline;
  if (group.starts_with("dp")) return trace::GroupKind::kData;
  return std::nullopt;
}

void read_place(Fields& fields, JsonlRow& row) {
  constexpr std::uint64_t kMost = kMostImportedRanks - 1;
  row.rank = static_cast<int>(fields.number("rank", true, 0, kMost).value_or(0));
  const auto coordinate = [&fields](const char* key) -> std::optional<int> {
    const auto value = fields.number(key, false, 0, kMost);
    return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
  };
  row.tensor = coordinate("tp");
  row.pipeline = coordinate("pp");
  row.data = coordinate("dp");
  row.host = fields.text("host", false);
  if (row.host && row.host->size() > kLongestHost)
    fields.fail(fmt::format("host has {} bytes, expected at most {}", row.host->size(), kLongestHost));
}

void read_times(Fields& fields, JsonlRow& row) {
  if (fields.is_negative("duration_ns")) fields.fail("duration_ns is below zero: the row ends before it starts");
  row.start_ns = fields.number("start_ns", true, 0, trace::kLatestStart).value_or(0);
  row.duration_ns = fields.number("duration_ns", true, 0, trace::kLongestStep).value_or(0);
  if (row.end_ns() > trace::kLatestStart)
    fields.fail(
        fmt::format("start_ns {} and duration_ns {} end beyond what a clock says", row.start_ns, row.duration_ns));
}

void read_phase(Fields& fields, const std::string& name, JsonlRow& row) {
  if (const auto phase = trace::phase_of(name)) {
    row.phase = *phase;
    row.sequence = static_cast<std::uint32_t>(fields.number("sequence", false, 0, kMostSequence).value_or(0));
    return;
  }
  fields.fail(
      fmt::format("name is '{}', expected a phase: data, forward, backward, optimizer, checkpoint, evaluation, "
                  "other or a communication phase",
                  shortened(printable(name), 60)));
}

void read_collective(Fields& fields, const std::string& name, JsonlRow& row) {
  const auto operation = trace::operation_of(name);
  if (!operation || *operation < trace::Operation::kAllReduce) {
    fields.fail(
        fmt::format("name is '{}', expected all_reduce, reduce_scatter, all_gather, broadcast, send, receive or "
                    "barrier",
                    shortened(printable(name), 60)));
    return;
  }
  row.operation = *operation;
  row.group = fields.text("group", true).value_or("");
  if (const auto kind = kind_of_group(row.group)) {
    row.group_kind = *kind;
  } else {
    fields.fail(fmt::format("group is '{}', expected world, or tp, pp or dp with a number (dp0)",
                            shortened(printable(row.group), 60)));
  }
  row.sequence = static_cast<std::uint32_t>(fields.number("sequence", true, 0, kMostSequence).value_or(0));
  row.bytes = fields.number("bytes", false, 0, kMostBytes).value_or(0);
  if (const auto peer = fields.number("peer", false, 0, kMostImportedRanks - 1)) row.peer = static_cast<int>(*peer);
  row.overlapped = fields.flag("overlapped");
}

}  // namespace

std::string parse_jsonl_row(std::string_view line, JsonlRow& row) {
  row = {};
  if (line.size() > kLongestLine) return fmt::format("the line has {} bytes, expected at most 1 MiB", line.size());
  std::string repeated;
  const Json json = parse_row(line, repeated);
  if (json.is_discarded()) return why_no_json(line);
  if (!json.is_object()) return "it is no JSON object";
  Fields fields(json);
  fields.problem = std::move(repeated);
  read_place(fields, row);
  row.step =
      static_cast<std::uint32_t>(fields.number("step", true, 1, std::numeric_limits<std::uint32_t>::max()).value_or(1));
  const std::string kind = fields.text("kind", true).value_or("");
  row.is_collective = kind == "collective";
  if (!row.is_collective && kind != "phase")
    fields.fail(fmt::format("kind is '{}', expected phase or collective", shortened(printable(kind), 60)));
  const std::string name = fields.text("name", true).value_or("");
  read_times(fields, row);
  if (row.is_collective) {
    read_collective(fields, name, row);
  } else {
    read_phase(fields, name, row);
  }
  for (const auto& [key, value] : json.items()) row.unknown_keys += std::ranges::count(kKeys, key) == 0 ? 1 : 0;
  return fields.problem;
}

}  // namespace convoy::analysis
