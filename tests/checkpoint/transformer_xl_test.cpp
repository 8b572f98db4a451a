// SPDX-License-Identifier: Apache-2.0
// Transformer-XL directories that transformers 4.35 wrote: its hidden states, memories, log-probabilities, loss and
// gradients over five segments (tests/fixtures/make/transformer_xl.py); a directory that is written is the one that
// was read; what cannot be opened says why.
#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/checkpoint/tensors.h"
#include "weft/core/files.h"
#include "weft/formats/config_json.h"
#include "weft/layers/memory/segment_memory.h"
#include "weft/models/families/causal_rules.h"
#include "weft/models/families/rows.h"
#include "weft/models/families/transfo_xl/config_json.h"
#include "weft/text/hugging_face.h"

namespace weft::checkpoint {
namespace {

using formats::Json;

const std::filesystem::path kReleased = std::filesystem::path(WEFT_TEST_DATA_DIR) / "transformer_xl";
const std::vector<std::string> kDirectories = {"clusters", "one-table", "no-clusters"};
const std::vector<std::int64_t> kSegments = {7, 3, 9, 1, 8};
constexpr double kTwoPrograms = 1e-4;  // float32, values near 1, sums in another order

std::map<std::string, at::Tensor> expected_of(const std::string& name) {
  std::map<std::string, at::Tensor> tensors;
  for (auto& [key, tensor] : load_tensors(kReleased / name / "expected.safetensors")) {
    tensors.emplace(key, tensor);
  }
  return tensors;
}

double farthest(const at::Tensor& a, const at::Tensor& b) {
  EXPECT_EQ(a.sizes(), b.sizes());
  return (a - b).abs().max().item<double>();
}

/// Labels of a segment: its next tokens, and none behind its last one.
at::Tensor next_tokens(const at::Tensor& ids) {
  return at::cat({ids.narrow(1, 1, ids.size(1) - 1), at::full({ids.size(0), 1}, -100, at::kLong)}, 1);
}

/// As transformers begins: rows of zeros, which are attended to.
std::shared_ptr<layers::SegmentMemory> zeros_of(const models::TransformerConfig& config, std::int64_t rows) {
  auto memory = std::make_shared<layers::SegmentMemory>();
  memory->layers.assign(static_cast<std::size_t>(config.num_hidden_layers),
                        at::zeros({rows, config.memory_length, config.hidden_size}));
  return memory;
}

TEST(TransformerXlDirectory, FiveSegmentsAreThoseOfTransformers) {
  for (const std::string& name : kDirectories) {
    models::LanguageModel model = load_model(kReleased / name);
    const auto expected = expected_of(name);
    const at::Tensor& ids = expected.at("ids");
    for (const std::string kind : {"zeros.", "empty."}) {
      auto memory = kind == "zeros." ? zeros_of(model->config(), 2) : std::make_shared<layers::SegmentMemory>();
      const at::NoGradGuard without_gradients;
      std::vector<at::Tensor> hidden;
      std::vector<at::Tensor> scores;
      std::int64_t begin = 0;
      for (const std::int64_t length : kSegments) {
        models::ModelInput input{.input_ids = ids.narrow(1, begin, length), .memory = memory};
        const auto again = std::make_shared<layers::SegmentMemory>(*memory);
        scores.push_back(model->logits(input));
        input.memory = again;
        hidden.push_back(model->hidden_states(input));
        begin += length;
      }
      const std::string where = concat(name, " ", kind);
      EXPECT_LT(farthest(at::cat(hidden, 1), expected.at(kind + "hidden")), kTwoPrograms) << where;
      EXPECT_LT(farthest(at::cat(scores, 1), expected.at(kind + "log_probabilities")), kTwoPrograms) << where;
      for (std::size_t layer = 0; layer < memory->layers.size(); ++layer) {
        EXPECT_LT(farthest(memory->layers[layer], expected.at(concat(kind, "memory.", layer))), kTwoPrograms) << where;
      }
    }
  }
}

TEST(TransformerXlDirectory, LossAndGradientsBehindAMemoryAreThoseOfTransformers) {
  for (const std::string& name : kDirectories) {
    models::LanguageModel model = load_model(kReleased / name);
    const auto expected = expected_of(name);
    const at::Tensor& ids = expected.at("ids");
    const auto memory = std::make_shared<layers::SegmentMemory>();
    {
      const at::NoGradGuard without_gradients;
      model->hidden_states({.input_ids = ids.narrow(1, 0, 7), .memory = memory});
    }
    const at::Tensor second = ids.narrow(1, 7, 3);
    const at::Tensor loss = model->loss({.input_ids = second, .memory = memory}, next_tokens(second));
    EXPECT_NEAR(loss.item<double>(), expected.at("empty.loss").item<double>(), kTwoPrograms);
    loss.backward();
    const models::WeightMap map = models::transfo_xl_family().causal->weights(model->config());
    for (const auto& parameter : model->named_parameters()) {
      const std::string theirs = "gradient." + map.names_of(parameter.key()).parts.front();
      if (!expected.contains(theirs)) {
        // No label of this segment lies in the cluster.
        EXPECT_TRUE(theirs.starts_with("gradient.crit.out_layers.")) << theirs;
        EXPECT_EQ(parameter.value().grad().abs().max().item<double>(), 0.0) << theirs;
        continue;
      }
      EXPECT_LT(farthest(parameter.value().grad(), expected.at(theirs)), kTwoPrograms) << name << " " << theirs;
    }
  }
}

TEST(TransformerXlDirectory, WhatIsWrittenIsWhatWasRead) {
  for (const std::string& name : kDirectories) {
    const test::TemporaryDirectory temporary;
    const models::LanguageModel model = load_model(kReleased / name);
    save_model_as(*models::transfo_xl_family().causal, temporary / "written", model, kReleased / name);
    const models::LanguageModel again = load_model(temporary / "written");
    for (const auto& parameter : model->named_parameters()) {
      EXPECT_TRUE(parameter.value().equal(again->named_parameters()[parameter.key()])) << parameter.key();
    }
    Json config = formats::to_json(model->config());
    EXPECT_EQ(formats::to_json(again->config()), config);
    // What transformers reads, and under which names it looks for tied tensors.
    const Json written = formats::read_json(temporary / "written" / "config.json");
    const Json released = formats::read_json(kReleased / name / "config.json");
    for (const char* field : {"cutoffs", "div_val", "mem_len", "clamp_len", "same_length", "untie_r", "tie_projs",
                              "d_head", "d_inner", "n_layer", "model_type", "architectures", "vocab_size"}) {
      EXPECT_EQ(written.at(field), released.at(field)) << name << " " << field;
    }
    const std::unique_ptr<formats::TensorFile> tensors = formats::open_tensor_directory(temporary / "written");
    EXPECT_NE(tensors->find("crit.out_layers.0.weight"), nullptr);
    const auto frequencies = [](const std::filesystem::path& directory) {
      const std::unique_ptr<formats::TensorFile> file = formats::open_tensor_directory(directory);
      return read_tensor(*file, *file->find("transformer.pos_emb.inv_freq"));
    };
    EXPECT_TRUE(frequencies(temporary / "written").equal(frequencies(kReleased / name)));
    // In Weft's own form it is the same model.
    const text::HuggingFaceTokenizer words(temporary / "written");
    save_model(temporary / "own", model, words);
    EXPECT_EQ(formats::to_json(load_model(temporary / "own")->config()), config);
  }
}

TEST(TransformerXlDirectory, WordsEndLinesAndTextComesBack) {
  const text::HuggingFaceTokenizer words(kReleased / "clusters");
  EXPECT_EQ(words.vocabulary_size(), 40);
  const std::string text = "the graph of word9 ,\n\nunseen word39\n";
  const std::vector<std::int64_t> ids = words.encode(text);
  EXPECT_EQ(ids, (std::vector<std::int64_t>{2, 4, 3, 16, 5, 0, 0, 1, 1, 0}));
  EXPECT_EQ(words.decode({2, 4, 0, 3}), "the graph\n of");
}

TEST(TransformerXlDirectory, WhatCannotBeOpenedSaysWhy) {
  const Json good = formats::read_json(kReleased / "clusters" / "config.json");
  const auto refused = [&](ErrorKind kind, std::initializer_list<std::string_view> words,
                           const std::function<void(Json&)>& edit) {
    Json json = good;
    edit(json);
    test::expect_error(kind, words, [&] { models::transfo_xl_from_json(json, "folder"); });
  };
  refused(ErrorKind::kUnsupported, {"folder/config.json", "pre_lnorm"}, [](Json& json) { json["pre_lnorm"] = true; });
  refused(ErrorKind::kUnsupported, {"attn_type", "2"}, [](Json& json) { json["attn_type"] = 2; });
  refused(ErrorKind::kUnsupported, {"d_embed"}, [](Json& json) { json["d_embed"] = 8; });
  refused(ErrorKind::kUnsupported, {"d_head"}, [](Json& json) { json["d_head"] = 16; });
  refused(ErrorKind::kUnsupported, {"same_length"}, [](Json& json) { json["mem_len"] = 0; });
  refused(ErrorKind::kUnsupported, {"tie_projs"}, [](Json& json) { json["tie_projs"] = {true, true, true, true}; });
  refused(ErrorKind::kFormat, {"tie_projs"}, [](Json& json) { json["tie_projs"] = "all"; });
  refused(ErrorKind::kFormat, {"d_model"}, [](Json& json) { json["d_model"] = "16"; });
  refused(ErrorKind::kArgument, {"vocabulary_cutoffs"}, [](Json& json) { json["cutoffs"] = {12, 7}; });
  refused(ErrorKind::kArgument, {"leaves no column"}, [](Json& json) { json["div_val"] = 100; });
  models::TransformerConfig config = models::transfo_xl_from_json(good, "folder");
  const auto not_written = [&](std::string_view word, const std::function<void(models::TransformerConfig&)>& edit) {
    models::TransformerConfig changed = config;
    edit(changed);
    test::expect_error(ErrorKind::kUnsupported, {"transfo-xl", word}, [&] { models::transfo_xl_to_json(changed); });
  };
  not_written("variant", [](auto& changed) { changed.variant = "weft"; });
  not_written("relu", [](auto& changed) { changed.hidden_act = "gelu"; });
  not_written("left=5", [](auto& changed) { changed.attention = {"relative(left=3)"}; });
  not_written("same settings", [](auto& changed) { changed.attention = {"relative", "relative(clamp=2)"}; });
}

TEST(TransformerXlDirectory, DamagedTensorsAreNamed) {
  const test::TemporaryDirectory temporary;
  std::filesystem::copy(kReleased / "clusters", temporary / "model");
  NamedTensors tensors = load_tensors(temporary / "model" / "model.safetensors");
  tensors.front().first = "transformer.other";
  save_tensors(temporary / "model" / "model.safetensors", tensors);
  test::expect_error(ErrorKind::kFormat, {"model.safetensors", "missing"}, [&] { load_model(temporary / "model"); });
}

}  // namespace
}  // namespace weft::checkpoint
