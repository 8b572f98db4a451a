// SPDX-License-Identifier: Apache-2.0
// Checking, reading and naming an encoder's weights.
#include "weft/checkpoint/encoder_weights.h"

#include <c10/core/GradMode.h>

#include <algorithm>
#include <set>

#include "weft/checkpoint/encoder_names.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/models/families/family.h"

namespace weft::checkpoint {
namespace {

using models::EncoderConfig;
using models::EncoderModelImpl;
using models::Head;

std::string prefix_of(const EncoderConfig& config) {
  return concat(models::find_family(config.model_type).base_prefix, ".");
}

/// The tensor of a part: by its own name, or by one of the others that a lone part may have.
const formats::TensorInfo* find_part(const formats::TensorFile& file, const HuggingFaceNames& names, std::size_t part) {
  const formats::TensorInfo* found = file.find(names.parts[part]);
  for (std::size_t i = 0; found == nullptr && names.parts.size() == 1 && i < names.alternatives.size(); ++i) {
    found = file.find(names.alternatives[i]);
  }
  return found;
}

/// Rows of a parameter that part `part` of `count` fills.
at::Tensor part_of_parameter(const at::Tensor& parameter, std::size_t part, std::size_t count) {
  const std::int64_t rows = parameter.size(0) / static_cast<std::int64_t>(count);
  return parameter.narrow(0, static_cast<std::int64_t>(part) * rows, rows);
}

bool is_weight_dtype(formats::Dtype dtype) {
  using formats::Dtype;
  return dtype == Dtype::F32 || dtype == Dtype::F16 || dtype == Dtype::BF16 || dtype == Dtype::F64;
}

/// What is wrong with a tensor that is there, or nothing.
std::string wrong_with(const formats::TensorInfo& info, const at::Tensor& expected) {
  if (expected.sizes() != at::IntArrayRef(info.shape)) {
    return concat("tensor ", quote(info.name), " has shape ", at::IntArrayRef(info.shape), ", but config.json says ",
                  expected.sizes());
  }
  return is_weight_dtype(info.dtype) ? std::string()
                                     : concat("tensor ", quote(info.name), " is ", formats::dtype_name(info.dtype),
                                              ", but weights are F64, F32, F16 or BF16");
}

/// What a check gathers.
struct Findings {
  std::vector<std::string> complaints;
  std::vector<std::string> missing;  ///< parameters that the file may lack
  std::set<std::string, std::less<>> used;
};

void check_parameter(Findings& findings, const EncoderFile& file, const std::string& parameter, const at::Tensor& value,
                     const HuggingFaceNames& names) {
  bool absent = false;
  for (std::size_t part = 0; part < names.parts.size(); ++part) {
    const formats::TensorInfo* info = find_part(file.file, names, part);
    const at::Tensor expected = part_of_parameter(value, part, names.parts.size());
    if (info != nullptr) {
      findings.used.insert(info->name);
      const std::string wrong = wrong_with(*info, expected);
      // Other labels than the file's: the layer that scores them is a new one.
      const bool scores_anew = file.new_head && parameter.starts_with("head.projection");
      absent = absent || (scores_anew && !wrong.empty());
      if (!wrong.empty() && !scores_anew) {
        findings.complaints.push_back(wrong);
      }
    } else if (file.new_head && parameter.starts_with("head.")) {
      absent = true;
    } else {
      findings.complaints.push_back(
          concat("tensor ", quote(names.parts[part]), " of shape ", expected.sizes(), " is missing"));
    }
  }
  if (absent) {
    findings.missing.push_back(parameter);
  }
}

bool may_be_surplus(const EncoderFile& file, const EncoderConfig& config, std::string_view name) {
  return is_passed_over(config, name) || (file.other_head && is_of_a_head(config, name));
}

}  // namespace

EncoderFile describe_encoder_file(const formats::TensorFile& file, const EncoderConfig& config, Head head) {
  const std::string prefix = prefix_of(config);
  const auto& tensors = file.tensors();
  EncoderFile described{file};
  described.prefixed = std::any_of(tensors.begin(), tensors.end(),
                                   [&](const formats::TensorInfo& info) { return info.name.starts_with(prefix); });
  described.other_head = head == Head::kNone || config.architectures.empty() ||
                         config.architectures.front() != models::architecture_name(config.model_type, head);
  return described;
}

bool has_pooler(const EncoderFile& file, const EncoderConfig& config) {
  const auto has = [&](const char* parameter) {
    return file.file.find(hugging_face_names(config, Head::kNone, parameter, file.prefixed).parts.front()) != nullptr;
  };
  return has("head.pooler.weight") && has("head.pooler.bias");
}

bool has_untied_decoder(const EncoderFile& file, const EncoderConfig& config) {
  const auto find = [&](const char* parameter) {
    return file.file.find(
        hugging_face_names(config, Head::kMaskedLanguageModel, parameter, file.prefixed).parts.front());
  };
  const formats::TensorInfo* decoder = find("head.decoder");
  const formats::TensorInfo* tokens = find("encoder.embeddings.tokens");
  if (decoder == nullptr || tokens == nullptr || decoder->shape != tokens->shape || decoder->begin == tokens->begin) {
    return false;
  }
  return !read_tensor(file.file, *decoder).equal(read_tensor(file.file, *tokens));
}

std::vector<std::string> check_encoder_weights(const EncoderModelImpl& model, const EncoderFile& file) {
  Findings findings;
  const EncoderConfig& config = model.config();
  for (const auto& parameter : model.named_parameters()) {
    check_parameter(findings, file, parameter.key(), parameter.value(),
                    hugging_face_names(config, model.head(), parameter.key(), file.prefixed));
  }
  for (const formats::TensorInfo& info : file.file.tensors()) {
    if (!findings.used.contains(info.name) && !may_be_surplus(file, config, info.name)) {
      findings.complaints.push_back(concat("tensor ", quote(info.name), " of shape ", at::IntArrayRef(info.shape),
                                           " is not part of the model in config.json (head ", to_string(model.head()),
                                           ")"));
    }
  }
  if (!findings.complaints.empty()) {
    // The first complaint stands for all: a wrong config makes most tensors wrong.
    const std::size_t others = findings.complaints.size() - 1;
    fail(ErrorKind::kFormat, file.file.path().string(), ": ", findings.complaints.front(),
         others > 0 ? concat(" (and ", others, " more)") : std::string());
  }
  return findings.missing;
}

void read_encoder_weights(EncoderModelImpl& model, const EncoderFile& file, const std::vector<std::string>& missing,
                          bool check_finite) {
  const at::NoGradGuard without_gradients;
  std::vector<TensorRead> reads;
  for (auto& parameter : model.named_parameters()) {
    if (std::find(missing.begin(), missing.end(), parameter.key()) != missing.end()) {
      continue;
    }
    const HuggingFaceNames names = hugging_face_names(model.config(), model.head(), parameter.key(), file.prefixed);
    for (std::size_t part = 0; part < names.parts.size(); ++part) {
      reads.push_back(
          {find_part(file.file, names, part), part_of_parameter(parameter.value(), part, names.parts.size())});
    }
  }
  read_all(file.file, reads, check_finite);
}

NamedTensors encoder_tensors(const EncoderModelImpl& model) {
  NamedTensors tensors;
  const bool prefixed = model.head() != Head::kNone;
  for (const auto& parameter : model.named_parameters()) {
    const HuggingFaceNames names = hugging_face_names(model.config(), model.head(), parameter.key(), prefixed);
    for (std::size_t part = 0; part < names.parts.size(); ++part) {
      tensors.emplace_back(names.parts[part], part_of_parameter(parameter.value(), part, names.parts.size()));
    }
    for (const std::string& copy : names.copies) {
      tensors.emplace_back(copy, parameter.value());
    }
  }
  return tensors;
}

}  // namespace weft::checkpoint
