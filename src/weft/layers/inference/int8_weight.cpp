// SPDX-License-Identifier: Apache-2.0
// Tensors around the products of kernels/int8.
#include "weft/layers/inference/int8_weight.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <atomic>
#include <map>

#include "weft/attention/backends/host_memory.h"
#include "weft/attention/thread_pool.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::layers {
namespace {

using kernels::Int8Function;

/// What the kernels have for an activation, or that of its gate; nothing where there is none.
Int8Function function_of(std::optional<Activation> activation) {
  if (!activation) {
    return Int8Function::kNone;
  }
  switch (inside_gate(*activation)) {
    case Activation::kGelu:
      return Int8Function::kGelu;
    case Activation::kGeluNew:
      return Int8Function::kGeluNew;
    case Activation::kQuickGelu:
      return Int8Function::kQuickGelu;
    case Activation::kRelu:
      return Int8Function::kRelu;
    case Activation::kSilu:
      return Int8Function::kSilu;
    default:
      break;
  }
  fail(ErrorKind::kArgument, "unknown activation");
}

/// The dtype of a product's result. Errors: as Int8Weight::multiply().
at::ScalarType checked_dtype(const at::Tensor& x, std::int64_t inputs) {
  require(x.dim() >= 1 && x.size(-1) == inputs, "linear: input has shape ", x.sizes(), " but the weight has ", inputs,
          " columns");
  const bool has_type = x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16;
  if (!has_type || !attention::is_in_host_memory(x)) {
    fail(ErrorKind::kUnsupported, "int8 weights multiply float32 and bfloat16 on a CPU, found ", x.scalar_type(),
         " on ", x.device().str());
  }
  if (at::GradMode::is_enabled() && x.requires_grad()) {
    fail(ErrorKind::kUnsupported, "int8 weights have no gradients: train the model that they were made from");
  }
  const at::DeviceType device = x.device().type();
  return at::autocast::is_autocast_enabled(device) ? at::autocast::get_autocast_dtype(device) : x.scalar_type();
}

/// `work(begin, end)` over outputs, on all threads; it says whether all was right.
template <typename Work>
bool over_outputs(std::int64_t outputs, std::int64_t inputs, Work&& work) {
  std::atomic<bool> right{true};
  constexpr std::int64_t kGrain = 1 << 16;
  at::parallel_for(0, outputs, kGrain / (inputs + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    if (!work(begin, end)) {
      right = false;
    }
  });
  return right;
}

}  // namespace

void Int8Weight::allocate(std::string_view where) {
  if (inputs_ > kernels::kInt8Inputs) {
    fail(ErrorKind::kUnsupported, where, " has ", inputs_, " inputs, but a product of int8 has at most ",
         kernels::kInt8Inputs);
  }
  const std::int64_t outputs = kernels::padded_outputs(outputs_);
  codes_ = at::zeros({outputs * kernels::padded_inputs(inputs_)}, at::kChar);
  scales_ = at::zeros({outputs}, at::kFloat);
  corrections_ = at::zeros({outputs}, at::kInt);
}

kernels::Int8Matrix Int8Weight::matrix() const {
  return {outputs_, inputs_, codes_.const_data_ptr<std::int8_t>(), scales_.const_data_ptr<float>(),
          corrections_.const_data_ptr<std::int32_t>()};
}

kernels::Int8Storage Int8Weight::storage() const {
  return {outputs_, inputs_, codes_.mutable_data_ptr<std::int8_t>(), scales_.mutable_data_ptr<float>(),
          corrections_.mutable_data_ptr<std::int32_t>()};
}

Int8Weight::Int8Weight(const at::Tensor& weight, std::string_view where)
    : outputs_(weight.size(0)), inputs_(weight.size(1)) {
  allocate(where);
  const at::Tensor numbers = weight.detach().to(at::kFloat).contiguous();
  const bool finite = over_outputs(outputs_, inputs_, [&](std::int64_t begin, std::int64_t end) {
    return kernels::quantise_outputs(storage(), numbers.const_data_ptr<float>(), begin, end);
  });
  if (!finite) {
    fail(ErrorKind::kNumeric, where, " holds NaN or infinity, which int8 does not have");
  }
}

Int8Weight::Int8Weight(const at::Tensor& codes, const at::Tensor& scales, std::string_view where)
    : outputs_(codes.size(0)), inputs_(codes.size(1)) {
  allocate(where);
  scales_.narrow(0, 0, outputs_).copy_(scales);
  if (!scales.gt(0).logical_and(scales.isfinite()).all().item<bool>()) {
    fail(ErrorKind::kFormat, where, " has a scale that is not finite or not above 0");
  }
  const at::Tensor plain = codes.contiguous();
  const bool right = over_outputs(outputs_, inputs_, [&](std::int64_t begin, std::int64_t end) {
    return kernels::place_codes(storage(), plain.const_data_ptr<std::int8_t>(), begin, end);
  });
  if (!right) {
    fail(ErrorKind::kFormat, where, " holds the code -128, but codes are in [-127, 127]");
  }
}

at::Tensor Int8Weight::codes() const {
  const at::Tensor plain = at::empty({outputs_, inputs_}, at::kChar);
  over_outputs(outputs_, inputs_, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t output = begin; output < end; ++output) {
      kernels::read_codes(matrix(), output, plain.mutable_data_ptr<std::int8_t>() + output * inputs_);
    }
    return true;
  });
  return plain;
}

at::Tensor Int8Weight::numbers(std::int64_t begin, std::int64_t count) const {
  return codes().narrow(0, begin, count).to(at::kFloat).mul_(scales_.narrow(0, begin, count).unsqueeze(1));
}

