// SPDX-License-Identifier: Apache-2.0
// Hidden states are pooled batch by batch, so that only one batch of them is ever held; the parts of a text's windows
// are joined in the order of the text, whatever the order in which they were run.
#include "weft/tasks/embedding/embedder.h"

#include <algorithm>
#include <utility>

#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>

#include "weft/checkpoint/sentence/cross_encoder.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/tasks/decode/scores.h"
#include "weft/tasks/decode/tagged_tokens.h"
#include "weft/tasks/embedding/sentence_limits.h"
#include "weft/tasks/embedding/window_pooling.h"
#include "weft/tasks/text_too_long.h"

namespace weft::tasks {
namespace {

using checkpoint::OpenedModel;
using checkpoint::SentenceDirectory;

// A score of a pair is no vector; who says how to pool means the encoder below the head.
void refuse_cross_encoder(const OpenedModel& directory, const std::optional<SentenceDirectory>& sentence,
                          const EmbedOverrides& overrides) {
  const bool says_so = sentence && sentence->is_cross_encoder();
  if (overrides.pooling.empty() && (says_so || (!sentence && checkpoint::is_cross_encoder(directory)))) {
    throw Error(ErrorKind::kArgument,
                concat(quote(directory.root().native(), 4096),
                       ": is a cross-encoder, which scores pairs of texts, and no embedder"),
                concat("weft rerank scores texts for a query; weft embed with ", option("pooling"),
                       " mean uses the encoder below the head"));
  }
}

std::optional<SentenceDirectory> read_for_embedding(const OpenedModel& directory, const EmbedOverrides& overrides) {
  std::optional<SentenceDirectory> sentence = checkpoint::read_sentence_directory(directory.root());
  refuse_cross_encoder(directory, sentence, overrides);
  return sentence;
}

Embedder make_embedder(TaskModel model, const std::optional<SentenceDirectory>& sentence, std::int64_t max_length,
                       const EmbedOverrides& overrides) {
  if (sentence) {
    take_sentence_limits(model, *sentence, max_length);
  }
  EmbedRecipe recipe = make_recipe(sentence, model.model->config().output_size(), overrides, model.name);
  return {std::move(model), std::move(recipe)};
}

// Tokens that the prompt brings, and those before it, as the library counts them: the prompt alone, without what the
// tokeniser puts behind it. `truncate`: cut as the texts are, so that what stands behind them still counts.
std::int64_t count_prompt_tokens(const TaskModel& model, const std::string& prompt, bool truncate) {
  if (prompt.empty()) {
    return 0;
  }
  const text::Encoding encoding = model.tokenizer->encode_windows(prompt).front();
  auto tokens = static_cast<std::int64_t>(encoding.ids.size());
  if (truncate && model.maximum > 0) {
    tokens = std::min(tokens, model.maximum);
  }
  return tokens > 0 && encoding.special_mask.back() == 1 ? tokens - 1 : tokens;
}

// The rows of a window that it answers for: its own half of what it shares with its neighbours, and the special tokens
// before the first window's and behind the last one's.
std::pair<std::int64_t, std::int64_t> rows_of_its_own(const EncodedDocument& document, std::size_t window,
                                                      std::int64_t stride) {
  const std::vector<std::int64_t>& special = document.windows[window].special_mask;
  const std::int64_t text = std::find(special.begin(), special.end(), 0) - special.begin();
  const auto tokens = static_cast<std::size_t>(std::count(special.begin(), special.end(), 0));
  const std::size_t windows = document.windows.size();
  const auto [begin, end] = own_tokens(tokens, window, windows, static_cast<std::size_t>(stride));
  return {window == 0 ? 0 : text + static_cast<std::int64_t>(begin),
          window + 1 == windows ? static_cast<std::int64_t>(special.size()) : text + static_cast<std::int64_t>(end)};
}

// Where the windows of a document begin in its tokens: each shares `stride` of them with the one before.
std::vector<std::int64_t> places_of(const EncodedDocument& document, std::int64_t stride) {
  std::vector<std::int64_t> places{0};
  for (std::size_t i = 0; i + 1 < document.windows.size(); ++i) {
    const std::vector<std::int64_t>& special = document.windows[i].special_mask;
    places.push_back(places.back() + std::count(special.begin(), special.end(), 0) - stride);
  }
  return places;
}

// visit_token_states() with the request taken in already.
std::vector<formats::Json> visit_states(TaskModel& model, const EmbedRecipe& recipe,
                                        std::span<const Document> documents, const RunOptions& run,
                                        const TakeStates& take) {
  const std::vector<Document> prompted =
      recipe.prompt.empty() ? std::vector<Document>() : with_prompt(documents, recipe.prompt);
  const LengthRule rule = windowed_texts(model, run, text::Truncation::kOnlyFirst);
  EncodedBatch encoded(model, prompted.empty() ? documents : std::span<const Document>(prompted), rule);
  const std::int64_t prompt_tokens = count_prompt_tokens(model, recipe.prompt, run.truncate);
  std::vector<std::vector<std::int64_t>> places;
  places.reserve(documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i) {
    places.push_back(places_of(encoded[i], rule.stride));
  }
  encoded.run(model, run.batch, true, [&](const EncodedBatch::Place& at, const WindowOutput& output) {
    const EncodedDocument& document = encoded[at.document];
    const auto [begin, end] = rows_of_its_own(document, at.window, rule.stride);
    TokenStates states;
    states.document = at.document;
    states.window = at.window;
    states.windows = document.windows.size();
    states.encoding = &encoded.encoding(at);
    states.hidden = output.hidden;
    states.begin = begin;
    states.end = end;
    states.place = places[at.document][at.window];
    states.prompt = std::clamp<std::int64_t>(prompt_tokens - states.place, 0, output.hidden.size(0));
    states.prompt_bytes = static_cast<std::int64_t>(recipe.prompt.size());
    require_finite(numbers(output.hidden));
    take(states);
  });
  std::vector<formats::Json> metadata;
  metadata.reserve(documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i) {
    metadata.push_back(encoded.metadata(i));
  }
  return metadata;
}

// The parts of one text's windows, [mode][window].
using TextParts = std::vector<std::vector<WindowPart>>;

void take_window(TextParts& parts, const checkpoint::PoolingModule& pooling, const TokenStates& states) {
  const WindowRows rows{.hidden = numbers(states.hidden),
                        .width = states.hidden.size(1),
                        .first = pooling.include_prompt ? 0 : states.prompt,
                        .begin = states.begin,
                        .end = states.end,
                        .place = states.place};
  parts.resize(pooling.modes.size());
  for (std::size_t mode = 0; mode < parts.size(); ++mode) {
    parts[mode].resize(states.windows);
    parts[mode][states.window] = window_part(rows, pooling.modes[mode]);
  }
}

// The pooled vectors of all texts, [texts, modes x width]. Norms alone are taken in float64, as the sums are.
at::Tensor joined_parts(const std::vector<TextParts>& parts, const EmbedRecipe& recipe,
                        std::span<const Document> documents) {
  const auto modes = static_cast<std::int64_t>(recipe.pooling.modes.size());
  const std::int64_t width = recipe.pooling.width;
  at::Tensor pooled = at::empty({static_cast<std::int64_t>(parts.size()), modes * width}, at::kDouble);
  auto* out = pooled.mutable_data_ptr<double>();
  for (std::size_t text = 0; text < parts.size(); ++text) {
    for (std::size_t mode = 0; mode < recipe.pooling.modes.size(); ++mode) {
      const bool counts =
          std::ranges::any_of(parts[text][mode], [](const WindowPart& part) { return part.weight > 0; });
      if (!counts) {
        throw UnfitText(concat(documents[text].name, ": has no token beside the prompt, whose tokens do not count"),
                        "the directory's Pooling has include_prompt false: give a text that is not empty");
      }
      const std::vector<double> vector = join_parts(parts[text][mode], recipe.pooling.modes[mode]);
      out = std::ranges::copy(vector, out).out;
    }
  }
  const bool multiplies = std::ranges::any_of(recipe.modules, [](const checkpoint::SentenceModule& module) {
    return std::holds_alternative<checkpoint::DenseModule>(module);
  });
  return multiplies ? pooled.to(at::kFloat) : pooled;
}

}  // namespace

Embedder open_embedder(const OpenedModel& directory, const TaskModelOptions& options, const EmbedOverrides& overrides) {
  const std::optional<SentenceDirectory> sentence = read_for_embedding(directory, overrides);
  // A config.json in the root is another model's where the list puts the transformer elsewhere.
  const bool elsewhere = sentence && sentence->transformer != directory.path();
  TaskModel model = elsewhere ? open_task_model(sentence->transformer, options) : open_task_model(directory, options);
  return make_embedder(std::move(model), sentence, options.max_length, overrides);
}

Embedder open_embedder(const std::filesystem::path& directory, const TaskModelOptions& options,
                       const EmbedOverrides& overrides) {
  return open_embedder(checkpoint::open_model(directory), options, overrides);
}

Embedder embedder_of(const TaskModel& model, const OpenedModel& directory, std::int64_t max_length,
                     const EmbedOverrides& overrides) {
  return make_embedder(model, read_for_embedding(directory, overrides), max_length, overrides);
}

std::int64_t width(const Embedder& embedder) { return width(embedder.recipe); }

formats::Json applied(const Embedder& embedder) { return applied(embedder.model, embedder.recipe); }

formats::Json applied(const TaskModel& model, const EmbedRecipe& recipe) {
  formats::Json said = applied(recipe);
  said["max_length"] = model.maximum;
  return said;
}

std::vector<formats::Json> visit_token_states(Embedder& embedder, std::span<const Document> documents,
                                              const EmbedRun& run, const TakeStates& take) {
  const EmbedRecipe recipe = with_request(embedder.recipe, run.request, embedder.model.name);
  return visit_states(embedder.model, recipe, documents, run.run, take);
}

std::vector<TextVector> embed_texts(Embedder& embedder, std::span<const Document> documents, const EmbedRun& run) {
  const EmbedRecipe recipe = with_request(embedder.recipe, run.request, embedder.model.name);
  std::vector<TextParts> parts(documents.size());
  std::vector<formats::Json> metadata =
      visit_states(embedder.model, recipe, documents, run.run,
                   [&](const TokenStates& states) { take_window(parts[states.document], recipe.pooling, states); });
  const formats::Json said = applied(embedder.model, recipe);
  const c10::InferenceMode no_graph;
  const at::Tensor vectors = after_pooling(recipe, joined_parts(parts, recipe, documents)).to(at::kFloat).contiguous();
  const std::span<const float> all = numbers(vectors);
  const std::size_t numbers_each = documents.empty() ? 0 : all.size() / documents.size();
  std::vector<TextVector> results(documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const std::span<const float> own = all.subspan(i * numbers_each, numbers_each);
    results[i].vector.assign(own.begin(), own.end());
    results[i].metadata = std::move(metadata[i]);
    results[i].metadata["embedding"] = said;
  }
  return results;
}

std::vector<TaskResult> embed(Embedder& embedder, std::span<const Document> documents, const EmbedRun& run) {
  std::vector<TaskResult> results;
  results.reserve(documents.size());
  for (TextVector& text : embed_texts(embedder, documents, run)) {
    results.push_back({text.vector, std::move(text.metadata)});
  }
  return results;
}

std::vector<TaskResult> embed_token_states(Embedder& embedder, std::span<const Document> documents,
                                           const EmbedRun& run) {
  std::vector<std::vector<formats::Json>> windows(documents.size());
  const auto take = [&](const TokenStates& states) {
    std::vector<formats::Json>& lists = windows[states.document];
    lists.resize(states.windows);
    lists[states.window] = formats::Json::array();
    const std::span<const float> hidden = numbers(states.hidden);
    const auto width = static_cast<std::size_t>(states.hidden.size(1));
    for (std::int64_t row = states.begin; row < states.end; ++row) {
      const std::span<const float> vector = hidden.subspan(static_cast<std::size_t>(row) * width, width);
      lists[states.window].push_back(std::vector<float>(vector.begin(), vector.end()));
    }
  };
  std::vector<formats::Json> metadata = visit_token_states(embedder, documents, run, take);
  std::vector<TaskResult> results(documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i) {
    results[i].result = formats::Json::array();
    for (formats::Json& window : windows[i]) {
      for (formats::Json& vector : window) {
        results[i].result.push_back(std::move(vector));
      }
    }
    results[i].metadata = std::move(metadata[i]);
  }
  return results;
}

}  // namespace weft::tasks
