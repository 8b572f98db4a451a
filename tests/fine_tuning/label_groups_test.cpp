// SPDX-License-Identifier: Apache-2.0
// Groups of labels by names and patterns, files that are none, and labels that have no area.
#include "weft/fine_tuning/objectives/label_groups.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "data/text_files.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

LabelNames profiles() {
  LabelNames names;
  for (const char* name : {"TF_ctcf", "HM_me3", "TF_nfe2", "DHS_k562", "TF_*"}) {
    names.number(name, "test");
  }
  return names;
}

TEST(LabelGroups, AreNamedOneByOneOrByAPattern) {
  const LabelNames names = profiles();
  const auto groups = find_label_groups({{"DHS", {"DHS_k562"}},
                                         {"HM", {"HM_*", "HM_me3"}},
                                         {"TF", {"TF_n*", "TF_c*"}},
                                         {"starred", {"TF_*"}},
                                         {"all", {"*"}}},
                                        names);
  ASSERT_EQ(groups.size(), 5U);
  EXPECT_EQ(groups[0].name, "DHS");
  EXPECT_EQ(groups[0].labels, (std::vector<std::int64_t>{3}));
  EXPECT_EQ(groups[1].labels, (std::vector<std::int64_t>{1}));
  EXPECT_EQ(groups[2].labels, (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(groups[3].labels, (std::vector<std::int64_t>{4})) << "a label's own name comes before what it matches";
  EXPECT_EQ(groups[4].name, "all");
  EXPECT_EQ(groups[4].labels, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
}

TEST(LabelGroups, RefuseWhatNamesNoLabel) {
  const LabelNames names = profiles();
  test::expect_error(ErrorKind::kArgument, {"warm", "'RNA_*'", "'HM_me3'"},
                     [&] { find_label_groups({{"warm", {"RNA_*"}}}, names); });
}

TEST(LabelGroups, RefuseFilesThatAreNone) {
  const test::TemporaryDirectory folder;
  const auto refuse = [&](const std::string& text, std::initializer_list<std::string_view> said) {
    test::write_text(folder / "groups.json", text);
    test::expect_error(ErrorKind::kFormat, said, [&] { read_label_groups((folder / "groups.json").string()); });
  };
  EXPECT_EQ(read_label_groups(""), Json::object());
  refuse(R"(["TF"])", {"groups.json", "{NAME: [LABEL, ...]}"});
  refuse("{}", {"groups.json", "{NAME: [LABEL, ...]}", "'{}'"});
  refuse(R"({"TF": "TF_*"})", {"groups.json", "'TF'", "a list with a label", "TF_*"});
  refuse(R"({"TF": [3]})", {"groups.json", "'TF'", "a list with a label", "[3]"});
  refuse(R"({"TF": []})", {"groups.json", "'TF'", "a list with a label", "'[]'"});
  refuse(R"({"median": ["a"]})", {"groups.json", "'median'"});
  refuse(R"({"median_TF": ["a"]})", {"groups.json", "'median_TF'"});
  refuse(R"({"": ["a"]})", {"groups.json", "''"});
  refuse(R"({"TF": ["a")", {"groups.json"});
  EXPECT_THROW(read_label_groups((folder / "nothing.json").string()), Error);
}

TEST(LabelGroups, SayWhichLabelsHaveNoArea) {
  const std::vector<std::string> names = {"some", "never", "always"};
  const std::vector<std::uint8_t> truth = {1, 0, 1, 0, 0, 1};
  const OneClassLabels found = one_class_labels(truth, names);
  EXPECT_EQ(found.never, (std::vector<std::string>{"never"}));
  EXPECT_EQ(found.always, (std::vector<std::string>{"always"}));
  EXPECT_EQ(left_out_text(found, 3),
            "no mean and no median of ROC-AUC counts 2 of 3 labels (that no example has: 'never'; that every example "
            "has: 'always')");
  EXPECT_EQ(left_out_text(one_class_labels(std::vector<std::uint8_t>{1, 0}, {"some"}), 1), "");
}

}  // namespace
}  // namespace weft::fine_tuning
