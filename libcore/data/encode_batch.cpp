// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/encode_batch.h"

#include <fmt/format.h>

#include <algorithm>

#include "libcore/base/checksum.h"
#include "libcore/base/utf8.h"

namespace convoy::data {
namespace {

constexpr std::size_t kLargeText = std::size_t{1} << 20;
constexpr std::size_t kUsualBytesAToken = 2;  // fewer than of most texts, so that ids seldom move

}  // namespace

std::size_t split_of(std::uint64_t hash, const std::vector<double>& thresholds) {
  const double at = static_cast<double>(hash >> 11) * 0x1p-53;  // [0, 1), exact
  for (std::size_t i = 0; i + 1 < thresholds.size(); ++i) {
    if (at < thresholds[i]) return i;
  }
  return thresholds.empty() ? 0 : thresholds.size() - 1;
}

BadRecord too_large_as_a_whole(std::int64_t bytes) {
  return {BadRecordKind::kSize, fmt::format("its text has {} bytes and cannot be encoded part by part: with this tokenizer no text can, or this one has a stretch of many "
                                            "megabytes that comes apart nowhere (one word, blanks alone); as a whole it would take up to a hundred bytes of memory for "
                                            "each, so at most {} MiB are",
                                            bytes, kMostBytesByLibrary >> 20)};
}

BatchEncoder::BatchEncoder(const Tokenizer& tokenizer, const EncodeOptions& options)
    : tokenizer_(tokenizer),
      verification_(tokenizer, options.verify_every),
      parser_(options.keys),
      append_eos_(options.append_eos),
      prepend_bos_(options.prepend_bos),
      hashes_(options.dedup != Dedup::kOff) {
  double sum = 0.0;
  for (const Split& split : options.splits) thresholds_.push_back(sum += split.share);
}

void BatchEncoder::add_document(std::string_view text, std::int64_t line, Tokenizer::Lane& lane, EncodedBatch& out) const {
  const std::size_t begin = out.ids.size();
  if (prepend_bos_) out.ids.push_back(tokenizer_.bos_id());
  const std::size_t first = out.ids.size();
  // A token has a byte at least. To grow would hold a large document's ids twice; what stays empty of the room takes no memory.
  if (text.size() > kLargeText) out.ids.reserve(first + text.size() + 2);
  if (!add_ids(text, lane, out.ids)) {
    out.ids.resize(begin);
    out.bad.push_back({line, too_large_as_a_whole(static_cast<std::int64_t>(text.size()))});
    return;
  }
  if (auto what = verification_.look_at(text, lane); what && !out.difference) out.difference = {line, std::move(*what)};
  out.bytes_text += static_cast<std::int64_t>(text.size());
  if (out.ids.size() == first) {
    out.ids.resize(begin);
    ++out.empty;
    return;
  }
  // A model may define the names of its control symbols as text; what is there is not doubled.
  if (prepend_bos_ && out.ids[first] == tokenizer_.bos_id())
    out.ids.erase(out.ids.begin() + static_cast<std::ptrdiff_t>(begin));
  if (append_eos_ && out.ids.back() != tokenizer_.eos_id()) out.ids.push_back(tokenizer_.eos_id());
  const std::size_t split = thresholds_.empty() ? 0 : split_of(xxh3_64(text), thresholds_);
  TextKey key{{}, static_cast<std::int64_t>(text.size())};
  if (hashes_) key = key_of(text);
  out.documents.push_back({begin, out.ids.size(), split, key});
}

// False if the text can be encoded as a whole only, and is too large for that.
bool BatchEncoder::add_ids(std::string_view text, Tokenizer::Lane& lane, std::vector<std::int32_t>& ids) const {
  if (text.size() <= kMostBytesByLibrary) {
    lane.encode(text, ids);
    return true;
  }
  if (!tokenizer_.streams()) return false;
  Tokenizer::Stream stream(lane);
  return stream.add(text, ids) && stream.finish(ids);
}

EncodedBatch BatchEncoder::encode(RawBatch& batch) const {
  EncodedBatch out;
  out.file = batch.file;
  out.lines = batch.lines;
  out.consumed = batch.consumed;
  out.bytes_in = static_cast<std::int64_t>(batch.bytes.size());
  if (batch.part != RecordPart::kWhole) {
    out.part = batch.part;
    out.format = batch.format;
    out.bytes = std::move(batch.bytes);
    out.record = batch.records.front();
    return out;
  }
  const std::string_view bytes = batch.bytes;
  std::string text;
  out.ids.reserve(std::min(bytes.size() / kUsualBytesAToken, kLargeText));
  Tokenizer::Lane lane(tokenizer_);
  for (const RawRecord& record : batch.records) {
    const std::string_view raw = bytes.substr(record.begin, record.end - record.begin);
    if (batch.format == RecordFormat::kText) {
      out.invalid_utf8 += find_invalid_utf8(raw) != std::string_view::npos;
      add_document(raw, record.line, lane, out);
    } else if (auto bad = parser_.parse(raw, text, bytes.size() - record.end)) {
      out.bad.push_back({record.line, std::move(*bad)});
    } else {
      if (&record == &batch.records.back()) batch.bytes = std::string();  // a line of a gigabyte is not held beside its text
      add_document(text, record.line, lane, out);
    }
  }
  return out;
}

}  // namespace convoy::data
