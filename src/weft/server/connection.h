// SPDX-License-Identifier: Apache-2.0
// One client's connection: it reads a request within its bounds and deadlines, has it answered, and reads the next.
// Everything here runs on the thread of the connections.
#pragma once

#include <list>
#include <memory>
#include <optional>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include "weft/server/head_fields.h"
#include "weft/server/router.h"
#include "weft/server/work/work_queue.h"

namespace weft::server {

using Socket = boost::asio::generic::stream_protocol::socket;

class Connection;

/// What all connections share.
struct Service {
  const ServerConfig& config;
  const Router& router;
  const ApiKeys& keys;
  Metrics& metrics;
  WorkQueue& queue;
  WorkQueue& light;  ///< of work that needs no model
  boost::asio::io_context& io;
  std::list<Connection*> connections = {};  ///< the oldest first
  std::int64_t body_bytes = 0;              ///< of all bodies that are being read
  bool draining = false;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Service& service, Socket socket);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Serves requests until the client, an error or draining ends it.
  boost::asio::awaitable<void> run();
  /// Whether it waits for a request of which nothing has come.
  bool idle();
  /// Ends it at once.
  void close();

 private:
  struct Pending;
  /// How an answer is written.
  struct Framing {
    bool keep = false;
    unsigned version = 11;
    bool takes_events = false;
    bool begun = false;                   ///< the head of a stream is written
    bool ended = false;                   ///< and so is its end
    std::shared_ptr<Ticket> ticket = {};  ///< what is not written yet waits
  };

  boost::asio::awaitable<bool> exchange();
  void look_at(const Head& head, std::string_view method);
  const Route* admit(const RequestParser& parser, Request& request, std::optional<Reply>& refusal);
  boost::asio::awaitable<bool> read_body(RequestParser& parser, bool asked);
  bool has_room(const RequestParser& parser, std::int64_t& counted);
  boost::asio::awaitable<std::optional<Reply>> answer(const Route& route, Request& request, Framing& framing);
  boost::asio::awaitable<std::optional<Reply>> computed(Work work, Framing& framing);
  void submit(const std::shared_ptr<Pending>& pending, Work work, bool streams);
  void watch(const std::shared_ptr<Pending>& pending);
  void look_again(const std::shared_ptr<Pending>& pending);
  void note_who_left(Pending& pending);
  Reply reply_of(Pending& pending) const;
  boost::asio::awaitable<bool> write_events(const std::string& events, Framing& framing);
  boost::asio::awaitable<void> end_events(const std::string& events, Framing& framing);
  boost::asio::awaitable<bool> write(Reply reply, bool keep, unsigned version);
  boost::asio::awaitable<void> linger();
  bool client_left();

  Service& service_;
  boost::beast::basic_stream<boost::asio::generic::stream_protocol> stream_;
  boost::beast::flat_buffer buffer_;
  std::list<Connection*>::iterator place_;
  bool reading_ = false;                   // the head of a request
  bool head_only_ = false;                 // the request is HEAD: the answer has no body, but its length
  Fields cross_origin_;                    // fields of the answer for pages of other origins
  ErrorShape shape_ = ErrorShape::kPlain;  // of errors at the request's path
};

}  // namespace weft::server
