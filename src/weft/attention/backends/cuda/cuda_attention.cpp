// SPDX-License-Identifier: Apache-2.0
// Nothing here waits for the device, but for the first copy of a layout.
#include "weft/attention/backends/cuda/cuda_attention.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>

#include <algorithm>

#include "weft/attention/backends/cuda/device_layout.h"
#include "weft/attention/backends/kernel_call.h"
#include "weft/attention/tensors.h"
#include "weft/kernels/cuda/distance_sums.h"
#include "weft/kernels/cuda/plan.h"
#include "weft/kernels/cuda/workspace.h"

namespace weft::attention {
namespace {

using kernels::cuda::DeviceCall;

constexpr std::int64_t kMostHeads = 65535;  // of a grid
constexpr std::int64_t kRoomAlignment = 256;

/// Memory for a call in one piece: take_room is called twice, to count and to give places.
template <typename TakeRoom>
at::Tensor workspace_of(DeviceCall& call, const at::Tensor& query, const TakeRoom& take_room) {
  std::int64_t bytes = 0;
  std::uint8_t* memory = nullptr;
  const auto room = [&](std::int64_t count) -> void* {
    const std::int64_t place = bytes;
    bytes += (count + kRoomAlignment - 1) / kRoomAlignment * kRoomAlignment;
    return memory == nullptr ? nullptr : memory + place;
  };
  take_room(call, room);
  at::Tensor workspace;
  if (bytes > 0) {
    workspace = at::empty({bytes}, query.options().dtype(at::kByte));
    memory = workspace.mutable_data_ptr<std::uint8_t>();
    bytes = 0;
    take_room(call, room);
  }
  return workspace;
}

// By request of whoever set LibTorch's products so: torch.set_float32_matmul_precision("high").
bool multiplies_as_tf32() {
  return at::globalContext().float32Precision(at::Float32Backend::CUDA, at::Float32Op::MATMUL) ==
         at::Float32Precision::TF32;
}

DeviceCall device_call(const kernels::AttentionArguments& arguments, const kernels::AttentionGradients& gradients,
                       const RowsOnDevice& rows) {
  DeviceCall call;
  call.attention = arguments;
  call.attention.layout = rows.layout;
  call.gradients = gradients;
  call.bits = rows.bits;
  call.rows = rows.work;
  call.has_weights = rows.has_weights;
  call.draws = kernels::cuda::draws_of(arguments.dropout);
  call.is_aligned = kernels::cuda::has_aligned_rows(arguments, gradients);
  call.is_tf32 = multiplies_as_tf32();
  return call;
}

bool has_size_for_cuda(const Call& call) {
  const pattern::Tile& tile = call.layout->blocks().tile;
  const std::int64_t widest = std::max(call.query.size(3), call.value.size(3));
  return widest <= kernels::kMaximumHeadDim && tile.key == 64 && tile.query <= 64;
}

// Each thread block of the gradient of a table has a table.
bool asks_for_long_table(const Call& call) {
  const at::Tensor& scores = call.distances.scores;
  return scores.defined() && scores.size(2) > kernels::cuda::kLongestSummedTable &&
         (call.asks_distances || any_is_followed({scores}));
}

}  // namespace

Answer cuda_takes(const KernelDevice& kernels, const Call& call) {
  const at::ScalarType dtype = call.query.scalar_type();
  if (call.query.device().type() != kernels.type) {
    return Answer::no("the CUDA kernels serve tensors on a GPU");
  }
  if (dtype != at::kFloat && dtype != at::kBFloat16 && dtype != at::kHalf) {
    return Answer::no("the CUDA kernels serve float32, bfloat16 and float16");
  }
  if (!has_size_for_cuda(call)) {
    return Answer::no("the CUDA kernels serve head_dim up to 256 and tiles of 64 keys and at most 64 queries");
  }
  if (call.relative.query.defined()) {
    return Answer::no("the CUDA kernels have no relative term");
  }
  if (call.dropout.probability > 0 && call.dropout.seed.draws != DropoutDraws::kSecond) {
    return Answer::no("the first draws of dropout serve the CPU and the portable path");
  }
  if (call.query.size(0) * call.query.size(1) > kMostHeads) {
    return Answer::no("the CUDA kernels serve up to 65,535 heads of all texts of a batch together");
  }
  if (asks_for_long_table(call)) {
    return Answer::no("the CUDA kernels give gradients of distance tables up to 1,024 entries a row");
  }
  return serves_device(kernels, call.query.device());
}

Forward cuda_forward(const KernelDevice& kernels, const Call& call) {
  const Launch launch(kernels, call.query.device());
  const Forward forward = room_for_results(call);
  const KernelCall kernel(call, forward);
  DeviceCall on_device = device_call(kernel.arguments(), {}, rows_on_device(*call.layout, launch));
  const at::Tensor workspace = workspace_of(on_device, call.query, [](DeviceCall& given, const auto& room) {
    kernels::cuda::take_forward_room(given, room);
  });
  const bool is_decoded = kernels::cuda::has_single_queries(kernel.arguments());
  const auto run = is_decoded ? launch.library().decode : launch.library().forward;
  launch.check(run(&on_device, launch.handle()));
  return forward;
}

Gradients cuda_backward(const KernelDevice& kernels, const Call& call, const Forward& forward,
                        const at::Tensor& output_gradient) {
  const Launch launch(kernels, call.query.device());
  const KernelCall kernel(call, forward);
  const KernelGradients room(call, output_gradient);
  const bool shares_keys = call.query.size(1) != call.key.size(1);
  const ColumnsOnDevice& columns = columns_on_device(*call.layout, launch, shares_keys);
  kernels::AttentionGradients gradients = room.arguments();
  gradients.transpose = columns.transpose;
  DeviceCall on_device = device_call(kernel.arguments(), gradients, rows_on_device(*call.layout, launch));
  on_device.columns = columns.work;
  const at::Tensor workspace = workspace_of(on_device, call.query, [](DeviceCall& given, const auto& take) {
    kernels::cuda::take_backward_room(given, take);
  });
  launch.check(launch.library().backward(&on_device, launch.handle()));
  return room.results();
}

}  // namespace weft::attention
