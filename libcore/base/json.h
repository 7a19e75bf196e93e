// SPDX-License-Identifier: Apache-2.0
// JSON text for the library's own files and rows. Public headers take or return strings; only .cpp files include the
// JSON library. Floats are printed so that they read back to the same bits (shortest round trip).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace convoy {

std::string json_quoted(std::string_view text);  // with quotes and escapes; invalid UTF-8 becomes U+FFFD
std::string json_number(double value);           // shortest that reads back to the same double; "null" if not finite
std::string json_number(float value);            // shortest that reads back to the same float

std::string json_array(const std::vector<std::string>& values);   // of finished JSON values
std::string json_strings(const std::vector<std::string>& texts);  // an array of texts

// Builds one JSON object, keys in the order given.
class JsonObject {
 public:
  JsonObject& add(std::string_view key, std::string_view text);
  JsonObject& add(std::string_view key, const char* text) { return add(key, std::string_view(text)); }
  JsonObject& add(std::string_view key, double value);
  JsonObject& add(std::string_view key, std::int64_t value);
  JsonObject& add(std::string_view key, int value) { return add(key, static_cast<std::int64_t>(value)); }
  JsonObject& add(std::string_view key, bool value);
  JsonObject& add_raw(std::string_view key, std::string_view json);  // a finished JSON value
  std::string text() const { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

}  // namespace convoy
