// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/tokenizer_trainer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sentencepiece_trainer.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>

#include "libcore/base/checksum.h"
#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/base/utf8.h"
#include "libcore/data/json_record.h"
#include "libcore/data/tokenizer.h"

namespace convoy::data {
namespace {

// Unigram's sums of floats depend on this number, so it is one number on every machine.
constexpr const char* kTrainerThreads = "16";
constexpr const char* kTrainerSentenceBytes = "1048576";  // above our own limit: the trainer skips what is longer
constexpr std::int64_t kFixedPieces = 3 + 256;            // <unk> <s> </s>, and the bytes

class Sentences : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(std::vector<std::string> sentences) : sentences_(std::move(sentences)) {}
  bool done() const override { return at_ == sentences_.size(); }
  void Next() override { std::string().swap(sentences_[at_++]); }  // the trainer has its own copy
  const std::string& value() const override { return sentences_[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  std::vector<std::string> sentences_;
  std::size_t at_ = 0;
};

// The library tells its progress on stderr whatever its log level says.
class QuietStderr {
 public:
  QuietStderr() : kept_(::dup(STDERR_FILENO)) {
    const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (kept_ >= 0 && null >= 0) ::dup2(null, STDERR_FILENO);
    if (null >= 0) ::close(null);
  }
  ~QuietStderr() {
    if (kept_ < 0) return;
    ::dup2(kept_, STDERR_FILENO);
    ::close(kept_);
  }
  QuietStderr(const QuietStderr&) = delete;
  QuietStderr& operator=(const QuietStderr&) = delete;

 private:
  int kept_;
};

bool is_reserved(const std::string& symbol) {
  if (symbol == "<unk>" || symbol == "<s>" || symbol == "</s>") return true;
  return symbol.size() == 6 && symbol.starts_with("<0x") && symbol.ends_with('>');
}

// Blanks as the model writes them, so that a symbol of blanks matches the text.
std::string with_markers(const std::string& symbol) {
  std::string marked;
  for (const char c : symbol) {
    if (c == ' ') {
      marked += "\xe2\x96\x81";
    } else {
      marked += c;
    }
  }
  return marked;
}

void check_options(const TrainTokenizerOptions& options) {
  std::vector<std::string> problems;
  std::set<std::string> seen;
  for (const std::string& symbol : options.user_symbols) {
    const std::string shown = json_quoted(symbol);
    if (symbol.empty()) problems.push_back("--user-symbol: a symbol is empty");
    if (find_invalid_utf8(symbol) != std::string::npos)
      problems.push_back(fmt::format("--user-symbol {}: not valid UTF-8", shown));
    if (is_reserved(symbol))
      problems.push_back(fmt::format("--user-symbol {}: the model has a piece of this name already", shown));
    if (!seen.insert(symbol).second) problems.push_back(fmt::format("--user-symbol {}: given twice", shown));
  }
  const std::int64_t least = kFixedPieces + static_cast<std::int64_t>(options.user_symbols.size()) + 1;
  if (options.vocabulary < least) {
    problems.push_back(
        fmt::format("--vocab-size {}: <unk>, <s>, </s>, 256 bytes and {} user symbols leave no piece; the least is {}",
                    options.vocabulary, options.user_symbols.size(), least));
  }
  if (options.out.filename().empty())
    problems.push_back("--out: expected a prefix such as data/tokenizer, found a folder");
  if (!problems.empty()) throw ConfigError(problems);
}

SentenceSample read_sentences(const TrainTokenizerOptions& options, const ReadProgress& progress) {
  const std::vector<InputFile> files = expand_inputs(options.inputs);
  std::int64_t total = 0;
  for (const InputFile& file : files) total += file.bytes;
  const RecordParser parser(options.keys);
  ReadOptions read = options.read;
  read.huge_record = kNoHugeRecords;  // sentences are taken from whole lines
  RecordReader reader(files, read);
  SentenceSample sample(options.sample_bytes, options.seed);
  RawBatch batch;
  std::string text;
  while (reader.next(batch)) {
    for (const RawRecord& record : batch.records) {
      const std::string_view raw = std::string_view(batch.bytes).substr(record.begin, record.end - record.begin);
      if (batch.format == RecordFormat::kText) {
        sample.add_text(raw);
      } else if (const auto bad = parser.parse(raw, text)) {
        throw DataError(fmt::format("{}: line {}: {}; correct or remove the line", files[batch.file].name, record.line,
                                    bad->reason));
      } else {
        sample.add_text(text);
      }
    }
    if (progress) progress(batch.consumed, total);
  }
  return sample;
}

std::string comma_list(const std::vector<std::string>& symbols) {
  std::string list;
  for (const std::string& symbol : symbols) {
    std::string quoted = "\"";
    for (const char c : with_markers(symbol)) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    if (!list.empty()) list.push_back(',');
    list.append(quoted).push_back('"');
  }
  return list;
}

std::unordered_map<std::string, std::string> trainer_arguments(const TrainTokenizerOptions& options) {
  std::unordered_map<std::string, std::string> arguments{
      {"model_type", options.kind},
      {"vocab_size", std::to_string(options.vocabulary)},
      {"byte_fallback", "true"},
      {"normalization_rule_name", "identity"},
      {"remove_extra_whitespaces", "false"},
      {"allow_whitespace_only_pieces", "true"},
      {"split_digits", "true"},
      {"add_dummy_prefix", "true"},
      {"character_coverage", fmt::format("{}", options.character_coverage)},
      {"max_sentence_length", kTrainerSentenceBytes},
      {"num_threads", kTrainerThreads},
      {"minloglevel", "2"},
  };
  if (!options.user_symbols.empty()) arguments["user_defined_symbols"] = comma_list(options.user_symbols);
  return arguments;
}

// The number behind `mark` in a message of the library, or 0.
std::int64_t number_after(const std::string& message, std::string_view mark) {
  const std::size_t found = message.find(mark);
  std::int64_t number = 0;
  if (found != std::string::npos) {
    const char* first = message.data() + found + mark.size();
    std::from_chars(first, message.data() + message.size(), number);
  }
  return number;
}

[[noreturn]] void refuse(const TrainTokenizerOptions& options, std::int64_t bytes, const std::string& message) {
  const std::int64_t most = number_after(message, "value <= ");
  if (most > 0) {
    throw ConfigError(
        fmt::format("--vocab-size {}: {} of text do not give that many pieces; the nearest legal value is {}, or give "
                    "more text",
                    options.vocabulary, format_bytes(static_cast<double>(bytes)), most));
  }
  const std::int64_t least = number_after(message, " vs ");
  if (message.find("required_chars") != std::string::npos && least > 0) {
    throw ConfigError(fmt::format(
        "--vocab-size {}: the characters of this text and the fixed pieces alone are {}; give at least that "
        "many, or a smaller --character-coverage (now {})",
        options.vocabulary, least, options.character_coverage));
  }
  throw DataError(fmt::format("the tokenizer could not be trained; the library says: {}", message));
}

std::string train_model(const TrainTokenizerOptions& options, std::vector<std::string> texts, std::int64_t bytes) {
  Sentences sentences(std::move(texts));
  std::string model;
  sentencepiece::util::Status status;
  {
    const QuietStderr quiet;
    status = sentencepiece::SentencePieceTrainer::Train(trainer_arguments(options), &sentences, &model);
  }
  if (!status.ok()) refuse(options, bytes, status.ToString());
  return model;
}

// Piece, tab, score, as spm_train writes it.
std::string vocabulary_text(const std::string& model) {
  sentencepiece::SentencePieceProcessor processor;
  check(processor.LoadFromSerializedProto(model).ok(), "a model that was just trained must load");
  std::string text;
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    text += fmt::format("{}\t{:g}\n", processor.IdToPiece(id), processor.GetScore(id));
  }
  return text;
}

void warn_about_lines(const SentenceCounts& counts) {
  if (counts.invalid_utf8 > 0)
    log_warning(fmt::format("{} of {} lines are not valid UTF-8 and are left out", counts.invalid_utf8, counts.lines));
  if (counts.reserved > 0)
    log_warning(fmt::format("{} of {} lines hold U+2585, which the trainer reserves, and are left out", counts.reserved,
                            counts.lines));
}

void write_outputs(const TrainTokenizerOptions& options, const std::string& model) {
  if (!options.out.parent_path().empty()) ensure_directory(options.out.parent_path());
  AtomicFile vocabulary(options.out.string() + ".vocab"), proto(options.out.string() + ".model");
  vocabulary.write(vocabulary_text(model));
  proto.write(model);
  for (AtomicFile* file : {&vocabulary, &proto}) file->seal();
  vocabulary.commit();
  proto.commit();
}

}  // namespace

std::string TrainTokenizerReport::json() const {
  return JsonObject()
      .add("model", model)
      .add("sha256", sha256)
      .add("pieces", pieces)
      .add("sentences", sentences)
      .add("bytes", bytes)
      .add("lines", counts.lines)
      .add("split_lines", counts.split_lines)
      .add("sampled_out", counts.sampled_out)
      .add("invalid_utf8", counts.invalid_utf8)
      .add("reserved", counts.reserved)
      .add("seconds", seconds)
      .text();
}

TrainTokenizerReport train_tokenizer(const TrainTokenizerOptions& options, const ReadProgress& progress) {
  check_options(options);
  const auto start = std::chrono::steady_clock::now();
  SentenceSample sample = read_sentences(options, progress);
  TrainTokenizerReport report;
  report.counts = sample.counts();
  report.bytes = sample.kept_bytes();
  std::vector<std::string> sentences = sample.take();
  report.sentences = static_cast<std::int64_t>(sentences.size());
  if (sentences.empty()) {
    throw DataError(
        fmt::format("the input holds no text to train on: {} lines, of which {} are not UTF-8, {} hold U+2585, and {} "
                    "sentences are beyond --sample-bytes {}; nothing is written",
                    report.counts.lines, report.counts.invalid_utf8, report.counts.reserved, report.counts.sampled_out,
                    options.sample_bytes));
  }
  warn_about_lines(report.counts);
  log_info(fmt::format("training {} pieces ({}) on {} lines, {}", options.vocabulary, options.kind, report.sentences,
                       format_bytes(static_cast<double>(report.bytes))));
  const std::string model = train_model(options, std::move(sentences), report.bytes);
  write_outputs(options, model);
  report.model = options.out.string() + ".model";
  report.sha256 = sha256_hex(model);
  report.pieces = Tokenizer(report.model).vocabulary();
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace convoy::data
