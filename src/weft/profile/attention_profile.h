// SPDX-License-Identifier: Apache-2.0
// The file of `weft profile`: the sums of every layer's attention over a set of texts, and of which model, texts and
// patterns they are. No LibTorch is needed to read one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/fields.h"
#include "weft/profile/mass_sums.h"

namespace weft::profile {

/// What the model was.
struct ModelOrigin {
  std::string path;    ///< as it was named
  std::string kind;    ///< decoder, encoder or encoder-decoder
  std::string digest;  ///< SHA-256 of config.json and the files of weights
  std::string dtype;   ///< of its products: float32 or bfloat16

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = ModelOrigin;
    visit(Field{"path", &C::path, "the directory as it was named"});
    visit(Field{"kind", &C::kind, "what it holds"}.one_of({"decoder", "encoder", "encoder-decoder"}));
    visit(Field{"digest", &C::digest, "SHA-256 of its config and weights"});
    visit(Field{"dtype", &C::dtype, "of its products"});
  }
};

/// What was read. Each shard reads all texts and counts those that it runs.
struct DataOrigin {
  std::string digest;       ///< SHA-256 of the texts in their order, and of how they were cut and batched
  std::int64_t texts = 0;   ///< that ran
  std::int64_t tokens = 0;  ///< that ran, special ones included, padding not

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = DataOrigin;
    visit(Field{"digest", &C::digest, "SHA-256 of the texts"});
    visit(Field{"texts", &C::texts, "texts that ran"}.at_least(0));
    visit(Field{"tokens", &C::tokens, "tokens that ran"}.at_least(0));
  }
};

/// How much of the data it is. The data come in units, a few texts each; unit u belongs to shard u % shards.
struct Progress {
  std::int64_t shard = 0;
  std::int64_t shards = 1;
  std::int64_t units = 0;  ///< of all shards, that were read; this shard's among them ran
  bool complete = false;   ///< the data ended there

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = Progress;
    visit(Field{"shard", &C::shard, "which part of the data ran"}.range(0, 65535));
    visit(Field{"shards", &C::shards, "parts of the data"}.range(1, 65536));
    visit(Field{"units", &C::units, "units that were read"}.at_least(0));
    visit(Field{"complete", &C::complete, "whether all were read"});
  }
};

/// One layer's attention.
struct PartSite {
  std::string name;  ///< layers.3.self, encoder.layers.3.self, decoder.layers.3.self, decoder.layers.3.cross
  std::int64_t layer = 0;
  bool cross = false;
  bool causal = false;
  std::int64_t heads = 1;
  std::int64_t head_dim = 1;
  std::string expression;  ///< of the mechanism, canonical, `causal &` included
  std::int64_t maximum_length = 0;
  std::string reason;  ///< why it has no sums; empty: it has
  std::string note;    ///< what else its sums hold than calls of the expression, or nothing

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = PartSite;
    visit(Field{"name", &C::name, "of the layer's attention"});
    visit(Field{"layer", &C::layer, "in its stack, from 0"}.range(0, 65535));
    visit(Field{"cross", &C::cross, "whether keys are those of another text"});
    visit(Field{"causal", &C::causal, "whether no query sees a later key"});
    visit(Field{"heads", &C::heads, "heads"}.range(1, 65536));
    visit(Field{"head_dim", &C::head_dim, "columns of a head"}.range(1, 65536));
    visit(Field{"expression", &C::expression, "the pattern or mechanism"});
    visit(Field{"maximum_length", &C::maximum_length, "of the model"}.at_least(0));
    visit(Field{"reason", &C::reason, "why it has no sums"});
    visit(Field{"note", &C::note, "what else its sums hold"});
  }
};

struct Part {
  PartSite site;
  MassSums sums;
};

struct AttentionProfile {
  ModelOrigin model;
  DataOrigin data;
  Progress progress;
  std::int64_t tile = 64;
  std::int64_t edge_limit = 1024;
  std::vector<Part> parts;  ///< in the order of the model

  /// The part of that name, or null.
  const Part* find(std::string_view name) const;
};

/// Atomic. Errors: kIo; those of MassSums::check().
void write_profile(const std::filesystem::path& path, const AttentionProfile& profile);

/// Any profile, of a part of the data too. Errors: kIo; kFormat for a file that is no profile, or whose tensors do not
/// fit what its metadata say.
AttentionProfile read_profile(const std::filesystem::path& path);

/// Errors: kArgument, saying what to do, for a profile that is one of several shards or was stopped.
void require_complete(const AttentionProfile& profile, const std::string& where);

/// The parts of self-attention, of cross-attention or of both, as `attend` says. Errors: kArgument, beginning with
/// `where`, for a profile without such a part, and for such a part that has no sums or no row.
std::vector<const Part*> attending_parts(const AttentionProfile& profile, std::string_view attend,
                                         const std::string& where);

/// All shards as one: equal to a profile of all the data by one process, bit for bit. `names` are those of the files,
/// for messages. Errors: kArgument where one is missing, given twice or not complete, or is of another model, other
/// texts or other settings.
AttentionProfile merge_profiles(std::vector<AttentionProfile> shards, std::span<const std::string> names);

}  // namespace weft::profile
