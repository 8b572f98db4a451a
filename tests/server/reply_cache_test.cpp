// SPDX-License-Identifier: Apache-2.0
// What a server drew is kept up to a limit: the oldest answers make room for new ones.
#include "weft/server/reply_cache.h"

#include <gtest/gtest.h>

namespace weft::server {
namespace {

TEST(ReplyCache, GivesAnAnswerAgain) {
  ReplyCache cache(100);
  EXPECT_EQ(cache.find("head 1"), std::nullopt);
  cache.keep("head 1", "cells");
  cache.keep("head 1", "others");
  EXPECT_EQ(cache.find("head 1"), "cells");
  EXPECT_EQ(cache.find("head 2"), std::nullopt);
}

TEST(ReplyCache, TheOldestMakesRoom) {
  ReplyCache cache(3 * (2 + 10));  // three answers of ten bytes, and their questions twice
  for (const char* question : {"a", "b", "c"}) {
    cache.keep(question, std::string(10, *question));
  }
  EXPECT_EQ(cache.find("a"), std::string(10, 'a'));
  cache.keep("d", std::string(10, 'd'));
  EXPECT_EQ(cache.find("a"), std::nullopt);
  EXPECT_EQ(cache.find("b"), std::string(10, 'b'));
  cache.keep("e", std::string(11, 'e'));
  EXPECT_EQ(cache.find("b"), std::nullopt);
  EXPECT_EQ(cache.find("c"), std::nullopt) << "one byte more needs the room of two";
  EXPECT_EQ(cache.find("d"), std::string(10, 'd'));
  EXPECT_EQ(cache.find("e"), std::string(11, 'e'));
}

TEST(ReplyCache, WhatIsTooLargeAloneIsNotKept) {
  ReplyCache cache(36);
  cache.keep("a", std::string(10, 'a'));
  cache.keep("b", std::string(35, 'b'));
  EXPECT_EQ(cache.find("b"), std::nullopt);
  EXPECT_EQ(cache.find("a"), std::string(10, 'a')) << "and takes no room from others";
}

}  // namespace
}  // namespace weft::server
