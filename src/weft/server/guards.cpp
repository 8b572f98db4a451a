// SPDX-License-Identifier: Apache-2.0
// Checks of a head. Every refusal closes the connection, since where the next request begins may be in doubt.
#include "weft/server/guards.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/readers/text_source.h"
#include "weft/server/http_error.h"

namespace weft::server {
namespace {

bool equal_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

[[noreturn]] void refuse(int status, const std::string& message) { throw HttpError(status, "bad_request", message); }

void at_most_one(const std::vector<std::string_view>& values, const char* name) {
  if (values.size() > 1) {
    refuse(status::kBadRequest, concat("the request has ", values.size(), " headers ", name, "; expected one at most"));
  }
}

// The host of "host:port" or "[address]:port"; empty where it is neither.
std::string_view without_port(std::string_view host) {
  const bool bracket = host.starts_with('[');
  const std::size_t end = bracket ? host.find(']') : host.find(':');
  if (bracket && end == std::string_view::npos) {
    return {};
  }
  const std::string_view name = host.substr(0, bracket ? end + 1 : end);
  const std::string_view port = host.substr(name.size());
  constexpr std::size_t kLongestPort = 6;
  const bool good = port.empty() || (port.size() > 1 && port.size() <= kLongestPort && port.front() == ':' &&
                                     port.find_first_not_of("0123456789", 1) == std::string_view::npos);
  return good ? name : std::string_view{};
}

// An address in digits cannot have been bound to a foreign name.
bool is_address(std::string_view name) {
  if (name.starts_with('[')) {
    return name.find_first_not_of("0123456789abcdefABCDEF:.[]") == std::string_view::npos;
  }
  return !name.empty() && name.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::any_of(names, [&](const std::string& known) { return equal_letters(known, name); });
}

formats::Digest digest_of(std::string_view text) {
  formats::Sha256 sha;
  sha.add(text);
  return sha.digest();
}

// Looks at every byte, whatever those before it were.
bool equal_in_constant_time(const formats::Digest& a, const formats::Digest& b) {
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned>(a[i] ^ b[i]);
  }
  return difference == 0;
}

}  // namespace

void check_framing(const Head& head) {
  if (head.version != 10 && head.version != 11) {
    refuse(status::kVersion, "expected HTTP/1.1 or HTTP/1.0");
  }
  at_most_one(head.lengths, "Content-Length");
  at_most_one(head.transfers, "Transfer-Encoding");
  at_most_one(head.expects, "Expect");
  // Beast takes a list of equal lengths, too; others take the first, or none.
  if (!head.lengths.empty() && head.lengths.front().find_first_not_of("0123456789") != std::string_view::npos) {
    refuse(status::kBadRequest,
           concat("Content-Length is ", quote(head.lengths.front()), "; expected a number of bytes"));
  }
  if (!head.lengths.empty() && !head.transfers.empty()) {
    refuse(status::kBadRequest, "the request has Content-Length and Transfer-Encoding; expected one of them");
  }
  if (!head.transfers.empty()) {
    if (head.version != 11) {
      refuse(status::kBadRequest, "the request has Transfer-Encoding, but is HTTP/1.0");
    }
    if (!equal_letters(head.transfers.front(), "chunked")) {
      refuse(status::kNotImplemented,
             concat("Transfer-Encoding is ", quote(head.transfers.front()), "; expected chunked"));
    }
  }
  if (!head.encodings.empty() && !(head.encodings.size() == 1 && equal_letters(head.encodings.front(), "identity"))) {
    refuse(status::kMediaType,
           concat("Content-Encoding is ", quote(head.encodings.front()), "; expected a body as it is"));
  }
  if (!head.expects.empty() && !equal_letters(head.expects.front(), "100-continue")) {
    refuse(status::kExpectation, concat("Expect is ", quote(head.expects.front()), "; expected 100-continue"));
  }
}

void check_sender(const Head& head, const ServerConfig& config) {
  at_most_one(head.hosts, "Host");
  at_most_one(head.origins, "Origin");
  if (head.hosts.empty() && head.version == 11) {
    refuse(status::kBadRequest, "the request has no Host");
  }
  const std::string_view host = head.hosts.empty() ? std::string_view{} : head.hosts.front();
  const std::string_view name = without_port(host);
  if (!head.hosts.empty() && !is_address(name) && !equal_letters(name, "localhost") &&
      !has(config.allowed_hosts, name)) {
    refuse(status::kForbidden, concat("Host is ", quote(host), ", which is no name of this server; ",
                                      option("allowed_hosts"), " adds one"));
  }
  if (head.origins.empty()) {
    return;
  }
  const std::string_view origin = head.origins.front();
  if (!equal_letters(origin, concat("http://", host)) && !is_allowed_origin(origin, config)) {
    refuse(status::kForbidden,
           concat("Origin is ", quote(origin), ", another server; ", option("allowed_origins"), " adds one"));
  }
}

bool is_allowed_origin(std::string_view origin, const ServerConfig& config) {
  return has(config.allowed_origins, origin);
}

bool takes_events(const Head& head) {
  return std::ranges::any_of(head.accepts, [](std::string_view value) {
    constexpr std::string_view kEvents = "text/event-stream";
    return std::ranges::search(value, kEvents, [](unsigned char a, unsigned char b) {
             return std::tolower(a) == std::tolower(b);
           }).begin() != value.end();
  });
}

std::string path_of(std::string_view target) {
  std::string_view path = target.substr(0, target.find('?'));
  if (!path.starts_with('/') || path.find('#') != std::string_view::npos) {
    refuse(status::kBadRequest, concat("the target is ", quote(target), "; expected a path that begins with a slash"));
  }
  if (path.size() > 1 && path.ends_with('/')) {
    path.remove_suffix(1);
  }
  return std::string(path);
}

ApiKeys::ApiKeys(const std::string& path) {
  readers::TextSource file(readers::ByteSource::stream(path), {});
  for (std::string line; file.next_line(line);) {
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (!line.empty() && !line.starts_with('#')) {
      digests_.push_back(digest_of(line));
    }
  }
  if (digests_.empty()) {
    fail(ErrorKind::kFormat, path, ": no keys; expected one a line");
  }
}

void ApiKeys::check(const Head& head) const {
  constexpr std::string_view kScheme = "bearer ";
  const bool given = head.keys.size() == 1 && equal_letters(head.keys.front().substr(0, kScheme.size()), kScheme);
  check_key(given ? head.keys.front().substr(kScheme.size()) : std::string_view());
}

void ApiKeys::check_key(std::string_view key) const {
  const formats::Digest given = digest_of(key);
  bool known = digests_.empty();
  for (const formats::Digest& digest : digests_) {
    known |= equal_in_constant_time(digest, given);
  }
  if (!known) {
    throw HttpError(status::kUnauthorized, "unauthorized",
                    "no valid key; expected the header 'Authorization: Bearer KEY'");
  }
}

}  // namespace weft::server
