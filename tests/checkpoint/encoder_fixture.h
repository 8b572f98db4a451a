// SPDX-License-Identifier: Apache-2.0
// What transformers computed for one family and head (tests/fixtures/make/encoders.py): a directory as it wrote it, and
// the inputs, outputs and gradients of its cases.
#pragma once

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/ones.h>

#include "support/temporary_directory.h"
#include "weft/checkpoint/tensors.h"
#include "weft/core/files.h"
#include "weft/formats/config_json.h"
#include "weft/models/encoder_model.h"

namespace weft::test {

/// Family and head by their names.
struct EncoderKind {
  std::string family;
  std::string head;
};

inline std::ostream& operator<<(std::ostream& stream, const EncoderKind& kind) {
  return stream << kind.family << ' ' << kind.head;
}

/// All that there are fixtures of.
inline std::vector<EncoderKind> encoder_kinds() {
  std::vector<EncoderKind> kinds;
  for (const char* family :
       {"bert", "roberta", "xlm-roberta", "camembert", "distilbert", "modernbert", "mpnet", "electra", "nomic_bert",
        "eurobert", "esm", "deberta-v2", "longformer", "big_bird", "nystromformer", "nystrom_landmarks"}) {
    for (const char* head : {"none", "masked-lm", "sequence-classification", "token-classification",
                             "question-answering", "multiple-choice"}) {
      const bool is_about_one_text =
          head != std::string("question-answering") && head != std::string("multiple-choice");
      const bool has_no_others =
          family == std::string("nomic_bert") || family == std::string("eurobert") || family == std::string("esm");
      if (is_about_one_text || !has_no_others) {
        kinds.push_back({family, head});
      }
    }
  }
  kinds.push_back({"electra", "replaced-tokens"});
  for (const char* family : {"t5_encoder", "umt5_encoder", "longt5_encoder"}) {
    kinds.push_back({family, "none"});
  }
  return kinds;
}

class EncoderFixture {
 public:
  explicit EncoderFixture(const EncoderKind& kind) : EncoderFixture("encoders/" + kind.family + "_" + kind.head) {}
  /// `name` below tests/fixtures, without ".safetensors".
  explicit EncoderFixture(const std::string& name)
      : file_(std::filesystem::path(WEFT_TEST_DATA_DIR) / (name + ".safetensors")),
        plans_(formats::parse_json(file_.metadata().at("plans"), "plans")) {
    write_file_atomically(directory_ / "config.json", file_.metadata().at("config"));
    checkpoint::NamedTensors weights;
    for (const auto& [name, tensor] : group("weights")) {
      weights.emplace_back(name, tensor);
    }
    checkpoint::save_tensors(directory_ / "model.safetensors", weights);
  }

  /// A Hugging Face directory with the fixture's config and weights.
  const std::filesystem::path& directory() const { return directory_.path(); }

  std::vector<std::string> cases() const {
    std::vector<std::string> names;
    for (const auto& [name, plan] : plans_.items()) {
      names.push_back(name);
    }
    return names;
  }

  /// BigBird's plan of a case, else the default.
  std::string plan(const std::string& name) const {
    const auto plan = plans_.at(name).get<std::string>();
    return plan.empty() ? "released" : plan;
  }

  /// The tensors whose names begin with `path`/, by the rest of their names.
  checkpoint::NamedTensors group(const std::string& path) const {
    checkpoint::NamedTensors tensors;
    for (const formats::TensorInfo& info : file_.tensors()) {
      if (info.name.starts_with(path + "/")) {
        tensors.emplace_back(info.name.substr(path.size() + 1), checkpoint::read_tensor(file_, info));
      }
    }
    return tensors;
  }

  /// Undefined where there is none.
  at::Tensor tensor(const std::string& path) const {
    const formats::TensorInfo* info = file_.find(path);
    return info == nullptr ? at::Tensor() : checkpoint::read_tensor(file_, *info);
  }

  models::EncoderInput input(const std::string& name) const {
    const std::string path = name + "/input/";
    models::EncoderInput input;
    input.input_ids = tensor(path + "input_ids");
    input.attention_mask = tensor(path + "attention_mask");
    input.token_type_ids = tensor(path + "token_type_ids");
    input.global_attention_mask = tensor(path + "global_attention_mask");
    return input;
  }

  models::EncoderLabels labels(const std::string& name) const {
    const std::string path = name + "/label/";
    return {tensor(path + "labels"), tensor(path + "start_positions"), tensor(path + "end_positions")};
  }

  /// Where the tokens of a case are not padding, bool [B, N].
  at::Tensor kept(const std::string& name) const {
    const models::EncoderInput given = input(name);
    return given.attention_mask.defined() ? given.attention_mask.ne(0)
                                          : at::ones(given.input_ids.sizes(), at::TensorOptions(at::kBool));
  }

 private:
  formats::SafetensorsFile file_;
  formats::Json plans_;
  TemporaryDirectory directory_;
};

}  // namespace weft::test
