// SPDX-License-Identifier: Apache-2.0
// Accepting connections, and the two stages of stopping: first idle connections are closed and others finish their
// request; after drain_seconds, or at a second signal, all are closed, and work ends where it looks next.
#include "weft/server/server.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <thread>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "weft/core/interrupt.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/server/connection.h"
#include "weft/server/http_error.h"
#include "weft/server/openapi.h"
#include "weft/server/schemas.h"
#include "weft/server/socket_file.h"
#include "weft/server/work/last_end.h"

namespace weft::server {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using Local = asio::local::stream_protocol;
using boost::system::error_code;

// Files beside connections: models, libraries, logs.
constexpr rlim_t kOtherFiles = 256;
constexpr std::chrono::milliseconds kRetry{100};
constexpr const char* kMetricsType = "text/plain; version=0.0.4";

void allow_connections(std::int64_t count) {
  rlimit limit{};
  const rlim_t wanted = static_cast<rlim_t>(count) + kOtherFiles;
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < wanted) {
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

asio::awaitable<void> serve_client(std::shared_ptr<Connection> connection) { co_await connection->run(); }

}  // namespace

// In no anonymous namespace: the frames of its coroutines hold it.
class Server {
 public:
  Server(const ServerConfig& config, Router router, const std::string& figures)
      : config_(config),
        router_(std::move(router)),
        keys_(config.api_key_file.empty() ? ApiKeys() : ApiKeys(config.api_key_file)),
        metrics_(figures),
        queue_(config, metrics_),
        light_(config, metrics_, Lane::kLight),
        service_{config_, router_, keys_, metrics_, queue_, light_, io_} {
    add_own_routes();
    allow_connections(config.max_connections);
  }

  void run(const std::function<void(const std::string&)>& listening) {
    const std::string where = listen();
    wait_for_signal();
    compute([&] { listening(where); });
    socket_file_.reset();
  }

 private:
  // The calling thread gives way to the others where there are more of them than processors. The threads of a product
  // wait for each other: where one of them loses its processor for a moment, all of them stand still.
  static void step_back() noexcept {
    constexpr int kNice = 10;  // about a tenth of a processor that others want, all of it where nobody else does
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
  }

  // Until the server ends.
  void compute(const std::function<void()>& listening) {
    LastEnd last_end;  // waits for nobody once the threads have ended
    last_end_ = &last_end;
    std::thread connections([this] { run_until_it_returns("a connection", [this] { io_.run(); }); });
    std::thread light([this] {
      step_back();
      run_until_it_returns("work without a model", [this] { light_.run(); });
    });
    try {
      listening();
      queue_.run();
    } catch (...) {
      asio::post(io_, [this] { end(); });
      connections.join();
      light.join();
      throw;
    }
    connections.join();
    light.join();
  }

  void add_own_routes() {
    const formats::Json said = object_schema({{"status", string_schema("ok, or ready")}}, {"status"});
    router_.add("GET", "/health", [](const Request&) -> Answer { return json_reply({{"status", "ok"}}); },
                {.summary = "Whether the program runs.", .answer = said});
    router_.add("GET", "/ready",
                [this](const Request&) -> Answer {
                  return service_.draining ? error_reply(status::kUnavailable, "unavailable", "the server is stopping")
                                           : json_reply({{"status", "ready"}});
                },
                {.summary = "Whether it takes requests; 503 once it is stopping.", .answer = said});
    router_.add("GET", "/metrics",
                [this](const Request&) -> Answer { return Reply{.body = metrics_.text(), .type = kMetricsType}; },
                {.summary = "Figures for Prometheus.", .type = kMetricsType});
    router_.add("GET", "/openapi.json", [this](const Request&) -> Answer { return json_reply(description_); },
                {.summary = "This description.", .answer = {{"type", "object"}}});
    for (const char* path : {"/health", "/ready", "/metrics"}) {
      router_.open(path);
    }
    description_ = openapi(router_, !config_.api_key_file.empty());
  }

  // What one connection throws, for want of memory, ends that one.
  static void run_until_it_returns(const char* what, const std::function<void()>& run) {
    while (true) {
      try {
        run();
        return;
      } catch (const std::exception& failure) {
        log_error(what, " failed: ", failure.what());
      }
    }
  }

  std::string listen() {
    if (!config_.unix_socket.empty()) {
      return listen_at_file();
    }
    try {
      return listen_at_address();
    } catch (const boost::system::system_error& failure) {
      throw Error(ErrorKind::kIo,
                  concat("cannot listen on ", config_.address, ", port ", config_.port, ": ", failure.code().message()),
                  concat(option("port"), " 0 takes a free port"));
    }
  }

