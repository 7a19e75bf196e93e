// SPDX-License-Identifier: Apache-2.0
// Runs whose records come in parts of a few bytes write what runs with whole records write: those are the reference.
#include "libcore/data/huge_record.h"

#include <gmock/gmock.h>

#include "golden_json.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/data/encoder.h"

namespace convoy::data {
namespace {

using golden::message_of;
using nlohmann::json;
using testing::HasSubstr;

struct Written {
  std::map<std::string, std::string> files;  // by their ends: ".bin", ".train.idx", ...
  std::vector<std::int64_t> counts;
  std::string error;
  bool operator==(const Written&) const = default;
};

void PrintTo(const Written& written, std::ostream* out) {
  *out << testing::PrintToString(written.counts) << ' ' << written.error;
  for (const auto& [name, bytes] : written.files) *out << ' ' << name << " (" << bytes.size() << " bytes)" << (name.ends_with(".jsonl") ? bytes : "");
}

class HugeRecordTest : public testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::kOff); }
  void TearDown() override { set_log_level(LogLevel::kInfo); }

  static std::string without_times(const std::string& metadata) {
    json object = json::parse(metadata);
    for (const char* key : {"seconds", "mb_per_s", "created", "host"}) object.erase(key);
    return object.dump();
  }
  // Why a line is no JSON each parser says in its own words.
  static std::string without_words(std::string rows) {
    for (std::size_t at = 0; (at = rows.find("it is no JSON: ", at)) != std::string::npos;) rows.erase(at, rows.find("\"}", at) - at);
    return rows;
  }
  Written run(EncodeOptions options) {
    const Path out = folder / "out";
    std::filesystem::remove_all(out);
    options.out = out / "x";
    Written written;
    try {
      const EncodeReport r = encode(options, {});
      written.counts = {r.documents, r.tokens, r.bytes_in, r.bytes_text, r.empty, r.bad_records, r.duplicates, r.invalid_utf8};
    } catch (const DataError& error) {
      written.error = without_words(std::string(error.what()) + "\"}");
    }
    for (const auto& entry : std::filesystem::directory_iterator(out)) {
      const std::string name = entry.path().filename().string().substr(1), bytes = golden::content(entry.path());
      written.files[name] = name.ends_with(".meta.json") ? without_times(bytes) : name.ends_with(".jsonl") ? without_words(bytes) : bytes;
    }
    return written;
  }
  void expect_same(EncodeOptions options) {
    options.threads = 1;
    options.verify_every = 0;
    const Written expected = run(options);
    options.verify_every = 1;
    for (const auto& [read_bytes, huge, threads] : std::vector<std::tuple<std::size_t, std::size_t, int>>{{1, 1, 1}, {7, 20, 3}}) {
      options.read.read_bytes = read_bytes;
      options.read.huge_record = huge;
      options.threads = threads;
      EXPECT_EQ(run(options), expected) << options.inputs.front() << ", blocks of " << read_bytes << ", parts from " << huge << " on";
    }
  }
  static EncodeOptions options_for(const Path& input, const char* model = "bpe.model") {
    return {.inputs = {input.string()}, .keys = {"text"}, .tokenizer = golden::folder() / "models" / model, .out = {}, .allow_lossy = true};
  }

  golden::TemporaryFolder folder;
};

TEST_F(HugeRecordTest, EveryReferenceInputGivesTheSamePairInEveryFormat) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden::folder() / "inputs")) {
    const std::string name = entry.path().filename().string();
    if (name == "cases.json" || name.starts_with("huge") || name.starts_with("long28")) continue;  // megabytes, in parts of a byte
    ++files;
    EncodeOptions options = options_for(entry.path());
    options.on_error = OnError::kQuarantine;
    expect_same(options);
    options.append_eos = options.prepend_bos = true;
    for (const DocumentSeparator separator : {DocumentSeparator::kFile, DocumentSeparator::kLine, DocumentSeparator::kBlankLine}) {
      options.read = {.format = "text", .separator = separator};
      expect_same(options);
    }
  }
  EXPECT_GT(files, 10);
}

TEST_F(HugeRecordTest, EveryKindOfModelGivesTheSamePair) {
  const Path input = golden::folder() / "megatron" / "docs.jsonl";
  int models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden::folder() / "models")) {
    if (entry.path().extension() != ".model") continue;
    ++models;
    expect_same(options_for(input, entry.path().filename().c_str()));
  }
  EXPECT_GT(models, 3);
}

TEST_F(HugeRecordTest, SplitsAndDuplicatesGoByTheWholeText) {
  std::string lines;
  for (int i = 0; i < 40; ++i) lines += "{\"text\": \"sail " + std::to_string(i % 17) + " across the sea </s>\"}\n";
  EncodeOptions options = options_for(folder.write("a.jsonl", lines));
  options.append_eos = true;
  options.splits = {{"train", 0.5}, {"valid", 0.5}};
  for (const Dedup dedup : {Dedup::kOff, Dedup::kReport, Dedup::kDrop}) {
    options.dedup = dedup;
    expect_same(options);
  }
}

TEST_F(HugeRecordTest, TheFirstBadLineEndsTheRunWithTheSameMessage) {
  expect_same(options_for(folder.write("a.jsonl", "{\"text\": \"good\"}\n\n{\"tex\": \"no\"}\n{\"text\": \"good\"}\n")));
  expect_same(options_for(folder.write("b.jsonl", "{\"text\": \"good\"}\n{\"text\": \"\\ud800\"}\n")));
  expect_same(options_for(folder.write("c.jsonl", " \n\n")));
}

TEST_F(HugeRecordTest, AskingToStopIsHeardWithinARecord) {
  EncodeOptions options = options_for(folder.write("a.txt", std::string(5'000'000, 'a')));
  options.out = folder / "x";
  options.read.huge_record = 1'000'000;
  int asked = 0;
  const auto poll = [&asked] {
    if (++asked == 12) throw EnvironmentError("stop");
  };
  EXPECT_THAT(message_of<EnvironmentError>([&] { encode(options, {.poll = poll}); }), HasSubstr("stop"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1) << "the input alone";
}

}  // namespace
}  // namespace convoy::data
