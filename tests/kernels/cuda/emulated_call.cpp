// SPDX-License-Identifier: Apache-2.0
// A device call from the arguments of a kernel, with plans and memory in vectors.
#include "kernels/cuda/emulated_call.h"

#include <algorithm>
#include <limits>
#include <vector>

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
    if (arguments.key_keep != nullptr) {
      keep_.resize(static_cast<std::size_t>(arguments.batch * arguments.layout.key_blocks));
      call.keep_words = call.made_keep_words = keep_.data();
    }
  }

  void forward(void (*emulate)(const kernels::cuda::DeviceCall&)) {
    const std::int64_t slots = slots_of(call.rows);
    call.partials.maximum = room(slots);
    call.partials.sum = room(slots);
    call.partials.output = room(slots * call.attention.value_dim);
    make_flags();
    emulate(call);
  }

  void backward(void (*emulate)(const kernels::cuda::DeviceCall&)) {
    const AttentionArguments& arguments = call.attention;
    const bool joins_all = arguments.heads != arguments.key_heads;
    const pattern::TransposeView& transpose = call.gradients.transpose;
    HeldPlan columns({transpose.column_begin, transpose.query_block, nullptr, arguments.layout.key_blocks,
                      counts_.groups, longest_emulated_part, joins_all});
    call.columns = columns.list();
    const std::int64_t heads = arguments.batch * arguments.heads;
    make_flags();
    call.delta = room(heads * arguments.query_length);
    call.partials.query = room(slots_of(call.rows) * arguments.head_dim);
    call.partials.key = room(slots_of(call.columns) * arguments.head_dim);
    call.partials.value = room(slots_of(call.columns) * arguments.value_dim);
    if (call.gradients.distance_gradient != nullptr) {
      call.partials.table =
          room(2 * heads * call.rows.most_items * arguments.distances.rows * arguments.distances.span);
    }
    emulate(call);
  }

  kernels::cuda::DeviceCall call;

 private:
  HeldPlan rows_of(const AttentionArguments& arguments, std::int64_t longest) const {
    const pattern::LayoutView& layout = arguments.layout;
    return HeldPlan(
        {layout.row_begin, layout.key_block, layout.kind, layout.query_blocks, counts_.groups, longest, false});
  }
  std::int64_t slots_of(const kernels::cuda::WorkList& list) const {
    return call.attention.batch * call.attention.heads * list.slots * 64;
  }
  void make_flags() {
    lost_.assign(static_cast<std::size_t>(kernels::cuda::lost_flags(call)), 0xFF);
    call.lost = lost_.data();
  }
  float* room(std::int64_t count) {
    rooms_.emplace_back(static_cast<std::size_t>(count), std::numeric_limits<float>::quiet_NaN());
    return rooms_.back().data();
  }

  kernels::cuda::LayoutCounts counts_;
  HeldPlan rows_;
  std::vector<std::uint64_t> row_bits_;
  std::vector<std::uint64_t> column_bits_;
  std::vector<std::uint64_t> keep_;
  std::vector<std::uint8_t> lost_;
  std::vector<std::vector<float>> rooms_;
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
