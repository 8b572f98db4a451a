// SPDX-License-Identifier: Apache-2.0
// The texts of a profile as units, a few batches each: what shards divide among them, and where a profile that was
// stopped goes on. A unit does not depend on the units before it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "weft/data/token_source.h"
#include "weft/formats/sha256.h"
#include "weft/models/encoder_decoder.h"
#include "weft/models/language_model.h"
#include "weft/tasks/documents.h"
#include "weft/tasks/encoder_runner.h"
#include "weft/tasks/sequences/writer.h"
#include "weft/tasks/task_model.h"

namespace weft::tasks {

/// What ran.
struct UnitCounts {
  std::int64_t texts = 0;
  std::int64_t tokens = 0;  ///< special ones included, padding not
};

class ProfileUnits {
 public:
  ProfileUnits() = default;
  ProfileUnits(const ProfileUnits&) = delete;
  ProfileUnits& operator=(const ProfileUnits&) = delete;
  virtual ~ProfileUnits() = default;

  /// Reads the next unit, and adds to `digest` what it is and how it is cut and batched. False behind the last.
  virtual bool next(formats::Sha256& digest) = 0;
  /// Runs the model over it.
  virtual UnitCounts run() = 0;
  /// How much of the texts has been read, at most 1; negative where nobody knows how many there are.
  virtual double share() const { return -1.0; }
};

/// Some more documents, in order; none at the end.
using NextDocuments = std::function<std::vector<Document>()>;

/// A text in windows of `context` tokens, side by side, for a decoder or an encoder of Weft's own. A decoder with a
/// memory reads longer stretches, segment by segment, each beginning without a memory. `batch_tokens`: of windows that
/// run together. Errors: kArgument for a context below 1.
std::unique_ptr<ProfileUnits> token_units(models::LanguageModel model, std::shared_ptr<const data::TokenSource> tokens,
                                          std::int64_t context, std::int64_t batch_tokens);

/// How documents run.
struct DocumentUnitOptions {
  BatchLimits batch = {};
  bool truncate = false;     ///< cut texts that do not fit and cannot be read in windows, instead of an error
  bool questions = false;    ///< a pair is a question on a document, which is read in windows as training reads it
  std::int64_t stride = -1;  ///< tokens that windows of such a document share; -1: default_stride()
};

/// Documents through an encoder: single texts in windows side by side, pairs whole, or questions with windows of their
/// documents.
std::unique_ptr<ProfileUnits> document_units(TaskModel model, NextDocuments next, const DocumentUnitOptions& options);

/// Pairs through an encoder-decoder, each target as the decoder learns to write it. `start` is its first token.
std::unique_ptr<ProfileUnits> pair_units(SequenceModel texts, models::EncoderDecoder model, std::int64_t start,
                                         NextDocuments next, const DocumentUnitOptions& options);

}  // namespace weft::tasks
