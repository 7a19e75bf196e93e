// SPDX-License-Identifier: Apache-2.0
// Checksums and digests of bytes. All are little-endian and independent of the processor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace convoy {

// CRC-32C (Castagnoli, RFC 3720), by the processor's instruction where there is one. `seed` is the CRC of what came
// before.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed = 0);

// The same without the instruction: what other processors run.
std::uint32_t crc32c_software(std::span<const std::byte> bytes, std::uint32_t seed = 0);

// XXH3, 64 and 128 bits; the latter also in hexadecimal, of its canonical (big-endian) form.
struct Hash128 {
  std::uint64_t high = 0, low = 0;
  bool operator==(const Hash128&) const = default;
};
std::uint64_t xxh3_64(std::string_view bytes);
Hash128 xxh3_128(std::string_view bytes);
std::string xxh3_128_hex(std::string_view bytes);

// Streaming XXH3: both sums are those that the functions above have for all bytes at once.
class Xxh3Stream {
 public:
  Xxh3Stream();
  ~Xxh3Stream();
  Xxh3Stream(Xxh3Stream&&) noexcept;
  void update(std::span<const std::byte> bytes);
  std::uint64_t hash_64() const;
  Hash128 hash_128() const;
  std::string hex() const;  // XXH3-128, as xxh3_128_hex()

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// SHA-256 (FIPS 180-4) in hexadecimal.
std::string sha256_hex(std::string_view bytes);

}  // namespace convoy
