// SPDX-License-Identifier: Apache-2.0
// The decompressed bytes of one input file: plain, gzip (every member) or zstd (every frame, any window), recognised by
// content or extension. A stream that is cut, fails its checksum or has bytes behind its end is a DataError that names the
// file and the offset: what follows is unknown.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "libcore/data/input_list.h"

namespace convoy::data {

// Whether a file of this name that begins with `bytes` (4 of them decide) is read as gzip or zstd.
bool is_compressed(std::string_view name, std::string_view bytes);

class ByteStream {
 public:
  // A range is read as it is, never decompressed; a file that ends before its range does is a DataError. A missing file is a ConfigError, one that cannot be opened an EnvironmentError. `while_waiting` is called now and then
  // while a pipe has nothing to read, and throws to give up.
  explicit ByteStream(const InputFile& file, std::function<void()> while_waiting = {});
  ~ByteStream();
  ByteStream(ByteStream&&) noexcept;
  ByteStream& operator=(ByteStream&&) noexcept;

  // Fills as much of `out` as there is; less than its size only at the end.
  std::size_t read(std::span<char> out);
  std::int64_t consumed() const;  // bytes of the file (or range) read so far, compressed ones if it is compressed

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace convoy::data
