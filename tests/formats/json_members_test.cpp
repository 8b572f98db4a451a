// SPDX-License-Identifier: Apache-2.0
// Members of foreign objects: each of its type, or one line that names file, field, expected and found.
#include "weft/formats/json_members.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"

namespace weft::formats {
namespace {

using test::expect_error;

const Json kRun = {{"step", 7},           {"loss", 0.5},     {"task", "classify"},
                   {"files", {"a", "b"}}, {"none", nullptr}, {"in", {{"x", 1}}}};

TEST(JsonMembers, AreValuesOfTheirType) {
  EXPECT_EQ(value_of<std::int64_t>(kRun, "step", "f.json"), 7);
  EXPECT_EQ(value_of<double>(kRun, "step", "f.json"), 7.0);
  EXPECT_EQ(value_of<std::string>(kRun, "task", "f.json"), "classify");
  EXPECT_EQ(value_of<std::vector<std::string>>(kRun, "files", "f.json"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(value_or(kRun, "task", "f.json", std::string("lm")), "classify");
  EXPECT_EQ(value_or(kRun, "absent", "f.json", std::string("lm")), "lm");
  EXPECT_EQ(list_member(kRun, "files", "f.json").size(), 2U);
  EXPECT_EQ(value_of<std::int64_t>(object_member(kRun, "in", "f.json"), "x", "f.json: in"), 1);
}

TEST(JsonMembers, OfAnotherTypeAreNamed) {
  expect_error(ErrorKind::kFormat, {"'f.json': task must be an integer, found the string 'classify'"},
               [] { value_of<std::int64_t>(kRun, "task", "'f.json'"); });
  expect_error(ErrorKind::kFormat, {"f.json: none must be a string, found null"},
               [] { value_or(kRun, "none", "f.json", std::string()); });
  expect_error(ErrorKind::kFormat, {"f.json: files must be an object, found an array"},
               [] { object_member(kRun, "files", "f.json"); });
  expect_error(ErrorKind::kFormat, {"f.json: in must be a list, found an object"},
               [] { list_member(kRun, "in", "f.json"); });
}

TEST(JsonMembers, ThatAreMissingAreNamed) {
  expect_error(ErrorKind::kFormat, {"f.json: seconds is missing"}, [] { value_of<double>(kRun, "seconds", "f.json"); });
}

TEST(JsonMembers, OfWhatIsNoObject) {
  for (const Json& json : {Json(3), Json("x"), Json::array({1}), Json(nullptr)}) {
    expect_error(ErrorKind::kFormat, {"f.json", "step", "must be an object"},
                 [&] { value_of<std::int64_t>(json, "step", "f.json"); });
    expect_error(ErrorKind::kFormat, {"f.json", "step", "must be an object"},
                 [&] { value_or(json, "step", "f.json", std::int64_t{0}); });
  }
}

TEST(JsonMembers, AFileMustHoldAnObject) {
  const test::TemporaryDirectory folder;
  write_file_atomically(folder / "a.json", R"({"x": 1})");
  EXPECT_EQ(read_json_object(folder / "a.json"), Json({{"x", 1}}));
  write_file_atomically(folder / "a.json", R"([1])");
  expect_error(ErrorKind::kFormat, {"a.json'", "must be a JSON object, found an array"},
               [&] { read_json_object(folder / "a.json"); });
}

}  // namespace
}  // namespace weft::formats
