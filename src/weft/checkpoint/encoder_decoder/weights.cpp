// SPDX-License-Identifier: Apache-2.0
// `transformers` 4 wrote every copy of a shared table, `transformers` 5 writes one of them: either is read.
#include "weft/checkpoint/encoder_decoder/weights.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "weft/checkpoint/int8/quantization_config.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/models/families/name_rows.h"
#include "weft/models/families/pair_rules.h"

namespace weft::checkpoint {
namespace {

using models::EncoderDecoderConfig;
using models::PairRules;

constexpr const char* kOwnBias = "head_bias";
constexpr const char* kBias = "final_logits_bias";
constexpr const char* kHead = "lm_head.weight";

bool is_own(const EncoderDecoderConfig& config) { return models::pair_rules(config).is_own(); }

std::string shared_table(const std::string& prefix) { return prefix + "shared.weight"; }
std::string source_table(const std::string& prefix) { return prefix + "encoder.embed_tokens.weight"; }
std::string target_table(const std::string& prefix) { return prefix + "decoder.embed_tokens.weight"; }

/// The first of the names that the file has, or nothing.
std::string first_of(const formats::TensorFile& file, const std::vector<std::string>& names) {
  const auto found =
      std::find_if(names.begin(), names.end(), [&](const std::string& name) { return file.find(name) != nullptr; });
  return found == names.end() ? std::string() : *found;
}

/// Whether two tensors hold the same; a misshapen one is no copy, and complained about later.
bool are_equal(const formats::TensorFile& file, const std::string& one, const std::string& other) {
  const formats::TensorInfo* first = file.find(one);
  const formats::TensorInfo* second = file.find(other);
  return first == second || (first->shape == second->shape && first->dtype == second->dtype &&
                             read_tensor(file, *first).equal(read_tensor(file, *second)));
}

std::string prefix_in(const formats::TensorFile& file, const PairRules& rules) {
  const std::string prefix = rules.prefix();
  const auto& tensors = file.tensors();
  const bool prefixed = std::any_of(tensors.begin(), tensors.end(),
                                    [&](const formats::TensorInfo& info) { return info.name.starts_with(prefix); });
  return prefixed ? prefix : std::string();
}

bool has_fixed_positions(const EncoderDecoderConfig& config) { return config.position_embedding != "learned"; }

/// Tensors that are copies of others, or numbers that Weft computes.
bool may_be_left(std::string_view name, const PairRules& rules, const std::string& prefix, bool fixed_positions) {
  const std::array<std::string, 4> copies{shared_table(prefix), source_table(prefix), target_table(prefix), kHead};
  const bool positions =
      name == prefix + "encoder.embed_positions.weight" || name == prefix + "decoder.embed_positions.weight";
  const auto is_below = [&](std::string_view idle) { return name.starts_with(concat(prefix, idle)); };
  return (name == kBias && rules.has_head_bias) || (positions && fixed_positions) ||
         std::find(copies.begin(), copies.end(), name) != copies.end() ||
         std::any_of(rules.idle_names.begin(), rules.idle_names.end(), is_below);
}

std::vector<std::string> parts_of(const std::vector<models::NameRow>& rows, const EncoderDecoderFile& file,
                                  const std::string& parameter) {
  if (parameter == "encoder.embeddings.tokens") {
    return {file.source_tokens};
  }
  if (parameter == "decoder.embeddings.tokens") {
    return {file.target_tokens};
  }
  if (parameter == "head") {
    return {file.head};
  }
  std::vector<std::string> parts = models::names_by_rows(rows, parameter, file.prefix);
  if (parts.empty()) {
    throw std::logic_error(concat("no Hugging Face name for ", parameter));
  }
  return parts;
}

/// Where `transformers` looks for the tables of a model that is written.
EncoderDecoderFile written_file(const EncoderDecoderConfig& config) {
  EncoderDecoderFile file;
  file.prefix = models::pair_rules(config).prefix();
  file.shares = config.share_embeddings;
  file.ties = config.tie_word_embeddings;
  file.source_tokens = file.shares ? shared_table(file.prefix) : source_table(file.prefix);
  file.target_tokens = file.shares ? file.source_tokens : target_table(file.prefix);
  file.head = kHead;
  return file;
}

/// Copies that `transformers` wants beside the parameters: it ties nothing where tie_word_embeddings is false.
void add_copies(NamedTensors& tensors, const EncoderDecoderConfig& config, const EncoderDecoderFile& file) {
  const auto tensor = [&](const std::string& name) {
    return std::find_if(tensors.begin(), tensors.end(), [&](const auto& entry) { return entry.first == name; })->second;
  };
  const bool by_field = models::pair_rules(config).has_field("share_embeddings");
  const bool has_codes = tensor(file.source_tokens).scalar_type() == at::kChar;
  const auto copy = [&](const std::string& from, const std::string& to) {
    const at::Tensor numbers = tensor(from);
    tensors.emplace_back(to, numbers);
    if (has_codes) {
      const at::Tensor scales = tensor(scale_name(from));
      tensors.emplace_back(scale_name(to), scales);
    }
  };
  if (file.shares && !file.ties) {
    copy(file.source_tokens, source_table(file.prefix));
    copy(file.target_tokens, target_table(file.prefix));
  }
  if (!file.shares && !by_field) {
    copy(file.source_tokens, shared_table(file.prefix));
    if (file.ties) {
      copy(file.target_tokens, kHead);
    }
  }
}

}  // namespace

std::vector<std::string> encoder_decoder_anchors(const EncoderDecoderConfig& config) {
  if (is_own(config)) {
    return {"encoder.embeddings.tokens"};
  }
  std::vector<std::string> anchors;
  for (const std::string& prefix : {models::pair_rules(config).prefix(), std::string()}) {
    anchors.insert(anchors.end(), {shared_table(prefix), source_table(prefix), target_table(prefix)});
  }
  return anchors;
}

EncoderDecoderFile describe_encoder_decoder(const formats::TensorFile& file, const EncoderDecoderConfig& config) {
  const PairRules& rules = models::pair_rules(config);
  EncoderDecoderFile found;
  if (is_own(config)) {
    found.shares = config.share_embeddings;
    found.ties = config.tie_word_embeddings;
    return found;
  }
  found.prefix = prefix_in(file, rules);
  const std::string shared = shared_table(found.prefix);
  const std::string source = source_table(found.prefix);
  const std::string target = target_table(found.prefix);
  const bool apart = rules.has_field("share_embeddings") && !config.share_embeddings;
  found.source_tokens =
      first_of(file, apart ? std::vector{source, shared} : std::vector{source, shared, target, std::string(kHead)});
  found.target_tokens = first_of(
      file, apart ? std::vector{target, std::string(kHead)} : std::vector{target, shared, source, std::string(kHead)});
  if (found.source_tokens.empty() || found.target_tokens.empty()) {
    fail(ErrorKind::kFormat, file.path().string(), ": has no token embeddings ", quote(apart ? source : shared),
         found.source_tokens.empty() ? "" : concat(" for the target, ", quote(target)),
         ", which a model of the family ", rules.defaults.model_type, " needs",
         name_that_is_there(file, source, [](const std::string&) { return true; }));
  }
  found.shares = !apart && are_equal(file, found.source_tokens, found.target_tokens);
  // A head that is tied and not written is `shared`, even where the decoder's own copy differs.
  const bool has_head = file.find(kHead) != nullptr;
  const bool shared_head = !apart && file.find(shared) != nullptr;
  found.head = has_head || !config.tie_word_embeddings ? std::string(kHead)
               : shared_head                           ? shared
                                                       : found.target_tokens;
  found.ties = config.tie_word_embeddings && are_equal(file, found.head, found.target_tokens);
  return found;
}

WeightMap encoder_decoder_map(const EncoderDecoderFile& file, const EncoderDecoderConfig& config) {
  WeightMap map;
  map.takes_float64 = true;
  map.model = concat("the encoder-decoder in config.json (", config.model_type, ")");
  if (is_own(config)) {
    map.may_be_surplus = [](std::string_view name) { return name == kOwnBias; };
    return map;
  }
  const PairRules& rules = models::pair_rules(config);
  map.names = [file, rows = rules.rows_of(config)](const std::string& parameter) {
    return HuggingFaceNames{.parts = parts_of(rows, file, parameter)};
  };
  map.may_be_surplus = [&rules, prefix = file.prefix, fixed = has_fixed_positions(config)](std::string_view name) {
    return may_be_left(name, rules, prefix, fixed);
  };
  return map;
}

at::Tensor read_head_bias(const formats::TensorFile& file, const EncoderDecoderConfig& config, bool check_finite) {
  const formats::TensorInfo* info = file.find(is_own(config) ? kOwnBias : kBias);
  if (info == nullptr || !models::pair_rules(config).has_head_bias) {
    return {};
  }
  const bool fits = !info->shape.empty() && info->shape.size() <= 2 &&
                    info->shape.back() == config.target_vocab_size() &&
                    info->shape.front() == (info->shape.size() == 2 ? 1 : info->shape.back());
  if (!fits) {
    fail(ErrorKind::kFormat, file.path().string(), ": tensor ", quote(info->name), " has shape ",
         at::IntArrayRef(info->shape), ", but config.json says [1, ", config.target_vocab_size(), "]");
  }
  const at::Tensor stored = read_tensor(file, *info);
  if (!stored.is_floating_point()) {
    fail(ErrorKind::kFormat, file.path().string(), ": tensor ", quote(info->name), " is ",
         formats::dtype_name(info->dtype), ", but weights are F64, F32, F16 or BF16");
  }
  if (check_finite && !stored.isfinite().all().item<bool>()) {
    fail(ErrorKind::kNumeric, file.path().string(), ": tensor ", quote(info->name), " holds NaN or infinity");
  }
  const at::Tensor bias = stored.flatten();
  return bias.ne(0).any().item<bool>() ? bias : at::Tensor();
}

NamedTensors encoder_decoder_tensors(const models::EncoderDecoderImpl& model) {
  const EncoderDecoderConfig& config = model.config();
  if (is_own(config)) {
    NamedTensors tensors = named_weights(model);
    if (model.head_bias().defined()) {
      tensors.emplace_back(kOwnBias, model.head_bias());
    }
    return tensors;
  }
  const EncoderDecoderFile file = written_file(config);
  NamedTensors tensors = named_weights(model, encoder_decoder_map(file, config));
  add_copies(tensors, config, file);
  const at::TensorOptions options = tensors.front().second.options().requires_grad(false);
  for (auto& [name, constant] : models::pair_rules(config).constants(config, options)) {
    tensors.emplace_back(file.prefix + name, constant);
  }
  if (!models::pair_rules(config).has_head_bias) {
    return tensors;
  }
  const at::Tensor bias =
      model.head_bias().defined() ? model.head_bias() : at::zeros({config.target_vocab_size()}, at::kFloat);
  tensors.emplace_back(kBias, bias.unsqueeze(0));
  return tensors;
}

}  // namespace weft::checkpoint
