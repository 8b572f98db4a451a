// SPDX-License-Identifier: Apache-2.0
// Fields without their type: copied by value, visited in their own types, given back to whoever knows what they are.
#include "weft/core/own_fields.h"

#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace weft {
namespace {

struct Window {
  std::int64_t width = 8;
  std::string kind = "full";

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    visit(Field{"width", &Window::width, "tokens"}.range(1, 64));
    visit(Field{"kind", &Window::kind, "which"}.one_of({"full", "half"}));
  }
};

struct Other {
  template <typename Visitor>
  static void fields(Visitor&&) {}
};

TEST(OwnFields, ACopyIsACopyOfTheValues) {
  OwnFields own{Window{}};
  const OwnFields before = own;
  own.get<Window>().width = 9;
  EXPECT_EQ(before.get<Window>().width, 8);
  own = before;
  EXPECT_EQ(own.get<Window>().width, 8);
}

TEST(OwnFields, AreSeenInTheirTypesAndOrder) {
  const OwnFields own{Window{}};
  std::vector<std::string> seen;
  own.each([&](const FieldRule& rule, const auto& value) {
    using Type = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<Type, std::string>) {
      seen.push_back(concat(rule.name, " text ", value));
    } else if constexpr (std::is_arithmetic_v<Type>) {
      seen.push_back(concat(rule.name, " number ", value));
    } else {
      seen.push_back(concat(rule.name, " list"));
    }
  });
  EXPECT_EQ(seen, (std::vector<std::string>{"width number 8", "kind text full"}));
  EXPECT_TRUE(own.has("kind"));
  EXPECT_FALSE(own.has("height"));
  EXPECT_FALSE(OwnFields().has("kind"));
}

TEST(OwnFields, ObeyTheirRulesAndBelongToOneType) {
  OwnFields own{Window{}};
  own.set("width", std::int64_t{65});
  test::expect_error(ErrorKind::kArgument, {"here", "width", "at most 64", "65"}, [&] { check_fields(own, "here"); });
  EXPECT_THROW(own.get<Other>(), std::logic_error);
  EXPECT_THROW(OwnFields().get<Window>(), std::logic_error);
}

}  // namespace
}  // namespace weft
