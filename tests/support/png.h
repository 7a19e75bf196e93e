// SPDX-License-Identifier: Apache-2.0
// The pixels of a screenshot: reads the PNG files that browsers write (8 bits a channel, RGB or RGBA, not interlaced).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace convoy::support {

struct Pixel {
  int red = 0, green = 0, blue = 0;
};

struct Picture {
  int width = 0, height = 0;
  std::vector<Pixel> pixels;  // row by row

  const Pixel& at(int x, int y) const {
    return pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)];
  }
};

// Throws std::runtime_error that says what is wrong with the file.
Picture read_png(const std::filesystem::path& file);

}  // namespace convoy::support
