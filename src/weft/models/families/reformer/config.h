// SPDX-License-Identifier: Apache-2.0
// What a Reformer as an encoder has beyond the fields of every encoder.
#pragma once

#include "weft/models/transformer_config.h"

namespace weft::models {

struct EncoderConfig;
struct EncoderOptions;

/// Its layers are described by the config of a decoder, whose field list JSON has: this one has none of its own.
struct ReformerEncoderFields {
  TransformerConfig body;  ///< the stack; sizes and dropout of the EncoderConfig are copies

  template <typename Visitor>
  static void fields(Visitor&&) {}
};

/// A Reformer whose stack is `body`, which reads a text from both sides.
EncoderConfig reformer_config(const TransformerConfig& body);

/// The stack as the config and the options have its attention: that of the config comes before that of its body.
TransformerConfig reformer_body(const EncoderConfig& config, const EncoderOptions& options);

}  // namespace weft::models
