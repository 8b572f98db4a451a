// SPDX-License-Identifier: Apache-2.0
// Fills AttentionArguments from tensors: strides as they are, a copy only where the columns are not contiguous.
#include "weft/attention/backends/cpu/kernel_attention.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "weft/attention/tensors.h"
#include "weft/attention/thread_pool.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

kernels::DType dtype_of(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return kernels::DType::kFloat64;
    case at::kBFloat16:
      return kernels::DType::kBFloat16;
    case at::kHalf:
      return kernels::DType::kFloat16;
    default:
      return kernels::DType::kFloat32;
  }
}

at::Tensor with_contiguous_columns(const at::Tensor& tensor) {
  return tensor.size(3) <= 1 || tensor.stride(3) == 1 ? tensor : tensor.contiguous();
}

kernels::Input input_of(const at::Tensor& tensor) {
  return {tensor.const_data_ptr(), tensor.stride(0), tensor.stride(1), tensor.stride(2)};
}

kernels::Output output_of(const at::Tensor& tensor) {
  return {tensor.mutable_data_ptr(), tensor.stride(0), tensor.stride(1), tensor.stride(2)};
}

// The tensors that the arguments point into, with columns side by side.
struct Held {
  explicit Held(const Call& call)
      : query(with_contiguous_columns(call.query)),
        key(with_contiguous_columns(call.key)),
        value(with_contiguous_columns(call.value)) {
    if (call.key_keep.defined()) {
      keep = call.key_keep.to(at::kByte).contiguous();
    }
    if (call.distances.scores.defined()) {
      distances = call.distances.scores.contiguous();
    }
    const auto contiguous = [](const at::Tensor& tensor) { return tensor.defined() ? tensor.contiguous() : tensor; };
    if (call.relative.query.defined()) {
      relative_query = with_contiguous_columns(call.relative.query);
      const at::Tensor& rows = call.relative.rows;
      relative_rows = rows.stride(2) == 1 ? rows : rows.contiguous();
    }
    query_positions = contiguous(call.positions.queries);
    key_positions = contiguous(call.positions.keys);
    first_positions = contiguous(call.positions.first);
  }
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  at::Tensor keep;
  at::Tensor distances;
  at::Tensor relative_query;
  at::Tensor relative_rows;
  at::Tensor query_positions;
  at::Tensor key_positions;
  at::Tensor first_positions;
};

kernels::DistanceTable kernel_table(const Call& call, const Held& held) {
  if (!held.distances.defined()) {
    return {};
  }
  return {held.distances.const_data_ptr(), held.distances.size(1), held.distances.size(2), call.distances.zero,
          call.layout->blocks().query_offset};
}

kernels::RelativeProduct kernel_relative(const Call& call, const Held& held) {
  if (!held.relative_query.defined()) {
    return {};
  }
  const at::Tensor& rows = held.relative_rows;
  return {input_of(held.relative_query),
          {rows.const_data_ptr(), 0, rows.stride(0), rows.stride(1)},
          rows.size(1),
          call.relative.zero,
          call.layout->blocks().query_offset};
}

kernels::RowPositions kernel_positions(const Call& call, const Held& held) {
  const auto memory = [](const at::Tensor& positions) {
    return positions.defined() ? positions.const_data_ptr<std::int32_t>() : nullptr;
  };
  return {memory(held.query_positions), memory(held.key_positions), memory(held.first_positions), call.positions.causal,
          call.positions.not_self};
}

kernels::AttentionArguments arguments_of(const Call& call, const Held& held, const Forward& forward) {
  kernels::AttentionArguments arguments;
  arguments.dtype = dtype_of(call.query.scalar_type());
  arguments.batch = call.query.size(0);
  arguments.heads = call.query.size(1);
  arguments.key_heads = call.key.size(1);
  arguments.query_length = call.query.size(2);
  arguments.key_length = call.key.size(2);
  arguments.head_dim = call.query.size(3);
  arguments.value_dim = call.value.size(3);
  arguments.scale = call.scale;
  arguments.query = input_of(held.query);
  arguments.key = input_of(held.key);
  arguments.value = input_of(held.value);
  arguments.output = output_of(forward.output);
  arguments.log_sum_exp = forward.log_sum_exp.mutable_data_ptr();
  arguments.key_keep = held.keep.defined() ? held.keep.const_data_ptr<std::uint8_t>() : nullptr;
  arguments.layout = call.layout->blocks().view();
  arguments.dropout = call.dropout;
  arguments.distances = kernel_table(call, held);
  arguments.positions = kernel_positions(call, held);
  arguments.relative = kernel_relative(call, held);
  const char* problem = kernels::validate(arguments);
  require(problem == nullptr, "attention: ", problem == nullptr ? "" : problem);
  return arguments;
}

