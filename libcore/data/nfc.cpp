// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/nfc.h"

#include <fmt/format.h>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uniset.h>

#include <algorithm>

#include "libcore/base/error.h"

namespace convoy::data {
namespace {

void expect_success(UErrorCode code, const char* what) {
  if (U_FAILURE(code)) throw EnvironmentError(fmt::format("ICU cannot {}: {}", what, u_errorName(code)));
}

const icu::Normalizer2& newest_nfc() {
  UErrorCode code = U_ZERO_ERROR;
  const icu::Normalizer2* const nfc = icu::Normalizer2::getNFCInstance(code);
  expect_success(code, "load its normalisation data");
  return *nfc;
}

icu::UnicodeSet unicode_9() {
  UErrorCode code = U_ZERO_ERROR;
  icu::UnicodeSet set(icu::UnicodeString::fromUTF8("[:age=9.0:]"), code);
  expect_success(code, "tell the characters of Unicode 9");
  set.freeze();
  return set;
}

constexpr unsigned char kFirstLeadThatMatters = 0xcc;  // of U+0300: all below are normalised whatever stands beside them

}  // namespace

struct NfcNormalizer::Content {
  icu::UnicodeSet known = unicode_9();
  icu::FilteredNormalizer2 nfc{newest_nfc(), known};
};

NfcNormalizer::NfcNormalizer() : content_(std::make_unique<const Content>()) {}
NfcNormalizer::~NfcNormalizer() = default;

std::string_view NfcNormalizer::normalize(std::string_view text, std::string& room) const {
  const auto matters = [](char c) { return static_cast<unsigned char>(c) >= kFirstLeadThatMatters; };
  if (std::none_of(text.begin(), text.end(), matters)) return text;
  if (text.size() > std::size_t{INT32_MAX}) throw DataError(fmt::format("a text of {} bytes without a place to cut it cannot be normalised (NFC): the most is 2 GiB", text.size()));
  UErrorCode code = U_ZERO_ERROR;
  const icu::StringPiece piece(text.data(), static_cast<std::int32_t>(text.size()));
  if (content_->nfc.isNormalizedUTF8(piece, code) && U_SUCCESS(code)) return text;
  room.clear();
  icu::StringByteSink<std::string> sink(&room);
  code = U_ZERO_ERROR;
  content_->nfc.normalizeUTF8(0, piece, sink, nullptr, code);
  expect_success(code, "normalise a text");
  return room;
}

bool NfcNormalizer::begins_alone(std::uint32_t code) const { return code < 0x300 || content_->nfc.hasBoundaryBefore(static_cast<UChar32>(code)); }

}  // namespace convoy::data
