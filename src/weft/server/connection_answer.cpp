// SPDX-License-Identifier: Apache-2.0
// From a handler to its answer: work waits in the queue, and its pieces, if the client wants them, are written as
// events while it is computed. The computing thread hands over text, and this thread writes it.
#include <chrono>
#include <utility>

#include <poll.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>

#include "weft/core/work/clients_work.h"
#include "weft/server/connection.h"
#include "weft/server/event_buffer.h"
#include "weft/server/http_error.h"
#include "weft/server/response.h"

namespace weft::server {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::redirect_error;
using asio::use_awaitable;
using boost::system::error_code;

constexpr int kGood = 200;
constexpr std::chrono::milliseconds kLookAgain{100};

// A reply as the event that ends a stream; its body is one line of JSON.
std::string last_event(const Reply& reply) {
  const std::string_view line = std::string_view(reply.body).substr(0, reply.body.find('\n'));
  return event_text(line, reply.status == kGood ? "result" : "error");
}

}  // namespace

// A request that the queue has, and the timer that wakes its connection.
struct Connection::Pending {
  Pending(asio::io_context& io, std::size_t most_bytes) : timer(io), looks(io), events(most_bytes) {}
  asio::steady_timer timer;
  asio::steady_timer looks;  // for a client that left behind bytes which nobody reads yet
  bool over = false;         // nobody looks any more
  EventBuffer events;
  std::optional<Reply> reply;
  std::shared_ptr<Ticket> ticket;
};

// What a handler says, at once or after its work; nothing where the client left.
asio::awaitable<std::optional<Reply>> Connection::answer(const Route& route, Request& request, Framing& framing) {
  std::optional<Reply> reply;
  std::optional<Work> work;
  try {
    if (request.key_in_body) {
      service_.keys.check_key(key_of(request));
    }
    const ClientsWork for_clients;
    Answer given = route.handle(request);
    if (auto* at_once = std::get_if<Reply>(&given)) {
      reply = std::move(*at_once);
    } else {
      work = std::move(std::get<Work>(given));
    }
    request.body = {};  // its texts are in the work
  } catch (const std::exception& failure) {
    reply = error_reply(failure);
  }
  if (work) {
    reply = co_await computed(std::move(*work), framing);
  }
  co_return reply;
}

// Hands the work to the queue, whose thread tells this one of pieces and of the reply. Errors: those of the queue.
void Connection::submit(const std::shared_ptr<Pending>& pending, Work work, bool streams) {
  asio::io_context& io = service_.io;
  const auto done = [pending, &io](Reply reply) {
    asio::post(io, [pending, reply = std::move(reply)]() mutable {
      pending->reply = std::move(reply);
      pending->timer.cancel();
    });
  };
  const auto piece = [pending, &io](const formats::Json& one) {
    const EventBuffer::Added added = pending->events.add(event_text(formats::print_json(one)));
    if (added == EventBuffer::Added::kFirst) {
      asio::post(io, [pending] { pending->timer.cancel(); });
    }
    return added != EventBuffer::Added::kRefused;
  };
  WorkQueue& queue = work.light ? service_.light : service_.queue;
  pending->ticket = queue.submit(std::move(work), done, streams ? WorkQueue::Piece(piece) : WorkQueue::Piece());
}

void Connection::note_who_left(Pending& pending) {
  if (client_left()) {
    pending.ticket->gone = true;
    pending.timer.cancel();
  }
}

// Takes note when the client closes while nothing is read from it.
void Connection::watch(const std::shared_ptr<Pending>& pending) {
  stream_.socket().async_wait(Socket::wait_read, [pending, self = shared_from_this()](const error_code& error) {
    if (!error && !pending->over) {
      self->note_who_left(*pending);
      self->look_again(pending);
    }
  });
}

// Bytes of a next request are there. They stay with the system, whose buffer is bounded, and hide no end: the system is
// asked for that.
void Connection::look_again(const std::shared_ptr<Pending>& pending) {
  if (pending->over || pending->ticket->gone) {
    return;
  }
  pending->looks.expires_after(kLookAgain);
  pending->looks.async_wait([pending, self = shared_from_this()](const error_code& error) {
    if (!error && !pending->over) {
      self->note_who_left(*pending);
      self->look_again(pending);
    }
  });
}

