// SPDX-License-Identifier: Apache-2.0
// Which calls the kernels take, and their calls on LibTorch's threads.
#include "weft/attention/backends/cpu/kernel_attention.h"

#include "weft/attention/backends/kernel_call.h"
#include "weft/attention/thread_pool.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

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
  const Forward forward = room_for_results(call);
  const KernelCall kernel(call, forward);
  const ThreadsInPieces in_pieces(pieces_of_call(operations_of(kernel.arguments())));
  check(kernels::fused_forward(isa, kernel.arguments(), in_pieces.threads()), isa);
  if (in_pieces.is_cut()) {
    end_piece();  // before anybody reads the rows of a call that was left
  }
  return forward;
}

Gradients kernel_backward(const Call& call, kernels::InstructionSet isa, const Forward& forward,
                          const at::Tensor& output_gradient) {
  const KernelCall kernel(call, forward);
  const KernelGradients room(call, output_gradient);
  kernels::AttentionGradients gradients = room.arguments();
  gradients.transpose = call.layout->transpose().view();
  check(kernels::fused_backward(isa, kernel.arguments(), gradients, kTorchThreads), isa);
  return room.results();
}

}  // namespace weft::attention
