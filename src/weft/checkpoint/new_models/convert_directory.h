// SPDX-License-Identifier: Apache-2.0
// A model directory out of another one: a long encoder out of a BERT or RoBERTa, encoder-decoders that read longer
// sources, any of them with other attention, and decoders in the form of `transformers`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/checkpoint/new_models/new_model.h"
#include "weft/core/fields.h"
#include "weft/formats/config_json.h"

namespace weft::checkpoint {

/// The families that models of others become, in the order of the list.
std::vector<std::string_view> conversion_targets();

/// What fields are, of the families that have them.
struct ConvertHelp {
  std::string window;
  std::string block;
  std::string random;
  std::string latents;
};
const ConvertHelp& convert_help();

/// What the new model is.
struct ConvertConfig {
  std::string to = std::string(conversion_targets().front());
  std::int64_t length = 4096;
  std::vector<std::int64_t> attention_window = {512};
  std::int64_t block_size = 64;
  std::int64_t random_blocks = 3;
  std::int64_t latents = 64;
  std::vector<std::string> attention = {};
  std::string weights = "stored";

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = ConvertConfig;
    visit(Field{
        "to", &C::to,
        "family of the new model; led out of a bart, transfo-xl out of what weft train --variant transformer-xl made, "
        "reformer out of what weft train --residual reversible made"}
              .one_of(conversion_targets()));
    visit(Field{"length", &C::length, "longest text of the new model, in tokens"}.range(1, 1 << 24));
    const ConvertHelp& help = convert_help();
    visit(Field{"attention_window", &C::attention_window, help.window});
    visit(Field{"block_size", &C::block_size, help.block}.range(1, 1 << 16));
    visit(Field{"random_blocks", &C::random_blocks, help.random}.range(0, 1 << 16));
    visit(Field{"latents", &C::latents, help.latents}.range(1, 4096));
    visit(Field{"attention", &C::attention,
                "mechanism or pattern to use instead of the family's: one, or one for each layer; 'A => B' in layers "
                "that have A; @FILE of weft prune or weft propose makes the same model with these patterns"});
    visit(Field{"weights", &C::weights,
                "stored, or int8 for the same model of any family with linear layers and the tables of tokens as a "
                "byte a number and a scale a row; for inference alone"}
              .one_of({"stored", "int8"}));
  }
};

struct ConvertRequest {
  std::string directory;
  std::string out;
  formats::Json given = formats::Json::object();  ///< fields of ConvertConfig; others keep what the model has
};

/// Makes `out`, with the tokeniser of `directory` and what sentence-transformers put beside it. Errors: kArgument where
/// `out` already holds a model, for a family or length that does not fit, and for a field that the new model does not
/// read (UsageError); those of the model and of a mechanism string; kIo.
NewModel convert_directory(const ConvertRequest& request);

}  // namespace weft::checkpoint
