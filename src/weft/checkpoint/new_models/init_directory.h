// SPDX-License-Identifier: Apache-2.0
// A model directory with random weights, of any family and shape; of an encoder-decoder perhaps with an encoder's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/checkpoint/new_models/new_model.h"
#include "weft/core/fields.h"
#include "weft/formats/config_json.h"
#include "weft/models/encoder_config.h"

namespace weft::checkpoint {

struct InitConfig {
  std::string head = "masked-lm";
  std::vector<std::string> labels;
  std::int64_t seed = 0;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = InitConfig;
    visit(Field{"head", &C::head, "head on top of the encoder"}.one_of(models::head_names()));
    visit(Field{"labels", &C::labels, "names of a classifier's labels, in the order of their ids"});
    visit(Field{"seed", &C::seed, "random seed of the weights"}.at_least(0));
  }
};

struct InitRequest {
  std::string family;     ///< empty: that of `config`, or bert
  std::string config;     ///< a config.json, or a directory that has one, whose shape is taken; empty: the family's
  std::string encoder;    ///< directory of an encoder that starts both sides of an encoder-decoder
  std::string tokenizer;  ///< directory whose tokeniser is copied
  std::string out;
  formats::Json given = formats::Json::object();  ///< fields of InitConfig
  formats::Json shape = formats::Json::object();  ///< fields of the family's config
};

/// Makes `out`. Errors: kArgument where it already holds a model, for fields that do not fit, and for one that the
/// model does not read (UsageError); those of the config, the encoder and the tokeniser; kIo.
NewModel init_directory(const InitRequest& request);

}  // namespace weft::checkpoint
