// SPDX-License-Identifier: Apache-2.0
// One GET request, and what came back. Redirects are not followed here: who asks decides which of them may see a token.
// Every answer is bounded: headers in bytes, bodies by the function that takes them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace weft::hub {

struct HttpRequest {
  std::string url;
  std::string token;                                              ///< sent as "Authorization: Bearer", unless empty
  std::uint64_t from = 0;                                         ///< asks for the bytes from here on, unless 0
  long stall_seconds = 10;                                        ///< to connect, and for every next byte
  std::optional<std::chrono::steady_clock::time_point> end = {};  ///< of everything, unless nothing
};

struct HttpAnswer {
  long status = 0;                             ///< 0 where no answer came
  std::map<std::string, std::string> headers;  ///< names in lower case; of several the last
  std::string problem;                         ///< why the transfer broke off; empty where it came to its end
  bool stopped = false;                        ///< the function that takes the body wanted no more

  /// The header's value, or nothing.
  std::string header(const std::string& name) const;
  /// Takes note of a line of the head, its end included. A line of status begins the headers anew: an answer of 100
  /// Continue may stand before. What is no header is left out.
  void take_head_line(std::string_view line);
};

/// Takes the next bytes of a body whose status and headers are those of the answer; false ends the transfer.
using BodySink = std::function<bool(const HttpAnswer& answer, std::string_view bytes)>;

/// Sends requests one after the other, over connections that are kept.
class HttpClient {
 public:
  /// Errors: kUnsupported where libcurl cannot be loaded.
  HttpClient();
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Errors: kInterrupted where a guard saw a signal. What goes wrong on the way is in the answer.
  HttpAnswer get(const HttpRequest& request, const BodySink& sink);

 private:
  void* handle_;
};

/// `location` as a redirect from `url` means it, or nothing where it is no address of http or https.
std::string resolved_url(const std::string& url, const std::string& location);

/// Scheme, host and port of `url`, in lower case, or nothing where it has none.
std::string origin_of(const std::string& url);

/// Host and port as messages name them: signed addresses are secrets, and long.
std::string host_of(const std::string& url);

}  // namespace weft::hub
