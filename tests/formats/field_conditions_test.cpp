// SPDX-License-Identifier: Apache-2.0
// A field that says nothing because of another one is refused where somebody gave it, and nowhere else.
#include "weft/formats/field_conditions.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace weft::formats {
namespace {

struct Settings {
  std::string optimizer = "adamw";
  double beta = 0.9;
  bool relative = false;
  bool header = true;
  std::int64_t warmup_steps = 0;
  double warmup_ratio = 0.1;
  std::vector<std::string> held_out;
  std::string pictures;
  std::int64_t every = 0;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    visit(Field{"optimizer", &Settings::optimizer, "which"}.one_of({"adamw", "lamb", "adafactor"}));
    visit(Field{"beta", &Settings::beta, "of moments"}.only_with("optimizer", {"adamw", "lamb"}));
    visit(Field{"relative", &Settings::relative, "of sizes"}.only_with("optimizer", {"adafactor"}));
    visit(Field{"header", &Settings::header, "of a table"}.only_with_any({"held_out"}));
    visit(Field{"warmup_steps", &Settings::warmup_steps, "steps"});
    visit(Field{"warmup_ratio", &Settings::warmup_ratio, "share"}.not_with("warmup_steps"));
    visit(Field{"held_out", &Settings::held_out, "files"});
    visit(Field{"pictures", &Settings::pictures, "a folder"});
    visit(Field{"every", &Settings::every, "steps"}.only_with_any({"held_out", "pictures", "no_field_here"}));
  }
};

void check(const Json& given) {
  Json values = to_json(Settings());
  values.update(given);
  check_given_conditions<Settings>(given, values, "here");
}

TEST(FieldConditions, AValueOfTheOtherFieldIsNamedWithWhatFits) {
  check({{"beta", 0.8}});
  check({{"beta", 0.8}, {"optimizer", "lamb"}});
  test::expect_error(ErrorKind::kArgument, {"here: beta is for optimizer adamw or lamb, found 'adafactor'"},
                     [] { check({{"beta", 0.8}, {"optimizer", "adafactor"}}); });
}

TEST(FieldConditions, OneOfSeveralFieldsSuffices) {
  check({{"every", 3}, {"held_out", {"a.txt"}}});
  check({{"every", 3}, {"pictures", "folder"}});
  test::expect_error(ErrorKind::kArgument, {"every has no effect without held_out or pictures"},
                     [] { check({{"every", 3}, {"held_out", Json::array()}, {"pictures", ""}}); });
}

TEST(FieldConditions, TwoFieldsThatDecideTheSameAreNotBothGiven) {
  check({{"warmup_ratio", 0.2}, {"warmup_steps", 0}});
  test::expect_error(ErrorKind::kArgument, {"warmup_ratio is not read beside warmup_steps, which is 7"},
                     [] { check({{"warmup_ratio", 0.2}, {"warmup_steps", 7}}); });
}

TEST(FieldConditions, WhatSwitchesNothingOnIsAtHomeEverywhere) {
  check({{"every", 0}});
  check({{"relative", false}});
  check({{"header", true}});
  test::expect_error(ErrorKind::kArgument, {"header has no effect without held_out"},
                     [] { check({{"header", false}}); });
  test::expect_error(ErrorKind::kArgument, {"relative is for optimizer adafactor"},
                     [] { check({{"relative", true}}); });
}

TEST(FieldConditions, AFieldThatIsNotGivenMayHaveAnyValue) {
  check({{"optimizer", "adafactor"}});  // beta is 0.9
}

TEST(FieldConditions, NothingIsKnownOfFieldsThatAreMissing) {
  const Json given = {{"beta", 0.8}, {"warmup_ratio", 0.2}, {"every", 3}};
  check_given_conditions<Settings>(given, given, "here");
}

TEST(FieldConditions, TheyHoldOrNot) {
  Settings::fields([](const FieldRule& field) {
    EXPECT_EQ(conditions_hold(field, {{"optimizer", "adafactor"}}), field.name != "beta") << field.name;
  });
}

}  // namespace
}  // namespace weft::formats
