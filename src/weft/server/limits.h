// SPDX-License-Identifier: Apache-2.0
// Where the server listens, and the bounds on what a client may ask of it. Every bound has a deadline or a size, so
// that no client can hold memory or a connection for longer than these say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/fields.h"

namespace weft::server {

struct ServerConfig {
  std::string address = "127.0.0.1";
  std::int64_t port = 4321;
  std::string unix_socket;
  std::vector<std::string> allowed_hosts;
  std::vector<std::string> allowed_origins;
  std::string api_key_file;
  std::int64_t max_header_bytes = 8192;
  std::int64_t max_body_bytes = 2 << 20;
  std::int64_t max_connections = 1024;
  std::int64_t max_in_flight = 512;
  std::int64_t max_text_bytes = 512 << 10;
  std::int64_t max_request_texts = 4096;
  std::int64_t max_answer_bytes = 32 << 20;
  std::int64_t max_waiting_bytes = 256 << 20;
  std::int64_t max_batch_bytes = 16384;
  std::int64_t max_batch_texts = 32;
  std::int64_t max_stream_bytes = 1 << 20;
  double header_seconds = 20;
  double body_seconds = 30;
  double answer_seconds = 600;
  double drain_seconds = 30;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    address_fields(visit);
    size_fields(visit);
    time_fields(visit);
  }

 private:
  /// Where it listens, and to whom.
  template <typename Visitor>
  static void address_fields(Visitor& visit) {
    using C = ServerConfig;
    visit(Field{"address", &C::address, "address to listen on; others than this machine reach 0.0.0.0 and ::"});
    visit(Field{"port", &C::port, "port to listen on; 0 for a free one, which is printed"}.range(0, 65535));
    visit(Field{"unix_socket", &C::unix_socket, "listen on this socket file in place of an address and a port"});
    visit(Field{"allowed_hosts", &C::allowed_hosts,
                "names that a request's Host may have beside localhost and addresses in digits"});
    visit(Field{"allowed_origins", &C::allowed_origins,
                "origins of pages that may send requests and read answers in browsers, such as https://example.org"});
    visit(Field{"api_key_file", &C::api_key_file,
                "file with a key a line; requests must then have the header 'Authorization: Bearer KEY'"});
  }

  /// What a request may hold, and all of them together.
  template <typename Visitor>
  static void size_fields(Visitor& visit) {
    using C = ServerConfig;
    visit(Field{"max_header_bytes", &C::max_header_bytes, "longest head of a request"}.range(256, 1 << 20));
    visit(Field{"max_body_bytes", &C::max_body_bytes, "longest body of a request"}.range(1, 1 << 30));
    visit(Field{"max_connections", &C::max_connections, "connections at once; more are closed"}.range(1, 1 << 16));
    visit(Field{"max_in_flight", &C::max_in_flight,
                "requests that wait for a model or are computed; more are answered with 429"}
              .range(1, 1 << 16));
    visit(Field{"max_text_bytes", &C::max_text_bytes,
                "longest text or prompt of a request; it is tokenised without a pause"}
              .range(1, 1 << 30));
    visit(
        Field{"max_request_texts", &C::max_request_texts, "texts of one request, choices and prompts among them"}.range(
            1, 1 << 20));
    visit(Field{"max_answer_bytes", &C::max_answer_bytes,
                "longest answer that a request may ask for, estimated before it is computed"}
              .range(1, 1 << 30));
    visit(Field{"max_waiting_bytes", &C::max_waiting_bytes,
                "texts and answers of all requests that wait, are computed or are being sent; more are answered with "
                "429"}
              .range(1, std::int64_t{1} << 40));
    visit(Field{"max_batch_bytes", &C::max_batch_bytes,
                "bytes of text from several requests that are computed together; a longer text goes alone"}
              .range(1, 1 << 30));
    visit(Field{"max_batch_texts", &C::max_batch_texts, "texts from several requests that are computed together"}.range(
        1, 1 << 16));
    visit(Field{"max_stream_bytes", &C::max_stream_bytes,
                "bytes of events that wait for a client which reads slowly; with more its stream ends"}
              .range(256, 1 << 30));
  }

  /// How long anything may take.
  template <typename Visitor>
  static void time_fields(Visitor& visit) {
    using C = ServerConfig;
    constexpr double kDay = 86400;
    visit(Field{"header_seconds", &C::header_seconds,
                "time for the whole head of a request, and longest rest of a connection between two"}
              .range(0.01, kDay));
    visit(Field{"body_seconds", &C::body_seconds, "time for the whole body of a request, and for reading an answer"}
              .range(0.01, kDay));
    visit(Field{"answer_seconds", &C::answer_seconds, "time for waiting and computing; then the answer is 503"}.range(
        0.01, kDay));
    visit(Field{"drain_seconds", &C::drain_seconds,
                "time that requests have after SIGTERM until their connections are closed"}
              .range(0, kDay));
  }
};

}  // namespace weft::server
