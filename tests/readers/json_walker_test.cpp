// SPDX-License-Identifier: Apache-2.0
// Values cut out of lists and objects whole, and broken JSON.
#include "weft/readers/json_walker.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "readers/reading.h"

namespace weft::readers {
namespace {

class JsonWalkerTest : public ::testing::Test {
 protected:
  JsonWalker walker(std::string_view text) {
    test::write_text(folder_ / "file.json", text);
    return {folder_ / "file.json", {}, "a list of things"};
  }

  test::TemporaryDirectory folder_;
};

std::vector<std::string> elements(JsonWalker& walker) {
  std::vector<std::string> found;
  walker.enter('[');
  while (walker.more(']')) {
    found.push_back(walker.raw_value());
  }
  return found;
}

TEST_F(JsonWalkerTest, CutsValuesOutWhole) {
  JsonWalker walked = walker(R"( [1, "a ] \" b", {"x": [1, {}]} , [ ], null] )");
  EXPECT_EQ(elements(walked), (std::vector<std::string>{"1", R"("a ] \" b")", R"({"x": [1, {}]})", "[ ]", "null"}));
  EXPECT_TRUE(walked.at_end());
}

TEST_F(JsonWalkerTest, AnEmptyListHasNoElements) {
  JsonWalker walked = walker("[ ] x");
  EXPECT_TRUE(elements(walked).empty());
  EXPECT_FALSE(walked.at_end());
}

TEST_F(JsonWalkerTest, ObjectsHaveNamesAndValues) {
  JsonWalker walked = walker(R"({"a": [1], "b": 2})");
  walked.enter('{');
  ASSERT_TRUE(walked.more('}'));
  EXPECT_EQ(walked.key(), "a");
  EXPECT_EQ(walked.value(), formats::Json::array({1}));
  ASSERT_TRUE(walked.more('}'));
  EXPECT_EQ(walked.key(), "b");
  EXPECT_EQ(walked.value(), 2);
  EXPECT_FALSE(walked.more('}'));
}

TEST_F(JsonWalkerTest, BrokenJsonNamesFileFormatAndByte) {
  for (const std::string_view text : {"[1 2]", "[1", "[\"a", "{}", "[{\"a\": [1]", ""}) {
    test::expect_error(ErrorKind::kFormat, {"file.json", "not a list of things", "byte"}, [&] {
      JsonWalker walked = walker(text);
      elements(walked);
    });
  }
  test::expect_error(ErrorKind::kFormat, {"file.json", "name in quotes"}, [&] {
    JsonWalker walked = walker("{1: 2}");
    walked.enter('{');
    walked.more('}');
    walked.key();
  });
}

}  // namespace
}  // namespace weft::readers
