// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/byte_level_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/base/log.h"
#include "libcore/base/utf8.h"
#include "libcore/data/byte_level_encoder.h"
#include "libcore/data/byte_level_reference.h"

namespace convoy::data {
namespace {

// The token that `name` ("eos_token") has in a JSON file beside the tokenizer: a text, or an object with its content.
std::optional<std::string> named_token(const Path& file, const char* name) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  const nlohmann::json json = nlohmann::json::parse(read_file(file, "tokenizer's settings"), nullptr, false);
  if (!json.is_object()) throw DataError(fmt::format("has a {} beside it that is no JSON object; bring a whole one, or take it away", file.filename().string()));
  const auto found = json.find(name);
  if (found == json.end()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (found->is_object() && found->contains("content") && (*found)["content"].is_string()) return (*found)["content"].get<std::string>();
  return std::nullopt;
}

class ByteLevelModel : public TokenModel {
 public:
  ByteLevelModel(ByteLevelBpe bpe, const Path& path);

  const std::string& left_to_reference() const override { return nothing_; }
  bool streams() const override { return encoder_.streams(); }
  std::unique_ptr<TextEncoder> make_encoder() const override;
  void encode_by_reference(std::string_view text, std::vector<std::int32_t>& ids) const override;
  std::string_view reference() const override { return "the plain encoder"; }
  std::string decode(const std::vector<std::int32_t>& ids) const override;
  std::string piece(std::int32_t id) const override { return names_[static_cast<std::size_t>(id)]; }

 private:
  friend class ByteLevelTextEncoder;
  std::int32_t control_token(const Path& path, const char* name, std::initializer_list<std::string_view> usual) const;
  std::string probe() const;
  void tell_of_control_tokens() const;

  ByteLevelBpe bpe_;
  ByteLevelEncoder encoder_;
  std::vector<std::string> names_;  // of each id; empty where there is none
  std::string nothing_;
  mutable std::once_flag reference_made_, told_;
  mutable std::unique_ptr<const ByteLevelReference> reference_;  // made when it is first asked
};

class ByteLevelTextEncoder : public TextEncoder {
 public:
  explicit ByteLevelTextEncoder(const ByteLevelModel& model) : model_(model) {}

  bool encode(std::string_view text, std::vector<std::int32_t>& ids) override {
    model_.encoder_.encode(text, room_, ids);
    look();
    return true;
  }
  void begin() override { model_.encoder_.begin(room_); }
  bool add(std::string_view part, std::vector<std::int32_t>& ids) override {
    const bool is_certain = model_.encoder_.add(part, room_, ids);
    look();
    return is_certain;
  }
  bool finish(std::vector<std::int32_t>& ids) override {
    model_.encoder_.finish(room_, ids);
    look();
    return true;
  }

 private:
  void look() const {
    if (room_.control_tokens > 0) model_.tell_of_control_tokens();
  }

