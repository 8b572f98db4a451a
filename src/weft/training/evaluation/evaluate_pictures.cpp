// SPDX-License-Identifier: Apache-2.0
// Batches of whole pictures.
#include "weft/training/evaluation/evaluate_pictures.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string_view>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/data/window_sampler.h"
#include "weft/metrics/likelihood.h"
#include "weft/training/evaluation/evaluation_mode.h"
#include "weft/training/precision.h"
#include "weft/training/processes/process_group.h"
#include "weft/training/trainer_config.h"

namespace weft::training {
namespace {

formats::Json picture_figures(double nats, std::int64_t pictures, std::int64_t bytes, double seconds) {
  return {{"bits_per_byte", metrics::bits_per_unit(nats, pictures * bytes)},
          {"perplexity", metrics::perplexity(nats, pictures * bytes)},
          {"pictures", pictures},
          {"bytes", pictures * bytes},
          {"context", bytes},
          {"seconds", seconds}};
}

// Pictures [first, last) of a source, int64 [last - first, bytes + 1].
at::Tensor picture_rows(const data::PictureTokens& pictures, std::int64_t first, std::int64_t last) {
  const std::int64_t item = pictures.shape().bytes() + 1;
  at::Tensor rows = at::empty({last - first, item}, at::kLong);
  pictures.read(first * item, {rows.mutable_data_ptr<std::int64_t>(), static_cast<std::size_t>(rows.numel())});
  return rows;
}

}  // namespace

std::vector<std::string> picture_figure_names() {
  std::vector<std::string> names;
  const formats::Json figures = picture_figures(1.0, 1, 1, 0.0);
  for (const auto& [name, value] : figures.items()) {
    names.push_back(name);
  }
  return names;
}

void check_pictures(const models::TransformerConfig& model, const readers::PictureShape& shape,
                    std::string_view where) {
  const std::vector<std::int64_t> sides = {shape.height, shape.width, shape.channels};
  require(!model.picture_shape.empty(), where, ": the model was made for text or sound, found pictures");
  require(
      model.picture_shape == sides, where, ": the model was made for pictures of ",
      [&] { return joined(model.picture_shape, " x ", [](std::int64_t side) { return std::to_string(side); }); },
      " (rows, columns, channels), found ", [&] { return readers::shape_text(shape); });
}

formats::Json evaluate_pictures(models::LanguageModel model, const data::PictureTokens& pictures,
                                const EvaluateOptions& options) {
  check_pictures(model->config(), pictures.shape(), "evaluation");
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t bytes = pictures.shape().bytes();
  const std::int64_t wanted = options.max_bytes == 0 ? pictures.pictures() : (options.max_bytes + bytes - 1) / bytes;
  const std::int64_t count = std::min(pictures.pictures(), wanted);
  const std::int64_t rows = std::max<std::int64_t>(1, options.batch_tokens / bytes);
  const at::NoGradGuard no_grad;
  const EvaluationMode mode(*model);
  const AutocastGuard autocast(resolved_dtype(options.dtype));
  double nats = 0.0;
  for (std::int64_t first = 0; first < count; first += rows) {
    const std::int64_t last = std::min(first + rows, count);
    if ((first / rows) % processes().size() == processes().rank()) {
      const data::Batch batch = data::causal_batch(picture_rows(pictures, first, last));
      nats += model->token_scores(models::ModelInput{batch.input_ids, {}, {}, {}, {}}, batch.labels)
                  .nats.sum(at::kDouble)
                  .item<double>();
    }
    if (!std::isfinite(nats)) {
      fail(ErrorKind::kNumeric, "the loss became ", nats, " within pictures ", first, " to ", last);
    }
    if (options.progress) {
      options.progress(last * bytes, count * bytes);
    }
  }
  const double all = processes().sum(nats);
  return picture_figures(all, count, bytes,
                         std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

}  // namespace weft::training
