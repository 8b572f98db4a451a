// SPDX-License-Identifier: Apache-2.0
// JSON within limits, each breach one clear error with its byte; and configs to and from JSON by their field lists.
#include "weft/formats/config_json.h"

#include <limits>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"
#include "weft/core/own_fields.h"

namespace weft::formats {
namespace {

using test::expect_error;

void expect_no_config(std::string_view text, std::initializer_list<std::string_view> words) {
  std::vector<std::string_view> all(words);
  const std::string message =
      expect_error(ErrorKind::kFormat, {"config.json"}, [&] { parse_json(text, "config.json"); });
  for (const std::string_view word : all) {
    EXPECT_NE(message.find(word), std::string::npos) << "'" << word << "' is not in: " << message;
  }
}

TEST(ParseJson, KeepsValuesAndOrder) {
  const Json json = parse_json(R"( {"b": [1, -2, 3.5, true, null, "x"], "a": {"c": {}}} )", "config.json");
  EXPECT_EQ(json.dump(), R"({"b":[1,-2,3.5,true,null,"x"],"a":{"c":{}}})");
  EXPECT_EQ(parse_json("3", "x"), Json(3));
  EXPECT_EQ(parse_json("\"\\u00e9 \\ud83d\\ude00\"", "x").get<std::string>(), "é 😀");
}

TEST(ParseJson, NamesTheByte) {
  expect_no_config(R"({"a": 1,})", {"not valid JSON", "(byte 8)"});
  expect_no_config("", {"(byte 0)"});
  expect_no_config(R"({"a": 1)", {"end of input"});
}

TEST(ParseJson, DuplicateKeys) {
  expect_no_config(R"({"a": 1, "b": {"a": 2}, "a": 3})", {"'a' appears twice", "(byte 26)"});
}

TEST(ParseJson, DepthIsLimited) {
  for (const int depth : {65, 100000, 5000000}) {
    expect_no_config(std::string(static_cast<std::size_t>(depth), '['), {"at most 64 levels", "(byte 64)"});
  }
  std::string objects;
  for (int i = 0; i < 100000; ++i) {
    objects += "{\"a\":";
  }
  expect_no_config(objects, {"at most 64 levels"});
  EXPECT_TRUE(parse_json(std::string(64, '[') + std::string(64, ']'), "x").is_array());
  expect_error(ErrorKind::kFormat, {"at most 2 levels"}, [] { parse_json("[[[]]]", "x", 2); });
}

TEST(ParseJson, NotUtf8) {
  expect_no_config("{\"a\": \"\xff\"}", {"UTF-8"});
  expect_no_config("{\"a\": \"\xc0\xaf\"}", {"UTF-8"});
  expect_no_config("{\"a\": \"\xed\xa0\x80\"}", {"UTF-8"});
  expect_no_config(R"({"a": "\ud800"})", {"surrogate"});
}

TEST(ParseJson, NotNumbersAndHugeNumbers) {
  expect_no_config(R"({"a": NaN})", {"invalid literal"});
  expect_no_config(R"({"a": -Infinity})", {"invalid"});
  expect_no_config(R"({"a": 1e999})", {"1e999"});
  expect_no_config(R"({"a": 01})", {"not valid JSON"});
}

TEST(ParseJson, TrailingTextAndNulBytes) {
  expect_no_config(R"({"a": 1} x)", {"(byte 9)"});
  expect_no_config("{} {}", {"(byte 3)"});
  expect_no_config(std::string_view("{}\0junk", 7), {"NUL", "(byte 2)"});
  expect_no_config(R"({"a": 1e400})", {"not valid JSON: number overflow parsing '1e400'"});
  expect_no_config("{} // comment", {"not valid JSON"});
}

TEST(ParseJson, LongTokensDoNotFillTheMessage) {
  expect_no_config("{\"a\": \"" + std::string(1000000, 'x') + "\n\"}", {});
  expect_no_config("{\"a\": " + std::string(100000, '9') + "}",
                   {"not valid JSON: number overflow parsing '999", "9..."});
}

TEST(ParseJson, ManyKeysTakeLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 400000; ++i) {
    text += concat(i > 0 ? "," : "", "\"key", i, "\":", i);
  }
  // Well under a second in practice; longer than the limit of the test run when quadratic.
  const Json json = parse_json(text + "}", "x");
  EXPECT_EQ(json.size(), 400000U);
}

TEST(ReadJson, TakesTheNumbersThatPythonWrites) {
  const test::TemporaryDirectory directory;
  const auto read = [&](const std::string& text) {
    write_file_atomically(directory / "config.json", text);
    return read_json(directory / "config.json");
  };
  const Json json = read(R"({"a": NaN, "b": [Infinity, -Infinity], "NaN": "Infinity \"NaN", "c": "..", "d": "\\"})");
  EXPECT_TRUE(std::isnan(json["a"].get<double>()));
  EXPECT_EQ(json["b"][0].get<double>(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(json["b"][1].get<double>(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(json["NaN"], "Infinity \"NaN");
  EXPECT_EQ(json["c"], "..");
  EXPECT_EQ(json["d"], "\\");
  double number = 0;
  expect_error(ErrorKind::kFormat, {"eps must be a number, found NaN"}, [&] { read_value(json["a"], "eps", number); });
  std::int64_t count = 0;
  expect_error(ErrorKind::kFormat, {"an integer, found -Infinity"}, [&] { read_value(json["b"][1], "n", count); });
  for (const char* text : {R"({"a": nan})", R"({"a": NaNs})", R"({"a": -NaN})", R"({NaN: 1})"}) {
    expect_error(ErrorKind::kFormat, {"config.json"}, [&] { read(text); });
  }
  expect_error(ErrorKind::kFormat, {"(byte 16)"}, [&] { read(R"({"a": Infinity, b: 1})"); });
}

TEST(ReadJson, NamesTheFile) {
  const test::TemporaryDirectory directory;
  write_file_atomically(directory / "config.json", "{\"a\": tru}");
  expect_error(ErrorKind::kFormat, {"config.json", "(byte 9)"}, [&] { read_json(directory / "config.json"); });
  expect_error(ErrorKind::kIo, {"none.json", "No such file"}, [&] { read_json(directory / "none.json"); });
}

TEST(PrintJson, RefusesWhatIsNotUtf8) {
  EXPECT_EQ(print_json(Json{{"a", "é"}}), "{\"a\":\"é\"}");
  EXPECT_EQ(print_json(Json{{"a", 1}}, 2), "{\n  \"a\": 1\n}");
  expect_error(ErrorKind::kArgument, {"not UTF-8"}, [] { print_json(Json("\xff")); });
}

struct Sample {
  bool is_decoder = true;
  std::int64_t hidden_size = 64;
  double rope_theta = 1e4;
  std::string hidden_act = "gelu";
  std::vector<std::string> attention = {"full"};
  std::vector<std::int64_t> sizes = {};

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    visit(Field{"is_decoder", &Sample::is_decoder, "one"});
    visit(Field{"hidden_size", &Sample::hidden_size, "two"}.range(1, 4096));
    visit(Field{"rope_theta", &Sample::rope_theta, "three"}.at_least(1));
    visit(Field{"hidden_act", &Sample::hidden_act, "four"}.one_of({"gelu", "relu"}));
    visit(Field{"attention", &Sample::attention, "five"});
    visit(Field{"sizes", &Sample::sizes, "six"});
  }
};

TEST(Config, RoundTripsInOrder) {
  Sample sample;
  sample.hidden_size = 128;
  sample.attention = {"full", "causal & window(64)"};
  sample.sizes = {1, -2};
  const Json json = to_json(sample);
  EXPECT_EQ(json.dump(), R"x({"is_decoder":true,"hidden_size":128,"rope_theta":10000.0,"hidden_act":"gelu",)x"
                         R"x("attention":["full","causal & window(64)"],"sizes":[1,-2]})x");
  Sample read;
  update_from_json(read, parse_json(json.dump(), "x"), "x");
  EXPECT_EQ(to_json(read), json);
}

TEST(Config, ParsesWhatAPersonWrites) {
  Sample sample;
  update_from_json(sample, parse_json(R"({"attention": "full", "rope_theta": 500, "model_type": "weft"})", "x"), "x",
                   {"model_type"});
  EXPECT_EQ(sample.attention, std::vector<std::string>{"full"});
  EXPECT_EQ(sample.rope_theta, 500.0);
  EXPECT_EQ(sample.hidden_size, 64) << "a field that is not named keeps its value";
}

void expect_config_error(ErrorKind kind, std::string_view text, std::initializer_list<std::string_view> words) {
  Sample sample;
  expect_error(kind, words, [&] { update_from_json(sample, parse_json(text, "f.json"), "f.json"); });
  EXPECT_EQ(to_json(sample), to_json(Sample())) << "an error leaves the config as it was";
}

TEST(Config, UnknownFieldsAreNamedWithTheNearest) {
  expect_config_error(ErrorKind::kFormat, R"({"hidden_sise": 3})",
                      {"f.json", "'hidden_sise'", "did you mean hidden_size?"});
  expect_config_error(ErrorKind::kFormat, R"({"hidden_size": 3, "zzz": 3})", {"no field 'zzz'"});
  expect_config_error(ErrorKind::kFormat, "[1]", {"must be a JSON object"});
}

TEST(Config, WrongTypesAreNamed) {
  expect_config_error(ErrorKind::kFormat, R"({"hidden_size": "64"})",
                      {"f.json: hidden_size must be an integer", "'64'"});
  expect_config_error(ErrorKind::kFormat, R"({"hidden_size": 64.0})", {"must be an integer, found 64.0"});
  expect_config_error(ErrorKind::kFormat, R"({"hidden_size": null})", {"found null"});
  expect_config_error(ErrorKind::kFormat, R"({"hidden_size": 18446744073709551615})", {"at most 9223372036854775807"});
  expect_config_error(ErrorKind::kFormat, R"({"hidden_size": 99999999999999999999})", {"must be an integer"});
  expect_config_error(ErrorKind::kFormat, R"({"is_decoder": 1})", {"is_decoder must be true or false, found 1"});
  expect_config_error(ErrorKind::kFormat, R"({"rope_theta": "big"})", {"rope_theta must be a number"});
  expect_config_error(ErrorKind::kFormat, R"({"hidden_act": ["gelu"]})", {"must be a string, found an array"});
  expect_config_error(ErrorKind::kFormat, R"({"attention": ["full", 3]})", {"attention[1] must be a string, found 3"});
  expect_config_error(ErrorKind::kFormat, R"({"sizes": 3})", {"sizes must be a list of integers"});
}

TEST(Config, ValuesOutOfRangeAreNamed) {
  expect_config_error(ErrorKind::kArgument, R"({"hidden_size": 0})",
                      {"f.json", "hidden_size must be at least 1", "found 0"});
  expect_config_error(ErrorKind::kArgument, R"({"hidden_size": 2147483648})", {"at most 4096"});
  expect_config_error(ErrorKind::kArgument, R"({"hidden_act": "tanh"})", {"one of gelu, relu", "'tanh'"});
}

TEST(Config, NotANumberIsNotWritten) {
  Sample sample;
  sample.rope_theta = std::numeric_limits<double>::infinity();
  expect_error(ErrorKind::kNumeric, {"rope_theta"}, [&] { to_json(sample); });
}

struct Windows {
  std::vector<std::int64_t> windows = {512};
  std::int64_t block = 4;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    visit(Field{"windows", &Windows::windows, "of each layer"});
    visit(Field{"block", &Windows::block, "tokens in a block"}.range(1, 8));
  }
};

struct ConfigOfMany {
  std::int64_t width = 8;
  OwnFields own;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    visit(Field{"width", &ConfigOfMany::width, "columns"});
  }
};

TEST(ConfigJson, FieldsThatOneKindOfConfigHasAreReadCheckedAndWritten) {
  ConfigOfMany config;
  expect_error(ErrorKind::kFormat, {"no field", "block"}, [&] { update_from_json(config, {{"block", 2}}, "x"); });
  config.own = OwnFields(Windows{});
  const ConfigOfMany before = config;
  update_from_json(config, {{"block", 2}, {"width", 4}, {"windows", {2, 6}}}, "x");
  EXPECT_EQ(to_json(config).dump(), R"({"width":4,"windows":[2,6],"block":2})");
  expect_error(ErrorKind::kArgument, {"x: block", "at most 8"}, [&] { update_from_json(config, {{"block", 9}}, "x"); });
  EXPECT_EQ(config.own.get<Windows>().block, 2);
  EXPECT_EQ(before.own.get<Windows>().block, 4);
  EXPECT_TRUE(before.own.is<Windows>() && before.own.has("windows") && !before.own.has("width"));
  EXPECT_THROW(config.own.get<ConfigOfMany>(), std::logic_error);
}

}  // namespace
}  // namespace weft::formats
