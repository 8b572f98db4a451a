// SPDX-License-Identifier: Apache-2.0
// Word alignments out of a trained encoder-decoder: it is shown a text with its translation, and the weights of one
// layer's cross-attention say where each token of the translation looks (Garg et al. 2019, section 3; Chen et al.
// 2020).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/checkpoint/open_model.h"
#include "weft/metrics/translation/alignment_error.h"
#include "weft/tasks/documents.h"
#include "weft/tasks/sequences/writer.h"

namespace weft::tasks {

/// Which weights are looked at.
struct AlignmentSite {
  std::int64_t layer = -1;               ///< of the decoder, from 0; -1: see open_align_model()
  std::vector<std::int64_t> heads = {};  ///< whose mean is taken; empty: all
  /// A token's weights are those of the step that reads it, and not of the step that writes it (Shift-Att of Chen et
  /// al.).
  bool shift = false;
};

struct AlignOptions {
  checkpoint::EncoderDecoderLoadOptions load = {};
  std::string products = "float32";  ///< as in SequenceModelOptions
  AlignmentSite site = {};
  std::string source_lang = {};  ///< checked as `weft translate` does
  std::string target_lang = {};
  bool skip_long = false;  ///< a pair with a text that the model is too short for has no links
};

/// A model directory ready to align.
struct AlignModel {
  SequenceModel texts;  ///< without a writer
  models::EncoderDecoder model{nullptr};
  AlignmentSite site;      ///< with its layer
  std::int64_t start = 0;  ///< the decoder's first token
  std::string code;        ///< `>>xx<< ` before every source, or nothing
  bool skip_long = false;
};

/// Without anything given: the head that has learned alignments, where the config names one. Without a layer: the last
/// but one, all heads (Garg et al. find it best of six); with `shift` the middle one, the
/// lower of two (Chen et al.). Errors: as open_sequence_model; kArgument for a layer or head that the decoder does not
/// have, for languages, and where no token starts a target.
AlignModel open_align_model(const checkpoint::OpenedModel& directory, const AlignOptions& options);

/// The model that writes for `texts`, looked at where open_align_model() looks without anything given. Errors: those of
/// writing_model().
AlignModel align_model(const SequenceModel& texts);

/// A pair's words, and its links with their probability.
struct AlignedPair {
  std::vector<std::string> source_words;
  std::vector<std::string> target_words;
  /// Of a link: the largest share of its weight that a token of the target word, linked to the source word, gives to
  /// all tokens of that word.
  std::map<metrics::AlignmentLink, double> links;
  std::int64_t source_tokens = 0;  ///< special ones included
  std::int64_t target_tokens = 0;
  bool one_by_one = false;  ///< words were read one by one, see text::WordIds
  bool too_long = false;    ///< and therefore without links, see AlignOptions

  metrics::AlignmentLinks link_set() const;
};

/// Aligns `first` of each pair with `second`. A token of the target is linked to the source token with the largest
/// weight, special tokens left out; two words are linked where a token of one is linked to a token of the other. A side
/// without words has no links. Results do not depend on the batches. Errors: those of the tokeniser and the model with
/// the name of the pair; TextTooLong for a text that is longer than the model reads, without `skip_long`; kNumeric for
/// weights that are not finite; kInterrupted after Ctrl-C, between two batches.
std::vector<AlignedPair> align(AlignModel& model, std::span<const Document> pairs, const BatchLimits& limits);

}  // namespace weft::tasks
