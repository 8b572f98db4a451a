// SPDX-License-Identifier: Apache-2.0
// What an attention mechanism says about itself before it is built: a config is validated, described and counted
// without a tensor. This header sees no LibTorch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/pattern/pattern.h"

namespace weft::attention {

/// Learned scores of distances, many distances a bucket (Raffel et al. 2020); see distance_biases.h.
struct DistanceBuckets {
  std::int64_t count = 32;      ///< of both sides together, where a key may be behind the query
  std::int64_t farthest = 128;  ///< distance from which on all are in the last bucket
  bool in_each_layer = false;   ///< every layer learns its scores; else all have those of layer 0
};

/// What is fixed when a layer is built.
struct MechanismSite {
  std::int64_t heads = 1;
  std::int64_t head_dim = 64;
  std::int64_t layer = 0;
  std::int64_t maximum_length = 0;
  std::int64_t maximum_key_length = 0;  ///< of the other sequence, where `cross`; 0: the same
  bool causal = false;                  ///< no later position may matter; a pattern is intersected with `causal`
  bool incremental = false;             ///< tokens come one after the other, behind a state of those before
  bool cross = false;                   ///< queries and keys come from two sequences
  double position_dropout = 0.0;        ///< on what a mechanism's scores know of distances, while training
  double dropout = 0.0;                 ///< on the attention probabilities while training; nothing where there are none
  bool alibi = false;           ///< the distance of two positions lowers their score, with the slopes of alibi_slopes()
  bool learned_slopes = false;  ///< ... which are where learning begins, in place of constants
  std::optional<DistanceBuckets> buckets = {};  ///< distances have learned scores
  std::filesystem::path directory = {};         ///< of the config: files that the expression names lie below it
};

/// Why a mechanism cannot do something: a clause that ends "..., because <clause>". Empty where it can.
struct MechanismLimits {
  std::string causal = {};
  std::string incremental = {};
  std::string cross = {};
  std::string distances = {};  ///< be given scores of distances that its site says
};

/// Which projections of its input a layer makes for the mechanism.
enum class Projections {
  kSeparate,        ///< queries, keys and values
  kSharedQueryKey,  ///< one for queries and keys (Kitaev et al. 2020), and values: both are the same rows in a call
};

/// A mechanism string, read and understood.
struct MechanismSpec {
  std::string name;         ///< of its row in the registry; "pattern" for every pattern
  std::string description;  ///< canonical form, from which parse_mechanism() gives the same
  MechanismLimits limits = {};
  Projections projections = Projections::kSeparate;
  bool needs_input = false;              ///< a call has to bind positions to `input`
  bool brings_positions = false;         ///< its scores know positions: a model adds none of its own
  bool has_probabilities = true;         ///< of pairs; without any, dropout on them does nothing
  bool keeps_memory = false;             ///< a segment can go on behind the rows that the one before it left
  bool has_longest_text = false;         ///< it reads no text longer than its site's maximum_length
  bool ignores_query_positions = false;  ///< wherever a query stands, it sees the same of another sequence
  std::int64_t heads = 0;                ///< whose settings it lists one by one; 0: it fits any number
  std::int64_t latents = 0;       ///< learned companions that a layer packs its text into, and that this one attends to
  std::int64_t summed_block = 0;  ///< tokens of a block whose sum a layer makes a row of (transient_global/); 0: none
  bool companions = false;        ///< queries, keys and values begin with those of companions that a call brings
                                  ///< (AttentionContext::companions)
  /// Why an observer sees nothing of its calls, a sentence without its end; empty: it sees all of them, because
  /// forward() shows them (show_call()); absent: there is no softmax over edges.
  std::optional<std::string> not_observed = {};
  std::vector<std::string> parameters = {};      ///< names that its module registers for what it learns
  std::vector<pattern::PatternFile> files = {};  ///< that the expression names, for whoever saves it elsewhere
  std::optional<pattern::Pattern> pattern = {};  ///< where the mechanism is one
  std::function<double(const MechanismSite& site, std::int64_t length)> operations = {};  ///< forward_operations()
};

/// Reads what a config or the command line names; files lie below `directory`, the working directory where empty.
/// Errors: kExpression with a caret, and those of a file that it names, as Pattern::parse; kUnsupported for a name that
/// is known and not there yet.
MechanismSpec parse_mechanism(const std::string& expression, const std::filesystem::path& directory = {});

/// The same for a pattern that is parsed, or built in C++ (pattern/build.h).
MechanismSpec pattern_mechanism(const pattern::Pattern& pattern);

/// The mechanism as it computes at `site`: a pattern of a decoder is joined with `causal`, and says so in its
/// description. Errors: kArgument for a site out of range, and in one line that says why, where the site asks for what
/// the mechanism cannot do; as Pattern::check() for a pattern that does not fit heads and layer.
MechanismSpec at_site(MechanismSpec spec, const MechanismSite& site);

/// Operations (a multiplication and an addition are two) of one head over `length` tokens, forwards; nothing for a
/// pattern, whose cost follows its layout (inspect/cost/model_cost.h).
std::optional<double> forward_operations(const MechanismSpec& spec, const MechanismSite& site, std::int64_t length);

}  // namespace weft::attention
