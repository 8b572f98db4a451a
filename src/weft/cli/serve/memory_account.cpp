// SPDX-License-Identifier: Apache-2.0
// Headers of the weights' files and config.json are read, and no weight. Activations are those of `weft pattern cost`
// (inspect::dense_cost): no path of attention holds scores of all pairs, so that they follow the tokens.
#include "weft/cli/serve/memory_account.h"

#include <algorithm>
#include <sstream>

#include "weft/checkpoint/sentence/sentence_directory.h"
#include "weft/cli/memory_size.h"
#include "weft/cli/output.h"
#include "weft/cli/serve/served_model.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/formats/dtype.h"
#include "weft/formats/json_members.h"
#include "weft/formats/tensor_file.h"
#include "weft/inspect/cost/model_cost.h"
#include "weft/models/families/family.h"

namespace weft::cli {
namespace {

constexpr std::int64_t kFloat = 4;
constexpr std::int64_t kKeysAndValues = 2;
constexpr std::int64_t kScoreForms = 3;  // of a step: logits, log-probabilities, those of the processors

struct FileSizes {
  std::int64_t weights = 0;
  std::int64_t largest = 0;
};

// Integers in files of weights are positions and counters, which are not read.
FileSizes sizes_of_files(const std::filesystem::path& directory, std::int64_t element_bytes) {
  const auto file = formats::open_tensor_directory(directory);
  FileSizes sizes;
  for (const formats::TensorInfo& tensor : file->tensors()) {
    if (formats::dtype_name(tensor.dtype).find('F') == std::string_view::npos) {
      continue;
    }
    const auto bytes = static_cast<std::int64_t>(tensor.end - tensor.begin);
    sizes.weights += bytes / static_cast<std::int64_t>(formats::dtype_size(tensor.dtype)) * element_bytes;
    sizes.largest = std::max(sizes.largest, bytes);
  }
  return sizes;
}

// The tensors of modules behind the transformer, which are always in float32.
std::int64_t sizes_of_modules(const std::filesystem::path& directory) {
  std::int64_t bytes = 0;
  const auto add = [&](const at::Tensor& tensor) {
    bytes += tensor.defined() ? static_cast<std::int64_t>(tensor.nbytes()) : 0;
  };
  if (const auto sentence = checkpoint::read_sentence_directory(directory)) {
    for (const checkpoint::SentenceModule& module : sentence->modules) {
      if (const auto* dense = std::get_if<checkpoint::DenseModule>(&module)) {
        add(dense->weight);
        add(dense->bias);
        add(dense->residual);
      }
    }
  }
  return bytes;
}

// What is alive at once while a layer computes `tokens` tokens, and a masked-language-model head its chunk.
std::int64_t activations(std::int64_t tokens, std::int64_t width, std::int64_t inner, std::int64_t vocabulary,
                         std::int64_t element_bytes) {
  inspect::ModelShape shape;
  shape.layers = 1;
  shape.heads = 1;
  shape.width = width;
  shape.feed_forward = inner;
  shape.vocabulary = vocabulary;
  shape.dtype = element_bytes == kFloat ? "float32" : "bfloat16";
  const inspect::ModelCost cost = inspect::dense_cost(shape, tokens);
  return static_cast<std::int64_t>(cost.inference_bytes - cost.parameters * static_cast<double>(element_bytes));
}

// Tokens that a batch has at most: as many as its budget, or one window that is longer (tasks::BatchLimits).
std::int64_t tokens_of_batch(std::int64_t window, std::int64_t texts, std::int64_t budget) {
  return std::min(texts * window, std::max(window, budget));
}

// Numbers that a token has inside of a layer. Of a star_transformer queries, the keys and values of the five things
// that a token sees, and sums: 13 times the columns of its heads in float32, and as much as 17 times in bfloat16.
std::int64_t inner_width(const models::EncoderConfig& config) {
  constexpr std::int64_t kStarRows = 17;
  const bool is_star = models::find_family(config.model_type).is_star;
  const std::int64_t columns = is_star ? config.num_attention_heads * config.attention_head_size : 0;
  return std::max(config.intermediate_size, kStarRows * columns);
}

// Work of each of the two smaller sizes of requests may be done between two pieces of a long one, a batch each.
std::int64_t read_in_between(const AccountLimits& limits) { return 2 * std::min(kReadTogether, limits.batch_bytes); }

struct Work {
  std::int64_t bytes = 0;
  std::string how;
};

Work encoder_work(const models::EncoderConfig& config, models::Head head, const AccountLimits& limits,
                  std::int64_t element_bytes) {
  const std::int64_t window = std::min(config.maximum_length(), limits.body_bytes);
  const std::int64_t tokens = tokens_of_batch(window, limits.texts, kReadTogether);
  const std::int64_t vocabulary = head == models::Head::kMaskedLanguageModel ? config.vocab_size : 0;
  return {
      activations(tokens + read_in_between(limits), config.hidden_size, inner_width(config), vocabulary, element_bytes),
      concat("a batch of ", digits(tokens), " tokens in windows of up to ", digits(window))};
}

// The settings of an encoder-decoder's directory, read without the checks and warnings that come when it is opened.
formats::Json named_settings(const checkpoint::OpenedModel& directory) {
  const ModelFile file(directory.path(), "generation_config.json");
  const std::string& others = directory.encoder_decoder_config().other_settings;
  if (file.exists()) {
    return formats::read_json_object(file);
  }
  return others.empty() ? formats::Json::object() : formats::parse_json(others, "config.json");
}

std::int64_t count_of(const formats::Json& settings, const char* name, std::int64_t otherwise) {
  const auto found = settings.find(name);
  const bool is_count = found != settings.end() && found->is_number_integer() && found->get<std::int64_t>() > 0;
  return is_count ? found->get<std::int64_t>() : otherwise;
}

Work pair_work(const models::EncoderDecoderConfig& config, const WrittenTexts& written, const AccountLimits& limits,
               std::int64_t element_bytes) {
  const std::int64_t window = std::min(config.max_source_positions, limits.body_bytes);
  const std::int64_t tokens = tokens_of_batch(window, limits.texts, kReadToWrite);
  const auto [beams, returned, target] = written;
  const std::int64_t inner = std::max(config.encoder_ffn_dim, config.decoder_ffn_dim);
  const std::int64_t kept = tokens * beams + limits.texts * beams * target;  // keys of sources and targets
  const std::int64_t state = config.decoder_layers * kKeysAndValues * config.d_model * kept * element_bytes;
  const std::int64_t scores = kScoreForms * limits.texts * beams * config.target_vocab_size() * kFloat;
  return {activations(tokens + read_in_between(limits), config.d_model, inner, 0, element_bytes) + state + scores,
          concat("sources of ", digits(tokens), " tokens, and ", digits(limits.texts), " texts of up to ",
                 digits(target), " tokens with ", counted(beams, "beam"))};
}

// Bytes of the keys and values of one token in all layers.
std::int64_t state_of_token(const models::TransformerConfig& config) {
  const std::int64_t columns = config.key_value_heads() * config.head_dim();
  return std::max<std::int64_t>(1, config.num_hidden_layers * kKeysAndValues * columns * kFloat);
}

Work decoder_work(const models::TransformerConfig& config, const AccountLimits& limits) {
  const std::int64_t together = written_together(config, limits.texts);
  const std::int64_t prompt = std::min(models::position_limit(config).value_or(together), limits.text_bytes);
  const std::int64_t scores = limits.texts * kScoreForms * config.vocab_size * kFloat;
  return {activations(prompt, config.hidden_size, config.feed_forward_size(), 0, kFloat) +
              together * state_of_token(config) + scores,
          concat(counted(limits.texts, "text"), " or beams of ", digits(together), " tokens together")};
}

Work work_of(const checkpoint::OpenedModel& directory, const AccountLimits& limits, std::int64_t element_bytes) {
  if (directory.is_encoder_decoder()) {
    return pair_work(directory.encoder_decoder_config(), written_texts(directory), limits, element_bytes);
  }
  if (is_served_as_encoder(directory)) {
    return encoder_work(directory.encoder_config(), directory.head(), limits, element_bytes);
  }
  return decoder_work(directory.own_config(), limits);
}

// A decoder's weights are always in float32, and so are those of a run.
std::int64_t element_bytes_of(const checkpoint::OpenedModel& directory, const SequenceFlags& flags) {
  const bool chooses = directory.is_encoder_decoder() || is_served_as_encoder(directory);
  return chooses && encoder_settings(flags.task.encoder, "weft serve", directory.path()).dtype == at::kBFloat16
             ? 2
             : kFloat;
}

[[noreturn]] void refuse(const MemoryAccount& account, std::int64_t before, std::int64_t all, const std::string& what,
                         const std::string& limit, const std::string& hint) {
  throw Error(ErrorKind::kUnsupported,
              concat("weft serve: the model ", quote(account.model), " ", what, ", which with ", memory_text(before),
                     " of requests and of the program and the models before it makes ", memory_text(all), "; ", limit),
              hint);
}

}  // namespace

std::int64_t request_bytes(const AccountLimits& limits) {
  constexpr std::int64_t kToken = 128;      // a token with its places in the text
  constexpr std::int64_t kAnswerForms = 8;  // an answer as a tree of values, and as text
  constexpr std::int64_t kPlaces = 2;  // where requests wait: their bodies are being read, their texts are in the queue
  return kPlaces * limits.waiting_bytes + kToken * limits.body_bytes + kAnswerForms * limits.answer_bytes;
}

WrittenTexts written_texts(const checkpoint::OpenedModel& directory) {
  const formats::Json settings = named_settings(directory);
  const std::int64_t most = directory.encoder_decoder_config().max_target_positions;
  const std::int64_t longest = std::max(count_of(settings, "max_length", 0), count_of(settings, "max_new_tokens", 0));
  return {.beams = count_of(settings, "num_beams", 1),
          .returned = count_of(settings, "num_return_sequences", 1),
          .longest = longest > 0 ? std::min(longest, most) : most};
}

std::int64_t written_together(const models::TransformerConfig& config, std::int64_t texts) {
  constexpr std::int64_t kAlways = std::int64_t{64} << 20;
  const std::int64_t usual = texts * config.max_position_embeddings;
  return models::position_limit(config) ? usual : std::max(usual, kAlways / state_of_token(config));
}

MemoryAccount memory_account(const std::string& name, const SequenceFlags& flags, const AccountLimits& limits) {
  const checkpoint::OpenedModel directory = checkpoint::open_model(flags.task.directory);
  const std::int64_t element_bytes = element_bytes_of(directory, flags);
  const FileSizes sizes = sizes_of_files(directory.path(), element_bytes);
  const Work work = work_of(directory, limits, element_bytes);
  return {.model = name,
          .weights = sizes.weights + sizes_of_modules(directory.root()),
          .packed = sizes.weights,
          .work = std::max(work.bytes, sizes.largest),  // a tensor is read before it is converted
          .how = work.how};
}

formats::Json account_json(const MemoryAccount& account) {
  return {{"weights", account.weights},
          {"packed", account.packed},
          {"work", account.work},
          {"total", account.total()},
          {"how", account.how}};
}

std::string account_line(const MemoryAccount& account) {
  return concat(account.model, ": up to ", memory_text(account.total()), " of memory: weights ",
                memory_text(account.weights), ", their packed form ", memory_text(account.packed), ", work ",
                memory_text(account.work), " (", account.how, ")");
}

std::string account_figures(const std::vector<MemoryAccount>& accounts, const AccountLimits& limits) {
  std::ostringstream out;
  out << "# TYPE weft_model_memory_bytes gauge\n";
  for (const MemoryAccount& account : accounts) {
    for (const auto& [part, bytes] : {std::pair("weights", account.weights), std::pair("packed", account.packed),
                                      std::pair("work", account.work)}) {
      out << "weft_model_memory_bytes{model=\"" << account.model << "\",part=\"" << part << "\"} " << bytes << '\n';
    }
  }
  out << "# TYPE weft_request_memory_bytes gauge\nweft_request_memory_bytes " << request_bytes(limits) << '\n';
  if (limits.limit > 0) {
    out << "# TYPE weft_memory_limit_bytes gauge\nweft_memory_limit_bytes " << limits.limit << '\n';
  }
  return out.str();
}

void check_accounts(const std::vector<MemoryAccount>& accounts, const AccountLimits& limits, std::int64_t program,
                    const std::optional<MachineMemory>& machine) {
  std::int64_t before = program + (limits.limit > 0 ? request_bytes(limits) : 0);
  for (const MemoryAccount& account : accounts) {
    const std::int64_t needed = limits.limit > 0 ? account.total() : account.weights;
    const std::int64_t all = before + needed;
    if (limits.limit > 0 && all > limits.limit) {
      refuse(account, before, all,
             concat("needs up to ", memory_text(needed), " (weights ", memory_text(account.weights), ", packed ",
                    memory_text(account.packed), ", work ", memory_text(account.work), " for ", account.how, ")"),
             concat("--max-memory is ", memory_text(limits.limit)),
             "serve fewer models, or take less work at once: --max-batch-texts, --max-body-bytes, --dtype bfloat16");
    }
    if (limits.limit == 0 && machine && needed > 0 && all - program > machine->bytes) {
      refuse(account, before, all, concat("has ", memory_text(needed), " of weights"),
             concat("this machine has ", memory_text(machine->bytes), " (", machine->source, ")"),
             "serve fewer or smaller models, or --dtype bfloat16");
    }
    before = all;
  }
}

}  // namespace weft::cli
