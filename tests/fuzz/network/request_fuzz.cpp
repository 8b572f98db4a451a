// SPDX-License-Identifier: Apache-2.0
// Any bytes as a request, whole and byte by byte: both ways the parser, the guards and the JSON of the body say the
// same, and what is let in keeps the limits.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <boost/asio/buffer.hpp>

#include "weft/core/error.h"
#include "weft/server/head_fields.h"
#include "weft/server/http_error.h"

namespace {

using namespace weft::server;  // NOLINT(google-build-using-namespace): a program of its own

ServerConfig limits() {
  ServerConfig config;
  config.max_header_bytes = 512;
  config.max_body_bytes = 1024;
  return config;
}

// The status that a client would see; 0 where the request is not whole.
int status_of(const RequestParser& parser, const ServerConfig& config) {
  if (!parser.is_done()) {
    return 0;
  }
  try {
    const Head head = head_of(parser.get());
    check_framing(head);
    check_sender(head, config);
    const Request request{.method = "POST", .path = path_of(head.target), .body = parser.get().body()};
    if (request.body.size() > static_cast<std::size_t>(config.max_body_bytes)) {
      std::abort();
    }
    (void)json_object(request);
  } catch (const std::exception& failure) {
    return error_reply(failure).status;
  }
  return 200;
}

// Gives the parser `step` more bytes a time, and all that it left, as a connection does.
int parse(std::string_view bytes, std::size_t step) {
  const ServerConfig config = limits();
  RequestParser parser;
  parser.eager(true);
  limit_parser(parser, config);
  std::size_t begin = 0;
  for (std::size_t end = 0; end < bytes.size() && !parser.is_done();) {
    end = std::min(bytes.size(), end + step);
    boost::system::error_code error;
    begin += parser.put(boost::asio::buffer(bytes.data() + begin, end - begin), error);
    if (error && error != boost::beast::http::error::need_more) {
      return -1;
    }
  }
  return status_of(parser, config);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const int whole = parse(bytes, size);
  const int slowly = parse(bytes, 1);
  // A head that comes at once may be longer than the limit, up to the buffer's size: only one way may refuse it.
  if (whole > 0 && slowly > 0 && whole != slowly) {
    std::abort();
  }
  return 0;
}
