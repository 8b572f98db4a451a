// SPDX-License-Identifier: Apache-2.0
// Tokens as ids for the model and as words for a reader.
#include "weft/tasks/viewer/view_text.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>

#include <functional>
#include <optional>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/work/pieces.h"
#include "weft/layers/attention/watched.h"
#include "weft/tasks/sequences/taught_pair.h"
#include "weft/tasks/viewer/rollout.h"
#include "weft/tasks/window_input.h"
#include "weft/training/precision.h"

namespace weft::tasks {
namespace {

at::Tensor row_of_ids(const std::vector<std::int64_t>& ids) { return at::tensor(ids, at::kLong).unsqueeze(0); }

// The viewer sees no calls of other work that is done in between.
class ViewedModel final : StateOfWork {
 public:
  ViewedModel(torch::nn::Module& model, AttentionViewer& viewer) : model_(model), viewer_(viewer) { bring_back(); }

 private:
  void put_aside() noexcept override { scope_.reset(); }
  void bring_back() noexcept override { scope_.emplace(model_, viewer_); }

  torch::nn::Module& model_;
  AttentionViewer& viewer_;
  std::optional<layers::WatchScope> scope_;
};

// What `run` makes the layers of `model` compute.
AttentionView watched(torch::nn::Module& model, const ViewOptions& options, ViewedText source, ViewedText target,
                      const std::function<void()>& run) {
  const at::NoGradGuard without_gradients;
  model.eval();
  AttentionViewer viewer(model, options);
  {
    const ViewedModel viewed(model, viewer);
    run();
  }
  AttentionView view{std::move(source), std::move(target), {}};
  view.parts = viewer.finished(std::ssize(view.source.tokens), std::ssize(view.target.tokens));
  if (options.layers.empty() && options.heads.empty() && !options.kept) {
    if (std::optional<ViewedPart> flow = rollout(view.parts, options.top)) {
      view.parts.push_back(std::move(*flow));
    }
  }
  return view;
}

ViewedText words_of(const text::PairTokenizer& tokenizer, const std::vector<std::int64_t>& ids, text::Side side) {
  ViewedText words;
  for (const std::int64_t id : ids) {
    words.tokens.push_back(tokenizer.token(id, side));
  }
  return words;
}

}  // namespace

AttentionView view_text(models::LanguageModel model, const text::Tokenizer& tokenizer, const std::string& text,
                        const ViewOptions& options) {
  const std::vector<std::int64_t> ids = tokenizer.encode(text);
  require(!ids.empty(), "attention: the text has no token");
  ViewedText words;
  words.separator = tokenizer.kind().starts_with("bytes") ? "" : " ";
  for (const std::int64_t id : ids) {
    words.tokens.push_back(tokenizer.decode({id}));
  }
  return watched(*model, options, std::move(words), {}, [&] {
    const training::AutocastGuard autocast(options.products);
    models::ModelInput input;
    input.input_ids = row_of_ids(ids);
    model->hidden_states(input);
  });
}

AttentionView view_document(TaskModel& task, const Document& document, const ViewOptions& options) {
  LengthRule rule;
  rule.maximum = task.maximum;
  rule.model = task.name;
  rule.hint = "give a shorter text";
  const text::Encoding window = encode_document(*task.tokenizer, document, rule).windows.front();
  take_note(task, window, document.name);
  ViewedText words;
  for (const std::int64_t id : window.ids) {
    words.tokens.push_back(task.tokenizer->token(id));
  }
  return watched(*task.model, options, std::move(words), {}, [&] {
    const training::AutocastGuard autocast(task.products);
    const text::Encoding* const row = &window;
    task.model->hidden_states(windows_alone(task, {&row, 1}));
  });
}

AttentionView view_pair(const SequenceModel& texts, models::EncoderDecoder model, std::int64_t start,
                        const Document& document, const ViewOptions& options) {
  const auto [source, target] = taught_pair(texts, model->config(), document, {start, false, "give a shorter text"});
  models::SequencePair pair;
  pair.input_ids = row_of_ids(source);
  pair.attention_mask = at::ones({1, std::ssize(source)}, at::kLong);
  pair.decoder_input_ids = row_of_ids(target);
  pair.decoder_attention_mask = at::ones({1, std::ssize(target)}, at::kLong);
  return watched(*model, options, words_of(*texts.tokenizer, source, text::Side::kSource),
                 words_of(*texts.tokenizer, target, text::Side::kTarget), [&] {
                   const training::AutocastGuard autocast(texts.products);
                   model->hidden_states(pair);
                 });
}

}  // namespace weft::tasks
