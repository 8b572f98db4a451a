// SPDX-License-Identifier: Apache-2.0
// Flags from a field list, through a real CLI11 app: names, values of every type, rules, and what help says.
#include "weft/cli/front/field_flags.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/spoken_flags.h"

namespace weft::cli {
namespace {

struct SampleConfig {
  bool quick = false;
  bool careful = true;
  bool tidy = false;
  std::int64_t step_count = 0;
  double rate = 0.5;
  std::string mode = "soft";
  std::vector<std::string> files;
  std::vector<std::int64_t> sizes;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = SampleConfig;
    visit(Field{"quick", &C::quick, "be quick"});
    visit(Field{"careful", &C::careful, "be careful"});
    visit(Field{"tidy", &C::tidy, "be tidy"}.follows("the room"));
    visit(Field{"step_count", &C::step_count, "how many steps"}.at_least(1));
    visit(Field{"rate", &C::rate, "how fast"}.range(0, 1));
    visit(Field{"mode", &C::mode, "how"}.one_of({"soft", "hard"}));
    visit(Field{"files", &C::files, "what to read"});
    visit(Field{"sizes", &C::sizes, "sizes to try"});
  }
};

class FieldFlags : public ::testing::Test {
 protected:
  FieldFlags() {
    app_.formatter(std::make_shared<HelpFormatter>());
    add_fields<SampleConfig>(app_, {.title = "Sample", .aliases = {{"step_count", "steps"}}}, given_);
  }

  /// The fields that the words set, as JSON text.
  std::string parsed(std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());
    app_.parse(words);
    return given_.dump();
  }

  CLI::App app_{"sample"};
  formats::Json given_ = formats::Json::object();
};

TEST_F(FieldFlags, OnlyWhatIsGivenIsKept) { EXPECT_EQ(parsed({}), "{}"); }

TEST_F(FieldFlags, EveryTypeIsRead) {
  EXPECT_EQ(
      parsed({"--quick", "--no-careful", "--step-count", "12", "--rate", "1e-3", "--mode", "hard", "--files", "a",
              "b c", "--sizes", "1", "2"}),
      R"({"quick":true,"careful":false,"step_count":12,"rate":0.001,"mode":"hard","files":["a","b c"],"sizes":[1,2]})");
}

TEST_F(FieldFlags, AnAliasSetsTheField) { EXPECT_EQ(parsed({"--steps=7"}), R"({"step_count":7})"); }

TEST_F(FieldFlags, TheLastOfEqualFlagsWinsAndListsGrow) {
  EXPECT_EQ(parsed({"--steps", "1", "--files", "a", "--steps", "2", "--files", "b"}),
            R"({"step_count":2,"files":["a","b"]})");
}

TEST_F(FieldFlags, ExpressionsPassUnchanged) {
  EXPECT_EQ(parsed({"--files", "!window(3) & global(at=[1, 2])", "heads(a, b)"}),
            R"json({"files":["!window(3) & global(at=[1, 2])","heads(a, b)"]})json");
}

