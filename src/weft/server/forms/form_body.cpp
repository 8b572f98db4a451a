// SPDX-License-Identifier: Apache-2.0
// The rules of application/x-www-form-urlencoded in the URL standard of WHATWG.
#include "weft/server/forms/form_body.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/text/utf8.h"

namespace weft::server {
namespace {

constexpr std::size_t kMostFields = 64;
constexpr std::size_t kLongestName = 64;

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName && std::all_of(text.begin(), text.end(), [](char byte) {
    return std::isalnum(static_cast<unsigned char>(byte)) != 0 || byte == '_' || byte == '-' || byte == '.';
  });
}

std::string unescaped(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      plain += text[at] == '+' ? ' ' : text[at];
      continue;
    }
    unsigned byte = 0;
    const std::string_view digits = text.substr(at + 1, 2);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (error != std::errc{} || end != digits.data() + 2) {
      fail(ErrorKind::kFormat, "the request's form: expected two hexadecimal digits behind %, found ", quote(digits));
    }
    plain += static_cast<char>(byte);
    at += 2;
  }
  if (!text::is_valid_utf8(plain)) {
    fail(ErrorKind::kFormat, "the request's form is not UTF-8");
  }
  return plain;
}

void add_field(formats::Json& fields, const std::string& name, std::string value) {
  const auto found = fields.find(name);
  if (found == fields.end()) {
    if (fields.size() == kMostFields) {
      fail(ErrorKind::kFormat, "the request's form has more than ", kMostFields, " fields");
    }
    fields[name] = std::move(value);
  } else if (found->is_array()) {
    found->push_back(std::move(value));
  } else {
    *found = formats::Json::array({std::move(*found), std::move(value)});
  }
}

}  // namespace

std::optional<formats::Json> form_fields(std::string_view body) {
  while (body.ends_with('\n') || body.ends_with('\r')) {
    body.remove_suffix(1);
  }
  if (!is_name(body.substr(0, body.find('='))) || body.find('=') == std::string_view::npos) {
    return std::nullopt;
  }
  formats::Json fields = formats::Json::object();
  while (!body.empty()) {
    const std::string_view field = body.substr(0, body.find('&'));
    body.remove_prefix(std::min(body.size(), field.size() + 1));
    const std::size_t sign = std::min(field.find('='), field.size());
    if (!field.empty()) {
      add_field(fields, unescaped(field.substr(0, sign)), unescaped(field.substr(std::min(sign + 1, field.size()))));
    }
  }
  return fields;
}

bool is_multipart(std::string_view body) noexcept {
  constexpr std::size_t kLongestHead = 1024;
  const std::string_view head = body.substr(0, kLongestHead);
  return head.starts_with("--") && (head.find("ontent-Disposition:") != std::string_view::npos ||
                                    head.find("ontent-disposition:") != std::string_view::npos);
}

formats::Json json_or_form(const Request& request) {
  const std::optional<formats::Json> fields = form_fields(request.body);
  return fields ? *fields : json_object(request);
}

}  // namespace weft::server
