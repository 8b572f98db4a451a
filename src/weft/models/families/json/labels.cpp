// SPDX-License-Identifier: Apache-2.0
// Labels in both forms, and what goes with them.
#include "weft/models/families/json/labels.h"

#include <algorithm>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"

namespace weft::models {
namespace {

using formats::Json;

/// A name that is a number or a boolean in JSON counts as it is written there; one that is null is none.
std::string label_text(const Json& label, std::size_t id) {
  return label.is_string() ? label.get<std::string>() : label.is_null() ? concat("LABEL_", id) : label.dump();
}

/// {"0": "NEGATIVE", "1": "POSITIVE"}: every id from 0 on, in any order.
std::vector<std::string> labels_by_id(const Json& json, std::string_view where) {
  constexpr std::size_t kMostLabels = 1 << 20;
  if (!json.is_object() || json.empty() || json.size() > kMostLabels) {
    fail(ErrorKind::kFormat, where, ": id2label must be an object of 1 to ", kMostLabels, " labels");
  }
  std::vector<std::string> labels(json.size());
  std::vector<bool> seen(json.size(), false);
  for (const auto& [key, label] : json.items()) {
    // What is no id becomes the largest one, which does not fit.
    const auto id = static_cast<std::size_t>(integer_of(key).value_or(-1));
    const bool fits = id < labels.size() && !seen[id];
    if (!fits || label.is_structured()) {
      fail(ErrorKind::kFormat, where, ": id2label must name each id from 0 to ", labels.size() - 1,
           " once, by a string or a number, found ", quote(key));
    }
    seen[id] = true;
    labels[id] = label_text(label, id);
  }
  return labels;
}

}  // namespace

void read_labels(EncoderConfig& config, const Json& json, std::string_view where) {
  if (const auto found = json.find("id2label"); found != json.end() && !found->is_null()) {
    config.id2label = labels_by_id(*found, where);
  } else if (const auto count = json.find("num_labels"); count != json.end() && !count->is_null()) {
    std::int64_t labels = 0;
    formats::read_value(*count, concat(where, ": num_labels"), labels);
    require(labels >= 1 && labels <= (1 << 20), where, ": num_labels must be from 1 to 1048576, found ", labels);
    config.id2label.clear();
    for (std::int64_t id = 0; id < labels; ++id) {
      config.id2label.push_back(concat("LABEL_", id));
    }
  }
  if (const auto found = json.find("problem_type"); found != json.end() && !found->is_null()) {
    formats::read_value(*found, concat(where, ": problem_type"), config.problem_type);
  }
  if (const auto found = json.find("architectures"); found != json.end() && !found->is_null()) {
    formats::read_value(*found, concat(where, ": architectures"), config.architectures);
    config.architectures.resize(std::min<std::size_t>(1, config.architectures.size()));  // the first counts
  }
}

void write_labels(Json& json, const EncoderConfig& config, Head head) {
  if (head != Head::kSequenceClassification && head != Head::kTokenClassification) {
    return;
  }
  Json names = Json::object();
  Json ids = Json::object();
  for (std::size_t id = 0; id < config.id2label.size(); ++id) {
    names[std::to_string(id)] = config.id2label[id];
    ids[config.id2label[id]] = id;
  }
  json["id2label"] = names;
  json["label2id"] = ids;
  if (!config.problem_type.empty()) {
    json["problem_type"] = config.problem_type;
  }
}

}  // namespace weft::models
