// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/checksum.h"

#include <fmt/format.h>
#include <openssl/sha.h>
#include <xxhash.h>

#include <bit>
#include <cstring>
#include <new>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace convoy {
namespace {

constexpr std::uint32_t kReversedPolynomial = 0x82F63B78;  // Castagnoli's 0x1EDC6F41 with its bits reversed

// table[k][b]: the CRC of byte b followed by k zero bytes, so that eight bytes are folded at once.
using SlicingTable = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr SlicingTable make_slicing_table() {
  SlicingTable table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kReversedPolynomial : 0);
    table[0][byte] = crc;
  }
  for (std::size_t zeros = 1; zeros < table.size(); ++zeros) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t shorter = table[zeros - 1][byte];
      table[zeros][byte] = (shorter >> 8) ^ table[0][shorter & 0xFF];
    }
  }
  return table;
}

constexpr SlicingTable kSlicing = make_slicing_table();

std::uint64_t load_little_endian(const std::byte* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  static_assert(std::endian::native == std::endian::little,
                "the formats are little-endian, and so are the processors we build for");
  return word;
}

std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t crc) {
  while (bytes.size() >= 8) {
    const std::uint64_t word = load_little_endian(bytes.data()) ^ crc;
    crc = 0;
    for (std::size_t i = 0; i < 8; ++i) crc ^= kSlicing[7 - i][(word >> (8 * i)) & 0xFF];
    bytes = bytes.subspan(8);
  }
  for (const std::byte byte : bytes) crc = (crc >> 8) ^ kSlicing[0][(crc ^ static_cast<std::uint32_t>(byte)) & 0xFF];
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse42(std::span<const std::byte> bytes, std::uint32_t crc) {
  std::uint64_t wide = crc;
  while (bytes.size() >= 8) {
    wide = _mm_crc32_u64(wide, load_little_endian(bytes.data()));
    bytes = bytes.subspan(8);
  }
  crc = static_cast<std::uint32_t>(wide);
  for (const std::byte byte : bytes) crc = _mm_crc32_u8(crc, static_cast<unsigned char>(byte));
  return crc;
}

bool has_crc_instruction() { return __builtin_cpu_supports("sse4.2") != 0; }
#else
std::uint32_t crc32c_sse42(std::span<const std::byte> bytes, std::uint32_t crc) { return crc32c_portable(bytes, crc); }
bool has_crc_instruction() { return false; }
#endif

std::string canonical_hex(XXH128_hash_t hash) { return fmt::format("{:016x}{:016x}", hash.high64, hash.low64); }

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed) {
  static const bool fast = has_crc_instruction();
  return ~(fast ? crc32c_sse42(bytes, ~seed) : crc32c_portable(bytes, ~seed));
}

std::uint32_t crc32c_software(std::span<const std::byte> bytes, std::uint32_t seed) {
  return ~crc32c_portable(bytes, ~seed);
}

std::uint64_t xxh3_64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

Hash128 xxh3_128(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

std::string xxh3_128_hex(std::string_view bytes) { return canonical_hex(XXH3_128bits(bytes.data(), bytes.size())); }

struct Xxh3Stream::State {
  State() : handle(XXH3_createState()) {
    if (handle == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(handle);
  }
  ~State() { XXH3_freeState(handle); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  XXH3_state_t* handle;
};

Xxh3Stream::Xxh3Stream() : state_(std::make_unique<State>()) {}
Xxh3Stream::~Xxh3Stream() = default;
Xxh3Stream::Xxh3Stream(Xxh3Stream&&) noexcept = default;

void Xxh3Stream::update(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_->handle, bytes.data(), bytes.size());
}

// The sums differ in their last step alone: the library gives either from the same state.
std::uint64_t Xxh3Stream::hash_64() const { return XXH3_64bits_digest(state_->handle); }

Hash128 Xxh3Stream::hash_128() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_->handle);
  return {hash.high64, hash.low64};
}

std::string Xxh3Stream::hex() const { return canonical_hex(XXH3_128bits_digest(state_->handle)); }

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  std::string hex;
  for (const unsigned char byte : digest) hex += fmt::format("{:02x}", byte);
  return hex;
}

}  // namespace convoy