/// What the forward pass of a call multiplies and adds.
double operations_of(const kernels::AttentionArguments& call) {
  const pattern::LayoutView& layout = call.layout;
  double blocks = 0;
  for (std::int64_t row = 0; row < call.batch && layout.query_blocks > 0; ++row) {
    for (std::int64_t head = 0; head < call.heads; ++head) {
      const std::int64_t begin = layout.row(row, head, 0).begin;
      blocks += static_cast<double>(layout.row(row, head, layout.query_blocks - 1).end - begin);
    }
  }
  const double of_pair = 2.0 * static_cast<double>(call.head_dim + call.value_dim);
  return blocks * layout.tile_query * layout.tile_key * of_pair;
}

void check(kernels::Status status, kernels::InstructionSet isa) {
  if (status == kernels::Status::kOutOfMemory) {
    fail(ErrorKind::kUnsupported, "attention: no memory for the workspace of the ", kernels::to_string(isa), " kernel");
  }
  require(status == kernels::Status::kOk, "attention: the ", kernels::to_string(isa),
          " kernel does not take this dtype or tile");
}

}  // namespace

Answer fused_takes(const Call& call) {
  const at::ScalarType dtype = call.query.scalar_type();
  const bool has_dtype = dtype == at::kFloat || dtype == at::kBFloat16 || dtype == at::kHalf;
  const pattern::Tile& tile = call.layout->blocks().tile;
  const bool fits = call.query.is_cpu() && has_dtype && call.query.size(3) <= kernels::kMaximumHeadDim &&
                    call.value.size(3) <= kernels::kMaximumHeadDim && tile.key == 64 && tile.query <= 64;
  if (!fits) {
    return Answer::no(
        "the fused path serves float32, bfloat16 and float16 on a CPU, head_dim up to 256 and tiles of 64 keys only");
  }
  return Answer::unless(kernels::chosen_isa() == kernels::InstructionSet::kScalar,
                        "the fused path needs an instruction set with fused kernels, which WEFT_ISA=scalar is not");
}

Answer scalar_takes(const Call& call) {
  return Answer::unless(!call.query.is_cpu(), "the scalar path serves the CPU only");
}

Forward kernel_forward(const Call& call, kernels::InstructionSet isa) {
  const Held held(call);
  const at::Tensor& query = call.query;
  Forward forward{
      empty_heads({query.size(0), query.size(1), query.size(2), call.value.size(3)}, query.options()),
      at::empty({query.size(0), query.size(1), query.size(2)}, query.options().dtype(accumulation_type(query)))};
  const kernels::AttentionArguments arguments = arguments_of(call, held, forward);
  const ThreadsInPieces in_pieces(pieces_of_call(operations_of(arguments)));
  check(kernels::fused_forward(isa, arguments, in_pieces.threads()), isa);
  if (in_pieces.is_cut()) {
    end_piece();  // before anybody reads the rows of a call that was left
  }
  return forward;
}

Gradients kernel_backward(const Call& call, kernels::InstructionSet isa, const Forward& forward,
                          const at::Tensor& output_gradient) {
  const Held held(call);
  const Forward saved{with_contiguous_columns(forward.output), forward.log_sum_exp.contiguous()};
  const at::Tensor incoming = with_contiguous_columns(output_gradient);
  const auto room_for = [](const at::Tensor& tensor) { return empty_heads(tensor.sizes(), tensor.options()); };
  Gradients result{room_for(call.query), room_for(call.key), room_for(call.value)};
  kernels::AttentionGradients gradients;
  gradients.output_gradient = input_of(incoming);
  gradients.query_gradient = output_of(result.query);
  gradients.key_gradient = output_of(result.key);
  gradients.value_gradient = output_of(result.value);
  if (call.asks_distances) {
    result.distances = at::empty_like(held.distances);
    gradients.distance_gradient = result.distances.mutable_data_ptr();
  }
  if (call.relative.query.defined()) {
    result.relative_query = room_for(call.query);
    result.relative_rows =
        at::empty(call.relative.rows.sizes(), call.query.options().dtype(accumulation_type(call.query)));
    gradients.relative_query_gradient = output_of(result.relative_query);
    gradients.relative_rows_gradient = result.relative_rows.mutable_data_ptr();
  }
  gradients.transpose = call.layout->transpose().view();
  check(kernels::fused_backward(isa, arguments_of(call, held, saved), gradients, kTorchThreads), isa);
  return result;
}

}  // namespace weft::attention
