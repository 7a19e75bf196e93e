// SPDX-License-Identifier: Apache-2.0
#include "libcore/trace/run_delay.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace convoy::trace {

std::uint64_t RunDelay::read() {
  if (!file_) return 0;
  ++reads_;
  std::array<char, 80> text;
  const std::int64_t got = file_.read_some_at(0, std::as_writable_bytes(std::span(text)));
  if (got <= 0) return last_;
  const char* const end = text.data() + got;
  const char* const blank = std::find<const char*>(text.data(), end, ' ');
  std::uint64_t delay = 0;
  if (blank != end && std::from_chars(blank + 1, end, delay).ec == std::errc()) last_ = std::max(last_, delay);
  return last_;
}

}  // namespace convoy::trace
