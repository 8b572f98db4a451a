// SPDX-License-Identifier: Apache-2.0
// Where LibTorch multiplies bfloat16 eighty times slower than float32, no model hands it a bfloat16 product, forwards
// or backwards. Runs where that is so: on a processor without AVX-512, or held to AVX2 by scripts/test-levels.
#include <gtest/gtest.h>

#include <ATen/autocast_mode.h>
#include <ATen/record_function.h>

#include <set>

#include "models/small_encoder.h"
#include "models/small_model.h"
#include "weft/core/cpu.h"

namespace weft::models {
namespace {

/// Collects the names of LibTorch's products that are given a bfloat16 tensor, on all threads, while it lives.
class SlowProducts {
 public:
  SlowProducts() : handle_(at::addGlobalCallback(at::RecordFunctionCallback(look).needsInputs(true))) {
    found().clear();
  }
  ~SlowProducts() { at::removeCallback(handle_); }
  SlowProducts(const SlowProducts&) = delete;
  SlowProducts& operator=(const SlowProducts&) = delete;

  static std::set<std::string>& found() {
    static std::set<std::string> names;
    return names;
  }

 private:
  static std::unique_ptr<at::ObserverContext> look(const at::RecordFunction& function) {
    static const std::set<std::string> products = {"aten::mm",      "aten::addmm",       "aten::bmm",
                                                   "aten::baddbmm", "aten::mv",          "aten::addmv",
                                                   "aten::dot",     "aten::convolution", "aten::addbmm"};
    const std::string name = function.name();
    if (products.count(name) > 0 || name.starts_with("mkldnn::") || name.starts_with("aten::_scaled_dot_product_")) {
      for (const c10::IValue& input : function.inputs()) {
        if (input.isTensor() && input.toTensor().defined() && input.toTensor().scalar_type() == at::kBFloat16) {
          found().insert(name);
        }
      }
    }
    return nullptr;
  }

  at::CallbackHandle handle_;
};

class Bfloat16Products : public ::testing::Test {
 protected:
  void SetUp() override {
    if (has_fast_bfloat16()) {
      GTEST_SKIP() << "LibTorch multiplies bfloat16 fast here";
    }
  }
};

TEST_F(Bfloat16Products, AreFoundWhereThereAreSome) {
  const at::Tensor x = at::ones({4, 4}, at::TensorOptions(at::kBFloat16));
  const SlowProducts slow;
  at::mm(x, x);
  EXPECT_EQ(slow.found(), std::set<std::string>{"aten::mm"});
}

TEST_F(Bfloat16Products, NoneInALanguageModel) {
  for (const char* attention : {"causal", "causal & window(8)"}) {
    TransformerConfig config = test::small_config();
    config.attention = {attention};
    LanguageModel model = test::make_model(config);
    model->train();
    const at::Tensor ids = test::random_ids(2, 40);
    const SlowProducts slow;
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::set_autocast_enabled(at::kCPU, true);
    const at::Tensor loss = model->loss(test::input_of(ids), ids);
    at::autocast::set_autocast_enabled(at::kCPU, false);
    loss.backward();
    EXPECT_EQ(slow.found(), std::set<std::string>{}) << attention;
  }
}

TEST_F(Bfloat16Products, NoneInEncoders) {
  for (const char* family :
       {"bert", "roberta", "longformer", "big_bird", "nystromformer", "littlebird", "etc", "star_transformer"}) {
    EncoderModel model = test::small_encoder(test::small_encoder_config(family), Head::kMaskedLanguageModel);
    model->to(at::kBFloat16);
    EncoderInput input;
    input.input_ids = test::text_ids(2, 96);
    const SlowProducts slow;
    model->loss(input, {.labels = input.input_ids}).backward();
    const at::NoGradGuard no_gradient;
    model->forward(input);
    EXPECT_EQ(slow.found(), std::set<std::string>{}) << family;
  }
}

}  // namespace
}  // namespace weft::models
