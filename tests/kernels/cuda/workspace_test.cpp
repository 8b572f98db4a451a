// SPDX-License-Identifier: Apache-2.0
// How much memory a call needs besides its tensors: what the parts of long rows leave, for as many queries as there
// are.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/cuda/emulated_call.h"
#include "kernels/kernel_case.h"
#include "weft/kernels/cuda/workspace.h"

namespace weft::test {
namespace {

constexpr std::int64_t kSizedWidth = 64;
constexpr std::int64_t kSizedHeads = 12;

// A call of `queries` over 4,096 keys, all of which they see.
struct SizedCall {
  SizedCall(std::int64_t queries, std::int32_t tile, std::int64_t longest)
      : layout(hand_layout({tile, 64}, queries, 4096, 1, [](auto, auto, auto) { return 1; })) {
    const kernels::cuda::PlanSource source{
        layout.row_begin.data(), layout.key_block.data(), layout.kind.data(), layout.query_blocks(), 1, longest};
    call.attention.batch = 2;
    call.attention.heads = call.attention.key_heads = kSizedHeads;
    call.attention.query_length = queries;
    call.attention.key_length = 4096;
    call.attention.head_dim = call.attention.value_dim = kSizedWidth;
    call.attention.layout = layout.view();
    call.rows = kernels::cuda::work_list(kernels::cuda::plan_size(source), {});
  }
  std::int64_t forward_bytes() {
    std::int64_t bytes = 0;
    kernels::cuda::take_forward_room(call, [&bytes](std::int64_t count) -> void* {
      bytes += count;
      return nullptr;
    });
    return bytes - kernels::cuda::lost_flags(call);
  }

  pattern::BlockLayout layout;
  kernels::cuda::DeviceCall call;
};

// A maximum, a sum and the columns of a row.
constexpr std::int64_t kSizedRowBytes = 4 * (2 + kSizedWidth);

TEST(CudaWorkspace, APartOfASingleQueryLeavesOneRow) {
  constexpr std::int64_t kParts = 64 / kernels::cuda::kLongestDecodePart;  // of 64 blocks of keys
  for (const std::int32_t tile : {1, 64}) {
    SizedCall one(1, tile, kernels::cuda::kLongestDecodePart);
    EXPECT_EQ(one.forward_bytes(), 2 * kSizedHeads * kParts * kSizedRowBytes) << tile;
  }
  SizedCall five(5, 1, kernels::cuda::kLongestDecodePart);
  EXPECT_EQ(five.forward_bytes(), 2 * kSizedHeads * 5 * kParts * kSizedRowBytes);
}

TEST(CudaWorkspace, APartOfABlockLeavesTheQueriesThatAreThere) {
  constexpr std::int64_t kParts = 64 / kernels::cuda::kLongestPart;
  SizedCall few(20, 64, kernels::cuda::kLongestPart);
  EXPECT_EQ(few.forward_bytes(), 2 * kSizedHeads * kParts * 20 * kSizedRowBytes);
  SizedCall many(200, 64, kernels::cuda::kLongestPart);
  EXPECT_EQ(many.forward_bytes(), 2 * kSizedHeads * 4 * kParts * 64 * kSizedRowBytes);
}

}  // namespace
}  // namespace weft::test
