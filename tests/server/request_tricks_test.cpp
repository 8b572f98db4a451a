// SPDX-License-Identifier: Apache-2.0
// Messages that two servers could read in two ways (RFC 9112, section 11.2), byte by byte and at once: the parser or
// the guards refuse each, so that no request hides in the body of another.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/buffer.hpp>

#include "weft/server/head_fields.h"
#include "weft/server/http_error.h"

namespace weft::server {
namespace {

constexpr std::string_view kBody = R"({"text": "a man"})";  // 17 bytes

struct Reading {
  bool refused = false;
  bool done = false;
  std::string body;
  std::size_t rest = 0;  // bytes behind the message, which are the next one's
};

// As a connection reads: the head first, then the guards, then the body.
Reading reading_of(std::string_view bytes, std::size_t step) {
  RequestParser parser;
  limit_parser(parser, {});
  Reading reading;
  std::size_t begin = 0;
  bool admitted = false;
  for (std::size_t end = 0; !reading.refused && !parser.is_done() && end < bytes.size();) {
    end = std::min(bytes.size(), end + step);
    for (std::size_t taken = 1; taken > 0 && !reading.refused && !parser.is_done();) {
      boost::system::error_code error;
      taken = parser.put(boost::asio::buffer(bytes.data() + begin, end - begin), error);
      begin += taken;
      reading.refused = error && error != boost::beast::http::error::need_more;
      taken = error ? 0 : taken;
      if (parser.is_header_done() && !std::exchange(admitted, true)) {
        try {
          check_framing(head_of(parser.get()));
        } catch (const HttpError&) {
          reading.refused = true;
        }
        parser.eager(true);
      }
    }
  }
  reading.done = !reading.refused && parser.is_done();
  reading.body = parser.get().body();
  reading.rest = bytes.size() - begin;
  return reading;
}

std::string message(const std::string& fields, const std::string& body, const std::string& first = "POST /a HTTP/1.1") {
  return first + "\r\nHost: localhost\r\n" + fields + "\r\n" + body;
}

// Every way in which a length can be said twice, wrongly, or in disguise.
std::vector<std::string> doubtful_heads() {
  std::vector<std::string> all;
  for (const char* length : {"17, 17", "17,17", "+17", "-17", "0x11", "17 17", "1e1", "17.0", "17;", "seventeen", "",
                             "99999999999999999999"}) {
    all.push_back(message(std::string("Content-Length: ") + length + "\r\n", std::string(kBody)));
  }
  const std::string chunked = "11\r\n" + std::string(kBody) + "\r\n0\r\n\r\n";
  for (const char* coding : {"chunked, identity", "identity, chunked", "chunked, chunked", "gzip, chunked", "xchunked",
                             "chunked;q=1", "\"chunked\"", "chunke", "identity", "chunked,", "\vchunked", ""}) {
    all.push_back(message(std::string("Transfer-Encoding: ") + coding + "\r\n", chunked));
  }
  for (const char* fields : {"Content-Length: 17\r\nContent-Length: 17\r\n",
                             "Content-Length: 17\r\ncontent-length: 3\r\n",
                             "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                             "Content-Length: 17\r\nTransfer-Encoding: chunked\r\n",
                             "Transfer-Encoding: chunked\r\nContent-Length: 17\r\n",
                             "Transfer-Encoding: identity\r\nContent-Length: 17\r\n",
                             "Transfer-Encoding : chunked\r\n",
                             " Transfer-Encoding: chunked\r\n",
                             "X: y\r\n\tTransfer-Encoding: chunked\r\n",
                             "Transfer-Encoding:\r\n chunked\r\n",
                             "Content-Length:\r\n\t17\r\n",
                             "Transfer-Encoding\t: chunked\r\n",
                             "Content-Length : 17\r\n",
                             "Content Length: 17\r\n",
                             "Content-Length: 17\nX: y\r\n",
                             "X: y\rContent-Length: 17\r\n",
                             "X: y\nTransfer-Encoding: chunked\r\n",
                             "\r\rX: y\r\n",
                             "X\x01: y\r\n",
                             ": y\r\n",
                             "no field\r\n",
                             "Expect: 100-continue, x\r\n"}) {
    all.push_back(message(fields, chunked));
  }
  all.push_back(message(std::string("X: a\0b\r\n", 8), ""));
  all.push_back(message("Transfer-Encoding: chunked\r\n", chunked, "POST /a HTTP/1.0"));
  for (const char* first : {"POST /a HTTP/1.1 x", "POST  /a HTTP/1.1", "POST /a  HTTP/1.1", "POST /a HTTP/2.0",
                            "POST /a HTTP/0.9", "POST /a HTTP/1.2", "POST /a http/1.1", "POST /a", "POST\t/a HTTP/1.1",
                            " POST /a HTTP/1.1", "PRI * HTTP/2.0"}) {
    all.push_back(message("Content-Length: 0\r\n", "", first));
  }
  return all;
}

std::vector<std::string> doubtful_chunks() {
  std::vector<std::string> all;
  const std::string body(kBody);
  for (const std::string& chunks : std::vector<std::string>{
           "-2\r\n" + body + "\r\n0\r\n\r\n", "0x11\r\n" + body + "\r\n0\r\n\r\n", "+11\r\n" + body + "\r\n0\r\n\r\n",
           " 11\r\n" + body + "\r\n0\r\n\r\n", "10000000000000011\r\n" + body + "\r\n0\r\n\r\n",
           "ffffffffffffffff1\r\n" + body + "\r\n0\r\n\r\n", "\r\n" + body + "\r\n0\r\n\r\n",
           "11\n" + body + "\r\n0\r\n\r\n", "11\r" + body + "\r\n0\r\n\r\n", "11\r\n" + body + "x\r\n0\r\n\r\n",
           "10\r\n" + body + "\r\n0\r\n\r\n", "11\r\n" + body + "0\r\n\r\n", "11\r\n" + body + "\n0\r\n\r\n",
           "11 x\r\n" + body + "\r\n0\r\n\r\n", "11\r\n" + body + "\r\n0\r\nno field\r\n\r\n",
           "11\r\n" + body + "\r\n0\r\nX : y\r\n\r\n", "11\r\n" + body + "\r\n0\r\nContent-Length: 5\r\n\r\n",
           "11\r\n" + body + "\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n", "g\r\n"}) {
    all.push_back(message("Transfer-Encoding: chunked\r\n", chunks));
  }
  return all;
}

TEST(RequestTricks, DoubtfulMessagesAreRefused) {
  for (const auto& messages : {doubtful_heads(), doubtful_chunks()}) {
    for (const std::string& text : messages) {
      for (const std::size_t step : {text.size(), std::size_t{1}}) {
        const Reading reading = reading_of(text + "GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n", step);
        EXPECT_TRUE(reading.refused) << "step " << step << ", " << text;
      }
    }
  }
}

TEST(RequestTricks, PlainMessagesEndWhereTheySay) {
  const std::string body(kBody);
  const std::string next = "GET /b HTTP/1.1\r\n\r\n";
  for (const std::string& text :
       {message("Content-Length: 17\r\n", body), message("content-length:\t17 \r\n", body),
        message("Transfer-Encoding: Chunked\r\n", "11\r\n" + body + "\r\n0\r\n\r\n"),
        message("Transfer-Encoding: chunked\r\n",
                "1;name=\"value\"\r\n{\r\n0010\r\n" + body.substr(1) + "\r\n000\r\nX-Trailer: y\r\n\r\n"),
        message("Content-Length: 00017\r\nExpect: 100-continue\r\n", body)}) {
    for (const std::size_t step : {text.size() + next.size(), std::size_t{1}, std::size_t{7}}) {
      const Reading reading = reading_of(text + next, step);
      EXPECT_TRUE(reading.done) << "step " << step << ", " << text;
      EXPECT_EQ(reading.body, body) << "step " << step << ", " << text;
      if (step > text.size()) {
        EXPECT_EQ(reading.rest, next.size()) << text;
      }
    }
  }
}

// Nothing is read as whole before its last byte is there.
TEST(RequestTricks, APartIsNeverTheWhole) {
  for (const std::string& text :
       {message("Content-Length: 17\r\n", std::string(kBody)),
        message("Transfer-Encoding: chunked\r\n", "11\r\n" + std::string(kBody) + "\r\n0\r\n\r\n")}) {
    for (std::size_t length = 0; length < text.size(); ++length) {
      const Reading reading = reading_of(std::string_view(text).substr(0, length), 5);
      EXPECT_FALSE(reading.done) << length;
      EXPECT_FALSE(reading.refused) << length;
    }
  }
}

}  // namespace
}  // namespace weft::server