at::Tensor Int8Weight::rows(const at::Tensor& ids, at::ScalarType dtype) const {
  const at::NoGradGuard without_gradients;
  const at::Tensor places = ids.reshape({-1}).contiguous();
  const at::Tensor found = at::empty({places.size(0), inputs_}, at::kFloat);
  const auto* const place = places.const_data_ptr<std::int64_t>();
  const auto* const scales = scales_.const_data_ptr<float>();
  auto* const numbers = found.mutable_data_ptr<float>();
  over_outputs(places.size(0), inputs_, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::int8_t> codes(static_cast<std::size_t>(inputs_));
    for (std::int64_t i = begin; i < end; ++i) {
      kernels::read_codes(matrix(), place[i], codes.data());
      for (std::int64_t k = 0; k < inputs_; ++k) {
        numbers[i * inputs_ + k] = static_cast<float>(codes[static_cast<std::size_t>(k)]) * scales[place[i]];
      }
    }
    return true;
  });
  std::vector<std::int64_t> shape = ids.sizes().vec();
  shape.push_back(inputs_);
  return found.to(dtype).view(shape);
}

at::Tensor Int8Weight::product(const at::Tensor& x, const at::Tensor& bias, const Wanted& wanted) const {
  const at::ScalarType dtype = checked_dtype(x, inputs_);
  const at::NoGradGuard without_gradients;
  const at::Tensor rows = x.reshape({-1, inputs_}).to(dtype).contiguous();
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.back() = wanted.is_gated ? wanted.count / 2 : wanted.count;
  const at::Tensor result = at::empty(shape, rows.options());
  const at::Tensor added = bias.defined() ? bias.detach().to(at::kFloat).contiguous() : bias;
  const kernels::Int8Set set = kernels::chosen_int8_set();
  const at::Tensor workspace = at::empty({kernels::int8_workspace(set, rows.size(0), inputs_)}, at::kByte);
  const kernels::Int8Product call{
      .weight = matrix(),
      .first = wanted.begin,
      .outputs = wanted.count,
      .rows = rows.size(0),
      .dtype = dtype == at::kFloat ? kernels::DType::kFloat32 : kernels::DType::kBFloat16,
      .x = rows.const_data_ptr(),
      .bias = added.defined() ? added.const_data_ptr<float>() : nullptr,
      .y = result.mutable_data_ptr(),
      .workspace = workspace.mutable_data_ptr(),
      .function = wanted.function,
      .is_gated = wanted.is_gated,
  };
  kernels::multiply_int8(set, call, attention::kTorchThreads);
  return result;
}

at::Tensor Int8Weight::multiply(const at::Tensor& x, const at::Tensor& bias,
                                std::optional<Activation> activation) const {
  const bool is_gated = activation && layers::is_gated(*activation);
  if (is_gated && outputs_ % (2 * kernels::kInt8Panel) != 0) {
    // Halves that share a panel: the gate is a pass behind the product.
    return activate(product(x, bias, {.count = outputs_}), *activation);
  }
  return product(x, bias, {.count = outputs_, .function = function_of(activation), .is_gated = is_gated});
}

at::Tensor Int8Weight::multiply_rows(const at::Tensor& x, const at::Tensor& bias, std::int64_t begin,
                                     std::int64_t count) const {
  // Products begin with a panel: what is before `begin` in its panel is multiplied too.
  const std::int64_t before = begin % kernels::kInt8Panel;
  const at::Tensor all = product(x, {}, {.begin = begin - before, .count = count + before});
  const at::Tensor wanted = all.narrow(-1, before, count);
  return bias.defined() ? (wanted + bias.detach()).to(all.scalar_type()) : wanted;
}

std::vector<std::pair<std::string, KeepsInt8*>> int8_keepers(const torch::nn::Module& model) {
  std::vector<std::pair<std::string, KeepsInt8*>> found;
  const auto add = [&](const std::string& path, torch::nn::Module* module) {
    auto* const keeper = dynamic_cast<KeepsInt8*>(module);
    if (keeper != nullptr && (keeper->floating().defined() || keeper->kept() != nullptr)) {
      found.emplace_back(concat(path, path.empty() ? "" : ".", keeper->int8_parameter()), keeper);
    }
  };
  // Itself apart: a model that no pointer of LibTorch owns cannot be among its modules.
  add("", const_cast<torch::nn::Module*>(&model));
  for (const auto& module : model.named_modules("", false)) {
    add(module.key(), module.value().get());
  }
  return found;
}

void keep_int8(torch::nn::Module& model) {
  for (const auto& [name, keeper] : int8_keepers(model)) {
    if (keeper->floating().defined()) {
      keeper->keep_int8(std::make_shared<const Int8Weight>(keeper->floating(), concat("tensor ", quote(name))));
    }
  }
}

bool holds_int8(const torch::nn::Module& model) {
  const auto keepers = int8_keepers(model);
  return std::any_of(keepers.begin(), keepers.end(), [](const auto& each) { return each.second->kept() != nullptr; });
}

void share_int8(const torch::nn::Module& from, torch::nn::Module& to) {
  std::map<std::string, std::shared_ptr<const Int8Weight>> kept;
  for (const auto& [name, keeper] : int8_keepers(from)) {
    kept.emplace(name, keeper->kept());
  }
  for (const auto& [name, keeper] : int8_keepers(to)) {
    if (const auto found = kept.find(name); found != kept.end() && found->second != nullptr) {
      keeper->keep_int8(found->second);
    }
  }
}

}  // namespace weft::layers
