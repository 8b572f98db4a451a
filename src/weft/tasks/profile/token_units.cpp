// SPDX-License-Identifier: Apache-2.0
// Windows of a text. With a memory a row of a unit is a stretch of many segments, so that most of them run behind a
// whole memory; without one it is a window.
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/layers/memory/segment_memory.h"
#include "weft/tasks/profile/profile_units.h"

namespace weft::tasks {
namespace {

constexpr std::int64_t kFewestSegments = 16;
constexpr std::int64_t kMemories = 4;  // in a stretch
constexpr std::int64_t kMostStretches = 8;

class TokenUnits final : public ProfileUnits {
 public:
  TokenUnits(models::LanguageModel model, std::shared_ptr<const data::TokenSource> tokens, std::int64_t context,
             std::int64_t batch_tokens)
      : model_(std::move(model)), tokens_(std::move(tokens)), context_(context) {
    require(context >= 1 && batch_tokens >= 1, "profile: context and batch_tokens must be at least 1, found ", context,
            " and ", batch_tokens);
    const std::int64_t memory = model_->config().memory_length;
    const std::int64_t segments =
        memory > 0 ? std::max(kFewestSegments, kMemories * ((memory + context - 1) / context)) : 1;
    stretch_ = segments * context;
    most_rows_ = std::max<std::int64_t>(1, batch_tokens / (context + memory));
    most_rows_ = memory > 0 ? std::min(most_rows_, kMostStretches) : most_rows_;
  }

  bool next(formats::Sha256& digest) override {
    const std::int64_t left = tokens_->size() - read_;
    if (left <= 0) {
      return false;
    }
    // The last row may be shorter, and is a unit of its own.
    rows_ = std::max<std::int64_t>(1, std::min(most_rows_, left / stretch_));
    const std::int64_t count = left < stretch_ ? left : rows_ * stretch_;
    ids_.resize(static_cast<std::size_t>(count));
    tokens_->read(read_, ids_);
    read_ += count;
    digest.add_number(static_cast<std::uint64_t>(rows_));
    digest.add_number(static_cast<std::uint64_t>(context_));
    digest.add_number(static_cast<std::uint64_t>(model_->config().memory_length));
    digest.add_number(ids_.size());
    digest.add(ids_.data(), ids_.size() * sizeof(std::int64_t));
    return true;
  }

  UnitCounts run() override {
    const at::Tensor ids = at::tensor(ids_, at::kLong).view({rows_, -1});
    const auto memory = model_->config().memory_length > 0 ? std::make_shared<layers::SegmentMemory>() : nullptr;
    for (std::int64_t begin = 0; begin < ids.size(1); begin += context_) {
      models::ModelInput input;
      input.input_ids = ids.narrow(1, begin, std::min(context_, ids.size(1) - begin));
      input.memory = memory;
      model_->hidden_states(input);
    }
    return {rows_, ids.numel()};
  }

  double share() const override { return static_cast<double>(read_) / static_cast<double>(tokens_->size()); }

 private:
  models::LanguageModel model_;
  std::shared_ptr<const data::TokenSource> tokens_;
  std::int64_t context_;
  std::int64_t stretch_ = 0;
  std::int64_t most_rows_ = 1;
  std::int64_t read_ = 0;
  std::int64_t rows_ = 0;          // of the unit
  std::vector<std::int64_t> ids_;  // of it
};

}  // namespace

std::unique_ptr<ProfileUnits> token_units(models::LanguageModel model, std::shared_ptr<const data::TokenSource> tokens,
                                          std::int64_t context, std::int64_t batch_tokens) {
  return std::make_unique<TokenUnits>(std::move(model), std::move(tokens), context, batch_tokens);
}

}  // namespace weft::tasks
