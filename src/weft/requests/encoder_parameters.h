// SPDX-License-Identifier: Apache-2.0
// What may be said of a task of an encoder besides its texts: members of a request, and flags of a command. And the
// schemas of these tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/fields.h"
#include "weft/server/operation.h"

namespace weft::requests {

inline constexpr std::int64_t kMostResults = 1 << 24;
inline constexpr std::size_t kMostChoices = 64;  // of one question: they are computed together

struct ClassifyParameters {
  std::int64_t top_k = 0;
  std::string function_to_apply = "default";
  bool truncation = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = ClassifyParameters;
    visit(Field{"top_k", &C::top_k, "labels of a text, best first; 0 for all"}.at_least(0));
    visit(Field{"function_to_apply", &C::function_to_apply,
                "function that turns logits into scores; default follows problem_type in config.json, without one "
                "softmax over several labels"}
              .one_of({"default", "softmax", "sigmoid", "none"}));
    visit(Field{"truncation", &C::truncation, "cut texts that are too long"});
  }
};

struct TagParameters {
  std::string aggregation_strategy = "simple";
  std::vector<std::string> ignore_labels = {"O"};

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = TagParameters;
    visit(Field{
        "aggregation_strategy", &C::aggregation_strategy,
        "none gives each token; simple joins neighbours of one label; first, average and max label whole words, by "
        "their first token, the mean of their scores or the highest score"}
              .one_of({"none", "simple", "first", "average", "max"}));
    visit(Field{"ignore_labels", &C::ignore_labels, "labels to leave out"});
  }
};

struct AnswerParameters {
  std::int64_t top_k = 1;
  std::int64_t max_answer_len = 15;
  bool handle_impossible_answer = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = AnswerParameters;
    constexpr std::int64_t kMostTokens = 1 << 12;
    visit(Field{"top_k", &C::top_k, "answers, best first"}.range(1, kMostTokens));
    visit(Field{"max_answer_len", &C::max_answer_len, "tokens of an answer"}.range(1, kMostTokens));
    visit(Field{"handle_impossible_answer", &C::handle_impossible_answer, "no answer may win"});
  }
};

struct FillMaskParameters {
  std::int64_t top_k = 5;
  std::vector<std::string> targets;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = FillMaskParameters;
    visit(Field{"top_k", &C::top_k, "tokens for each mask, best first"}.range(1, kMostResults));
    visit(Field{"targets", &C::targets, "tokens to choose from; without them the whole vocabulary"});
  }
};

server::Operation classify_operation();
server::Operation tag_operation();
server::Operation answer_operation();
server::Operation fill_mask_operation();
server::Operation choose_operation();
server::Operation restore_operation();

}  // namespace weft::requests
