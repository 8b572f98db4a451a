// SPDX-License-Identifier: Apache-2.0
// A field list is checked value by value, and the message names the place, the field, the rule and what was found.
#include "weft/core/fields.h"

#include <cmath>

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace weft {
namespace {

struct Sample {
  double rate = 0.5;
  std::int64_t layers = 2;
  std::string schedule = "cosine";

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    visit(Field{"rate", &Sample::rate, "a rate"}.range(0.0, 1.0));
    visit(Field{"layers", &Sample::layers, "how many"}.at_least(1));
    visit(Field{"schedule", &Sample::schedule, "which"}.one_of({"cosine", "linear"}));
  }
};

TEST(Fields, DefaultsPass) { check_fields(Sample(), "here"); }

TEST(Fields, BothEndsBelongToTheRange) {
  Sample sample;
  sample.rate = 0.0;
  check_fields(sample, "here");
  sample.rate = 1.0;
  check_fields(sample, "here");
}

TEST(Fields, OutOfRangeIsNamed) {
  Sample sample;
  sample.layers = 0;
  test::expect_error(ErrorKind::kArgument, {"config.json", "layers must be at least 1", "found 0"},
                     [&] { check_fields(sample, "config.json"); });
  sample = {};
  sample.rate = 1.5;
  test::expect_error(ErrorKind::kArgument, {"rate must be at most 1", "found 1.5"}, [&] { check_fields(sample, "f"); });
}

TEST(Fields, NotANumberIsOutOfRange) {
  Sample sample;
  sample.rate = std::nan("");
  test::expect_error(ErrorKind::kArgument, {"rate"}, [&] { check_fields(sample, "here"); });
}

TEST(Fields, ChoicesAreListed) {
  Sample sample;
  sample.schedule = "sine";
  test::expect_error(ErrorKind::kArgument, {"schedule must be one of cosine, linear", "'sine'"},
                     [&] { check_fields(sample, "here"); });
}

TEST(Fields, AChoiceThatIsNearlyRightIsSuggested) {
  Sample sample;
  for (const auto& [given, hint] : {std::pair("cosin", "did you mean 'cosine'?"), std::pair("step", "")}) {
    sample.schedule = given;
    try {
      check_fields(sample, "here");
      FAIL() << given << " is no choice";
    } catch (const Error& error) {
      EXPECT_EQ(error.hint(), hint);
    }
  }
}

}  // namespace
}  // namespace weft
