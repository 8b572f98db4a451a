// SPDX-License-Identifier: Apache-2.0
// Inputs that must not hurt: each is one clear error in bounded time and memory, or simply right.
#include <string>

#include <gtest/gtest.h>

#include "support/square_site.h"
#include "weft/core/error.h"
#include "weft/pattern/pattern.h"

namespace weft::pattern {
namespace {

std::string repeat(const std::string& text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    all += text;
  }
  return all;
}

/// The message of the Error that `call` throws.
template <typename Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error was thrown";
}

std::string parse_message(const std::string& expression) {
  return message_of([&] { Pattern::parse(expression); });
}

void expect_contains(const std::string& message, const std::string& words) {
  EXPECT_NE(message.find(words), std::string::npos) << message;
  EXPECT_LT(message.size(), 700U);
}

TEST(Hostile, AMegabyteOfParentheses) {
  expect_contains(parse_message(std::string(1 << 20, '(')), "at most 65536 bytes long, found 1048576");
  expect_contains(parse_message(std::string(1 << 16, '(')), "nest at most 64 deep");
  expect_contains(parse_message(std::string(1 << 16, '!')), "nest at most 64 deep");
  expect_contains(parse_message(repeat("block(2, ", 7000)), "nest at most 64 deep");
  expect_contains(parse_message(repeat("heads(1 * ", 6000)), "nest at most 64 deep");
}

TEST(Hostile, TheDeepestAllowedExpressionWorks) {
  const std::string deep = std::string(63, '!') + "full";
  EXPECT_EQ(Pattern::parse(deep).to_string(), deep);
  EXPECT_EQ(Pattern::parse(deep).multiplicity(test::square(8), 0, 7), 0);
  EXPECT_EQ(Pattern::parse(std::string(63, '(') + "full" + std::string(63, ')')).to_string(), "full");
  expect_contains(parse_message(std::string(64, '!') + "full"), "nest at most 64 deep");
  const std::string blocks = repeat("block(4611686018427387904, ", 63) + "window(1)" + std::string(63, ')');
  EXPECT_EQ(Pattern::parse(blocks).multiplicity(test::square(8), 0, 7), 1);
  EXPECT_EQ(compile(Pattern::parse(blocks), test::square(8), {}).edges(), 64);
}

TEST(Hostile, LongChainsAndLists) {
  const std::string chain = "full" + repeat(" | full", 9000);
  EXPECT_EQ(Pattern::parse(chain).to_string(), chain);
  EXPECT_EQ(Pattern::parse("causal" + repeat(" & full", 9000)).multiplicity(test::square(2), 0, 1), 0);
  const std::string list = "global(at=[1" + repeat(", 1", 20000) + "])";
  EXPECT_EQ(Pattern::parse(list).to_string(), "global(at=[1])");
}

TEST(Hostile, NumbersBeyond64Bits) {
  expect_contains(parse_message("window(9223372036854775808)"), "does not fit in 64 bits");
  expect_contains(parse_message("window(-9223372036854775809)"), "does not fit in 64 bits");
  expect_contains(parse_message("window(" + std::string(60000, '9') + ")"), "does not fit in 64 bits");
  expect_contains(parse_message("erdos_renyi(1e99999)"), "out of range");
  expect_contains(parse_message("global(at=[18446744073709551616])"), "does not fit in 64 bits");
}

TEST(Hostile, HugeSizesMeanWhatTheySay) {
  const std::string huge = "4611686018427387904";
  for (const std::string& name :
       {concat("window(", huge, ")"), concat("ring(", huge, ")"), concat("segment(", huge, ")"),
        concat("window(left=", huge, ", right=", huge, ", dilation=1)"), concat("global(", huge, ")"),
        concat("axial(", huge, ", ", huge, ")"), concat("summary(", huge, ", ", huge, ")")}) {
    EXPECT_EQ(compile(Pattern::parse(name), test::square(70), {}).edges(), 4900) << name;
  }
  EXPECT_EQ(compile(Pattern::parse("stride(" + huge + ")"), test::square(70), {}).edges(), 70);
  EXPECT_EQ(compile(Pattern::parse("summary(" + huge + ", 1)"), test::square(70), {}).edges(), 0);
}

