// SPDX-License-Identifier: Apache-2.0
// A list of two strings is a pair for /predict and two texts for /embed: so it is with text-embeddings-inference.
#include "weft/requests/shapes/tei_shapes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/requests/request_body.h"
#include "weft/requests/shapes/vector_result.h"

namespace weft::requests {
namespace {

using formats::Json;

EmbedBody embed_body(const Json& body, const EmbedderFacts& facts) {
  return {.inputs = read_embed_inputs(body, "inputs", facts), .options = read_tei_options(body, facts)};
}

// A text, or a text and what is read with it.
server::Text predicted_text(const Json& value, const std::string& where) {
  require(value.is_array() && (value.size() == 1 || value.size() == 2), where,
          " must be a list of one text or of two, found ", value.is_array() ? "another number" : value.type_name());
  for (const Json& text : value) {
    require(text.is_string(), where, " must be a list of strings, found ", text.type_name(), " in it");
  }
  server::Text text{.first = value[0].get<std::string>()};
  if (value.size() == 2) {
    text.second = value[1].get<std::string>();
  }
  return text;
}

// Sums over the places of two vectors.
struct Comparison {
  double product = 0;
  double left = 0;
  double right = 0;
  double squares = 0;
  double differences = 0;
};

Comparison compared(const Json& left, const Json& right) {
  Comparison sums;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const double a = left[i].get<double>();
    const double b = right[i].get<double>();
    sums.product += a * b;
    sums.left += a * a;
    sums.right += b * b;
    sums.squares += (a - b) * (a - b);
    sums.differences += std::abs(a - b);
  }
  return sums;
}

// As sentence_transformers.util has them: a vector of zeros is like no other, and divided by 1e-12 at least.
double similarity_of(const Comparison& sums, const std::string& function) {
  constexpr double kLeast = 1e-12;
  if (function == "dot") {
    return sums.product;
  }
  if (function == "euclidean") {
    return -std::sqrt(sums.squares);
  }
  if (function == "manhattan") {
    return -sums.differences;
  }
  return sums.product / (std::max(std::sqrt(sums.left), kLeast) * std::max(std::sqrt(sums.right), kLeast));
}

}  // namespace

TeiOptions read_tei_options(const Json& body, const EmbedderFacts& facts) {
  TeiOptions options{.truncate = optional_flag(body, "truncate").value_or(false),
                     .prompt_name = read_prompt_name(body, facts)};
  const std::string direction = optional_text(body, "truncation_direction").value_or("right");
  const bool left = direction == "left" || direction == "Left";
  require(left || direction == "right" || direction == "Right",
          "'truncation_direction' must be one of the strings left "
          "and right, found ",
          Quoted(direction));
  require(!left || !options.truncate, "'truncation_direction' is ", Quoted(direction),
          ", but Weft cuts the end of a text: leave it out, or 'truncate', and long texts are read in windows");
  return options;
}

EmbedBody read_embed_body(const Json& body, const EmbedderFacts& facts) {
  require_known_members(body, {"inputs", "truncate", "truncation_direction", "prompt_name", "normalize", "dimensions"});
  EmbedBody read = embed_body(body, facts);
  read.normalize = optional_flag(body, "normalize").value_or(true);
  read.dimensions = optional_count(body, "dimensions", 1, facts.width);
  return read;
}

EmbedBody read_embed_all_body(const Json& body, const EmbedderFacts& facts) {
  require_known_members(body, {"inputs", "truncate", "truncation_direction", "prompt_name"});
  return embed_body(body, facts);
}

SimilarityBody read_similarity_body(const Json& body, const EmbedderFacts& facts) {
  require_known_members(body, {"inputs", "parameters"});
  const auto inputs = body.find("inputs");
  require(inputs != body.end() && inputs->is_object(),
          "'inputs' must be an object with 'source_sentence' and 'sentences'");
  require_known_members(*inputs, {"source_sentence", "sentences"});
  const std::optional<std::string> source = optional_text(*inputs, "source_sentence");
  require(source.has_value(), "'inputs' has no 'source_sentence'");
  SimilarityBody read{.texts = {{.first = *source}}, .options = {}};
  for (std::string& sentence : text_list(*inputs, "sentences")) {
    read.texts.push_back({.first = std::move(sentence)});
  }
  const Json& parameters = parameters_of(body);
  require_known_members(parameters, {"truncate", "truncation_direction", "prompt_name"});
  read.options = read_tei_options(parameters, facts);
  return read;
}

Json similarities(std::span<const Json> results, const std::string& function) {
  Json scores = Json::array();
  const Json source = vector_numbers(results.front());
  for (const Json& result : results.subspan(1)) {
    scores.push_back(similarity_of(compared(source, vector_numbers(result)), function));
  }
  return scores;
}

PredictBody read_predict_body(const Json& body) {
  require_known_members(body, {"inputs", "truncate", "truncation_direction", "raw_scores"});
  const auto inputs = body.find("inputs");
  require(inputs != body.end(), "the request has no 'inputs'");
  PredictBody read{.truncate = read_tei_options(body).truncate,
                   .raw_scores = optional_flag(body, "raw_scores").value_or(false)};
  if (inputs->is_string()) {
    read.texts.push_back({.first = inputs->get<std::string>()});
    return read;
  }
  require(inputs->is_array() && !inputs->empty(),
          "'inputs' must be a string, a list of two strings (a pair), or a list of such lists; found ",
          inputs->is_array() ? "an empty list" : inputs->type_name());
  read.list = inputs->front().is_array();
  if (!read.list) {
    read.texts.push_back(predicted_text(*inputs, "'inputs'"));
    return read;
  }
  for (const Json& one : *inputs) {
    read.texts.push_back(predicted_text(one, concat("inputs[", read.texts.size(), "]")));
  }
  return read;
}

}  // namespace weft::requests
