// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/byte_stream.h"

#include <gmock/gmock.h>
#include <zlib.h>
#include <zstd.h>

#include "golden.h"
#include "libcore/base/error.h"

namespace convoy::data {
namespace {

using golden::Path;
using golden::message_of;
using golden::TemporaryFolder;
using testing::HasSubstr;

Path inputs(const char* name) { return golden::folder() / "inputs" / name; }

std::string all_of(const Path& path, std::size_t step = 1000) {
  ByteStream stream({path.string(), 0});
  std::string out;
  std::vector<char> buffer(step);
  while (const std::size_t got = stream.read(buffer)) out.append(buffer.data(), got);
  return out;
}

std::string gzipped(const std::string& bytes) {
  std::string out(bytes.size() + 1000, '\0');
  z_stream stream{};
  ::deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

std::string zstd_frame(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

const std::string kSkippable("\x52\x2a\x4d\x18\x03\x00\x00\x00xyz", 11);

std::string long_text() {
  std::string text;
  for (std::int64_t i = 0; text.size() < 2'000'000; ++i) text += std::to_string(i * 7919 % 100003) + ' ';
  return text;
}

TEST(ByteStream, EveryPackingOfTheGoldenFileGivesItsBytes) {
  const std::string plain = golden::content(inputs("plain.jsonl"));
  EXPECT_EQ(all_of(inputs("plain.jsonl")), plain);
  for (const char* name : {"members.jsonl.gz", "midline.jsonl.gz", "frames.jsonl.zst", "long28.jsonl.zst"}) {
    for (const std::size_t step : {1, 7, 1 << 20}) EXPECT_EQ(all_of(inputs(name), step), plain) << name << " in steps of " << step;
  }
}

TEST(ByteStream, LongStreamsOfManyMembersAndFramesComeWhole) {
  const TemporaryFolder folder;
  const std::string text = long_text();
  const std::string first = text.substr(0, 1'000'001), second = text.substr(1'000'001);
  EXPECT_EQ(all_of(folder.write("a.gz", gzipped(first) + gzipped("") + gzipped(second)), 4096), text);
  EXPECT_EQ(all_of(folder.write("a.zst", kSkippable + zstd_frame(first) + kSkippable + zstd_frame("") + zstd_frame(second)), 4096), text);
  EXPECT_EQ(all_of(folder.write("b.zst", zstd_frame(text) + kSkippable), 4096), text);
  EXPECT_EQ(all_of(folder.write("plain", text), 4096), text);
}

// RFC 8878: a frame without content size whose window descriptor says 2^31 bytes, and one raw block, the last.
TEST(ByteStream, AFrameMayAskForTheLargestWindow) {
  const TemporaryFolder folder;
  const std::string text = "two to the thirty-first";
  const std::string header("\x28\xb5\x2f\xfd\x00\xa8", 6);
  const std::string block = {static_cast<char>(text.size() << 3 | 1), 0, 0};
  EXPECT_EQ(all_of(folder.write("x.zst", header + block + text)), text);
}

TEST(ByteStream, CompressionIsFoundByContent) {
  const TemporaryFolder folder;
  EXPECT_EQ(all_of(folder.write("a.txt", gzipped("hello"))), "hello");
  EXPECT_EQ(all_of(folder.write("b.txt", zstd_frame("hello"))), "hello");
  EXPECT_EQ(all_of(folder.write("c.gz", zstd_frame("hello"))), "hello");
  EXPECT_EQ(all_of(folder.write("d.txt", kSkippable + zstd_frame("hello"))), "hello");
}

TEST(ByteStream, AFileNamedCompressedMustBe) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of<DataError>([&] { all_of(folder.write("a.gz", "plain text")); }), HasSubstr("a.gz: gzip data are expected"));
  EXPECT_THAT(message_of<DataError>([&] { all_of(folder.write("a.zst", "plain text")); }), HasSubstr("a.zst: the zstd stream is corrupt"));
  EXPECT_THROW(all_of(folder.write("empty.gz", "")), DataError);
  EXPECT_THROW(all_of(folder.write("empty.zst", "")), DataError);
  EXPECT_EQ(all_of(folder.write("empty.txt", "")), "");
}

TEST(ByteStream, EveryCutOfAStreamIsRefused) {
  const TemporaryFolder folder;
  const std::string gz = gzipped("some text that is long enough to be cut"), zst = zstd_frame("some text that is long enough to be cut");
  for (std::size_t size = 2; size < gz.size(); ++size) {
    EXPECT_THAT(message_of<DataError>([&] { all_of(folder.write("a.gz", gz.substr(0, size))); }), HasSubstr("truncated")) << size;
  }
  for (std::size_t size = 4; size < zst.size(); ++size) {
    EXPECT_THAT(message_of<DataError>([&] { all_of(folder.write("a.zst", zst.substr(0, size))); }), HasSubstr("truncated")) << size;
  }
}

TEST(ByteStream, WrongChecksumsAndTrailingBytesAreRefused) {
  EXPECT_THAT(message_of<DataError>([] { all_of(inputs("crc.jsonl.gz")); }), HasSubstr("checksum is wrong"));
  EXPECT_THAT(message_of<DataError>([] { all_of(inputs("garbage.jsonl.gz")); }), HasSubstr("trailing bytes"));
  const TemporaryFolder folder;
  EXPECT_THAT(message_of<DataError>([&] { all_of(folder.write("a.zst", zstd_frame("x") + "garbage")); }), HasSubstr("trailing bytes"));
  EXPECT_THAT(message_of<DataError>([&] { all_of(folder.write("a.gz", gzipped("x") + "g")); }), HasSubstr("trailing bytes"));
  EXPECT_EQ(all_of(folder.write("b.gz", gzipped("x") + std::string(512, '\0'))), "x") << "zeros fill a tape's block";
}

TEST(ByteStream, AMissingFileIsAUsageError) { EXPECT_THROW(ByteStream({"/nonexistent/file", 0}), ConfigError); }

TEST(ByteStream, CountsTheBytesOfTheFile) {
  const TemporaryFolder folder;
  const Path path = folder.write("a.gz", gzipped(long_text()));
  ByteStream stream({path.string(), 0});
  std::vector<char> buffer(1 << 16);
  while (stream.read(buffer) > 0) {
  }
  EXPECT_EQ(stream.consumed(), static_cast<std::int64_t>(std::filesystem::file_size(path)));
}

}  // namespace
}  // namespace convoy::data
