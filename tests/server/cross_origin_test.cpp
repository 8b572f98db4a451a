// SPDX-License-Identifier: Apache-2.0
// Which fields pages of other origins see: those of the Fetch standard
// (https://fetch.spec.whatwg.org/#http-cors-protocol).
#include "weft/server/cross_origin.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "weft/core/error.h"

namespace weft::server {
namespace {

ServerConfig pages() {
  ServerConfig config;
  config.allowed_origins = {"https://pages.example", "http://localhost:3000"};
  return config;
}

std::map<std::string, std::string> fields_of(std::string_view method, const Head& head, const ServerConfig& config) {
  const Fields fields = cross_origin_fields(method, head, config);
  return {fields.begin(), fields.end()};
}

TEST(CrossOrigin, WithoutTheFlagThereIsNothing) {
  const Head head{.origins = {"https://pages.example"}, .asked_methods = {"POST"}};
  EXPECT_TRUE(cross_origin_fields("POST", head, {}).empty());
  EXPECT_FALSE(is_preflight("OPTIONS", head, {}));
}

TEST(CrossOrigin, AnswersNameTheOriginAndNoCredentials) {
  for (const char* origin : {"https://pages.example", "http://localhost:3000"}) {
    const auto fields = fields_of("POST", {.origins = {origin}}, pages());
    EXPECT_EQ(fields.at("Access-Control-Allow-Origin"), origin);
    EXPECT_EQ(fields.at("Vary"), "Origin");
    EXPECT_TRUE(fields.contains("Access-Control-Expose-Headers"));
    EXPECT_FALSE(fields.contains("Access-Control-Allow-Credentials"));
    EXPECT_FALSE(fields.contains("Access-Control-Allow-Methods")) << "not to what is no preflight";
  }
  for (const char* origin :
       {"https://evil.example", "https://pages.example.evil", "http://pages.example", "null", "*", ""}) {
    const auto fields = fields_of("POST", {.origins = {origin}}, pages());
    EXPECT_EQ(fields.size(), 1U) << origin;
    EXPECT_EQ(fields.at("Vary"), "Origin") << "a cache keeps the answers to two pages apart";
  }
  EXPECT_EQ(fields_of("GET", {}, pages()).size(), 1U);
  EXPECT_EQ(fields_of("GET", {.origins = {"https://pages.example", "https://pages.example"}}, pages()).size(), 1U);
}

TEST(CrossOrigin, PreflightsAreTheSameForEveryPath) {
  const Head head{.origins = {"https://pages.example"},
                  .asked_methods = {"POST"},
                  .asked_fields = {"authorization, content-type,x-stainless-os"}};
  EXPECT_TRUE(is_preflight("OPTIONS", head, pages()));
  const auto fields = fields_of("OPTIONS", head, pages());
  EXPECT_EQ(fields.at("Access-Control-Allow-Origin"), "https://pages.example");
  EXPECT_EQ(fields.at("Access-Control-Allow-Methods"), "GET, HEAD, POST");
  EXPECT_EQ(fields.at("Access-Control-Allow-Headers"), "authorization, content-type,x-stainless-os");
  EXPECT_EQ(fields.at("Access-Control-Max-Age"), "600");
  EXPECT_FALSE(fields.contains("Access-Control-Allow-Credentials"));
  for (const char* names : {"*", "a\x01", "a: b", "(a)", "\xff"}) {
    const Head odd{
        .origins = {"https://pages.example"}, .asked_methods = {"POST"}, .asked_fields = {"authorization", names}};
    EXPECT_FALSE(fields_of("OPTIONS", odd, pages()).contains("Access-Control-Allow-Headers")) << names;
  }
  EXPECT_FALSE(is_preflight("GET", head, pages()));
  EXPECT_FALSE(is_preflight("OPTIONS", {.origins = {"https://pages.example"}}, pages())) << "no method is asked for";
  EXPECT_FALSE(is_preflight("OPTIONS", {.origins = {"https://evil.example"}, .asked_methods = {"POST"}}, pages()));
  EXPECT_FALSE(is_preflight("OPTIONS", {.asked_methods = {"POST"}}, pages()));
}

TEST(CrossOrigin, NullIsAnOriginLikeOthers) {
  ServerConfig config;
  config.allowed_origins = {"null"};
  EXPECT_NO_THROW(check_origins(config));
  EXPECT_EQ(fields_of("POST", {.origins = {"null"}}, config).at("Access-Control-Allow-Origin"), "null");
}

TEST(CrossOrigin, OnlyWhatBrowsersSendMayBeNamed) {
  for (const char* origin : {"https://example.org", "http://127.0.0.1:8080", "http://[::1]:80", "tauri://localhost",
                             "chrome-extension://abcdef", "null"}) {
    ServerConfig config;
    config.allowed_origins = {origin};
    EXPECT_NO_THROW(check_origins(config)) << origin;
  }
  for (const char* origin : {"*", "", "example.org", "https://", "https://example.org/", "https://*.example.org",
                             "https://a@example.org", "https://example.org?x", "https://a b", "://a", "1://a"}) {
    ServerConfig config;
    config.allowed_origins = {"https://example.org", origin};
    EXPECT_THROW(check_origins(config), Error) << origin;
  }
}

}  // namespace
}  // namespace weft::server
