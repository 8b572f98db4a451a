// SPDX-License-Identifier: Apache-2.0
// The parser of Beast 1.81 behind guards of ours: what it accepts is checked again (guards.h), all bytes of a body
// count, those of chunk headers too, and after an error the connection ends.
#include "weft/server/connection.h"

#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include <sys/socket.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/server/cross_origin.h"
#include "weft/server/head_fields.h"
#include "weft/server/http_error.h"
#include "weft/server/response.h"

namespace weft::server {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::redirect_error;
using asio::use_awaitable;
using boost::system::error_code;

constexpr std::size_t kChunkHeaders = 65536;  // bytes around the content of a body, beside twice its length

// What the client is told about bytes that are no request; nothing where nobody listens any more.
std::optional<Reply> reply_to(const error_code& error, const ServerConfig& config) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return error_reply(
        status::kHeadTooLarge, "too_large",
        concat("the head of the request is longer than ", config.max_header_bytes, " bytes (max_header_bytes)"));
  }
  if (error == http::error::body_limit) {
    return error_reply(status::kTooLarge, "too_large",
                       concat("the body is longer than ", config.max_body_bytes, " bytes (max_body_bytes)"));
  }
  const bool malformed = error.category() == make_error_code(http::error::bad_method).category() &&
                         error != http::error::end_of_stream && error != http::error::partial_message;
  if (!malformed) {
    return std::nullopt;
  }
  return error_reply(status::kBadRequest, "bad_request", concat("this is no request of HTTP: ", error.message()));
}

// What a preflight is answered with: all that it asks for is in the head.
const Route& preflight_route() {
  static const Route route{.handle = [](const Request&) -> Answer { return Reply{.status = status::kNoContent}; },
                           .operation = {}};
  return route;
}

}  // namespace

Connection::Connection(Service& service, Socket socket)
    : service_(service),
      stream_(std::move(socket)),
      buffer_(static_cast<std::size_t>(service.config.max_header_bytes) + kChunkHeaders),
      place_(service.connections.insert(service.connections.end(), this)) {
  service_.metrics.connections(static_cast<std::int64_t>(service_.connections.size()));
}

Connection::~Connection() {
  service_.connections.erase(place_);
  service_.metrics.connections(static_cast<std::int64_t>(service_.connections.size()));
}

asio::awaitable<void> Connection::run() {
  const auto self = shared_from_this();
  bool more = true;
  while (more) {
    more = co_await exchange();
  }
  co_await linger();
}

bool Connection::idle() {
  error_code error;
  return reading_ && stream_.socket().is_open() && buffer_.size() == 0 && stream_.socket().available(error) == 0;
}

void Connection::close() { stream_.close(); }

