// SPDX-License-Identifier: Apache-2.0
// A model directory opened for a task that writes texts: an encoder-decoder, its tokeniser, and the settings of its
// search.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/checkpoint/open_model.h"
#include "weft/generation/joint_decoder.h"
#include "weft/generation/processors/processor.h"
#include "weft/generation/settings/generation_config.h"
#include "weft/generation/stop_strings.h"
#include "weft/tasks/sequences/writer.h"

namespace weft::tasks {

struct SequenceModelOptions {
  checkpoint::EncoderDecoderLoadOptions load = {};
  std::string products = "float32";              ///< what float32 weights are multiplied in: float32 or bfloat16
  generation::GenerationConfig generation = {};  ///< complete: those of the directory with flags over them
  std::int64_t max_length = 0;  ///< tokens of a source; 0: as many as the model and its tokeniser allow
};

/// The same without its writer: no weight is read. Errors: as open_sequence_model().
SequenceModel describe_sequence_model(const checkpoint::OpenedModel& directory, std::int64_t max_length = 0);

/// `settings` of a directory with a length where they have none: as many tokens as its model writes. Without one such
/// texts would stop after 20 tokens, as those of `transformers` do.
generation::GenerationConfig with_length(generation::GenerationConfig settings,
                                         const checkpoint::OpenedModel& directory);

/// Errors: as checkpoint::load_encoder_decoder and text::load_pair_tokenizer; kArgument where max_length is more than
/// the model reads, or the settings name no token that a text starts with.
SequenceModel open_sequence_model(const checkpoint::OpenedModel& directory, const SequenceModelOptions& options);

/// An open model writes by `settings` from now on; its weights stay. Errors: kArgument where they name no token that a
/// text starts with.
void write_by(SequenceModel& model, const generation::GenerationConfig& settings);

/// The model and its search as a writer; `start` is the decoder's first token, `products` as in SequenceModel.
std::shared_ptr<Writer> make_writer(const models::EncoderDecoder& model, const generation::GenerationConfig& config,
                                    std::int64_t start, generation::StopRule stops = {},
                                    const std::string& products = "float32");

/// Other models that write together with an open one.
struct JointModels {
  std::vector<models::EncoderDecoder> others;
  std::vector<double> weights = {};  ///< of the open one and of these; empty: equal ones
  generation::JointMean mean = generation::JointMean::kProbabilities;
};
/// From now on `model` writes with them. Errors: kArgument as generation::joint_weights(); kUnsupported for a writer
/// that is not of make_writer().
void write_jointly(SequenceModel& model, JointModels joint);

/// From now on `model` writes what `constraint` lets come only.
void write_constrained(SequenceModel& model, generation::Processor constraint);

/// The model behind a writer, and the first token of its texts, for who looks at how it writes.
struct WritingModel {
  models::EncoderDecoder model{nullptr};
  std::int64_t start = 0;
};
/// Errors: kUnsupported for a writer that is not of make_writer().
WritingModel writing_model(const Writer& writer);

}  // namespace weft::tasks
