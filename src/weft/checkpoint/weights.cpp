// SPDX-License-Identifier: Apache-2.0
// One check and one reader for all models.
#include "weft/checkpoint/weights.h"

#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <numeric>
#include <set>

#include "weft/attention/backends/host_memory.h"
#include "weft/attention/devices/device.h"
#include "weft/checkpoint/int8/quantization_config.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/layers/inference/int8_weight.h"

namespace weft::checkpoint {
namespace {

/// The tensor of a part: by its own name, or by one of the others that a lone part may have.
const formats::TensorInfo* find_part(const formats::TensorFile& file, const HuggingFaceNames& names, std::size_t part) {
  const formats::TensorInfo* found = file.find(names.parts[part]);
  for (std::size_t i = 0; found == nullptr && names.parts.size() == 1 && i < names.alternatives.size(); ++i) {
    found = file.find(names.alternatives[i]);
  }
  return found;
}

/// A view with the dimensions that a file has.
at::Tensor as_in_file(at::Tensor parameter, const HuggingFaceNames& names) {
  if (names.transposed) {
    return parameter.t();
  }
  for (const std::int64_t dimension : names.ones) {
    parameter = parameter.unsqueeze(dimension);
  }
  return parameter;
}

/// What part `part` of a file's tensors fills of a parameter: all of it, or some of its rows.
at::Tensor part_of_parameter(const at::Tensor& parameter, const HuggingFaceNames& names, std::size_t part) {
  const std::size_t count = names.parts.size();
  if (count == 1) {
    return as_in_file(parameter, names);
  }
  const std::vector<std::int64_t> shares = names.shares.empty() ? std::vector<std::int64_t>(count, 1) : names.shares;
  const auto own = shares.begin() + static_cast<std::ptrdiff_t>(part);
  const std::int64_t rows =
      parameter.size(0) / std::accumulate(shares.begin(), shares.end(), std::int64_t{0});  // of a share
  return as_in_file(parameter.narrow(0, std::accumulate(shares.begin(), own, std::int64_t{0}) * rows, *own * rows),
                    names);
}

constexpr std::string_view kQuantized = "quantization_config of config.json";

/// What is wrong with the codes of a tensor or their scales, or nothing; notes that the scales are used.
std::string wrong_with_codes(const formats::TensorFile& file, const formats::TensorInfo& info,
                             const at::Tensor& expected, const at::Tensor& scales,
                             std::set<std::string, std::less<>>& used) {
  using formats::Dtype;
  if (expected.sizes() != at::IntArrayRef(info.shape)) {
    return concat("tensor ", quote(info.name), " has shape ", at::IntArrayRef(info.shape), ", but config.json says ",
                  expected.sizes());
  }
  if (info.dtype != Dtype::I8) {
    return concat("tensor ", quote(info.name), " is ", formats::dtype_name(info.dtype), ", but ", kQuantized,
                  " says I8");
  }
  const std::string name = scale_name(info.name);
  const formats::TensorInfo* const found = file.find(name);
  if (found == nullptr) {
    return concat("tensor ", quote(name), " of shape ", scales.sizes(), " is missing: ", kQuantized,
                  " asks for the scales of each I8 tensor");
  }
  used.insert(name);
  const bool fits = found->dtype == Dtype::F32 && scales.sizes() == at::IntArrayRef(found->shape);
  return fits ? std::string()
              : concat("tensor ", quote(name), " is ", formats::dtype_name(found->dtype), " of shape ",
                       at::IntArrayRef(found->shape), ", but scales are F32, here of shape ", scales.sizes());
}

/// The shape of a weight's scales before it is cut and turned as the weight is: [outputs, 1].
at::Tensor one_column(const at::Tensor& weight) { return weight.narrow(1, 0, 1); }

/// What is wrong with a tensor that is there, or nothing. `asker` says what asks for the shape.
std::string wrong_with(const formats::TensorInfo& info, const at::Tensor& expected, const std::string& asker,
                       bool takes_float64) {
  using formats::Dtype;
  if (expected.sizes() != at::IntArrayRef(info.shape)) {
    return concat("tensor ", quote(info.name), " has shape ", at::IntArrayRef(info.shape), ", but ", asker, " says ",
                  expected.sizes());
  }
  const bool readable = info.dtype == Dtype::F32 || info.dtype == Dtype::F16 || info.dtype == Dtype::BF16 ||
                        (takes_float64 && info.dtype == Dtype::F64);
  return readable ? std::string()
                  : concat("tensor ", quote(info.name), " is ", formats::dtype_name(info.dtype), ", but weights are ",
                           takes_float64 ? "F64, " : "", "F32, F16 or BF16");
}

/// What a check gathers.
struct Findings {
  std::vector<std::string> complaints;
  std::string first_missing;         ///< the name that the first complaint misses, if that is what it is about
  std::vector<std::string> missing;  ///< parameters that begin anew
  bool not_learned = false;          ///< a complaint is about what an attention that was asked for learns
  std::set<std::string, std::less<>> used;
  std::set<std::string, std::less<>> codes;  ///< parameters that lie as codes
};

std::string learned_by(bool asked, const std::string& asker) {
  return asked ? concat(": ", asker, " learns it") : std::string();
}

void check_parameter(Findings& findings, const formats::TensorFile& file, const WeightMap& map,
                     const std::string& parameter, const at::Tensor& value) {
  const HuggingFaceNames names = map.names_of(parameter);
  const bool asked = map.is_asked(parameter);
  const std::string asker = asked ? concat("attention `", map.asked_attention, "`") : std::string("config.json");
  const auto may_be_new = [&](bool misshapen) {
    return (asked && map.asked_may_be_new) || (map.may_be_new && map.may_be_new(parameter, misshapen));
  };
  bool absent = false;
  for (std::size_t part = 0; part < names.parts.size(); ++part) {
    const formats::TensorInfo* info = find_part(file, names, part);
    const at::Tensor expected = part_of_parameter(value, names, part);
    std::string wrong;
    if (info != nullptr) {
      findings.used.insert(info->name);
      wrong = findings.codes.contains(parameter)
                  ? wrong_with_codes(file, *info, expected, part_of_parameter(one_column(value), names, part),
                                     findings.used)
                  : wrong_with(*info, expected, asker, map.takes_float64);
    } else {
      wrong = concat("tensor ", quote(names.parts[part]), " of shape ", expected.sizes(), " is missing",
                     learned_by(asked, asker));
    }
    if (!wrong.empty() && may_be_new(info != nullptr)) {
      absent = true;
    } else if (!wrong.empty()) {
      findings.first_missing =
          findings.complaints.empty() && info == nullptr ? names.parts[part] : findings.first_missing;
      findings.complaints.push_back(wrong);
      findings.not_learned = findings.not_learned || asked;
    }
  }
  if (absent) {
    findings.missing.push_back(parameter);
  }
}

/// The tensor of codes that `name` would be the scales of, or `name` itself.
std::string_view without_scale(std::string_view name) {
  const std::size_t end = scale_name("").size();
  return name.ends_with(scale_name("")) ? name.substr(0, name.size() - end) : name;
}

/// A weight [outputs, inputs] as int8, from a file of codes or of numbers.
std::shared_ptr<const layers::Int8Weight> read_int8(const formats::TensorFile& file, const HuggingFaceNames& names,
                                                    at::IntArrayRef sizes, bool has_codes) {
  const at::Tensor whole = at::empty(sizes, has_codes ? at::kChar : at::kFloat);
  const at::Tensor scales = at::empty({has_codes ? sizes[0] : 0, 1}, at::kFloat);
  std::vector<TensorRead> reads;
  for (std::size_t part = 0; part < names.parts.size(); ++part) {
    const formats::TensorInfo* const info = find_part(file, names, part);
    reads.push_back({info, part_of_parameter(whole, names, part)});
    if (has_codes) {
      reads.push_back({file.find(scale_name(info->name)), part_of_parameter(scales, names, part)});
    }
  }
  const std::string where = concat(file.path().string(), ": tensor ", quote(reads.front().info->name));
  read_all(file, reads, false);
  return has_codes ? std::make_shared<const layers::Int8Weight>(whole, scales.squeeze(1), where)
                   : std::make_shared<const layers::Int8Weight>(whole, where);
}

}  // namespace

std::string name_that_is_there(const formats::TensorFile& file, std::string_view wanted,
                               const std::function<bool(const std::string& name)>& is_free) {
  const std::string* nearest = nullptr;
  std::size_t longest = 0;
  for (const formats::TensorInfo& info : file.tensors()) {
    const auto [end, ignored] = std::mismatch(info.name.rbegin(), info.name.rend(), wanted.rbegin(), wanted.rend());
    const auto length = static_cast<std::size_t>(end - info.name.rbegin());
    if (is_free(info.name) && (nearest == nullptr || length > longest)) {
      nearest = &info.name;
      longest = length;
    }
  }
  return nearest == nullptr ? std::string() : concat("; the file has ", quote(*nearest));
}

std::vector<std::string> names_in_file(const torch::nn::Module& model, const WeightMap& map) {
  std::vector<std::string> all;
  for (const auto& parameter : model.named_parameters()) {
    const HuggingFaceNames names = map.names_of(parameter.key());
    all.insert(all.end(), names.parts.begin(), names.parts.end());
  }
  return all;
}

std::vector<std::string> check_weights(const torch::nn::Module& model, const formats::TensorFile& file,
                                       const WeightMap& map) {
  Findings findings;
  if (map.has_codes) {
    for (const auto& [name, keeper] : layers::int8_keepers(model)) {
      findings.codes.insert(name);
    }
  }
  for (const auto& parameter : model.named_parameters()) {
    check_parameter(findings, file, map, parameter.key(), parameter.value());
  }
  for (const formats::TensorInfo& info : file.tensors()) {
    const std::string_view name = map.has_codes ? without_scale(info.name) : std::string_view(info.name);
    const bool harmless = map.is_asked(name) || (map.may_be_surplus && map.may_be_surplus(name));
    if (!findings.used.contains(info.name) && !harmless) {
      findings.complaints.push_back(
          concat("tensor ", quote(info.name), " of shape ", at::IntArrayRef(info.shape), " is not part of ", map.model,
                 map.asked_attention.empty() ? "" : " with the attention that was asked for"));
    }
  }
  if (!findings.complaints.empty()) {
    // The first complaint stands for all: a wrong config makes most tensors wrong.
    const std::size_t others = findings.complaints.size() - 1;
    const std::string there = findings.first_missing.empty()
                                  ? std::string()
                                  : name_that_is_there(file, findings.first_missing, [&](const std::string& name) {
                                      return !findings.used.contains(name);
                                    });
    throw Error(
        ErrorKind::kFormat,
        concat(file.path().string(), ": ", findings.complaints.front(), there,
               others > 0 ? concat(" (and ", others, " more)") : std::string()),
        !findings.not_learned
            ? ""
            : "only training begins it: weft train --attention, with a new model or an encoder of Hugging Face");
  }
  return findings.missing;
}

void read_weights(torch::nn::Module& model, const formats::TensorFile& file, const WeightReading& reading,
                  const WeightMap& map, const std::vector<std::string>& missing) {
  const at::NoGradGuard without_gradients;
  std::set<std::string, std::less<>> done(missing.begin(), missing.end());
  if (reading.int8 || map.has_codes) {
    if (!attention::is_in_host_memory(at::empty({0}, at::TensorOptions(attention::opening_device())))) {
      fail(ErrorKind::kUnsupported, file.path().string(), ": int8 weights multiply on a CPU, but ", option("device"),
           " is ", attention::opening_device().str());
    }
    for (const auto& [name, keeper] : layers::int8_keepers(model)) {
      // A module that is registered under two names is int8 after the first.
      if (done.insert(name).second && keeper->floating().defined()) {
        keeper->keep_int8(read_int8(file, map.names_of(name), keeper->floating().sizes(), map.has_codes));
      }
    }
  }
  std::vector<TensorRead> reads;
  for (auto& parameter : model.named_parameters()) {
    if (done.contains(parameter.key())) {
      continue;
    }
    const HuggingFaceNames names = map.names_of(parameter.key());
    for (std::size_t part = 0; part < names.parts.size(); ++part) {
      reads.push_back({find_part(file, names, part), part_of_parameter(parameter.value(), names, part)});
    }
  }
  read_all(file, reads, reading.check_finite);
}

void refuse_other_weights(const std::filesystem::path& directory) {
  for (const char* name : {"model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    if (std::filesystem::exists(directory / name)) {
      fail(ErrorKind::kIo, "cannot write a model to ", quote(directory.native(), 4096), ": it holds ", name,
           ", weights of another model");
    }
  }
}

namespace {

void add_codes(NamedTensors& tensors, const layers::Int8Weight& weight, const HuggingFaceNames& names) {
  const at::Tensor codes = weight.codes();
  const at::Tensor scales = weight.scales().unsqueeze(1);
  for (std::size_t part = 0; part < names.parts.size(); ++part) {
    tensors.emplace_back(names.parts[part], part_of_parameter(codes, names, part));
    tensors.emplace_back(scale_name(names.parts[part]), part_of_parameter(scales, names, part));
  }
  for (const std::string& copy : names.copies) {
    tensors.emplace_back(copy, as_in_file(codes, names));
    tensors.emplace_back(scale_name(copy), as_in_file(scales, names));
  }
}

}  // namespace

NamedTensors named_weights(const torch::nn::Module& model, const WeightMap& map) {
  NamedTensors tensors;
  for (const auto& parameter : model.named_parameters()) {
    const HuggingFaceNames names = map.names_of(parameter.key());
    for (std::size_t part = 0; part < names.parts.size(); ++part) {
      tensors.emplace_back(names.parts[part], part_of_parameter(parameter.value(), names, part));
    }
    for (const std::string& copy : names.copies) {
      tensors.emplace_back(copy, as_in_file(parameter.value(), names));
    }
  }
  for (const auto& [parameter, keeper] : layers::int8_keepers(model)) {
    if (const auto kept = keeper->kept()) {
      add_codes(tensors, *kept, map.names_of(parameter));
    }
  }
  tensors.insert(tensors.end(), map.constants.begin(), map.constants.end());
  return tensors;
}

}  // namespace weft::checkpoint
