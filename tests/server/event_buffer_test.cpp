// SPDX-License-Identifier: Apache-2.0
// Events as text, and a buffer that a slow reader fills.
#include "weft/server/event_buffer.h"

#include <gtest/gtest.h>

#include "weft/core/error.h"
#include "weft/server/guards.h"

namespace weft::server {
namespace {

TEST(EventBuffer, EventsAreTakenTogether) {
  EventBuffer buffer(100);
  EXPECT_EQ(buffer.take(), "");
  EXPECT_EQ(buffer.add(event_text("{\"a\":1}")), EventBuffer::Added::kFirst);
  EXPECT_EQ(buffer.add(event_text("2", "result")), EventBuffer::Added::kBehind);
  EXPECT_EQ(buffer.take(), "data: {\"a\":1}\n\nevent: result\ndata: 2\n\n");
  EXPECT_EQ(buffer.add("x"), EventBuffer::Added::kFirst);
  EXPECT_THROW(event_text("a\nb"), Error);
}

TEST(EventBuffer, WhoFallsBehindGetsNoMore) {
  EventBuffer buffer(10);
  EXPECT_EQ(buffer.add("12345678"), EventBuffer::Added::kFirst);
  EXPECT_FALSE(buffer.overflowed());
  EXPECT_EQ(buffer.add("123"), EventBuffer::Added::kRefused);
  EXPECT_TRUE(buffer.overflowed());
  EXPECT_EQ(buffer.take(), "12345678");
  EXPECT_EQ(buffer.add("1"), EventBuffer::Added::kRefused) << "a stream has no holes";
}

TEST(Guards, WhoTakesEventsSaysSo) {
  const auto takes = [](std::vector<std::string_view> values) { return takes_events({.accepts = std::move(values)}); };
  EXPECT_FALSE(takes({}));
  EXPECT_FALSE(takes({"*/*"}));
  EXPECT_TRUE(takes({"text/event-stream"}));
  EXPECT_TRUE(takes({"application/json", "text/html, Text/Event-Stream;q=0.9"}));
}

}  // namespace
}  // namespace weft::server