/// What the misuse of a flag says, or nothing when it passes.
std::string complaint(CLI::App& app, std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());
  try {
    app.parse(words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

TEST_F(FieldFlags, MisuseNamesTheFlagTheRuleAndTheValue) {
  EXPECT_EQ(complaint(app_, {"--steps", "0"}), "--steps must be at least 1, found 0");
  EXPECT_EQ(complaint(app_, {"--steps", "7x"}), "--steps expects a whole number, found '7x'");
  EXPECT_EQ(complaint(app_, {"--rate", "1.5"}), "--rate must be at most 1, found 1.5");
  EXPECT_EQ(complaint(app_, {"--rate", "nan"}), "--rate must be at least 0, found nan");
  EXPECT_EQ(complaint(app_, {"--rate", ""}), "--rate expects a number, found ''");
  EXPECT_EQ(complaint(app_, {"--mode", "odd"}), "--mode must be one of soft, hard, found 'odd'");
  EXPECT_EQ(complaint(app_, {"--sizes", "1", "two"}), "--sizes expects whole numbers, found 'two'");
  EXPECT_NE(complaint(app_, {"--steps", "9223372036854775808"}).find("beyond"), std::string::npos);
}

TEST_F(FieldFlags, AChoiceThatIsNearlyRightIsSuggested) {
  std::vector<std::string> words = {"hrad", "--mode"};
  try {
    app_.parse(words);
    FAIL() << "hrad is no choice";
  } catch (const UsageError& error) {
    EXPECT_EQ(error.hint(), "did you mean 'hard'?");
  }
}

TEST_F(FieldFlags, HelpSaysRulesChoicesAndDefaults) {
  const std::string help = app_.help();
  EXPECT_NE(help.find("--steps, --step-count N"), std::string::npos) << help;
  EXPECT_NE(help.find("how many steps (at least 1; required)"), std::string::npos) << help;
  EXPECT_NE(help.find("how fast (0 to 1; default 0.5)"), std::string::npos) << help;
  EXPECT_NE(help.find("--mode soft|hard"), std::string::npos) << help;
  EXPECT_NE(help.find("be careful (default on)"), std::string::npos) << help;
  EXPECT_NE(help.find("be tidy (default that of the room)"), std::string::npos) << help;
}

TEST(FieldFlagsNames, FieldsLeftOutAreNoFlags) {
  CLI::App app{"sample"};
  formats::Json given = formats::Json::object();
  add_fields<SampleConfig>(app, {.title = "Sample", .left_out = {"mode"}}, given);
  EXPECT_EQ(app.get_option_no_throw("--mode"), nullptr);
  EXPECT_NE(app.get_option_no_throw("--rate"), nullptr);
}

TEST(FieldFlagsNames, OnlyFieldsOfAConfig) {
  const formats::Json json = {{"rate", 0.25}, {"unknown", 1}};
  EXPECT_EQ(only_fields_of<SampleConfig>(json).dump(), R"({"rate":0.25})");
}

TEST(SpokenFlags, FieldsBecomeFlagsWhereFlagsWereTyped) {
  const FlagsOfFields flags = {{"train_text", "--train-text"},     {"steps", "--steps"},
                               {"num_attention_heads", "--heads"}, {"label_field", "--label-field"},
                               {"hidden_size", "--width"},         {"text", "--text"}};
  const auto spoken = [&](const std::string& message) { return in_flags(message, "weft train", flags).message; };
  EXPECT_EQ(spoken("weft train: train_text must name a file or folder, found none"),
            "weft train: --train-text must name a file or folder, found none");
  EXPECT_EQ(spoken("weft train: steps must be at least 1"), "weft train: --steps must be at least 1");
  EXPECT_EQ(spoken("weft train: one of steps and minutes must be above 0"),
            "weft train: one of --steps and minutes must be above 0");
  EXPECT_EQ(spoken("weft train: hidden_size 30 is not divisible by num_attention_heads 4"),
            "weft train: --width 30 is not divisible by --heads 4");
  EXPECT_EQ(spoken("'a.csv': label_field names no column; the columns are label_field2, 'label_field'"),
            "'a.csv': --label-field names no column; the columns are label_field2, 'label_field'");
  EXPECT_EQ(spoken("'x/hidden_size': there is no text"), "'x/hidden_size': there is no text") << "paths are no fields";
  EXPECT_EQ(spoken("the steps and the text are fine"), "the steps and the text are fine") << "words are no fields";
  EXPECT_TRUE(in_flags("train_text: there is none", "weft train", flags).names_a_flag);
  EXPECT_FALSE(in_flags("there is no text", "weft train", flags).names_a_flag);
}

TEST(SpokenFlags, WordsAndWhatTheUserWroteStayAsTheyAre) {
  const FlagsOfFields flags = {{"attention", "--attention"}, {"seed", "--seed"},       {"stride", "--stride"},
                               {"model", "--model"},         {"minutes", "--minutes"}, {"steps", "--steps"},
                               {"hidden_size", "--width"}};
  const auto spoken = [&](const std::string& message) { return in_flags(message, "weft train", flags).message; };
  EXPECT_EQ(spoken("weft train: attention of layer 0: seed of `performer` must be above 0, there are map, seed"),
            "weft train: --attention of layer 0: seed of `performer` must be above 0, there are map, seed");
  EXPECT_EQ(spoken("weft train: attention of layer 0: `seed` is for a model of stride and seed"),
            "weft train: --attention of layer 0: `seed` is for a model of stride and seed");
  EXPECT_EQ(spoken("weft train: attention must not be 'seed of hidden_size' or `hidden_size`, found hidden_size 3"),
            "weft train: --attention must not be 'seed of hidden_size' or `hidden_size`, found --width 3");
  EXPECT_EQ(spoken("weft train: attention is wrong\n  f(seed=1, hidden_size)\n  ^"),
            "weft train: --attention is wrong\n  f(seed=1, hidden_size)\n  ^");
  EXPECT_EQ(spoken("model config: a model's hidden_size is not the layers' hidden_size"),
            "model config: a model's --width is not the layers' --width");
  EXPECT_EQ(spoken("weft train: one of steps and minutes is needed, found steps 0 and minutes 0; a run by minutes"),
            "weft train: one of --steps and --minutes is needed, found --steps 0 and --minutes 0; a run by minutes");
  EXPECT_EQ(spoken("steps must be at least 3"), "--steps must be at least 3");
  EXPECT_EQ(spoken("seed 3: wrong"), "seed 3: wrong");
}

TEST(SpokenFlags, HelpNamesFlags) {
  forget_flags();
  CLI::App app{"sample"};
  CLI::App& command = *app.add_subcommand("work");
  formats::Json given = formats::Json::object();
  add_fields<SampleConfig>(command, {.title = "Sample", .aliases = {{"step_count", "steps"}}}, given);
  const CLI::Option* const option = command.add_option(
      "--pause", "steps of step_count without one, not 'step_count' nor step_counts; rate is a rate");
  const CLI::Option* const other = app.add_option("--other", "no step_count of this command");
  say_flags_in_help(app);
  EXPECT_EQ(option->get_description(),
            "steps of --steps without one, not 'step_count' nor step_counts; rate is a rate");
  EXPECT_EQ(other->get_description(), "no step_count of this command");
}

TEST(SpokenFlags, FieldsOfAFileKeepTheirNames) {
  const FlagsOfFields flags = {{"steps", "--steps"}, {"warmup_steps", "--warmup-steps"}};
  const SpokenError error =
      in_flags("weft train: warmup_steps must be at most 3", "weft train", flags, {{"warmup_steps", "a.json"}});
  EXPECT_EQ(error.message, "'a.json': warmup_steps must be at most 3");
  EXPECT_FALSE(error.names_a_flag);
  EXPECT_EQ(in_flags("warmup_steps 3 are too many", "weft train", flags, {{"warmup_steps", "a.json"}}).message,
            "'a.json': warmup_steps 3 are too many");
  const SpokenError elsewhere =
      in_flags("'a.csv': warmup_steps 'x' is not a column", "weft train", flags, {{"warmup_steps", "a.json"}});
  EXPECT_EQ(elsewhere.message, "'a.csv': warmup_steps 'x' is not a column");
  EXPECT_EQ(elsewhere.hint, "warmup_steps is from 'a.json'; --warmup-steps replaces it");
}

TEST(Units, AreThoseThatAPersonWouldChoose) {
  EXPECT_EQ(with_unit(1.295336079e17, "FLOP"), "129.5 PFLOP");
  EXPECT_EQ(with_unit(999.96e9, "B"), "1.0 TB");
  EXPECT_EQ(with_unit(12, "B"), "12 B");
  EXPECT_EQ(percent(0.0123), "1.23%");
  EXPECT_EQ(percent(9.99), "999%");
  EXPECT_EQ(percent(50), "5,000%");
  EXPECT_EQ(duration(0.25), "250.0 ms");
  EXPECT_EQ(duration(7200), "2.0 h");
  EXPECT_EQ(duration(0), "0.0 us");
  EXPECT_EQ(counted(1, "head"), "1 head");
  EXPECT_EQ(counted(1234, "head"), "1,234 heads");
}

TEST(HelpLayout, NarrowTerminalsGetNarrowLines) {
  std::istringstream lines(two_columns("--optimizer adamw|adafactor|lamb",
                                       "how gradients become updates of the parameters, step by step", 60));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "  --optimizer adamw|adafactor|lamb");
  while (std::getline(lines, line)) {
    EXPECT_LE(line.size(), 60U);
    EXPECT_EQ(line.substr(0, 8), "        ");
  }
  EXPECT_EQ(
      wrapped_line("  weft train --train-text 'my books/all of them.txt' --attention 'strided(256)' --out run", 60),
      "  weft train --train-text 'my books/all of them.txt' \\\n    --attention 'strided(256)' --out run");
}

TEST(HelpLayout, LongTextIsWrappedIntoTheRightColumn) {
  std::string words;
  for (int word = 0; word < 40; ++word) {
    words += "word ";
  }
  std::istringstream lines(two_columns("--flag", words));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_LE(line.size(), 110U);
    EXPECT_EQ(line.substr(0, 8), count == 0 ? "  --flag" : "        ");
  }
  EXPECT_EQ(count, 3);
}

}  // namespace
}  // namespace weft::cli
