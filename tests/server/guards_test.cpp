// SPDX-License-Identifier: Apache-2.0
// Heads that are refused, and with which status; keys; paths.
#include "weft/server/guards.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "weft/server/http_error.h"
#include "weft/server/router.h"

namespace weft::server {
namespace {

template <typename Check>
int status_of(const Check& check) {
  try {
    check();
  } catch (const HttpError& error) {
    return error.status();
  }
  return 200;
}

TEST(Guards, FramingHasOneReading) {
  const auto status = [](const Head& head) { return status_of([&] { check_framing(head); }); };
  EXPECT_EQ(status({}), 200);
  EXPECT_EQ(status({.lengths = {"5"}}), 200);
  EXPECT_EQ(status({.transfers = {"Chunked"}}), 200);
  EXPECT_EQ(status({.lengths = {"5"}, .transfers = {"chunked"}}), 400);
  EXPECT_EQ(status({.lengths = {"5", "5"}}), 400);
  EXPECT_EQ(status({.transfers = {"chunked", "identity"}}), 400);
  EXPECT_EQ(status({.transfers = {"gzip, chunked"}}), 501);
  EXPECT_EQ(status({.transfers = {"xchunked"}}), 501);
  EXPECT_EQ(status({.version = 10, .transfers = {"chunked"}}), 400);
  EXPECT_EQ(status({.version = 20}), 505);
  EXPECT_EQ(status({.encodings = {"gzip"}}), 415);
  EXPECT_EQ(status({.expects = {"a miracle"}}), 417);
}

TEST(Guards, SendersAreKnown) {
  ServerConfig config;
  config.allowed_hosts = {"weft.example"};
  config.allowed_origins = {"https://pages.example"};
  const auto status = [&](const Head& head) { return status_of([&] { check_sender(head, config); }); };
  for (const char* host :
       {"localhost", "LOCALHOST:4321", "127.0.0.1:4321", "[::1]:4321", "10.0.0.5", "weft.example:80"}) {
    EXPECT_EQ(status({.hosts = {host}}), 200) << host;
  }
  for (const char* host :
       {"evil.example", "127.0.0.1.evil.example", "localhost:4321:1", "localhost:x", "[::1", "", "1.2.3.4@evil"}) {
    EXPECT_EQ(status({.hosts = {host}}), 403) << host;
  }
  EXPECT_EQ(status({}), 400);
  EXPECT_EQ(status({.version = 10}), 200);
  EXPECT_EQ(status({.hosts = {"localhost", "localhost"}}), 400);
  EXPECT_EQ(status({.hosts = {"localhost:4321"}, .origins = {"http://localhost:4321"}}), 200);
  EXPECT_EQ(status({.hosts = {"localhost:4321"}, .origins = {"https://pages.example"}}), 200);
  for (const char* origin : {"http://localhost:4322", "https://localhost:4321", "null", "http://evil.example"}) {
    EXPECT_EQ(status({.hosts = {"localhost:4321"}, .origins = {origin}}), 403) << origin;
  }
}

TEST(Guards, PathsHaveNoQueryAndNoLastSlash) {
  EXPECT_EQ(path_of("/translate/?a=/b"), "/translate");
  EXPECT_EQ(path_of("/"), "/");
  for (const char* target : {"", "*", "http://localhost/translate", "translate", "/a#b"}) {
    EXPECT_EQ(status_of([&] { (void)path_of(target); }), 400) << target;
  }
}

TEST(Guards, KeysAreAskedFor) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "weft_keys_test.txt";
  std::ofstream(path) << "# keys\n\nfirst key\nsecond\r\n";
  const ApiKeys keys(path);
  const auto status = [&](const Head& head) { return status_of([&] { keys.check(head); }); };
  EXPECT_EQ(status({.keys = {"Bearer second"}}), 200);
  EXPECT_EQ(status({.keys = {"bearer first key"}}), 200);
  for (const char* key : {"Bearer ", "Bearer", "Bearer secon", "Bearer second ", "Basic second", "second", ""}) {
    EXPECT_EQ(status({.keys = {key}}), 401) << key;
  }
  EXPECT_EQ(status({.keys = {"Bearer second", "Bearer second"}}), 401);
  EXPECT_EQ(status({}), 401);
  EXPECT_EQ(status_of([] { ApiKeys().check({}); }), 200);
  using namespace std::string_literals;
  for (const std::string& bytes : {"\xEF\xBB\xBF"s + "key\nother\n", "\xEF\xBB\xBF# keys\r\nkey\r\n"s,
                                   "\xFF\xFEk\0e\0y\0\n\0"s, "\xFE\xFF\0k\0e\0y"s}) {
    std::ofstream(path, std::ios::binary) << bytes;
    const ApiKeys marked(path);
    EXPECT_EQ(status_of([&] { marked.check({.keys = {"Bearer key"}}); }), 200) << bytes;
    EXPECT_EQ(status_of([&] { marked.check({.keys = {"Bearer \xEF\xBB\xBFkey"}}); }), 401) << bytes;
  }
  std::ofstream(path) << "# none\n";
  EXPECT_THROW(ApiKeys{path}, Error);
  std::filesystem::remove(path);
  EXPECT_THROW(ApiKeys{path}, Error);
}

TEST(Router, PathsAndMethods) {
  Router router;
  const Handler handler = [](const Request&) -> Answer { return Reply{}; };
  router.add("GET", "/a", handler, {});
  router.add("POST", "/a", handler, {});
  router.open("/a");
  EXPECT_NO_THROW(router.find("GET", "/a"));
  EXPECT_TRUE(router.is_open("GET", "/a"));
  EXPECT_TRUE(router.is_open("HEAD", "/a"));
  EXPECT_FALSE(router.is_open("POST", "/a")) << "what is posted to an open path needs a key";
  EXPECT_FALSE(router.is_open("GET", "/b"));
  EXPECT_EQ(router.methods("/a"), "GET, HEAD, POST") << "what answers GET answers HEAD";
  EXPECT_EQ(&router.find("HEAD", "/a"), &router.find("GET", "/a"));
  router.add("POST", "/b", handler, {});
  EXPECT_EQ(status_of([&] { router.find("HEAD", "/b"); }), 405);
  EXPECT_EQ(status_of([&] { router.find("PUT", "/a"); }), 405);
  EXPECT_EQ(status_of([&] { router.find("GET", "/a/../a"); }), 404);
  EXPECT_EQ(router.label("/a"), "/a");
  EXPECT_EQ(router.label("/secret"), "other");
}

TEST(HttpError, EachKindHasAStatus) {
  const auto reply = [](ErrorKind kind) { return error_reply(Error(kind, "why", "what next")); };
  EXPECT_EQ(reply(ErrorKind::kArgument).status, 400);
  EXPECT_EQ(reply(ErrorKind::kFormat).status, 400);
  EXPECT_EQ(reply(ErrorKind::kIo).status, 500);
  EXPECT_EQ(reply(ErrorKind::kNumeric).status, 424);
  EXPECT_EQ(reply(ErrorKind::kUnsupported).status, 422);
  EXPECT_EQ(reply(ErrorKind::kInterrupted).status, 503);
  EXPECT_EQ(reply(ErrorKind::kArgument).body, "{\"error\":\"why; what next\",\"error_type\":\"validation\"}\n");
  const Reply inside = error_reply(std::runtime_error("the file of somebody"));
  EXPECT_EQ(inside.status, 500);
  EXPECT_EQ(inside.body.find("somebody"), std::string::npos);
  EXPECT_EQ(error_reply(Error(ErrorKind::kArgument, "\xff")).status, 400) << "bytes that are no UTF-8";
}

TEST(JsonObject, OnlyPlainObjects) {
  const auto refused = [](std::string body) {
    try {
      (void)json_object({.body = std::move(body)});
    } catch (const Error& error) {
      return error_reply(error).status == 400;
    }
    return false;
  };
  EXPECT_FALSE(refused(R"({"text": "\ud83d\ude00"})"));
  for (const std::string& body :
       {std::string(), std::string("[]"), std::string("1"), std::string("{"), std::string(R"({"a": 1, "a": 2})"),
        std::string(R"({"a": "\ud800"})"), std::string(R"({"a": "\udc00\ud800"})"), std::string("{\"a\": \"\xff\"}"),
        std::string("{\"a\": NaN}"), std::string("{} {}"), std::string(100000, '['), std::string("{\"a\": \"\0\"}", 10),
        "{\"a\": " + std::string(100, '[') + std::string(100, ']') + "}"}) {
    EXPECT_TRUE(refused(body)) << body.substr(0, 40);
  }
}

}  // namespace
}  // namespace weft::server
