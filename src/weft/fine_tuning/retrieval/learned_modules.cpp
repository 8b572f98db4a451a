// SPDX-License-Identifier: Apache-2.0
// The tensors of one list of modules learn; the recipes share them.
#include "weft/fine_tuning/retrieval/learned_modules.h"

#include <algorithm>
#include <optional>
#include <variant>

#include <ATen/core/grad_mode.h>

#include "weft/attention/devices/placed.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/models/stack/seeded_generator.h"

namespace weft::fine_tuning {
namespace {

namespace fs = std::filesystem;
using checkpoint::SentenceDirectory;
using checkpoint::SentenceModule;

constexpr const char* kQueryPrompt = "query";
constexpr const char* kDocumentPrompt = "document";

SentenceDirectory plain_encoder(std::int64_t width) {
  SentenceDirectory sentence;
  checkpoint::PoolingModule mean;
  mean.width = width;
  sentence.modules = {mean, checkpoint::NormalizeModule{}};
  return sentence;
}

/// A weight of a module and its name.
struct NamedWeight {
  std::string name;
  at::Tensor* tensor;
};

std::vector<NamedWeight> weights_of_modules(std::vector<SentenceModule>& modules) {
  std::vector<NamedWeight> all;
  const auto add = [&](std::size_t place, const char* name, at::Tensor& tensor) {
    if (tensor.defined()) {
      all.push_back({concat(place + 1, ".", name), &tensor});
    }
  };
  for (std::size_t i = 0; i < modules.size(); ++i) {
    if (auto* dense = std::get_if<checkpoint::DenseModule>(&modules[i])) {
      add(i, "dense.weight", dense->weight);
      add(i, "dense.bias", dense->bias);
      add(i, "dense.residual", dense->residual);
    } else if (auto* norm = std::get_if<checkpoint::LayerNormModule>(&modules[i])) {
      add(i, "layer_norm.weight", norm->weight);
      add(i, "layer_norm.bias", norm->bias);
    }
  }
  return all;
}

std::string prompt_of(const std::string& given, const SentenceDirectory& sentence, const char* name) {
  if (!given.empty()) {
    return given;
  }
  const auto found = sentence.prompts.find(name);
  if (found != sentence.prompts.end()) {
    return found->second;
  }
  const auto usual = sentence.prompts.find(sentence.default_prompt_name);
  return usual == sentence.prompts.end() ? std::string() : usual->second;
}

}  // namespace

LearnedModules::LearnedModules(const fs::path& directory, std::int64_t width, const RetrievalConfig& config) {
  const std::string where = quote(directory.native(), 4096);
  std::optional<SentenceDirectory> read = checkpoint::read_sentence_directory(directory);
  is_new_ = !read;
  sentence_ = read ? std::move(*read) : plain_encoder(width);
  require(!sentence_.is_cross_encoder(), where,
          ": is a cross-encoder, which gives a pair of texts a score and no text a vector; ", option("task"),
          " rerank trains it");
  for (const auto& [name, given] :
       {std::pair{kQueryPrompt, &config.query_prompt}, std::pair{kDocumentPrompt, &config.document_prompt}}) {
    if (!given->empty()) {
      sentence_.prompts[name] = *given;
    }
  }
  query_prompt_ = prompt_of(config.query_prompt, sentence_, kQueryPrompt);
  document_prompt_ = prompt_of(config.document_prompt, sentence_, kDocumentPrompt);
  recipe_ = tasks::make_recipe(sentence_, width, {}, where);
  if (!recipe_.pooling.include_prompt && !(query_prompt_.empty() && document_prompt_.empty())) {
    fail(ErrorKind::kUnsupported, where,
         ": its Pooling leaves out the tokens of the prompt (include_prompt false), and Weft trains such a model "
         "without prompts only; take the prompts out of config_sentence_transformers.json, or set include_prompt");
  }
  drops_ = std::any_of(recipe_.modules.begin(), recipe_.modules.end(), [](const SentenceModule& module) {
    return std::holds_alternative<checkpoint::DropoutModule>(module);
  });
  for (const NamedWeight& weight : weights_of_modules(recipe_.modules)) {
    *weight.tensor = weight.tensor->detach().clone().set_requires_grad(true);
  }
  whole_ = recipe_;  // which shares the tensors
  whole_.dimensions = 0;
  const std::int64_t most = tasks::width(whole_);
  require(config.matryoshka_dims.empty() || config.matryoshka_dims.front() <= most, "matryoshka_dims must be at most ",
          most, ", the numbers of a vector of ", where, ", found ",
          config.matryoshka_dims.empty() ? 0 : config.matryoshka_dims.front());
}

at::Tensor LearnedModules::vectors(models::EncoderModelImpl& model, const models::EncoderInput& input) const {
  const bool training = model.is_training();
  const at::Tensor hidden = model.hidden_states(input);
  const tasks::EmbedRecipe& recipe = training ? whole_ : recipe_;
  // A replay draws what the first pass drew.
  std::optional<models::SeededGenerator> draws;
  if (training && drops_ && input.seed) {
    draws.emplace(input.seed->number);
  }
  return tasks::embed_tensor(recipe, hidden, attention::placed(input.attention_mask, hidden.device()), 0, training);
}

std::string LearnedModules::text() const {
  return checkpoint::modules_text(sentence_.modules) +
         (is_new_ ? ": new, since the model's directory has no modules.json" : "");
}

std::vector<std::pair<std::string, at::Tensor>> LearnedModules::parameters() const {
  std::vector<std::pair<std::string, at::Tensor>> all;
  std::vector<SentenceModule> modules = recipe_.modules;  // which shares the tensors
  for (const NamedWeight& weight : weights_of_modules(modules)) {
    all.emplace_back("modules." + weight.name, *weight.tensor);
  }
  return all;
}

void LearnedModules::move_to(c10::Device device) {
  for (const NamedWeight& weight : weights_of_modules(recipe_.modules)) {
    *weight.tensor = weight.tensor->detach().to(device).set_requires_grad(true);
  }
  whole_.modules = recipe_.modules;
}

void LearnedModules::save(const fs::path& directory, std::int64_t max_length) const {
  const at::NoGradGuard no_grad;
  SentenceDirectory written = sentence_;
  written.transformer = directory;
  written.max_seq_length = max_length;
  written.modules = {recipe_.pooling};
  written.modules.insert(written.modules.end(), recipe_.modules.begin(), recipe_.modules.end());
  for (const NamedWeight& weight : weights_of_modules(written.modules)) {
    *weight.tensor = weight.tensor->detach();
  }
  checkpoint::write_sentence_directory(directory, written);
}

void LearnedModules::load(const fs::path& directory) {
  const at::NoGradGuard no_grad;
  std::optional<SentenceDirectory> read = checkpoint::read_sentence_directory(directory);
  require(read.has_value(), Quoted(directory.native(), 4096), ": has no modules.json, which this run wrote");
  const std::vector<NamedWeight> from = weights_of_modules(read->modules);
  const std::vector<NamedWeight> to = weights_of_modules(recipe_.modules);
  require(from.size() == to.size(), Quoted(directory.native(), 4096), ": modules.json must have the ", to.size(),
          " weights of this run's modules, found ", from.size());
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i].tensor->copy_(*from[i].tensor);
  }
}

}  // namespace weft::fine_tuning
