// SPDX-License-Identifier: Apache-2.0
// The encoder reads a batch of padded sources once; the search goes on with rows of the decoder.
#include "weft/tasks/sequences/sequence_model.h"

#include <algorithm>
#include <utility>

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/formats/dtype.h"
#include "weft/generation/pair_decoder.h"
#include "weft/generation/search/search.h"
#include "weft/generation/settings/read_settings.h"
#include "weft/text/pair/languages.h"
#include "weft/training/precision.h"

namespace weft::tasks {
namespace {

using generation::FinishReason;

class ModelWriter final : public Writer {
 public:
  ModelWriter(models::EncoderDecoder model, generation::GenerationConfig config, std::int64_t start,
              generation::StopRule stops, std::string products)
      : model_(std::move(model)),
        config_(std::move(config)),
        start_(start),
        stops_(std::move(stops)),
        products_(std::move(products)) {}

  // A model whose texts start with the code of one language writes another one from that one's code; the others start
  // with a token of their own, and the code comes behind it.
  std::vector<std::vector<Written>> write(const WritingRequest& request) override {
    if (request.language.id < 0) {
      return write_from(start_, config_, request);
    }
    const auto& codes = request.language.known->ids;
    const bool starts_with_code =
        std::any_of(codes.begin(), codes.end(), [&](const auto& code) { return code.second == start_; });
    generation::GenerationConfig config = config_;
    config.forced_bos_token_id = starts_with_code ? -1 : request.language.id;
    return write_from(starts_with_code ? request.language.id : start_, config, request);
  }

  void write_with(JointModels joint) {
    joint.weights =
        generation::joint_weights(std::move(joint.weights), 1 + joint.others.size(), concat(option("model_weights")));
    joint_ = std::move(joint);
  }
  void constrain(generation::Processor constraint) { constraint_ = std::move(constraint); }

  WritingModel what_writes() const { return {model_, start_}; }

  formats::Json computed() const override {
    const bool half = model_->parameters().front().scalar_type() == at::kBFloat16;
    formats::Json computed = {{"dtype", half ? "bfloat16" : products_}};
    for (const auto& [key, value] : model_->computed()) {
      computed[key] = value;
    }
    return computed;
  }

 private:
  std::vector<std::vector<Written>> write_from(std::int64_t start, const generation::GenerationConfig& config,
                                               const WritingRequest& asked) {
    const std::span<const Ids> sources = asked.sources;
    const auto [ids, mask] = padded(sources);
    const training::AutocastGuard autocast(products_);
    const std::unique_ptr<generation::Decoder> decoder = decoder_of(ids, mask);
    generation::SearchRequest request{.prompts = std::vector<Ids>(sources.size(), Ids{start}),
                                      .sources = {sources.begin(), sources.end()},
                                      .numbers = {asked.numbers.begin(), asked.numbers.end()},
                                      .constraint = constraint_,
                                      .stops = stops_};
    if (asked.on_settled) {
      request.on_settled = [&asked](std::int64_t prompt, std::span<const std::int64_t> made) {
        asked.on_settled(static_cast<std::size_t>(prompt), made);
      };
    }
    std::vector<std::vector<Written>> written;
    for (std::vector<generation::Sequence>& found : generation::search(*decoder, request, config)) {
      std::vector<Written>& texts = written.emplace_back();
      for (generation::Sequence& sequence : found) {
        const bool cut = sequence.reason == FinishReason::kLength || sequence.reason == FinishReason::kInterrupted;
        texts.push_back({std::move(sequence.ids), sequence.score, !cut});
      }
    }
    return written;
  }

  std::unique_ptr<generation::Decoder> decoder_of(const at::Tensor& ids, const at::Tensor& mask) const {
    auto own = std::make_unique<generation::PairDecoder>(model_, ids, mask);
    if (joint_.others.empty()) {
      return own;
    }
    std::vector<std::unique_ptr<generation::Decoder>> decoders;
    decoders.push_back(std::move(own));
    for (const models::EncoderDecoder& other : joint_.others) {
      decoders.push_back(std::make_unique<generation::PairDecoder>(other, ids, mask));
    }
    return std::make_unique<generation::JointDecoder>(std::move(decoders), joint_.weights, joint_.mean);
  }

  // int64 [B, S] and the mask of what is no padding, which a single length does not need.
  std::pair<at::Tensor, at::Tensor> padded(std::span<const Ids> sources) const {
    std::size_t longest = 0;
    bool even = true;
    for (const Ids& source : sources) {
      longest = std::max(longest, source.size());
      even = even && source.size() == sources.front().size();
    }
    const auto rows = static_cast<std::int64_t>(sources.size());
    const auto length = static_cast<std::int64_t>(longest);
    const at::Tensor ids =
        at::full({rows, length}, std::max<std::int64_t>(0, model_->config().pad_token_id), at::kLong);
    const at::Tensor mask = at::zeros({rows, length}, at::kLong);
    for (std::int64_t row = 0; row < rows; ++row) {
      const Ids& source = sources[static_cast<std::size_t>(row)];
      std::copy(source.begin(), source.end(), ids.data_ptr<std::int64_t>() + row * length);
      mask.select(0, row).narrow(0, 0, static_cast<std::int64_t>(source.size())).fill_(1);
    }
    return {ids, even ? at::Tensor() : mask};
  }

