// SPDX-License-Identifier: Apache-2.0
// A device call from the arguments of a kernel, with plans and memory in vectors.
#include "kernels/cuda/emulated_call.h"

#include <algorithm>
#include <vector>

#include "weft/kernels/cuda/workspace.h"

namespace weft::test {
namespace {

using kernels::AttentionArguments;
using kernels::AttentionGradients;

std::int64_t longest_emulated_part = kernels::cuda::kLongestPart;
bool was_emulated_aligned = false;
bool is_emulated_tf32 = false;

// A plan of one direction and its memory.
class HeldPlan {
 public:
  explicit HeldPlan(const kernels::cuda::PlanSource& source)
      : size_(kernels::cuda::plan_size(source)),
        items_(static_cast<std::size_t>(size_.items)),
        joins_(static_cast<std::size_t>(size_.joins)),
        item_begin_(static_cast<std::size_t>(source.groups + 1)),
        join_begin_(static_cast<std::size_t>(source.groups + 1)) {
    kernels::cuda::fill_plan(source, arrays());
  }
  kernels::cuda::WorkList list() { return kernels::cuda::work_list(size_, arrays()); }

 private:
  kernels::cuda::PlanArrays arrays() { return {items_.data(), item_begin_.data(), joins_.data(), join_begin_.data()}; }

  kernels::cuda::PlanSize size_;
  std::vector<kernels::cuda::WorkItem> items_;
  std::vector<kernels::cuda::JoinItem> joins_;
  std::vector<std::int64_t> item_begin_;
  std::vector<std::int64_t> join_begin_;
};

class EmulatedCall {
 public:
  EmulatedCall(const AttentionArguments& arguments, const AttentionGradients& gradients,
               std::int64_t longest = longest_emulated_part)
      : counts_(kernels::cuda::counts_of(arguments.layout)), rows_(rows_of(arguments, longest)) {
    const auto words = static_cast<std::size_t>(64 * (counts_.partial + counts_.weighted));
    row_bits_.resize(words);
    column_bits_.resize(words);
    kernels::cuda::fill_bits(arguments.layout, counts_, row_bits_.data(), column_bits_.data());
    call.attention = arguments;
    call.gradients = gradients;
    call.bits = {row_bits_.data(), column_bits_.data(), counts_.partial};
    call.has_weights = counts_.weighted > 0;
    call.rows = rows_.list();
    call.draws = kernels::cuda::draws_of(arguments.dropout);
    call.is_aligned = kernels::cuda::has_aligned_rows(arguments, gradients);
    call.is_tf32 = is_emulated_tf32;
    was_emulated_aligned = call.is_aligned;
  }

  void forward(void (*emulate)(const kernels::cuda::DeviceCall&)) {
    kernels::cuda::take_forward_room(call, [this](std::int64_t bytes) { return room(bytes); });
    emulate(call);
  }

  void backward(void (*emulate)(const kernels::cuda::DeviceCall&)) {
    const AttentionArguments& arguments = call.attention;
    const bool joins_all = arguments.heads != arguments.key_heads;
    const pattern::TransposeView& transpose = call.gradients.transpose;
    HeldPlan columns({transpose.column_begin, transpose.query_block, nullptr, arguments.layout.key_blocks,
                      counts_.groups, longest_emulated_part, joins_all});
    call.columns = columns.list();
    kernels::cuda::take_backward_room(call, [this](std::int64_t bytes) { return room(bytes); });
    emulate(call);
  }

  kernels::cuda::DeviceCall call;

 private:
  HeldPlan rows_of(const AttentionArguments& arguments, std::int64_t longest) const {
    const pattern::LayoutView& layout = arguments.layout;
    return HeldPlan(
        {layout.row_begin, layout.key_block, layout.kind, layout.query_blocks, counts_.groups, longest, false});
  }
  // Memory that holds NaN, and flags that are set: nobody may read what no pass has written. Each piece is as large as
  // asked for, so that sanitizers see who goes beyond its end.
  void* room(std::int64_t bytes) {
    rooms_.emplace_back(static_cast<std::size_t>(bytes), std::uint8_t{0xFF});
    return rooms_.back().data();
  }

  kernels::cuda::LayoutCounts counts_;
  HeldPlan rows_;
  std::vector<std::uint64_t> row_bits_;
  std::vector<std::uint64_t> column_bits_;
  std::vector<std::vector<std::uint8_t>> rooms_;
};

template <bool kIsHopper>
kernels::Status run_emulated_forward(const AttentionArguments& arguments, const ParallelFor&) noexcept {
  if (kernels::cuda::has_single_queries(arguments)) {
    const std::int64_t longest = std::min(longest_emulated_part, kernels::cuda::kLongestDecodePart);
    EmulatedCall(arguments, {}, longest).forward(emulate_decode);
  } else {
    EmulatedCall(arguments, {}).forward(kIsHopper ? emulate_hopper_forward : emulate_forward);
  }
  return kernels::Status::kOk;
}

template <bool kIsHopper>
kernels::Status run_emulated_backward(const AttentionArguments& arguments, const AttentionGradients& gradients,
                                      const ParallelFor&) noexcept {
  EmulatedCall(arguments, gradients).backward(kIsHopper ? emulate_hopper_backward : emulate_backward);
  return kernels::Status::kOk;
}

}  // namespace

void cut_emulated_parts(std::int64_t longest) { longest_emulated_part = longest; }
void use_emulated_tf32(bool is_used) { is_emulated_tf32 = is_used; }
bool emulated_copies_were_aligned() { return was_emulated_aligned; }

constinit const kernels::FusedKernels kEmulatedCudaKernels{run_emulated_forward<false>, run_emulated_backward<false>,
                                                           nullptr, nullptr};
constinit const kernels::FusedKernels kEmulatedHopperKernels{run_emulated_forward<true>, run_emulated_backward<true>,
                                                             nullptr, nullptr};

}  // namespace weft::test
