// SPDX-License-Identifier: Apache-2.0
// Headers of the weights' files and config.json are read, and no weight. Activations are those of `weft pattern cost`
// (inspect::dense_cost): no path of attention holds scores of all pairs, so that they follow the tokens.
#include "weft/service/memory_account.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "weft/checkpoint/sentence/sentence_directory.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/text/number_text.h"
#include "weft/formats/dtype.h"
#include "weft/formats/json_members.h"
#include "weft/formats/tensor_file.h"
#include "weft/inspect/cost/model_cost.h"

namespace weft::service {
namespace {

using checkpoint::Ability;
using checkpoint::Way;

constexpr std::int64_t kFloat = 4;
constexpr std::int64_t kBfloat16 = 2;
constexpr std::int64_t kScoreForms = 3;  // of a step: logits, log-probabilities, those of the processors

struct FileSizes {
  std::int64_t weights = 0;
  std::int64_t largest = 0;
};

/// What becomes of the matrices of a file.
enum class Matrices {
  kStay,    ///< numbers
  kBecome,  ///< int8 while they are read
  kAre      ///< int8 already: other matrices, such as tables of positions, stay numbers
};

// Integers in files of weights are positions and counters, which are not read, or the codes of int8.
FileSizes sizes_of_files(const std::filesystem::path& directory, std::int64_t element_bytes, Matrices matrices) {
  const auto file = formats::open_tensor_directory(directory);
  FileSizes sizes;
  for (const formats::TensorInfo& tensor : file->tensors()) {
    const bool has_rows = tensor.shape.size() == 2;  // else it is no matrix, whatever its type: refused when it is read
    const bool is_code = matrices == Matrices::kAre && has_rows && tensor.dtype == formats::Dtype::I8;
    if (!is_code && formats::dtype_name(tensor.dtype).find('F') == std::string_view::npos) {
      continue;
    }
    const auto bytes = static_cast<std::int64_t>(tensor.end - tensor.begin);
    const std::int64_t numbers = bytes / static_cast<std::int64_t>(formats::dtype_size(tensor.dtype));
    // A matrix becomes a byte a number, with a scale and a correction for each row that a product sums.
    const bool is_matrix = is_code || (matrices == Matrices::kBecome && has_rows && tensor.shape[1] > 1);
    sizes.weights += is_matrix ? numbers + 2 * kFloat * std::max(tensor.shape.front(), tensor.shape.back())
                               : numbers * element_bytes;
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

// What is alive at once while a layer computes `tokens` tokens, and a head that scores them all its chunk.
std::int64_t activations(const checkpoint::Facts& model, std::int64_t tokens, std::int64_t element_bytes,
                         std::int64_t vocabulary = 0) {
  inspect::ModelShape shape = model.costs.layer;
  shape.vocabulary = vocabulary;
  shape.dtype = element_bytes == kFloat ? "float32" : "bfloat16";
  const inspect::ModelCost cost = inspect::dense_cost(shape, tokens);
  return static_cast<std::int64_t>(cost.inference_bytes - cost.parameters * static_cast<double>(element_bytes));
}

// Tokens that a batch has at most: as many as its budget, or one window that is longer (tasks::BatchLimits).
std::int64_t tokens_of_batch(std::int64_t window, std::int64_t texts, std::int64_t budget) {
  return std::min(texts * window, std::max(window, budget));
}

// Work of each of the two smaller sizes of requests may be done between two pieces of a long one, a batch each.
std::int64_t read_in_between(const AccountLimits& limits) { return 2 * std::min(kReadTogether, limits.batch_bytes); }

// A layout on a GPU has 24 bytes a block by rows, by columns and as work, and two forms of the bits of a block that is
// not full. Rows of sparse patterns have a few blocks, and drawn ones differ by head.
std::int64_t layout_bytes(const checkpoint::Facts& model, const AccountLimits& limits) {
  constexpr std::int64_t kTile = 64;
  constexpr std::int64_t kBlocksOfRow = 16;
  constexpr std::int64_t kBlockBytes = 24;
  constexpr std::int64_t kMasksBytes = 256 * 1024;
  const std::int64_t rows = std::min(model.reads.longest, limits.body_bytes) / kTile + 1;
  const std::int64_t blocks = rows * std::min(rows, kBlocksOfRow);
  return model.reads.stack.layers * (model.reads.stack.heads * blocks * kBlockBytes + kMasksBytes);
}

struct Work {
  std::int64_t bytes = 0;
  std::string how;
};

std::int64_t bytes_of(at::ScalarType dtype) { return dtype == at::kBFloat16 ? kBfloat16 : kFloat; }

/// Bytes of a number.
struct NumberBytes {
  std::int64_t weight;
  std::int64_t product;  // keys and values are products
};

Work reading_work(const checkpoint::Facts& model, const checkpoint::OpenedModel& directory, const AccountLimits& limits,
                  NumberBytes bytes) {
  const std::int64_t window = std::min(model.reads.longest, limits.body_bytes);
  const std::int64_t tokens = tokens_of_batch(window, limits.texts, kReadTogether);
  const std::int64_t scored = directory.head() == models::Head::kMaskedLanguageModel ? model.reads.vocabulary : 0;
  return {activations(model, tokens + read_in_between(limits), bytes.weight, scored),
          concat("a batch of ", digits(tokens), " tokens in windows of up to ", digits(window))};
}

// The settings of a directory, read without the checks and warnings that come when it is opened.
formats::Json named_settings(const checkpoint::OpenedModel& directory) {
  const ModelFile file(directory.path(), "generation_config.json");
  return file.exists() ? formats::read_json_object(file) : directory.json();
}

std::int64_t count_of(const formats::Json& settings, const char* name, std::int64_t otherwise) {
  const auto found = settings.find(name);
  const bool is_count = found != settings.end() && found->is_number_integer() && found->get<std::int64_t>() > 0;
  return is_count ? found->get<std::int64_t>() : otherwise;
}

Work writing_work(const checkpoint::Facts& model, const checkpoint::OpenedModel& directory, const AccountLimits& limits,
                  NumberBytes bytes) {
  const std::int64_t window = std::min(model.reads.longest, limits.body_bytes);
  const std::int64_t tokens = tokens_of_batch(window, limits.texts, kReadToWrite);
  const auto [beams, returned, target] = written_texts(directory);
  const std::int64_t kept = tokens * beams + limits.texts * beams * target;  // keys of sources and targets
  const std::int64_t scores = kScoreForms * limits.texts * beams * model.costs.scores * kFloat;
  return {activations(model, tokens + read_in_between(limits), bytes.weight) +
              model.costs.state * kept * bytes.product + scores,
          concat("sources of ", digits(tokens), " tokens, and ", digits(limits.texts), " texts of up to ",
                 digits(target), " tokens with ", counted(beams, "beam"))};
}

// Bytes of the keys and values of one token in all layers.
std::int64_t state_of_token(const checkpoint::Facts& decoder, std::int64_t product_bytes) {
  return std::max<std::int64_t>(1, decoder.costs.state * product_bytes);
}

std::int64_t written_by_bytes(const checkpoint::Facts& decoder, std::int64_t product_bytes, std::int64_t texts) {
  constexpr std::int64_t kAlways = std::int64_t{64} << 20;
  const std::int64_t usual = texts * decoder.reads.longest;
  return decoder.reads.limit ? usual : std::max(usual, kAlways / state_of_token(decoder, product_bytes));
}

Work continuing_work(const checkpoint::Facts& model, const checkpoint::OpenedModel&, const AccountLimits& limits,
                     NumberBytes bytes) {
  const std::int64_t together = written_by_bytes(model, bytes.product, limits.texts);
  const std::int64_t prompt = std::min(model.reads.limit.value_or(together), limits.text_bytes);
  const std::int64_t scores = limits.texts * kScoreForms * model.costs.scores * kFloat;
  return {activations(model, prompt, bytes.weight) + together * state_of_token(model, bytes.product) + scores,
          concat(counted(limits.texts, "text"), " or beams of ", digits(together), " tokens together")};
}

using CountWork = Work (*)(const checkpoint::Facts& model, const checkpoint::OpenedModel& directory,
                           const AccountLimits& limits, NumberBytes bytes);
constexpr std::array kWorks{Way<CountWork>{Ability::kWrite, writing_work}, Way<CountWork>{Ability::kRead, reading_work},
                            Way<CountWork>{Ability::kContinue, continuing_work}};

tasks::EncoderSettings settings_of(Ability way, const checkpoint::OpenedModel& directory,
                                   const tasks::EncoderRunConfig& config) {
  const auto settings = way == Ability::kContinue ? tasks::decoder_settings : tasks::encoder_settings;
  return settings(config, directory.path());
}

// A second form of `weights` bytes. On a GPU a layer keeps those of float32 as it multiplies them, where that is
// bfloat16 (layers/replay/kept_operands.h).
std::int64_t second_form(std::int64_t weights, const tasks::EncoderSettings& settings, bool on_gpu) {
  if (!on_gpu) {
    return weights;
  }
  return settings.dtype == at::kFloat && product_type(settings) == at::kBFloat16 ? weights / 2 : 0;
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
  const std::int64_t most = directory.facts(Ability::kWrite).writes->longest;
  const std::int64_t longest = std::max(count_of(settings, "max_length", 0), count_of(settings, "max_new_tokens", 0));
  return {.beams = count_of(settings, "num_beams", 1),
          .returned = count_of(settings, "num_return_sequences", 1),
          .longest = longest > 0 ? std::min(longest, most) : most};
}

std::int64_t written_together(const checkpoint::Facts& decoder, const tasks::EncoderSettings& settings,
                              std::int64_t texts) {
  return written_by_bytes(decoder, bytes_of(product_type(settings)), texts);
}

MemoryAccount memory_account(const std::string& name, const checkpoint::OpenedModel& directory,
                             const tasks::EncoderRunConfig& config, const AccountLimits& limits) {
  const auto& [ability, count_work] = first_way(directory, kWorks);
  const checkpoint::Facts facts = directory.facts(ability);
  const tasks::EncoderSettings settings = settings_of(ability, directory, config);
  const NumberBytes bytes{.weight = bytes_of(settings.dtype), .product = bytes_of(product_type(settings))};
  const bool int8 = config.weights == "int8" || directory.computes_int8();
  const Matrices matrices = directory.holds_int8() ? Matrices::kAre : int8 ? Matrices::kBecome : Matrices::kStay;
  const FileSizes sizes = sizes_of_files(directory.path(), bytes.weight, matrices);
  const Work work = count_work(facts, directory, limits, bytes);
  return {.model = name,
          .weights = sizes.weights + sizes_of_modules(directory.root()),
          .packed = int8 ? 0 : second_form(sizes.weights, settings, limits.on_gpu),  // codes lie as products read them
          .work = std::max(work.bytes, sizes.largest),  // a tensor is read before it is converted
          .how = work.how,
          .layouts = limits.on_gpu ? layout_bytes(facts, limits) : 0};
}

formats::Json account_json(const MemoryAccount& account) {
  return {{"weights", account.weights}, {"packed", account.packed}, {"layouts", account.layouts},
          {"work", account.work},       {"total", account.total()}, {"how", account.how}};
}

std::string account_line(const MemoryAccount& account) {
  const std::string rounded = account.packed > 0 ? concat(", rounded ", memory_text(account.packed)) : "";
  const std::string beside = account.layouts > 0 ? concat(rounded, ", layouts ", memory_text(account.layouts))
                                                 : concat(", their packed form ", memory_text(account.packed));
  return concat(account.model, ": up to ", memory_text(account.total()), " of memory: weights ",
                memory_text(account.weights), beside, ", work ", memory_text(account.work), " (", account.how, ")");
}

std::string account_figures(const std::vector<MemoryAccount>& accounts, const AccountLimits& limits) {
  std::ostringstream out;
  out << "# TYPE weft_model_memory_bytes gauge\n";
  for (const MemoryAccount& account : accounts) {
    for (const auto& [part, bytes] : {std::pair("weights", account.weights), std::pair("packed", account.packed),
                                      std::pair("layouts", account.layouts), std::pair("work", account.work)}) {
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
             concat("needs up to ", memory_text(needed), " (", memory_text(account.weights), " of weights, ",
                    memory_text(account.packed), " packed, ", memory_text(account.work), " of work for ", account.how,
                    ")"),
             concat(option("max_memory"), " is ", memory_text(limits.limit)),
             concat("serve fewer models, or take less work at once: ", option("max_batch_texts"), ", ",
                    option("max_body_bytes"), ", ", option("dtype"), " bfloat16"));
    }
    if (limits.limit == 0 && machine && needed > 0 && all - program > machine->bytes) {
      refuse(account, before, all, concat("has ", memory_text(needed), " of weights"),
             concat("this machine has ", memory_text(machine->bytes), " (", machine->source, ")"),
             concat("serve fewer or smaller models, or ", option("dtype"), " bfloat16"));
    }
    before = all;
  }
}

void check_device_accounts(const std::vector<MemoryAccount>& accounts, const AccountLimits& limits,
                           const std::string& device, std::int64_t free) {
  const bool is_limited = limits.limit > 0 && limits.limit < free;
  std::int64_t before = 0;
  for (const MemoryAccount& account : accounts) {
    const std::int64_t all = before + account.total();
    if (all > (is_limited ? limits.limit : free)) {
      const std::string room = is_limited ? concat(option("max_memory"), " is ", memory_text(limits.limit))
                                          : concat(device, " has ", memory_text(free), " free");
      const std::string rounded =
          account.packed > 0 ? concat(memory_text(account.packed), " of the same rounded to bfloat16, ") : "";
      throw Error(ErrorKind::kUnsupported,
                  concat("weft serve: the model ", quote(account.model), " needs up to ", memory_text(account.total()),
                         " of ", device, " (", memory_text(account.weights), " of weights, ", rounded,
                         memory_text(account.layouts), " of layouts, ", memory_text(account.work), " of work for ",
                         account.how, "), which with the models before it makes ", memory_text(all), "; ", room),
                  concat("serve fewer models, or take less work at once: ", option("max_batch_texts"), ", ",
                         option("max_body_bytes"), ", ", option("dtype"), " bfloat16; or serve with ", option("device"),
                         " cpu"));
    }
    before = all;
  }
}

void check_host_of_device(const AccountLimits& limits, const std::optional<MachineMemory>& machine) {
  const std::int64_t requests = request_bytes(limits);
  if (machine && requests > machine->bytes) {
    throw Error(ErrorKind::kUnsupported,
                concat("weft serve: requests may take up to ", memory_text(requests), ", and this machine has ",
                       memory_text(machine->bytes), " (", machine->source, ")"),
                concat("lower ", option("max_waiting_bytes"), ", ", option("max_answer_bytes"), " or ",
                       option("max_body_bytes")));
  }
}

}  // namespace weft::service
