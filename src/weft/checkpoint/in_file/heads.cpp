// SPDX-License-Identifier: Apache-2.0
// transformers takes the class that a program asks for; a directory that names none is opened by what it holds.
#include "weft/checkpoint/in_file/heads.h"

#include <algorithm>
#include <array>
#include <memory>

#include "weft/checkpoint/encoder_names.h"
#include "weft/checkpoint/encoder_weights.h"
#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/heads/task_head.h"

namespace weft::checkpoint {
namespace {

using formats::TensorFile;
using models::EncoderConfig;
using models::Head;

constexpr std::array kHeads{Head::kSequenceClassification, Head::kTokenClassification, Head::kMultipleChoice,
                            Head::kQuestionAnswering,      Head::kReplacedTokens,      Head::kMaskedLanguageModel};
/// Classes of transformers that compute something else than a head of Weft's.
constexpr std::array<std::string_view, 4> kOtherClasses{"LMHeadModel", "ForCausalLM", "ForNextSentencePrediction",
                                                        "ModelWithLMHead"};

const formats::TensorInfo* find_in(const TensorFile& file, const HuggingFaceNames& names) {
  const formats::TensorInfo* found = file.find(names.parts.front());
  for (std::size_t i = 0; found == nullptr && i < names.alternatives.size(); ++i) {
    found = file.find(names.alternatives[i]);
  }
  return found;
}

/// Whether the file has each tensor of the head, with as many dimensions as the head's. How many labels it scores is
/// the config's business, but choices and replaced tokens have one score and places in a text two.
bool holds(const TensorFile& file, EncoderConfig config, Head head, bool prefixed) {
  if (!models::encoder_rules(config).has_head(head)) {
    return false;
  }
  config.with_pooler = models::reads_pooler(models::head_plan(config, head), head);
  config.tie_word_embeddings = true;
  const models::EncoderHead shape(config, head, models::head_plan(config, head), at::TensorOptions(at::kMeta));
  const auto parameters = shape->named_parameters();
  return std::all_of(parameters.begin(), parameters.end(), [&](const auto& parameter) {
    const std::string name = concat("head.", parameter.key());
    const formats::TensorInfo* const found = find_in(file, hugging_face_names(config, head, name, prefixed));
    const bool fixed = !models::has_labels(head) && head != Head::kMaskedLanguageModel;
    return found != nullptr && found->shape.size() == static_cast<std::size_t>(parameter.value().dim()) &&
           (!fixed || found->shape.front() == parameter.value().size(0));
  });
}

/// "B-PER", "I-LOC", "O": labels of tokens.
bool are_tags(const std::vector<std::string>& labels) {
  return std::any_of(labels.begin(), labels.end(), [](const std::string& label) {
    return label == "O" || label.starts_with("B-") || label.starts_with("I-");
  });
}

std::string class_with(const EncoderConfig& config, Head head) {
  return models::architecture_name(config.model_type, head);
}

/// Whether the config leaves open what the model is: by no class, or by one of somebody's own.
bool says_nothing(const EncoderConfig& config) {
  if (config.architectures.empty()) {
    return true;
  }
  const std::string& name = config.architectures.front();
  const std::string_view prefix = models::encoder_rules(config).class_name;
  const auto is = [&](std::string_view suffix) { return name == concat(prefix, suffix); };
  const bool published =
      is("Model") || is("ForPreTraining") || std::any_of(kOtherClasses.begin(), kOtherClasses.end(), is) ||
      std::any_of(kHeads.begin(), kHeads.end(), [&](Head head) { return name == class_with(config, head); });
  return !published;
}

/// Whether choose_head() chose before: what config.json named stands behind the class.
bool was_chosen(const EncoderConfig& config) { return config.architectures.size() > 1; }

/// Whether config.json's word stands: it names a published class, which is not the bare one where a task `wanted` a
/// head; or the class is that of `wanted` already.
bool is_settled(const EncoderConfig& config, std::optional<Head> wanted) {
  const std::string name = config.architectures.empty() ? std::string() : config.architectures.front();
  if (wanted && name == class_with(config, *wanted)) {
    return true;
  }
  const bool bare = wanted && name == class_with(config, Head::kNone);
  return !was_chosen(config) && !says_nothing(config) && !bare;
}

/// Null where none can be read: whoever needs weights says why.
std::unique_ptr<TensorFile> weights_if_there(EncoderConfig& config, const std::filesystem::path& directory) {
  try {
    return open_encoder_weights(directory, config);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kIo) {
      throw;
    }
    return nullptr;
  }
}

/// What config.json named.
std::string what_it_names(const EncoderConfig& config) {
  const std::string name = config.architectures.empty() ? std::string() : config.architectures.back();
  return name.empty()                              ? "names no class"
         : name == class_with(config, Head::kNone) ? concat("names ", name, ", which has no head")
                                                   : concat("names ", quote(name), ", which Weft does not know");
}

std::string what_else_fits(const EncoderConfig& config, const std::vector<Head>& heads) {
  if (heads.size() < 2) {
    return {};
  }
  const std::vector<Head> others(heads.begin() + 1, heads.end());
  return concat("; they fit ", joined(others, " and ", [&](Head head) { return class_with(config, head); }),
                ", too: name the class in architectures if it is that one");
}

}  // namespace

std::vector<Head> heads_in_file(const TensorFile& file, const EncoderConfig& config) {
  std::vector<Head> heads;
  for (const Head head : kHeads) {
    if (holds(file, config, head, describe_encoder_file(file, config, head).prefixed)) {
      heads.push_back(head);
    }
  }
  const auto first = [&](Head head) {
    std::stable_partition(heads.begin(), heads.end(), [&](Head one) { return one == head; });
  };
  if (are_tags(config.id2label)) {
    first(Head::kTokenClassification);
  } else if (config.num_labels() != 1) {  // one label is a number that is learned
    first(Head::kMultipleChoice);
  }
  return heads;
}

void choose_head(EncoderConfig& config, const std::filesystem::path& directory, std::optional<Head> wanted) {
  const bool is_listed = models::is_family(config.model_type, models::FamilyKind::kEncoder);
  if ((!is_listed && !wanted) || is_settled(config, wanted)) {  // another way to open it is the first one
    return;
  }
  const std::unique_ptr<TensorFile> file = weights_if_there(config, directory);
  std::vector<Head> heads = file == nullptr ? std::vector<Head>() : heads_in_file(*file, config);
  const bool fits = wanted && std::find(heads.begin(), heads.end(), *wanted) != heads.end();
  if (fits) {
    heads = {*wanted};
  }
  const bool bare = heads.empty();
  const bool open = says_nothing(config) && !was_chosen(config);  // and not only where a task asks for a head
  if (file == nullptr || (bare && config.architectures.empty()) || (!fits && !open)) {
    return;
  }
  const std::string chosen = class_with(config, bare ? Head::kNone : heads.front());
  log_warning((directory / "config.json").string(), ": architectures ", what_it_names(config), "; the tensors of ",
              file->path().filename().string(), " are those of ", chosen, ", so the model is opened as one",
              what_else_fits(config, heads));
  const std::string before = config.architectures.empty() ? std::string() : config.architectures.back();
  config.architectures = {chosen, before};
}

}  // namespace weft::checkpoint
