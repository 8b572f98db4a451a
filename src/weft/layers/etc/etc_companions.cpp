// SPDX-License-Identifier: Apache-2.0
// Ids of global tokens on their way into a stack.
#include "weft/layers/etc/etc_companions.h"

#include <utility>

#include "weft/core/error.h"
#include "weft/layers/dropout.h"

namespace weft::layers {
namespace {

constexpr std::int64_t kEmbeddingsLayer = -1;  // of dropout_seed: before layer 0
constexpr std::int64_t kCompanionSite = 2;     // 1 is that of the text's embeddings

at::Tensor chosen_rows(const at::Tensor& tensor, const at::Tensor& rows) {
  return tensor.defined() ? tensor.index_select(0, rows) : tensor;
}

class EmbeddedCompanions : public CompanionSource {
 public:
  explicit EmbeddedCompanions(Embeddings embeddings) : embeddings_(std::move(embeddings)) {}

  Rows first(const at::Tensor& text, const CompanionInput* input, BlockContext& context) override {
    const auto* const given = dynamic_cast<const EtcCompanions*>(input);
    require(given != nullptr, "a model with global tokens was called without any");
    const DropoutSeed seed = dropout_seed(context.attention.seed, kEmbeddingsLayer, kCompanionSite);
    context.attention.companions = given->ids.size(1);
    context.attention.structure = given->structure;
    return {embeddings_(EmbeddingsInput{.ids = given->ids, .seed = seed, .token_types = given->token_types}), text};
  }
  bool gives_result() const override { return true; }

 private:
  Embeddings embeddings_;
};

}  // namespace

std::shared_ptr<const CompanionInput> EtcCompanions::chosen(const at::Tensor& rows) const {
  auto some = std::make_shared<EtcCompanions>();
  some->ids = chosen_rows(ids, rows);
  some->token_types = chosen_rows(token_types, rows);
  some->structure = std::make_shared<attention::EtcStructure>(attention::rows_of_structure(*structure, rows));
  return some;
}

std::shared_ptr<const CompanionInput> EtcCompanions::padded(std::int64_t columns) const {
  auto longer = std::make_shared<EtcCompanions>(*this);
  longer->structure = std::make_shared<attention::EtcStructure>(attention::with_padding(*structure, columns));
  return longer;
}

CompanionFactory etc_companions(const EmbeddingsConfig& config) {
  return [config](torch::nn::Module& owner, std::int64_t, const at::TensorOptions& options) {
    return std::make_unique<EmbeddedCompanions>(owner.register_module("globals", Embeddings(config, options)));
  };
}

}  // namespace weft::layers