  const ByteLevelModel& model_;
  ByteLevelRoom room_;
};

ByteLevelModel::ByteLevelModel(ByteLevelBpe bpe, const Path& path) : bpe_(std::move(bpe)), encoder_(bpe_) {
  names_.resize(static_cast<std::size_t>(bpe_.highest_id) + 1);
  for (const auto& [piece, id] : bpe_.pieces) names_[static_cast<std::size_t>(id)] = piece;
  for (const AddedToken& token : bpe_.added) names_[static_cast<std::size_t>(token.id)] = token.content;
  facts_ = {.kind = std::string(kByteLevelKind), .normalizer = bpe_.nfc ? "nfc" : "identity", .add_dummy_prefix = bpe_.byte_level.adds_blank};
  facts_.vocabulary = static_cast<std::int64_t>(names_.size());
  facts_.bos_id = control_token(path, "bos_token", {"<|begin_of_text|>", "<s>"});
  facts_.eos_id = control_token(path, "eos_token", {"<|endoftext|>", "<|end_of_text|>", "</s>"});
  for (const std::string& remark : bpe_.remarks) log_info(fmt::format("{}: {}", path.string(), remark));
  lossy_reason_ = probe();
}

std::int32_t ByteLevelModel::control_token(const Path& path, const char* name, std::initializer_list<std::string_view> usual) const {
  const auto id_of = [this](std::string_view wanted) {
    const auto found = wanted.empty() ? names_.end() : std::find(names_.begin(), names_.end(), wanted);
    return found == names_.end() ? -1 : static_cast<std::int32_t>(found - names_.begin());
  };
  for (const char* settings : {"tokenizer_config.json", "special_tokens_map.json"}) {
    const auto token = named_token(path.parent_path() / settings, name);
    if (!token) continue;
    const std::int32_t id = id_of(*token);
    if (id < 0) throw DataError(fmt::format("has no token {}, which {} beside it names as {}; bring the files of one tokenizer", json_quoted(*token), settings, name));
    return id;
  }
  for (const std::string_view token : usual) {
    const auto found = std::find_if(bpe_.added.begin(), bpe_.added.end(), [&](const AddedToken& added) { return added.content == token; });
    if (found != bpe_.added.end()) return found->id;
  }
  return -1;
}

std::unique_ptr<TextEncoder> ByteLevelModel::make_encoder() const { return std::make_unique<ByteLevelTextEncoder>(*this); }

void ByteLevelModel::encode_by_reference(std::string_view text, std::vector<std::int32_t>& ids) const {
  std::call_once(reference_made_, [this] { reference_ = std::make_unique<const ByteLevelReference>(bpe_); });
  reference_->encode(text, ids);
}

std::string ByteLevelModel::decode(const std::vector<std::int32_t>& ids) const {
  std::string bytes;
  for (const std::int32_t id : ids) {
    const std::string& name = names_[static_cast<std::size_t>(id)];
    bytes += bytes_of_piece(name).value_or(name);
  }
  return lossy_utf8(bytes);
}

std::string ByteLevelModel::probe() const {
  ByteLevelRoom room;
  for (const char* text : {"a", "a\nb", "a\r\nb", "a  b", " a", "e\xcc\x81", "\xf0\x9f\x9a\xa2 \xe6\xb5\xb7"}) {
    std::vector<std::int32_t> ids;
    encoder_.encode(text, room, ids);
    if (const std::string back = decode(ids); back != text) return fmt::format("{} comes back as {}", json_quoted(text), json_quoted(back));
  }
  return {};
}

void ByteLevelModel::tell_of_control_tokens() const {
  std::call_once(told_, [] {
    log_warning(
        "some texts hold the name of a control token, such as <|endoftext|>: as with the tokenizers library it becomes that token, "
        "not text; --split-special-tokens keeps it as text");
  });
}

}  // namespace

std::unique_ptr<TokenModel> make_byte_level_model(const std::string& bytes, const Path& path, bool special_tokens_are_text) {
  ByteLevelBpe bpe = parse_tokenizer_json(bytes);
  bpe.special_tokens_are_text = special_tokens_are_text;
  return std::make_unique<ByteLevelModel>(std::move(bpe), path);
}

std::string lossy_utf8(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t bad = find_invalid_utf8(bytes);
    text += bytes.substr(0, bad);
    if (bad == std::string_view::npos) break;
    bytes.remove_prefix(bad);
    append_character(0xfffd, text);
    // The longest beginning of a character: what some bytes more would make one.
    std::size_t kept = 1;
    static constexpr std::string_view kEnds[] = {"\x80", "\x80\x80"};
    for (std::size_t length = 2; length <= 3 && length <= bytes.size(); ++length) {
      const auto completes = [&](std::string_view end) {
        const std::string whole = std::string(bytes.substr(0, length)).append(end);
        return decode_character(whole).bytes == whole.size();
      };
      if (std::none_of(std::begin(kEnds), std::end(kEnds), completes)) break;
      kept = length;
    }
    bytes.remove_prefix(kept);
  }
  return text;
}

}  // namespace convoy::data
