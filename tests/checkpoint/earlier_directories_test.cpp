// SPDX-License-Identifier: Apache-2.0
// Directories of every family that the program of commit 94cfefa wrote (tests/fixtures/make/earlier_directories.py):
// each opens, computes what that program computed, and is written again as the same bytes.
#include <gtest/gtest.h>

#include <c10/core/GradMode.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/temporary_directory.h"
#include "support/torch_fixture.h"
#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/core/files.h"
#include "weft/models/families/causal_rules.h"
#include "weft/models/families/rows.h"

namespace weft::checkpoint {
namespace {

const std::filesystem::path kModels = std::filesystem::path(WEFT_TEST_DATA_DIR) / "written_by_94cfefa" / "models";
/// Equal to the bit on a processor like that of the fixtures; others sum in another order.
constexpr double kRounding = 1e-5;

at::Tensor rows() {
  return at::tensor({0, 4, 9, 3, 3, 23, 11, 5, 3, 18, 6, 2, 0, 12, 3, 3, 5, 8, 3, 2, 1, 1, 1, 1}, at::kLong)
      .reshape({2, 12});
}

void expect_same_files(const std::filesystem::path& written, const std::filesystem::path& earlier) {
  for (const char* name : {"config.json", "model.safetensors"}) {
    EXPECT_EQ(read_file(ModelFile(written, name)), read_file(ModelFile(earlier, name))) << earlier << " " << name;
  }
}

void expect_tensors(const std::string& name, const std::vector<std::pair<std::string, at::Tensor>>& found) {
  const test::Fixture expected("written_by_94cfefa/" + name);
  for (const auto& [key, tensor] : found) {
    ASSERT_TRUE(expected.has(key)) << name << " " << key;
    ASSERT_EQ(tensor.sizes(), expected.tensor(key).sizes()) << name << " " << key;
    EXPECT_LT(test::largest_difference(tensor.to(at::kDouble), expected.float64(key)), kRounding) << name << " " << key;
  }
}

TEST(EarlierDirectories, EncodersComputeAndAreWrittenAsBefore) {
  const at::NoGradGuard without_gradients;
  for (const std::string name :
       {"bert", "roberta", "longformer", "big_bird", "nystromformer", "littlebird", "etc", "star_transformer"}) {
    models::EncoderModel model = load_encoder(kModels / name);
    const bool choices = model->head() == models::Head::kMultipleChoice;
    const at::Tensor ids = choices ? rows().unsqueeze(0) : rows();
    expect_tensors(name, model->forward({.input_ids = ids, .attention_mask = ids.ne(1)}).named());
    const test::TemporaryDirectory temporary;
    save_encoder(temporary / "written", model);
    expect_same_files(temporary / "written", kModels / name);
  }
}

TEST(EarlierDirectories, EncoderDecodersComputeAndAreWrittenAsBefore) {
  const at::NoGradGuard without_gradients;
  for (const std::string name : {"marian", "bart", "pegasus", "bigbird_pegasus", "led", "pair"}) {
    models::EncoderDecoder model = load_encoder_decoder(kModels / name);
    const at::Tensor targets = at::tensor({2, 7, 19, 4, 2, 8, 8, 13}, at::kLong).reshape({2, 4});
    const auto [logits, states] =
        model->logits_and_states({.input_ids = rows(), .decoder_input_ids = targets, .attention_mask = rows().ne(1)});
    expect_tensors(name, {{"logits", logits}, {"encoder_last_hidden_state", states}});
    const test::TemporaryDirectory temporary;
    save_encoder_decoder(temporary / "written", model);
    expect_same_files(temporary / "written", kModels / name);
  }
}

TEST(EarlierDirectories, ATransformerXlIsWrittenAsBefore) {
  const models::LanguageModel model = load_model(kModels / "transfo-xl");
  const test::TemporaryDirectory temporary;
  save_model_as(*models::transfo_xl_family().causal, temporary / "written", model, kModels / "transfo-xl");
  expect_same_files(temporary / "written", kModels / "transfo-xl");
}

}  // namespace
}  // namespace weft::checkpoint
