// SPDX-License-Identifier: Apache-2.0
// The operators that LibTorch's own compiler puts in place of linear layers, called through the dispatcher: no header
// declares them.
#include "weft/layers/inference/packed_weight.h"

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/GradMode.h>

#include <string_view>

#include "weft/attention/backends/list.h"
#include "weft/layers/inference/packing_for_steps.h"
#include "weft/layers/precision.h"

namespace weft::layers {
namespace {

using Scalars = c10::List<std::optional<at::Scalar>>;
using Reorder = at::Tensor(const at::Tensor&, std::optional<c10::SymInt>);
using Pointwise = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, std::string_view,
                             Scalars, std::optional<std::string_view>);

/// The operators, or nothing in a LibTorch that was built without oneDNN or has other signatures.
struct Operators {
  std::optional<c10::TypedOperatorHandle<Reorder>> reorder;
  std::optional<c10::TypedOperatorHandle<Pointwise>> pointwise;
  bool both() const { return reorder && pointwise; }
};

template <typename Signature>
std::optional<c10::TypedOperatorHandle<Signature>> find_operator(const char* name) {
  const auto found = c10::Dispatcher::singleton().findSchema({name, ""});
  try {
    return found ? std::optional(found->typed<Signature>()) : std::nullopt;
  } catch (const c10::Error&) {
    return std::nullopt;
  }
}

const Operators& operators() {
  static const Operators found{find_operator<Reorder>("mkldnn::_reorder_linear_weight"),
                               find_operator<Pointwise>("mkldnn::_linear_pointwise")};
  return found;
}

/// oneDNN's name of an activation and its variant; an empty name where it has none.
std::pair<std::string_view, std::string_view> one_dnn_name(std::optional<Activation> activation) {
  if (!activation) {
    return {"none", ""};
  }
  switch (*activation) {
    case Activation::kGelu:
      return {"gelu", "none"};
    case Activation::kGeluNew:
      return {"gelu", "tanh"};
    case Activation::kRelu:
      return {"relu", ""};
    case Activation::kSilu:
      return {"swish", ""};
    default:
      break;
  }
  return {"", ""};
}

thread_local bool packing_is_off = false;

/// Below it a product costs about what packing does: an answer over a few tokens would wait for nothing.
constexpr std::int64_t kFewestRows = 64;
constexpr std::int64_t kFewestRowsOfSteps = 2;
thread_local std::int64_t fewest_rows = kFewestRows;
thread_local bool keeps_packed_forms = true;

/// From here on oneDNN's own packing in each call is lost in the product: 4,096 rows take as long in float32 (314
/// against 312 ms, Zen 4), without a second copy of the weight.
constexpr std::int64_t kManyRows = 1024;

/// Of the dtypes that oneDNN packs.
bool packs(const at::Tensor& weight) {
  const attention::DeviceTraits& traits = attention::traits_of(weight.device().type());
  const at::ScalarType dtype = weight.scalar_type();
  return traits.packs_weights && (dtype == at::kFloat || (dtype == at::kBFloat16 && !traits.is_slow_at(dtype)));
}

}  // namespace

PackedSource::PackedSource(const at::Tensor& weight)
    : storage_(weight.storage().getWeakStorageImpl()),
      data_(weight.const_data_ptr()),
      version_(static_cast<std::int64_t>(weight._version())),
      dtype_(weight.scalar_type()),
      sizes_(weight.sizes().vec()) {}

bool PackedSource::is(const at::Tensor& weight) const {
  return storage_._unsafe_get_target() == weight.storage().unsafeGetStorageImpl() && data_ == weight.const_data_ptr() &&
         version_ == static_cast<std::int64_t>(weight._version()) && dtype_ == weight.scalar_type() &&
         weight.sizes() == at::IntArrayRef(sizes_);
}

WithoutPacking::WithoutPacking() noexcept : before_(packing_is_off) { packing_is_off = true; }
WithoutPacking::~WithoutPacking() { packing_is_off = before_; }
bool WithoutPacking::is_on() noexcept { return packing_is_off; }

PackingForSteps::PackingForSteps(bool keeps_forms) noexcept
    : fewest_before_(fewest_rows), kept_before_(keeps_packed_forms) {
  fewest_rows = kFewestRowsOfSteps;
  keeps_packed_forms = keeps_forms;
}
PackingForSteps::~PackingForSteps() {
  fewest_rows = fewest_before_;
  keeps_packed_forms = kept_before_;
}

bool PackedWeight::serves(const at::Tensor& x, const at::Tensor& weight, std::optional<Activation> activation) {
  const bool plain = !packing_is_off && !at::GradMode::is_enabled() && x.device() == weight.device() &&
                     weight.is_contiguous() && x.numel() >= fewest_rows * weight.size(1) &&
                     x.scalar_type() == weight.scalar_type() && packs(weight) &&
                     product_dtype(weight) == weight.scalar_type();
  const bool known = !one_dnn_name(activation).first.empty() && !weight.is_inference();
  return plain && known && at::globalContext().userEnabledMkldnn() && operators().both();
}

bool is_product_of_step(const at::Tensor& x, const at::Tensor& weight) {
  return x.numel() < kFewestRows * weight.size(1) && PackedWeight::serves(x, weight, {});
}

at::Tensor PackedWeight::packed(const at::Tensor& weight, std::int64_t rows) {
  const std::scoped_lock lock(mutex_);
  if (!packed_.defined() || !source_.is(weight)) {
    // The number of rows is a hint: one form serves all of them, but may be packed again in a call far from it.
    packed_ = operators().reorder->call(weight.detach(), c10::SymInt(rows));
    source_ = PackedSource(weight);
  }
  return packed_;
}

at::Tensor PackedWeight::multiply(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                                  std::optional<Activation> activation) {
  const at::Tensor rows = x.reshape({-1, x.size(-1)});
  const bool is_plain = weight.scalar_type() == at::kFloat && (!keeps_packed_forms || rows.size(0) >= kManyRows);
  const at::Tensor form = is_plain ? weight.detach() : packed(weight, rows.size(0));
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.back() = weight.size(0);
  const auto [name, variant] = one_dnn_name(activation);
  return operators().pointwise->call(rows, form, optional(bias), name, Scalars(), variant).view(shape);
}

}  // namespace weft::layers