// What the client is told in the end.
Reply Connection::reply_of(Pending& pending) const {
  const ServerConfig& config = service_.config;
  if (pending.events.overflowed()) {
    return error_reply(status::kUnavailable, "too_slow",
                       concat("the client is more than ", config.max_stream_bytes,
                              " bytes behind what was computed for it (max_stream_bytes)"));
  }
  if (!pending.reply) {
    return error_reply(status::kUnavailable, "timeout",
                       concat("the answer was not ready after ", config.answer_seconds, " seconds (answer_seconds)"));
  }
  return std::move(*pending.reply);
}

// Waits for the models, and writes the pieces of an answer as they come; nothing where the client left.
asio::awaitable<std::optional<Reply>> Connection::computed(Work work, Framing& framing) {
  const ServerConfig& config = service_.config;
  const auto pending = std::make_shared<Pending>(service_.io, static_cast<std::size_t>(config.max_stream_bytes));
  pending->timer.expires_after(time_of(config.answer_seconds));
  const bool streams = work.streams || framing.takes_events;
  std::optional<Reply> refused;
  try {
    submit(pending, std::move(work), streams);
  } catch (const std::exception& failure) {
    refused = error_reply(failure);
  }
  if (refused) {
    co_return refused;
  }
  framing.ticket = pending->ticket;
  stream_.expires_never();
  watch(pending);
  error_code waited = asio::error::operation_aborted;
  while (waited && !pending->reply && !pending->ticket->gone) {
    const std::string events = pending->events.take();
    if (events.empty()) {
      co_await pending->timer.async_wait(redirect_error(use_awaitable, waited));
      continue;
    }
    const bool written = co_await write_events(events, framing);
    pending->ticket->gone = pending->ticket->gone || !written;
  }
  const bool left = pending->ticket->gone.exchange(true);
  pending->over = true;
  pending->looks.cancel();
  error_code error;
  stream_.socket().cancel(error);
  if (left && !pending->reply) {
    co_return std::nullopt;
  }
  Reply reply = reply_of(*pending);
  shape_error(reply, shape_);
  if (framing.begun || (streams && reply.status == kGood)) {
    const std::string last = concat(pending->events.take(), last_event(reply));
    co_await end_events(last, framing);
  }
  co_return reply;
}

// Writes events, behind the head of their answer where they are the first. False: the connection has ended.
asio::awaitable<bool> Connection::write_events(const std::string& events, Framing& framing) {
  error_code error;
  stream_.expires_after(time_of(service_.config.body_seconds));
  const bool chunked = framing.version != kHttp10;  // HTTP/1.0 ends an answer by closing the connection
  if (!framing.begun) {
    framing.begun = true;
    framing.keep = framing.keep && chunked;
    http::response<http::empty_body> head(http::status::ok, chunked ? kHttp11 : kHttp10);
    set_common_fields(head, "text/event-stream", cross_origin_);
    head.keep_alive(framing.keep && !service_.draining);
    if (chunked) {
      head.chunked(true);
    }
    http::response_serializer<http::empty_body> serializer(head);
    co_await http::async_write_header(stream_, serializer, redirect_error(use_awaitable, error));
  }
  if (!error && chunked) {
    co_await asio::async_write(stream_, http::make_chunk(asio::buffer(events)), redirect_error(use_awaitable, error));
  } else if (!error) {
    co_await asio::async_write(stream_, asio::buffer(events), redirect_error(use_awaitable, error));
  }
  stream_.expires_never();
  co_return !error;
}

// The last events, and the end of the answer.
asio::awaitable<void> Connection::end_events(const std::string& events, Framing& framing) {
  framing.ended = true;
  const bool written = co_await write_events(events, framing);
  error_code error;
  if (written && framing.version != kHttp10) {
    stream_.expires_after(time_of(service_.config.body_seconds));
    co_await asio::async_write(stream_, http::make_chunk_last(), redirect_error(use_awaitable, error));
  }
  framing.keep = framing.keep && written && !error;
}

// Whether the other side has closed, as far as the system knows, whatever it sent before.
bool Connection::client_left() {
  pollfd state{.fd = stream_.socket().native_handle(), .events = POLLRDHUP, .revents = 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
}

}  // namespace weft::server
