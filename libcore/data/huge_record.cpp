// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/huge_record.h"

#include <algorithm>

namespace convoy::data {
namespace {

constexpr std::size_t kIdsInMemory = std::size_t{1} << 16;
constexpr std::size_t kSpooledPart = std::size_t{1} << 18;  // ids
constexpr std::size_t kTextAtOnce = std::size_t{256} << 10;  // between two polls

}  // namespace

void SpooledIds::add(const std::vector<std::int32_t>& ids) {
  if (ids.empty()) return;
  if (file_.size() == 0) first_ = ids.front();
  last_ = ids.back();
  file_.write(std::as_bytes(std::span(ids)));
}

void SpooledIds::clear() { file_.clear(); }

void SpooledIds::for_each_part(const std::function<void(std::span<const std::int32_t>)>& take) {
  file_.flush();
  ScratchReader reader(file_);
  std::vector<std::int32_t> ids;
  for (auto left = static_cast<std::size_t>(size()); left > 0; left -= ids.size()) {
    ids.resize(std::min(left, kSpooledPart));
    reader.read(std::as_writable_bytes(std::span(ids)));
    take(ids);
  }
}

struct HugeRecords::Record {
  Record(const BatchEncoder& batch_encoder, const EncodeOptions& encode_options, const std::function<void()>& poll_of_run, const EncodedBatch& first)
      : encoder(batch_encoder), options(encode_options), poll(poll_of_run), line(first.record.line), lane(encoder.tokenizer()), ids(options.out) {
    if (encoder.tokenizer().streams()) stream.emplace(lane);
    if (first.format == RecordFormat::kJsonl) json.emplace(options.keys, options.out);
  }

  void add(std::string_view raw) {
    if (json) {
      json->add(raw);
    } else {
      utf8.add(raw);
      add_text(raw);
    }
  }

  void add_text(std::string_view text) {
    text_bytes += static_cast<std::int64_t>(text.size());
    if (start.size() <= kMostBytesByLibrary) start += text.substr(0, kMostBytesByLibrary + 1 - start.size());
    if (encoder.hashes() || !encoder.thresholds().empty()) hash.update(std::as_bytes(std::span(text)));
    while (stream && !text.empty()) {
      if (poll) poll();
      const std::string_view part = text.substr(0, kTextAtOnce);
      if (!stream->add(part, waiting)) stream.reset();
      if (waiting.size() >= kIdsInMemory) spool();
      text.remove_prefix(part.size());
    }
  }

  void spool() {
    ids.add(waiting);
    waiting.clear();
  }

  // Why there is no document, if the record is bad.
  std::optional<BadRecord> finish_text() {
    if (json) {
      if (auto bad = json->finish()) return bad;
      json->for_each_part([this](std::string_view part) { add_text(part); });
    }
    if (stream && !stream->finish(waiting)) stream.reset();
    if (stream) {
      spool();
      return std::nullopt;
    }
    if (start.size() > kMostBytesByLibrary) return too_large_as_a_whole(text_bytes);
    ids.clear();
    waiting.clear();
    lane.encode(start, waiting);
    spool();
    return std::nullopt;
  }

  void finish(EncodedBatch& out, std::optional<HugeDocument>& document) {
    if (json && json->is_blank()) return;
    if (!json) out.invalid_utf8 += utf8.first_invalid() != std::string_view::npos ? 1 : 0;
    if (auto bad = finish_text()) {
      out.bad.push_back({line, std::move(*bad)});
      return;
    }
    if (auto what = encoder.verification().look_at(std::string_view(start).substr(0, kVerifiedBytes), lane)) out.difference = {line, std::move(*what)};
    out.bytes_text += text_bytes;
    if (ids.size() == 0) {
      ++out.empty;
      return;
    }
    document = make_document();
  }

  // BOS and EOS are not doubled (BatchEncoder::add_document).
  HugeDocument make_document() {
    const std::int32_t bos = encoder.tokenizer().bos_id(), eos = encoder.tokenizer().eos_id();
    const bool prepend = options.prepend_bos && ids.first() != bos, append = options.append_eos && ids.last() != eos;
    HugeDocument document{.tokens = ids.size() + (prepend ? 1 : 0) + (append ? 1 : 0), .key = {{}, text_bytes}, .for_each_part = {}};
    if (!encoder.thresholds().empty()) document.split = split_of(hash.hash_64(), encoder.thresholds());
    if (encoder.hashes()) document.key.hash = hash.hash_128();
    document.for_each_part = [this, prepend, append, bos, eos](const auto& take) {
      if (prepend) take(std::span(&bos, 1));
      ids.for_each_part([this, &take](std::span<const std::int32_t> part) {
        if (poll) poll();
        take(part);
      });
      if (append) take(std::span(&eos, 1));
    };
    return document;
  }

  const BatchEncoder& encoder;
  const EncodeOptions& options;
  const std::function<void()>& poll;
  std::int64_t line;
  Tokenizer::Lane lane;
  std::optional<Tokenizer::Stream> stream;  // none: the text is encoded as a whole
  std::optional<JsonParts> json;
  Utf8Check utf8;
  Xxh3Stream hash;
  std::string start;  // of the text: as much as the library may be given, and a byte more
  std::int64_t text_bytes = 0;
  std::vector<std::int32_t> waiting;
  SpooledIds ids;
};

HugeRecords::HugeRecords(const BatchEncoder& encoder, const EncodeOptions& options, const std::function<void()>& poll)
    : encoder_(encoder), options_(options), poll_(poll) {}

HugeRecords::~HugeRecords() = default;

void HugeRecords::close() { record_.reset(); }

EncodedBatch HugeRecords::take(const EncodedBatch& part, std::optional<HugeDocument>& document) {
  EncodedBatch out;
  out.file = part.file;
  out.lines = part.lines;
  out.bytes_in = part.bytes_in;
  out.consumed = part.consumed;
  document.reset();
  if (part.part == RecordPart::kFirst) record_ = std::make_unique<Record>(encoder_, options_, poll_, part);
  record_->add(std::string_view(part.bytes).substr(part.record.begin, part.record.end - part.record.begin));
  if (part.part == RecordPart::kLast) record_->finish(out, document);
  return out;
}

}  // namespace convoy::data
