// SPDX-License-Identifier: Apache-2.0
// libcurl's easy interface. Proxies and the system's certificates are its own matter.
#include "weft/hub/http.h"

#include <algorithm>
#include <cctype>
#include <exception>

#include "weft/core/error.h"
#include "weft/core/interrupt.h"
#include "weft/core/system/pipe_signal.h"
#include "weft/core/version.h"
#include "weft/hub/curl_library.h"

namespace weft::hub {
namespace {

constexpr std::size_t kMostHeaderBytes = std::size_t{256} << 10;

// What the callbacks of one request share. An exception must not pass through libcurl.
struct Exchange {
  const BodySink& sink;
  CURL* handle;
  HttpAnswer answer = {};
  std::size_t header_bytes = 0;
  bool too_long = false;
  std::exception_ptr failure = nullptr;
};

std::string in_lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string() : std::string(text.substr(first, last - first + 1));
}

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  const std::size_t bytes = size * count;
  try {
    exchange.header_bytes += bytes;
    exchange.too_long = exchange.header_bytes > kMostHeaderBytes;
    if (exchange.too_long) {
      return 0;
    }
    exchange.answer.take_head_line({data, bytes});
    return bytes;
  } catch (...) {
    exchange.failure = std::current_exception();
    return 0;
  }
}

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  const std::size_t bytes = size * count;
  try {
    curl().easy_getinfo(exchange.handle, CURLINFO_RESPONSE_CODE, &exchange.answer.status);
    exchange.answer.stopped = !exchange.sink(exchange.answer, {data, bytes});
    return exchange.answer.stopped ? 0 : bytes;
  } catch (...) {
    exchange.failure = std::current_exception();
    return 0;
  }
}

// Asked several times a second, also while nothing comes.
int on_progress(void*, curl_off_t, curl_off_t, curl_off_t, curl_off_t) { return interrupted() ? 1 : 0; }

void set_connection(CURL* handle, const HttpRequest& request) {
  const CurlLibrary& library = curl();
  library.easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  library.easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  library.easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  library.easy_setopt(handle, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));  // tokens come from HF_TOKEN alone
  library.easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  library.easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, request.stall_seconds);
  library.easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  library.easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, request.stall_seconds);
  if (request.end) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*request.end - std::chrono::steady_clock::now());
    library.easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(std::max<std::int64_t>(1, left.count())));
  }
  library.easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  library.easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, &on_progress);
}

// Identity: a length and a range mean the bytes of the file. The list belongs to the caller.
curl_slist* request_headers(const HttpRequest& request) {
  curl_slist* headers = nullptr;
  const auto append = [&](const std::string& line) { headers = curl().slist_append(headers, line.c_str()); };
  append("Accept-Encoding: identity");
  append(concat("User-Agent: weft/", kVersion));
  if (!request.token.empty()) {
    append("Authorization: Bearer " + request.token);
  }
  if (request.from > 0) {
    append(concat("Range: bytes=", request.from, "-"));
  }
  return headers;
}

std::string problem_of(const Exchange& exchange, CURLcode code) {
  if (code == CURLE_OK || exchange.answer.stopped) {
    return {};
  }
  return exchange.too_long ? "its headers are longer than 256 KiB" : curl().easy_strerror(code);
}

using UrlHandle = std::unique_ptr<CURLU, void (*)(CURLU*)>;

UrlHandle parsed_url(const std::string& url) {
  UrlHandle parsed(curl().url(), [](CURLU* handle) { curl().url_cleanup(handle); });
  const bool good = parsed != nullptr && curl().url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) == CURLUE_OK;
  return good ? std::move(parsed) : UrlHandle(nullptr, [](CURLU*) {});
}

std::string url_part(const UrlHandle& url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (url == nullptr || curl().url_get(url.get(), part, &text, flags) != CURLUE_OK) {
    return {};
  }
  const std::string copy(text);
  curl().free(text);
  return copy;
}

}  // namespace

std::string HttpAnswer::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

void HttpAnswer::take_head_line(std::string_view line) {
  if (line.starts_with("HTTP/")) {
    headers.clear();
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon != std::string_view::npos) {
    headers[in_lower_case(without_blanks(line.substr(0, colon)))] = without_blanks(line.substr(colon + 1));
  }
}

HttpClient::HttpClient() : handle_(curl().easy_init()) {
  if (handle_ == nullptr) {
    fail(ErrorKind::kUnsupported, "cannot download: libcurl gives no handle");
  }
}

HttpClient::~HttpClient() { curl().easy_cleanup(handle_); }

HttpAnswer HttpClient::get(const HttpRequest& request, const BodySink& sink) {
  const CurlLibrary& library = curl();
  library.easy_reset(handle_);  // keeps connections
  Exchange exchange{.sink = sink, .handle = handle_};
  set_connection(handle_, request);
  library.easy_setopt(handle_, CURLOPT_HEADERFUNCTION, &on_header);
  library.easy_setopt(handle_, CURLOPT_HEADERDATA, static_cast<void*>(&exchange));
  library.easy_setopt(handle_, CURLOPT_WRITEFUNCTION, &on_body);
  library.easy_setopt(handle_, CURLOPT_WRITEDATA, static_cast<void*>(&exchange));
  const std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(
      request_headers(request), [](curl_slist* list) { curl().slist_free_all(list); });
  library.easy_setopt(handle_, CURLOPT_HTTPHEADER, headers.get());
  const PipeSignalHeld held;  // libcurl leaves the signal of a connection that TLS writes to in vain
  const CURLcode code = library.easy_perform(handle_);
  if (exchange.failure) {
    std::rethrow_exception(exchange.failure);
  }
  if (interrupted()) {
    fail(ErrorKind::kInterrupted, "stopped while downloading; the next download goes on where this one stopped");
  }
  library.easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &exchange.answer.status);
  exchange.answer.problem = problem_of(exchange, code);
  return exchange.answer;
}

std::string resolved_url(const std::string& url, const std::string& location) {
  const UrlHandle parsed = parsed_url(url);
  if (parsed == nullptr || curl().url_set(parsed.get(), CURLUPART_URL, location.c_str(), 0) != CURLUE_OK) {
    return {};
  }
  const std::string scheme = url_part(parsed, CURLUPART_SCHEME);
  return scheme == "http" || scheme == "https" ? url_part(parsed, CURLUPART_URL) : std::string();
}

std::string origin_of(const std::string& url) {
  const UrlHandle parsed = parsed_url(url);
  const std::string host = url_part(parsed, CURLUPART_HOST);
  return host.empty() ? std::string()
                      : in_lower_case(url_part(parsed, CURLUPART_SCHEME) + "://" + host + ":" +
                                      url_part(parsed, CURLUPART_PORT, CURLU_DEFAULT_PORT));
}

std::string host_of(const std::string& url) {
  const std::string origin = origin_of(url);
  const std::size_t slashes = origin.find("://");
  return slashes == std::string::npos ? origin : origin.substr(slashes + 3);
}

}  // namespace weft::hub