  models::EncoderDecoder model_;
  generation::GenerationConfig config_;
  std::int64_t start_;
  generation::StopRule stops_;
  std::string products_;
  JointModels joint_ = {};
  generation::Processor constraint_ = {};
};

ModelWriter& own_writer(const SequenceModel& model) {
  auto* const own = dynamic_cast<ModelWriter*>(model.writer.get());
  if (own == nullptr) {
    fail(ErrorKind::kUnsupported, "these texts are written by no encoder-decoder");
  }
  return *own;
}

// They are looked for at the end of what is written so far, which is read there from left to right.
generation::StopRule stops_of(const SequenceModel& model, const std::vector<std::string>& texts) {
  require(!model.right_to_left || texts.empty(), model.name, ": the model writes from right to left, and stop_strings ",
          "end texts that are written from left to right");
  return generation::stop_strings(model.tokenizer->side(text::Side::kTarget), texts);
}

// Tokens that model and tokeniser allow together, or those that were asked for.
std::int64_t longest_source(std::int64_t positions, std::int64_t tokenizer, std::int64_t asked,
                            const std::string& name) {
  const std::int64_t most = tokenizer > 0 ? std::min(positions, tokenizer) : positions;
  require(asked <= most, name, " reads at most ", most, " tokens, but ", option("max_source_length"), " is ", asked);
  return asked > 0 ? asked : most;
}

}  // namespace

std::shared_ptr<Writer> make_writer(const models::EncoderDecoder& model, const generation::GenerationConfig& config,
                                    std::int64_t start, generation::StopRule stops, const std::string& products) {
  return std::make_shared<ModelWriter>(model, config, start, std::move(stops), products);
}

void write_jointly(SequenceModel& model, JointModels joint) { own_writer(model).write_with(std::move(joint)); }

void write_constrained(SequenceModel& model, generation::Processor constraint) {
  own_writer(model).constrain(std::move(constraint));
}

WritingModel writing_model(const Writer& writer) {
  const auto* const own = dynamic_cast<const ModelWriter*>(&writer);
  if (own == nullptr) {
    fail(ErrorKind::kUnsupported, "these texts are written by no encoder-decoder");
  }
  return own->what_writes();
}

SequenceModel describe_sequence_model(const checkpoint::OpenedModel& directory, std::int64_t max_length) {
  const std::string name = quote(directory.path().native(), 4096);
  const checkpoint::ReadingFacts source = directory.facts(checkpoint::Ability::kWrite).reads;
  const std::shared_ptr<const text::PairTokenizer> tokenizer = checkpoint::load_pair_tokenizer(directory);
  return {.writer = nullptr,
          .tokenizer = tokenizer,
          .name = name,
          .longest = longest_source(source.longest, tokenizer->maximum_length(), max_length, name),
          .vocabulary = source.vocabulary,
          .source_language = tokenizer->language(text::Side::kSource),
          .target_language = tokenizer->language(text::Side::kTarget),
          .right_to_left = checkpoint::load_encoder_decoder_config(directory).right_to_left};
}

generation::GenerationConfig with_length(generation::GenerationConfig settings,
                                         const checkpoint::OpenedModel& directory) {
  if (settings.max_length < 0 && settings.max_new_tokens < 0) {
    settings.max_length = directory.facts(checkpoint::Ability::kWrite).writes->longest;
  }
  return settings;
}

void write_by(SequenceModel& model, const generation::GenerationConfig& settings) {
  const std::int64_t start = generation::start_token(settings, model.name);
  model.alternatives = settings.num_return_sequences;
  model.writer = make_writer(writing_model(*model.writer).model, settings, start,
                             stops_of(model, settings.stop_strings), model.products);
}

SequenceModel open_sequence_model(const checkpoint::OpenedModel& directory, const SequenceModelOptions& options) {
  // What needs no weights comes first.
  directory.need(checkpoint::Ability::kWrite);
  const std::int64_t start = generation::start_token(options.generation, quote(directory.path().native(), 4096));
  SequenceModel model = describe_sequence_model(directory, options.max_length);
  model.products = options.products;
  model.alternatives = options.generation.num_return_sequences;
  generation::StopRule stops = stops_of(model, options.generation.stop_strings);
  model.writer = make_writer(checkpoint::load_encoder_decoder(directory, options.load), options.generation, start,
                             std::move(stops), options.products);
  return model;
}

}  // namespace weft::tasks