  std::string listen_at_address() {
    error_code error;
    const asio::ip::address address = asio::ip::make_address(config_.address, error);
    require(!error, "the address to listen on is ", Quoted(config_.address), "; expected digits, as 127.0.0.1 or ::1");
    tcp_ = std::make_unique<Tcp::acceptor>(io_, Tcp::endpoint(address, static_cast<std::uint16_t>(config_.port)));
    asio::co_spawn(io_, accept(*tcp_), asio::detached);
    const std::string host = address.is_v6() ? "[" + address.to_string() + "]" : address.to_string();
    return concat("http://", host, ":", tcp_->local_endpoint().port());
  }

  std::string listen_at_file() {
    socket_file_ = std::make_unique<SocketFile>(config_.unix_socket);
    local_ = std::make_unique<Local::acceptor>(io_, Local(), socket_file_->release());
    asio::co_spawn(io_, accept(*local_), asio::detached);
    return "unix:" + config_.unix_socket;
  }

  template <typename Acceptor>
  asio::awaitable<void> accept(Acceptor& acceptor) {
    while (acceptor.is_open()) {
      error_code error;
      auto socket = co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, error));
      if (error == asio::error::operation_aborted || service_.draining) {
        co_return;
      }
      if (error) {  // no file descriptor is left, for instance: some will be
        asio::steady_timer timer(io_, kRetry);
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
        continue;
      }
      if constexpr (std::is_same_v<Acceptor, Tcp::acceptor>) {
        socket.set_option(Tcp::no_delay(true), error);
      }
      start(Socket(std::move(socket)));
    }
  }

  // Where there is no room, the oldest connection that does nothing makes some.
  void start(Socket socket) {
    auto& all = service_.connections;
    if (static_cast<std::int64_t>(all.size()) >= config_.max_connections) {
      const auto idle = std::ranges::find_if(all, [](Connection* one) { return one->idle(); });
      if (idle == all.end()) {
        return;
      }
      (*idle)->close();
    }
    auto connection = std::make_shared<Connection>(service_, std::move(socket));
    asio::co_spawn(io_, serve_client(std::move(connection)), [this](const std::exception_ptr& failure) {
      if (failure) {
        log_error("a connection ended early: not enough memory, or a failure of the system");
      }
      end_if_drained();
    });
  }

  void wait_for_signal() {
    signals_.async_wait([this](const error_code& error, int) {
      if (!error) {
        service_.draining ? end() : drain();
      }
    });
  }

  void drain() {
    service_.draining = true;
    wait_for_signal();
    close_acceptors();
    const std::list<Connection*> all = service_.connections;
    for (Connection* connection : all) {
      if (connection->idle()) {
        connection->close();
      }
    }
    deadline_.expires_after(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(config_.drain_seconds)));
    deadline_.async_wait([this](const error_code& error) {
      if (!error) {
        log_warning("closing ", service_.connections.size(), " connections that did not end in time");
        end();
      }
    });
    end_if_drained();
  }

  void end_if_drained() {
    if (service_.draining && service_.connections.empty()) {
      end();
    }
  }

  void end() {
    close_acceptors();
    queue_.stop();
    light_.stop();
    io_.stop();
    last_end_->begin([this] {
      if (socket_file_) {
        socket_file_->remove();
      }
    });
  }

  void close_acceptors() {
    error_code error;
    if (tcp_) {
      tcp_->close(error);
    }
    if (local_) {
      local_->close(error);
    }
  }

  // A guard within a request would take the signal that ends the server, and end that request.
  const SignalsHandledElsewhere signals_are_ours_;
  const ServerConfig& config_;
  Router router_;
  formats::Json description_;
  ApiKeys keys_;
  Metrics metrics_;
  WorkQueue queue_;
  WorkQueue light_;
  Service service_;
  // Destroys connections that still live, which take themselves out of the service's list: it is destroyed before that.
  asio::io_context io_{1};
  std::unique_ptr<Tcp::acceptor> tcp_;
  std::unique_ptr<Local::acceptor> local_;
  std::unique_ptr<SocketFile> socket_file_;
  LastEnd* last_end_ = nullptr;
  asio::signal_set signals_{io_, SIGINT, SIGTERM};
  asio::steady_timer deadline_{io_};
};

void run_server(const ServerConfig& config, Router router, const std::function<void(const std::string&)>& listening,
                const std::string& figures) {
  Server(config, std::move(router), figures).run(listening);
}

}  // namespace weft::server
