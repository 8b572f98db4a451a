// SPDX-License-Identifier: Apache-2.0
// What a model needs, counted from its files, and whether all models fit.
#include "weft/service/memory_account.h"

#include <gtest/gtest.h>

#include <ATen/ops/ones.h>

#include "models/small_encoder.h"
#include "models/small_model.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/checkpoint/new_models/convert_directory.h"
#include "weft/checkpoint/tensors.h"
#include "weft/core/files.h"
#include "weft/text/hugging_face.h"

namespace weft::service {
namespace {

using test::expect_error;

constexpr std::int64_t kMebibyte = 1 << 20;

class AccountOfADirectory : public ::testing::Test {
 protected:
  AccountOfADirectory()
      : model_(test::small_encoder(test::small_encoder_config("bert"), models::Head::kSequenceClassification)) {
    checkpoint::save_encoder(folder_ / "bert", model_, {});
  }
  MemoryAccount account(const std::string& dtype, const AccountLimits& limits) const {
    return memory_account("small", checkpoint::open_model(folder_ / "bert"), {.dtype = dtype}, limits);
  }

  test::TemporaryDirectory folder_;
  models::EncoderModel model_;
};

TEST_F(AccountOfADirectory, WeightsAreThoseOfTheFile) {
  const MemoryAccount account = this->account("float32", {});
  EXPECT_EQ(account.weights, 4 * model_->parameter_count());
  EXPECT_EQ(account.packed, account.weights);
  EXPECT_EQ(account.total(), account.weights + account.packed + account.work);
  EXPECT_EQ(account.how, "a batch of 512 tokens in windows of up to 128");
  EXPECT_EQ(this->account("bfloat16", {}).weights, 2 * model_->parameter_count());
}

TEST_F(AccountOfADirectory, WorkFollowsTheBoundsOfTheServer) {
  const MemoryAccount usual = account("float32", {});
  const MemoryAccount narrow = account("float32", {.texts = 1, .batch_bytes = 16, .body_bytes = 32});
  EXPECT_EQ(narrow.how, "a batch of 32 tokens in windows of up to 32");
  EXPECT_LT(narrow.work, usual.work);
  EXPECT_EQ(narrow.weights, usual.weights);
}

TEST(MemoryAccount, WeightsOfADecoderAreOfTheTypeThatTheyAreAskedFor) {
  const test::TemporaryDirectory folder;
  const models::LanguageModel model = test::make_model(test::small_config());
  checkpoint::save_model(folder / "run", model, *text::make_byte_tokenizer());
  const auto weights = [&](const std::string& dtype) {
    return memory_account("run", checkpoint::open_model(folder / "run"), {.dtype = dtype}, {}).weights;
  };
  EXPECT_EQ(weights("run"), 4 * model->parameter_count());
  EXPECT_EQ(weights("bfloat16"), 2 * model->parameter_count());
  write_file_atomically(folder / "run" / "training.json", R"({"weft_version": "0.1.0", "dtype": "bfloat16"})");
  EXPECT_EQ(weights("run"), 4 * model->parameter_count()) << "a run keeps its weights, whatever multiplies them";
  EXPECT_EQ(weights("bfloat16"), 2 * model->parameter_count());
}

// Keys and values are products: the type of weights says nothing of them.
TEST(MemoryAccount, KeysAndValuesOfADecoderHaveTheTypeOfProducts) {
  const test::TemporaryDirectory folder;
  models::TransformerConfig config = test::small_config();
  for (const bool has_limit : {true, false}) {
    config.position_embedding = has_limit ? "learned" : "rotary";
    const std::filesystem::path run = folder / config.position_embedding;
    checkpoint::save_model(run, test::make_model(config), *text::make_byte_tokenizer());
    const auto opened = [&] { return checkpoint::open_model(run); };
    const auto work = [&](const std::string& dtype) {
      return memory_account("run", opened(), {.dtype = dtype}, {}).work;
    };
    const checkpoint::Facts facts = opened().facts(checkpoint::Ability::kContinue);
    const auto together = [&](const std::string& dtype) {
      return written_together(facts, tasks::decoder_settings({.dtype = dtype}, run), 32);
    };
    const std::int64_t before = work("run");
    const std::int64_t tokens = together("run");
    EXPECT_EQ(together("bfloat16"), has_limit ? tokens : 2 * tokens);
    write_file_atomically(run / "training.json", R"({"weft_version": "0.1.0", "dtype": "bfloat16"})");
    EXPECT_EQ(together("run"), together("bfloat16"));
    if (has_limit) {
      EXPECT_EQ(work("run"), before - 2 * facts.costs.state * tokens) << "weights are float32 as before";
    }
  }
}

TEST(MemoryAccount, IsShownInAllPlaces) {
  const MemoryAccount account{
      .model = "a", .weights = 2 * kMebibyte, .packed = kMebibyte, .work = 5 * kMebibyte, .how = "one text"};
  EXPECT_EQ(account_line(account),
            "a: up to 8.0 MiB of memory: weights 2.0 MiB, their packed form 1.0 MiB, work 5.0 MiB (one text)");
  const formats::Json json = account_json(account);
  EXPECT_EQ(json["total"], 8 * kMebibyte);
  EXPECT_EQ(json["how"], "one text");
  const std::string figures = account_figures({account}, {.limit = kMebibyte});
  EXPECT_NE(figures.find("weft_model_memory_bytes{model=\"a\",part=\"packed\"} 1048576\n"), std::string::npos);
  EXPECT_NE(figures.find("weft_memory_limit_bytes 1048576\n"), std::string::npos);
  EXPECT_EQ(account_figures({account}, {}).find("weft_memory_limit_bytes"), std::string::npos);
}

TEST(MemoryAccount, TheFirstModelThatIsTooMuchIsRefused) {
  const AccountLimits none{.text_bytes = 0, .batch_bytes = 0, .body_bytes = 0, .answer_bytes = 0, .waiting_bytes = 0};
  AccountLimits limits = none;
  limits.limit = 10 * kMebibyte;
  ASSERT_EQ(request_bytes(limits), 0);
  const MemoryAccount first{"first", 2 * kMebibyte, kMebibyte, kMebibyte, "a text"};
  const MemoryAccount second{"second", 4 * kMebibyte, 0, kMebibyte, "two texts"};
  check_accounts({first, second}, limits, kMebibyte, std::nullopt);
  expect_error(ErrorKind::kUnsupported, {"'second' needs up to 5.0 MiB", "two texts", "max_memory is 10.0 MiB"},
               [&] { check_accounts({first, second}, limits, 2 * kMebibyte, std::nullopt); });
  limits.waiting_bytes = kMebibyte;  // requests count, too
  expect_error(ErrorKind::kUnsupported, {"'second'"},
               [&] { check_accounts({first, second}, limits, kMebibyte, std::nullopt); });
}

TEST(MemoryAccount, WithoutALimitWeightsMustFitTheMachine) {
  const MemoryAccount account{"large", 4 * kMebibyte, 4 * kMebibyte, 4 * kMebibyte, "a text"};
  check_accounts({account}, {}, kMebibyte, MachineMemory{4 * kMebibyte, "a test"});
  check_accounts({account}, {}, kMebibyte, std::nullopt);
  expect_error(ErrorKind::kUnsupported, {"'large' has 4.0 MiB of weights", "this machine has 3.0 MiB (a test)"},
               [&] { check_accounts({account}, {}, kMebibyte, MachineMemory{3 * kMebibyte, "a test"}); });
}

TEST(MemoryAccount, AllModelsMustFitTheGpu) {
  const MemoryAccount first{
      .model = "a", .weights = 2 * kMebibyte, .work = kMebibyte, .how = "x", .layouts = kMebibyte};
  const MemoryAccount second{.model = "b", .weights = 3 * kMebibyte, .work = kMebibyte, .how = "one text"};
  check_device_accounts({first, second}, {}, "cuda:1", 8 * kMebibyte);
  expect_error(ErrorKind::kUnsupported,
               {"weft serve: the model 'b' needs up to 4.0 MiB of cuda:1", "makes 8.0 MiB", "cuda:1 has 7.0 MiB free"},
               [&] { check_device_accounts({first, second}, {}, "cuda:1", 7 * kMebibyte); });
  expect_error(ErrorKind::kUnsupported, {"'a'", "max_memory is 3.0 MiB"},
               [&] { check_device_accounts({first, second}, {.limit = 3 * kMebibyte}, "cuda:1", 8 * kMebibyte); });
  EXPECT_NE(account_line(first).find("weights 2.0 MiB, layouts 1.0 MiB, work 1.0 MiB"), std::string::npos);
}

TEST(MemoryAccount, RequestsOfAGpuMustFitIntoTheMachine) {
  const AccountLimits limits{.on_gpu = true};
  const std::int64_t requests = request_bytes(limits);
  check_host_of_device(limits, MachineMemory{requests, "a control group"});
  check_host_of_device(limits, std::nullopt);
  expect_error(ErrorKind::kUnsupported, {"requests may take up to", "a control group"},
               [&] { check_host_of_device(limits, MachineMemory{requests - 1, "a control group"}); });
}

TEST_F(AccountOfADirectory, AGpuKeepsNoPackedWeightsButLayouts) {
  const MemoryAccount account = this->account("float32", {.on_gpu = true});
  EXPECT_EQ(account.packed, 0);
  EXPECT_GT(account.layouts, 0);
  EXPECT_EQ(account.total(), account.weights + account.layouts + account.work);
}

// Those of a run that learned in bfloat16 stay float32, and a GPU keeps them rounded too.
TEST_F(AccountOfADirectory, AGpuKeepsFloat32WeightsThatAreMultipliedInBfloat16Twice) {
  write_file_atomically(folder_ / "bert/training.json", R"({"weft_version": "0", "dtype": "bfloat16"})");
  const MemoryAccount run = account("run", {.on_gpu = true});
  EXPECT_EQ(run.weights, 4 * model_->parameter_count());
  EXPECT_EQ(run.packed, run.weights / 2);
  EXPECT_EQ(run.total(), run.weights + run.packed + run.layouts + run.work);
  EXPECT_NE(account_line(run).find(", rounded "), std::string::npos) << account_line(run);
  EXPECT_EQ(account("run", {}).packed, run.weights) << "a CPU packs all";
  EXPECT_EQ(account("float32", {.on_gpu = true}).packed, 0);
  EXPECT_EQ(account("bfloat16", {.on_gpu = true}).packed, 0);
  const MemoryAccount int8 = memory_account("small", checkpoint::open_model(folder_ / "bert"),
                                            {.dtype = "run", .weights = "int8"}, {.on_gpu = true});
  EXPECT_EQ(int8.packed, 0);
  expect_error(ErrorKind::kUnsupported, {" of the same rounded to bfloat16, "},
               [&] { check_device_accounts({run}, {}, "cuda:0", run.total() - 1); });
  check_device_accounts({run}, {}, "cuda:0", run.total());
}

TEST_F(AccountOfADirectory, OfInt8DirectoriesOnlyCodesAreBytes) {
  checkpoint::convert_directory(
      {.directory = (folder_ / "bert").string(), .out = (folder_ / "int8").string(), .given = {{"weights", "int8"}}});
  const auto weights = [&] {
    return memory_account("small", checkpoint::open_model(folder_ / "int8"), {.dtype = "float32"}, {}).weights;
  };
  std::int64_t least = 0;
  checkpoint::NamedTensors tensors = checkpoint::load_tensors(folder_ / "int8/model.safetensors");
  for (const auto& [name, tensor] : tensors) {
    least += static_cast<std::int64_t>(tensor.nbytes());  // tables of positions are numbers of four bytes
  }
  EXPECT_GE(weights(), least);
  // A code without rows is refused when the model is read; here nothing is read beyond its shape.
  tensors.emplace_back("stray", at::ones({}, at::kChar));
  checkpoint::save_tensors(folder_ / "int8/model.safetensors", tensors);
  EXPECT_GE(weights(), least);
}

}  // namespace
}  // namespace weft::service
