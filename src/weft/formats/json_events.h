// SPDX-License-Identifier: Apache-2.0
// JSON as a stream of events that know their byte offset, for readers that build no document: nlohmann's parser, which
// does not recurse, behind rules of ours.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/core/error.h"
#include "weft/formats/config_json.h"

namespace weft::formats {

/// The handler of one parse. Derived classes override nlohmann's null(), boolean(), number_*(), string(), key(),
/// start_*() and end_*(); each returns true or calls reject().
class JsonEvents : public nlohmann::json_sax<Json> {
 public:
  /// Parses all of `text`; a breach of the rules of JSON is a kFormat error with `where` and the byte offset.
  void parse(std::string_view text, std::string_view where);

  /// What nlohmann asks of a handler and JSON text never brings.
  bool binary(binary_t& value) override;
  /// Throws kFormat with the parser's reason, in one line.
  bool parse_error(std::size_t position, const std::string& token, const nlohmann::detail::exception& error) override;

 protected:
  /// Throws kFormat: "<where>: <parts> (byte <offset>)".
  template <typename... Parts>
  [[noreturn]] void reject(const Parts&... parts) const {
    fail(ErrorKind::kFormat, where_, ": ", concat(parts...), " (byte ", offset(), ")");
  }
  std::string_view where() const noexcept { return where_; }
  /// The last byte of what the parser has read.
  std::uint64_t offset() const noexcept { return position_ > text_.data() ? position_ - text_.data() - 1 : 0; }

 private:
  std::string_view text_;
  std::string_view where_;
  const char* position_ = nullptr;
};

}  // namespace weft::formats
