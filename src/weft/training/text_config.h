// SPDX-License-Identifier: Apache-2.0
// What a task over text learns from: which text, how long its windows are, what is masked of them. The field list is
// the group "Text" of `weft train`'s flags; a run's training.json has it beside the trainer's fields.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/fields.h"
#include "weft/formats/config_json.h"
#include "weft/training/trainer_config.h"

namespace weft::training {

/// The field list says what each field means and which values it takes.
struct TextConfig {
  std::vector<std::string> train_text;
  std::vector<std::string> eval_text;
  std::int64_t context = 1024;
  double mask_probability = 0.15;
  std::string masking = "tokens";
  std::int64_t max_eval_bytes = 262144;
  double span_loss = 0.0;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = TextConfig;
    visit(Field{"train_text", &C::train_text, "files and folders to train on"});
    visit(Field{"eval_text", &C::eval_text,
                "held-out files and folders to evaluate on; without them nothing is evaluated"});
    visit(Field{"context", &C::context, "tokens of a training window"}.range(1, kMostTokens));
    visit(Field{"mask_probability", &C::mask_probability,
                "share of the tokens that are masked, for an encoder to predict"}
              .range(0.001, 1));
    visit(Field{"masking", &C::masking, "what is masked for an encoder: single tokens, whole words, or spans of words"}
              .one_of({"tokens", "words", "spans"}));
    visit(
        Field{"max_eval_bytes", &C::max_eval_bytes, "held-out bytes that an evaluation reads; 0 for all"}.at_least(0));
    visit(
        Field{"span_loss", &C::span_loss,
              "attention `span`: added to the loss for each token of a layer's mean span, summed over the layers, for "
              "example 2e-6; 0 leaves spans free"}
            .range(0, 1));
  }
};

/// Every field, and some train_text. Errors: kArgument naming `where`, the field, the rule and the value.
void check_config(const TextConfig& config, std::string_view where);

/// `config` as a run directory keeps it: its paths are absolute.
TextConfig resolved(TextConfig config);

/// The text of a resumed run: what its training.json records, with what `given` names laid over it, which leaves
/// `given`; resolved. The places of the text and how much of it is evaluated may change. Errors: as check_same.
TextConfig resumed_text(const formats::Json& recorded, formats::Json& given, const std::filesystem::path& where);

}  // namespace weft::training