TEST(Hostile, PositionsTo2To40) {
  constexpr std::int64_t kLength = std::int64_t{1} << 40;
  constexpr std::int64_t kLast = kLength - 1;
  for (const char* expression :
       {"window(3, dilation=1000)", "ring(2)", "global(last=1)", "stride(1099511627775)", "causal",
        "segment(1099511627776)", "block(64, global(first=1, last=1))", "axial(1048576, 1048576)"}) {
    EXPECT_EQ(
        Pattern::parse(expression).multiplicity(test::square(kLength), kLast, 0),
        std::string(expression) == "window(3, dilation=1000)" || std::string(expression).starts_with("axial") ? 0 : 1)
        << expression;
  }
  Site one = test::square(kLength);
  one.query_length = 1;
  one.query_offset = kLast;
  one.key_length = std::int64_t{1} << 36;
  EXPECT_EQ(compile(Pattern::parse("global(1, side=keys)"), one, {1, 64}).edges(), 1);
}

TEST(Hostile, LengthsThatNoLayoutCanHold) {
  const auto compile_message = [](const char* expression, const Site& site) {
    return message_of([&] { compile(Pattern::parse(expression), site, {}); });
  };
  Site wide = test::square(64);
  wide.key_length = std::int64_t{1} << 40;
  expect_contains(compile_message("full", wide), "1099511627776 keys are too many for tiles of 64");
  expect_contains(compile_message("window(1)", test::square(std::int64_t{1} << 40)),
                  "query blocks are more than 268435456 rows");
  expect_contains(compile_message("full", test::square(INT64_MAX)), "the query length must be in");
  Site heads = test::square(std::int64_t{1} << 40);
  heads.heads = std::int64_t{1} << 40;
  expect_contains(compile_message("full", heads), "number of heads must be in [1, 65536]");
  Site far = test::square(8);
  far.query_offset = INT64_MAX;
  expect_contains(compile_message("full", far), "the query offset must be in");
}

TEST(Hostile, DrawsThatNobodyWaitsFor) {
  const auto check_message = [](const char* expression, std::int64_t length) {
    return message_of([&] { compile(Pattern::parse(expression), test::square(length), {}); });
  };
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  expect_contains(check_message("watts_strogatz(8194, 1)", 100000), "k must be at most 8192, or cover the 100000 keys");
  expect_contains(check_message("watts_strogatz(layer, 1)", 100), "k must be at least 1");
  EXPECT_EQ(compile(Pattern::parse("watts_strogatz(8194, 1)"), test::square(70), {}).edges(), 4900)
      << "covers all keys";
  expect_contains(check_message("bigbird(block=1)", kFar), "too large to draw");
  expect_contains(check_message("bigbird(block=1, random=1048576)", 4000000), "too large to draw");
  expect_contains(check_message("erdos_renyi(0.5)", kFar), "are more than");
  for (const char* expression : {"random(1048576)", "watts_strogatz(8192, 1)", "erdos_renyi(0.999)"}) {
    EXPECT_GE(Pattern::parse(expression).multiplicity(test::square(kFar), kFar - 1, 0), 0) << expression;
  }
}

TEST(Hostile, AnyBytes) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text = std::string("full ") + static_cast<char>(byte);
    const std::string message = parse_message(text);
    for (const char c : message) {
      EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << byte;
    }
  }
  expect_contains(parse_message(std::string("full\0full", 9)), "unexpected byte 0x00");
  expect_contains(parse_message(std::string(60000, 'w') + "(3)"), "...'; the names are full, causal, window");
  expect_contains(parse_message("edges(\"" + std::string(60000, 'a')), "no closing quote");
}

TEST(Hostile, PairsOutsideTheLengths) {
  const Pattern pattern = Pattern::parse("full");
  for (const auto& [query, key] : {std::pair{-1, 0}, {8, 0}, {0, -1}, {0, 8}}) {
    expect_contains(message_of([&, q = query, k = key] { pattern.multiplicity(test::square(8), q, k); }),
                    "is outside [0, 8)");
  }
}

}  // namespace
}  // namespace weft::pattern
