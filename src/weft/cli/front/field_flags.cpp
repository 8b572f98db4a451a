// SPDX-License-Identifier: Apache-2.0
// Words to values and values to words, for flags.
#include "weft/cli/front/field_flags.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include "weft/core/joined.h"
#include "weft/core/quote.h"

namespace weft::cli {
namespace {

template <typename Number>
Number parse_number(const std::string& flag, const std::string& word, const char* expected) {
  Number number{};
  const char* end = word.data() + word.size();
  // Not strtod or streams: these follow the locale, and take " 1" and "1x".
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (error == std::errc::result_out_of_range) {
    throw UsageError(flag + " expects " + expected + ", found " + quote(word) + ", which is beyond 64 bits");
  }
  if (error != std::errc{} || stop != end) {
    throw UsageError(flag + " expects " + expected + ", found " + quote(word));
  }
  return number;
}

const std::string& only(const std::string& flag, const std::vector<std::string>& words) {
  if (words.size() != 1) {
    throw UsageError(flag + " expects one value, found " + std::to_string(words.size()));
  }
  return words.front();
}

// What a field of text holds, as help names it.
constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
    {"svg", "FILE"},
    {"png", "FILE"},
    {"out", "FILE"},
    {"rates", "FILE"},
    {"token_scores", "FILE"},
    {"label_groups", "FILE"},
    {"tree_labels", "FILE"},
    {"with", "DIR..."},
    {"model_weights", "NUMBER..."},
    {"model", "DIR"},
    {"distill", "DIR"},
    {"text", "PATH..."},
    {"train_text", "PATH..."},
    {"train_images", "PATH..."},
    {"eval_images", "PATH..."},
    {"train_audio", "PATH..."},
    {"eval_audio", "PATH..."},
    {"images", "PATH..."},
    {"audio", "PATH..."},
    {"eval_text", "PATH..."},
    {"train_data", "PATH..."},
    {"eval_data", "PATH..."},
    {"text_field", "NAME"},
    {"pair_field", "NAME"},
    {"reference_field", "NAME"},
    {"label_field", "NAME..."},
    {"negative_field", "NAME..."},
    {"best_metric", "NAME"},
    {"labels", "NAME..."},
    {"freeze", "NAME..."},
    {"data", "FILE"},
    {"source", "FILE"},
    {"baseline", "FILE"},
    {"target", "FILE"},
    {"shard", "I/N"},
    {"input", "N,N,..."},
    {"zoom", "A:B"},
    {"train_source", "FILE..."},
    {"train_target", "FILE..."},
    {"eval_source", "FILE..."},
    {"eval_target", "FILE..."},
    {"source_field", "NAME"},
    {"target_field", "NAME"},
};

constexpr std::size_t kWidestChoices = 90;  // characters; a line of help has 110

}  // namespace

bool too_many(const std::vector<std::string_view>& choices) {
  return choice_list(choices, "|").size() > kWidestChoices;
}

void parse_value(const std::string& flag, const std::vector<std::string>& words, bool& value) {
  value = only(flag, words) == "true";
}

void parse_value(const std::string& flag, const std::vector<std::string>& words, std::int64_t& value) {
  value = parse_number<std::int64_t>(flag, only(flag, words), "a whole number");
}

void parse_value(const std::string& flag, const std::vector<std::string>& words, double& value) {
  value = parse_number<double>(flag, only(flag, words), "a number");
}

void parse_value(const std::string& flag, const std::vector<std::string>& words, std::string& value) {
  value = only(flag, words);
}

void parse_value(const std::string&, const std::vector<std::string>& words, std::vector<std::string>& value) {
  value = words;
}

void parse_value(const std::string& flag, const std::vector<std::string>& words, std::vector<std::int64_t>& value) {
  value.clear();
  for (const std::string& word : words) {
    value.push_back(parse_number<std::int64_t>(flag, word, "whole numbers"));
  }
}

ValueHelp describe(bool value) { return {"", value ? "on" : "off"}; }
ValueHelp describe(std::int64_t value) { return {"N", std::to_string(value)}; }
ValueHelp describe(double value) { return {"X", short_number(value)}; }
ValueHelp describe(const std::string& value) { return {"TEXT", value}; }
ValueHelp describe(const std::vector<std::string>& value) { return {"TEXT...", value.empty() ? "" : value.front()}; }
ValueHelp describe(const std::vector<std::int64_t>&) { return {"N...", ""}; }

CLI::Validator one_of(const std::string& flag, const std::vector<std::string>& names) {
  const auto check = [flag, names](std::string& given) {
    if (std::find(names.begin(), names.end(), given) == names.end()) {
      throw UsageError(concat(flag, " must be one of ", joined(names, ", "), ", found ", quote(given)),
                       did_you_mean(given, std::vector<std::string_view>(names.begin(), names.end())));
    }
    return std::string();
  };
  return CLI::Validator(check, "");
}

std::string_view kind_of_text(std::string_view field) {
  const auto* found = std::ranges::find(kKinds, field, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(kKinds) ? "" : found->second;
}

std::string condition_help(const FieldCondition& condition, const FlagGroup& group) {
  if (condition.fields.size() > 1) {
    return {};
  }
  const std::string_view field = condition.fields.front();
  const auto alias = group.aliases.find(field);
  const std::string flag = flag_name(alias == group.aliases.end() ? field : alias->second);
  const std::string values = alternatives(condition.values);
  return concat(condition.is_negated ? "not with " : "with ", flag, values.empty() ? "" : " ", values);
}

std::string help_text(std::string_view help, const std::vector<std::string>& remarks) {
  std::string text(help);
  for (std::size_t index = 0; index < remarks.size(); ++index) {
    text += (index == 0 ? " (" : "; ") + remarks[index];
  }
  return text + (remarks.empty() ? "" : ")");
}

std::string short_number(double value) {
  std::ostringstream stream;
  stream.precision(10);
  stream << value;
  return stream.str();
}

}  // namespace weft::cli