// Reads one request and answers it. False: the connection ends.
asio::awaitable<bool> Connection::exchange() {
  const ServerConfig& config = service_.config;
  RequestParser parser;
  limit_parser(parser, config);
  stream_.expires_after(time_of(config.header_seconds));
  error_code error;
  reading_ = true;
  cross_origin_.clear();
  shape_ = ErrorShape::kPlain;
  co_await http::async_read_header(stream_, buffer_, parser, redirect_error(use_awaitable, error));
  reading_ = false;
  head_only_ = !error && parser.get().method() == http::verb::head;
  const auto since = std::chrono::steady_clock::now();
  std::optional<Reply> reply;
  Request request;
  Framing framing;
  if (error) {
    if (error == http::error::body_limit) {  // as its head says: all of it was read
      look_at(head_of(parser.get()), view(parser.get().method_string()));
    }
    reply = reply_to(error, config);
  } else if (const Route* route = admit(parser, request, reply); route != nullptr) {
    const bool whole = co_await read_body(parser, parser.get().count(http::field::expect) > 0);
    if (!whole) {
      co_return false;
    }
    framing = {.keep = parser.keep_alive(), .version = parser.get().version(), .takes_events = request.takes_events};
    request.body = std::move(parser.get().body());
    reply = co_await answer(*route, request, framing);
  }
  if (!reply) {
    co_return false;
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - since;
  service_.metrics.answered(service_.router.label(request.path), reply->status, taken.count());
  log_info(request.method.empty() ? "a request without a head that can be read"
                                  : concat(quote(request.method), " ", quote(request.path)),
           ": ", reply->status, " after ", taken.count(), " s");
  if (framing.ended) {
    co_return framing.keep && !service_.draining;
  }
  const unsigned version = parser.is_header_done() ? parser.get().version() : kHttp11;
  co_return co_await write(std::move(*reply), framing.keep && !service_.draining, version);
}

// Takes note of what belongs to every answer to a request with this head, whether or not it passes a check.
void Connection::look_at(const Head& head, std::string_view method) {
  cross_origin_ = cross_origin_fields(method, head, service_.config);
  std::string_view path = head.target.substr(0, head.target.find('?'));
  path.remove_suffix(path.size() > 1 && path.ends_with('/') ? 1 : 0);
  shape_ = service_.router.error_shape(std::string(path));
}

// The route of a head that passes every check; otherwise null, and why.
const Route* Connection::admit(const RequestParser& parser, Request& request, std::optional<Reply>& refusal) {
  try {
    const Head head = head_of(parser.get());
    check_framing(head);
    request.method = std::string(view(parser.get().method_string()));
    look_at(head, request.method);
    request.path = path_of(head.target);
    check_sender(head, service_.config);
    if (is_preflight(request.method, head, service_.config)) {
      return &preflight_route();
    }
    request.takes_events = takes_events(head);
    // Without a key nobody learns which paths there are.
    request.key_in_body =
        head.keys.empty() && request.method == "POST" && service_.router.takes_key_in_body(request.path);
    if (!service_.router.is_open(request.method, request.path) && !request.key_in_body) {
      service_.keys.check(head);
    }
    return &service_.router.find(request.method, request.path);
  } catch (const std::exception& failure) {
    refusal = error_reply(failure);
    refusal->allow = refusal->status == status::kNoMethod ? service_.router.methods(request.path) : "";
    return nullptr;
  }
}

// Reads the rest of the body within its bounds. False: the connection ends, and the client was told why.
asio::awaitable<bool> Connection::read_body(RequestParser& parser, bool asked) {
  const ServerConfig& config = service_.config;
  stream_.expires_after(time_of(config.body_seconds));
  error_code error;
  if (asked && !parser.is_done()) {
    http::response<http::empty_body> go_on(http::status::continue_, parser.get().version());
    co_await http::async_write(stream_, go_on, redirect_error(use_awaitable, error));
  }
  std::size_t bytes = 0;
  std::int64_t counted = 0;
  bool has_room = true;
  const std::size_t most = 2 * static_cast<std::size_t>(config.max_body_bytes) + kChunkHeaders;
  while (!error && has_room && !parser.is_done()) {
    bytes += co_await http::async_read_some(stream_, buffer_, parser, redirect_error(use_awaitable, error));
    if (!error && bytes > most) {
      error = http::error::body_limit;
    }
    has_room = this->has_room(parser, counted);
  }
  service_.body_bytes -= counted;
  if (!error && has_room) {
    co_return true;
  }
  std::optional<Reply> reply =
      error ? reply_to(error, config)
            : error_reply(status::kTooMany, "overloaded",
                          concat("the bodies that are being read have more than ", config.max_waiting_bytes,
                                 " bytes together (max_waiting_bytes)"));
  if (reply) {
    service_.metrics.answered("other", reply->status, 0);
    co_await write(std::move(*reply), false, parser.get().version());
  }
  co_return false;
}

// Counts what is there of a body. False: all bodies together are too many bytes, and this is no small one.
bool Connection::has_room(const RequestParser& parser, std::int64_t& counted) {
  constexpr std::int64_t kSmall = 65536;
  const auto bytes = static_cast<std::int64_t>(parser.get().body().size());
  service_.body_bytes += bytes - counted;
  counted = bytes;
  return bytes <= kSmall || service_.body_bytes <= service_.config.max_waiting_bytes;
}

asio::awaitable<bool> Connection::write(Reply reply, bool keep, unsigned version) {
  http::response<http::string_body> response(static_cast<http::status>(reply.status), version == 10 ? 10 : kHttp11);
  shape_error(reply, shape_);
  set_common_fields(response, reply.type, cross_origin_);
  if (reply.status == status::kTooMany || reply.status == status::kUnavailable) {
    response.set(http::field::retry_after, "1");
  }
  if (reply.status == status::kUnauthorized) {
    response.set(http::field::www_authenticate, "Bearer");
  }
  if (!reply.allow.empty()) {
    response.set(http::field::allow, reply.allow);
  }
  for (const auto& [name, value] : reply.headers) {
    response.set(name, value);
  }
  response.keep_alive(keep);
  response.body() = std::move(reply.body);
  response.prepare_payload();
  if (reply.status == status::kNoContent) {
    response.erase(http::field::content_length);
    response.erase(http::field::content_type);
  }
  stream_.expires_after(time_of(service_.config.body_seconds));
  error_code error;
  http::response_serializer<http::string_body> serializer(response);
  if (head_only_) {
    co_await http::async_write_header(stream_, serializer, redirect_error(use_awaitable, error));
  } else {
    co_await http::async_write(stream_, serializer, redirect_error(use_awaitable, error));
  }
  co_return keep && !error;
}

// A socket that is closed with unread bytes resets the connection, and the client may not see the answer: what comes is
// read and forgotten for a moment.
asio::awaitable<void> Connection::linger() {
  constexpr double kSeconds = 1;
  constexpr std::size_t kMost = 1 << 22;
  error_code error;
  stream_.socket().shutdown(Socket::shutdown_send, error);
  stream_.expires_after(time_of(kSeconds));
  std::array<char, 16384> forgotten{};
  for (std::size_t bytes = 0; !error && bytes < kMost && !service_.draining;) {
    bytes += co_await stream_.async_read_some(asio::buffer(forgotten), redirect_error(use_awaitable, error));
  }
  stream_.close();
}

}  // namespace weft::server
