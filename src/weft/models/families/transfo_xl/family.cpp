// SPDX-License-Identifier: Apache-2.0
// Transformer-XL (Dai et al. 2019) as a directory of transformers 4. Names by their beginnings and ends: a layer's by
// its number, a cluster's by its own.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/pow.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/families/causal_rules.h"
#include "weft/models/families/rows.h"
#include "weft/models/families/transfo_xl/config_json.h"

namespace weft::models {
namespace {

using Names = std::pair<std::string_view, std::string_view>;

/// Behind layers.N. and transformer.layers.N.
constexpr std::array<Names, 11> kLayerNames{{{"attention.qkv.weight", "dec_attn.qkv_net.weight"},
                                             {"attention.output.weight", "dec_attn.o_net.weight"},
                                             {"attention.mechanism.distances", "dec_attn.r_net.weight"},
                                             {"attention.mechanism.content_bias", "dec_attn.r_w_bias"},
                                             {"attention.mechanism.distance_bias", "dec_attn.r_r_bias"},
                                             {"attention_norm.", "dec_attn.layer_norm."},
                                             {"feed_forward.up.", "pos_ff.CoreNet.0."},
                                             {"feed_forward.down.", "pos_ff.CoreNet.3."},
                                             {"feed_forward_norm.", "pos_ff.layer_norm."},
                                             {"head.vocabulary.cluster_weight", "crit.cluster_weight"},
                                             {"head.vocabulary.cluster_bias", "crit.cluster_bias"}}};
constexpr std::string_view kEmbeddings = "embeddings.tokens.cluster_";
constexpr std::string_view kOutputs = "head.vocabulary.cluster_";
constexpr const char* kFrequencies = "transformer.pos_emb.inv_freq";

/// `name` with the beginning that a row knows replaced; empty where none does.
std::string by_beginning(std::string_view name) {
  for (const auto& [ours, theirs] : kLayerNames) {
    if (name.starts_with(ours)) {
      return concat(theirs, name.substr(ours.size()));
    }
  }
  return {};
}

/// Of the embeddings of cluster `rest` = "N.weight" or "N.projection". Tied, the head's copies are written, too.
HuggingFaceNames embedding_names(std::string_view rest, bool tied) {
  const std::string_view number = rest.substr(0, rest.find('.'));
  if (rest.ends_with("weight")) {
    const auto copy = concat("crit.out_layers.", number, ".weight");
    return {.parts = {concat("transformer.word_emb.emb_layers.", number, ".weight")},
            .copies = tied ? std::vector{copy} : std::vector<std::string>{}};
  }
  const bool copies = tied && number != "0";
  return {.parts = {concat("transformer.word_emb.emb_projs.", number)},
          .copies = copies ? std::vector{concat("crit.out_projs.", number)} : std::vector<std::string>{}};
}

/// Of the head's part of a cluster. A tensor that its file shares with the embeddings may be there under their name.
HuggingFaceNames output_names(std::string_view rest) {
  const std::string_view number = rest.substr(0, rest.find('.'));
  if (rest.ends_with("projection")) {
    return {.parts = {concat("crit.out_projs.", number)},
            .alternatives = {concat("transformer.word_emb.emb_projs.", number)}};
  }
  if (rest.ends_with("weight")) {
    return {.parts = {concat("crit.out_layers.", number, ".weight")},
            .alternatives = {concat("transformer.word_emb.emb_layers.", number, ".weight")}};
  }
  return {.parts = {concat("crit.out_layers.", number, ".bias")}};
}

HuggingFaceNames names_of(std::string_view parameter, const TransformerConfig& config) {
  if (parameter.starts_with(kEmbeddings)) {
    return embedding_names(parameter.substr(kEmbeddings.size()), config.tie_word_embeddings);
  }
  if (const std::string head = by_beginning(parameter); !head.empty()) {
    return {.parts = {head}};
  }
  if (parameter.starts_with(kOutputs)) {
    return output_names(parameter.substr(kOutputs.size()));
  }
  const std::string_view rest = parameter.substr(std::string_view("layers.").size());
  const std::string_view number = rest.substr(0, rest.find('.'));
  const std::string theirs = by_beginning(rest.substr(number.size() + 1));
  HuggingFaceNames names{.parts = {concat("transformer.layers.", number, ".", theirs)}};
  // u and v of all layers lie beside the layers, and in some files in each of them.
  const bool shared = theirs.ends_with("_bias") && config.attention.front().find("shared") != std::string::npos;
  if (shared) {
    names.alternatives = {
        std::exchange(names.parts.front(), concat("transformer.", theirs.substr(theirs.find('.') + 1)))};
  }
  return names;
}

/// Copies of tied tensors, which transformers overwrites, and what it computes.
bool may_be_surplus(std::string_view name, bool tied, bool shares) {
  const bool of_head =
      (name.starts_with("crit.out_layers.") && name.ends_with(".weight")) || name.starts_with("crit.out_projs.");
  const bool of_layer = name.ends_with(".r_w_bias") || name.ends_with(".r_r_bias");
  return name == kFrequencies || (tied && of_head) || (shares && of_layer);
}

/// What transformers keeps of its waves, in float32 and by the same operators: without it, it warns of a missing
/// tensor.
at::Tensor wave_frequencies(std::int64_t width) {
  const at::Tensor steps = at::arange(0, width, 2, at::kFloat) / static_cast<double>(width);
  return at::pow(10000.0, steps).reciprocal();
}

WeightMap transfo_xl_weights(const TransformerConfig& config) {
  const bool tied = config.tie_word_embeddings;
  const bool shares = config.attention.front().find("shared") != std::string::npos;
  return {.names = [config](const std::string& parameter) { return names_of(parameter, config); },
          .may_be_surplus = [tied, shares](std::string_view name) { return may_be_surplus(name, tied, shares); },
          .constants = {{kFrequencies, wave_frequencies(config.hidden_size)}},
          .takes_float64 = true};
}

/// The reference begins a text behind a memory of zeros.
LikeTransformers transfo_xl_scores(const TransformerConfig&, const std::string&) { return {.behind_zeros = true}; }

CausalRules transfo_xl_rules() {
  CausalRules rules;
  rules.from_json = transfo_xl_from_json;
  rules.to_json = transfo_xl_to_json;
  rules.weights = transfo_xl_weights;
  rules.scores_like_transformers = transfo_xl_scores;
  return rules;
}

}  // namespace

const Family& transfo_xl_family() {
  static const CausalRules rules = transfo_xl_rules();
  static const Family family{.name = kTransfoXl, .model_type = kTransfoXl, .causal = &rules};
  return family;
}

}  // namespace weft::models
