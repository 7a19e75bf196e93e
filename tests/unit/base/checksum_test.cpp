// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/checksum.h"

namespace convoy {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

struct Crc {
  std::string bytes;
  std::uint32_t expected;
};

std::string counting(int first, int step, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(first + i * step);
  return bytes;
}

// RFC 3720, appendix B.4, and the check value of the CRC catalogue.
const std::vector<Crc> kKnown = {
    {"123456789", 0xE3069283},        {std::string(32, '\0'), 0x8A9136AA}, {std::string(32, '\xFF'), 0x62A8AB43},
    {counting(0, 1, 32), 0x46DD794E}, {counting(31, -1, 32), 0x113FDB5C},  {"", 0}};

TEST(Crc32c, MatchesTheVectorsOfRfc3720) {
  for (const Crc& known : kKnown) EXPECT_EQ(crc32c(bytes_of(known.bytes)), known.expected);
}

TEST(Crc32c, SoftwareMatchesTheVectorsOfRfc3720) {
  for (const Crc& known : kKnown) EXPECT_EQ(crc32c_software(bytes_of(known.bytes)), known.expected);
}

TEST(Crc32c, InstructionAndSoftwareAgreeOnEveryLengthAndAlignment) {
  const std::string text = counting(7, 13, 200);
  for (std::size_t start = 0; start < 9; ++start) {
    for (std::size_t length = 0; start + length <= text.size(); ++length) {
      const auto part = bytes_of(text).subspan(start, length);
      ASSERT_EQ(crc32c(part), crc32c_software(part)) << "start " << start << ", length " << length;
    }
  }
}

TEST(Crc32c, OfAJoinedTextIsTheCrcOfTheSecondSeededWithTheFirst) {
  EXPECT_EQ(crc32c(bytes_of("6789"), crc32c(bytes_of("12345"))), 0xE3069283);
  EXPECT_EQ(crc32c_software(bytes_of("6789"), crc32c_software(bytes_of("12345"))), 0xE3069283);
}

// Computed with Python's xxhash package.
TEST(Xxh3, MatchesTheReferenceImplementation) {
  EXPECT_EQ(xxh3_64(""), 0x2D06800538D394C2);
  EXPECT_EQ(xxh3_64("init:model.embed_tokens.weight"), 0x0d6ade626eacadac);
  EXPECT_EQ(xxh3_128_hex(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(xxh3_128_hex("init:model.embed_tokens.weight"), "266c8e649a817a23525d04b5322b9b71");
}

TEST(Xxh3, StreamedInPiecesIsTheSameAsAtOnce) {
  const std::string text = counting(1, 3, 5000);
  Xxh3Stream stream;
  for (std::size_t start = 0, length = 1; start < text.size(); start += length, length = length * 2 + 1) {
    stream.update(bytes_of(text).subspan(start, std::min(length, text.size() - start)));
  }
  EXPECT_EQ(stream.hex(), xxh3_128_hex(text));
  EXPECT_EQ(stream.hash_128(), xxh3_128(text));
  EXPECT_EQ(stream.hash_64(), xxh3_64(text));
  EXPECT_EQ(Xxh3Stream().hex(), xxh3_128_hex(""));
}

// FIPS 180-4's examples.
TEST(Sha256, MatchesThePublishedExamples) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

}  // namespace
}  // namespace convoy
