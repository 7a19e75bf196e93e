// SPDX-License-Identifier: Apache-2.0
#include "tests/support/png.h"

#include <zlib.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/support/tmp_dir.h"

namespace convoy::support {
namespace {

std::uint32_t big_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes.at(at + i));
  return value;
}

// The prediction of RFC 2083, section 6.6.
int paeth(int left, int up, int corner) {
  const int guess = left + up - corner;
  const int a = std::abs(guess - left), b = std::abs(guess - up), c = std::abs(guess - corner);
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

int predicted(int filter, int left, int up, int corner) {
  switch (filter) {
    case 0:
      return 0;
    case 1:
      return left;
    case 2:
      return up;
    case 3:
      return (left + up) / 2;
    case 4:
      return paeth(left, up, corner);
    default:
      throw std::runtime_error("PNG: filter " + std::to_string(filter));
  }
}

// Undoes the filters, in place; each row is led by its filter's number.
void unfilter(std::vector<unsigned char>& rows, std::size_t row_bytes, std::size_t height, std::size_t channels) {
  for (std::size_t y = 0; y < height; ++y) {
    unsigned char* row = &rows[y * (row_bytes + 1) + 1];
    const unsigned char* above = y == 0 ? nullptr : row - (row_bytes + 1);
    for (std::size_t i = 0; i < row_bytes; ++i) {
      const int left = i < channels ? 0 : row[i - channels];
      const int up = above == nullptr ? 0 : above[i];
      const int corner = above == nullptr || i < channels ? 0 : above[i - channels];
      row[i] = static_cast<unsigned char>(row[i] + predicted(row[-1], left, up, corner));
    }
  }
}

}  // namespace

Picture read_png(const std::filesystem::path& file) {
  const std::string bytes = content_of(file);
  if (!std::string_view(bytes).starts_with("\x89PNG\r\n\x1a\n")) throw std::runtime_error(file.string() + " is no PNG");
  Picture picture;
  std::size_t channels = 0;
  std::string packed;
  for (std::size_t at = 8; at + 12 <= bytes.size();) {
    const std::uint32_t length = big_endian(bytes, at);
    const std::string kind = bytes.substr(at + 4, 4);
    if (kind == "IHDR") {
      picture.width = static_cast<int>(big_endian(bytes, at + 8));
      picture.height = static_cast<int>(big_endian(bytes, at + 12));
      const int depth = bytes.at(at + 16), colour = bytes.at(at + 17), interlaced = bytes.at(at + 20);
      if (depth != 8 || (colour != 2 && colour != 6) || interlaced != 0)
        throw std::runtime_error(file.string() + ": a kind of PNG that this reader does not know");
      channels = colour == 6 ? 4 : 3;
    }
    if (kind == "IDAT") packed += bytes.substr(at + 8, length);
    at += 12 + length;
  }
  const auto width = static_cast<std::size_t>(picture.width), height = static_cast<std::size_t>(picture.height);
  std::vector<unsigned char> rows((width * channels + 1) * height);
  uLongf size = rows.size();
  if (::uncompress(rows.data(), &size, reinterpret_cast<const Bytef*>(packed.data()), packed.size()) != Z_OK ||
      size != rows.size())
    throw std::runtime_error(file.string() + ": its pixels do not unpack");
  unfilter(rows, width * channels, height, channels);
  for (std::size_t y = 0; y < height; ++y) {
    const unsigned char* row = &rows[y * (width * channels + 1) + 1];
    for (std::size_t x = 0; x < width; ++x)
      picture.pixels.push_back({row[x * channels], row[x * channels + 1], row[x * channels + 2]});
  }
  return picture;
}

}  // namespace convoy::support
