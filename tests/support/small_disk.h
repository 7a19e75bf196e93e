// SPDX-License-Identifier: Apache-2.0
// A small file system of its own over a folder; needs root.
#pragma once

#include <sys/mount.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace convoy::support {

class SmallDisk {
 public:
  // `options` of tmpfs: "size=4m".
  SmallDisk(std::filesystem::path folder, const char* options) : folder_(std::move(folder)) {
    mounted_ = ::mount("tmpfs", folder_.c_str(), "tmpfs", 0, options) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return mounted_; }

 private:
  std::filesystem::path folder_;
  bool mounted_ = false;
};

// Writes until the disk of `folder` is full, then frees `spare` bytes.
inline void fill_disk(const std::filesystem::path& folder, std::uintmax_t spare) {
  std::ofstream out(folder / "filler", std::ios::binary);
  const std::string block(4096, 'x');
  while (out.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
  }
  out.close();
  const auto size = std::filesystem::file_size(folder / "filler");
  std::filesystem::resize_file(folder / "filler", size - std::min<std::uintmax_t>(size, spare));
}

}  // namespace convoy::support
