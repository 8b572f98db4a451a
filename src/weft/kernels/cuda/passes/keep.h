// SPDX-License-Identifier: Apache-2.0
// The pass that makes bits of the padding: a word for each block of keys.
#pragma once

#include <cstdint>

#include "weft/kernels/cuda/passes/grid.h"

namespace weft::kernels::cuda {

struct KeepPass {
  static constexpr int kThreads = 32;
  static Grid grid(const DeviceCall& call) {
    return {parts_of(call.attention.layout.key_blocks, kThreads), call.attention.batch, 1};
  }
  static int shared_bytes(const DeviceCall&) { return 0; }
  template <typename Lanes>
  static WEFT_DEVICE void block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
    lanes.run([&](int thread) {
      const AttentionArguments& arguments = call.attention;
      const std::int64_t key_block = at.x * kThreads + thread;
      if (key_block >= arguments.layout.key_blocks) {
        return;
      }
      std::uint64_t word = 0;
      for (std::int64_t key = 0; key < kSliceRows && key_block * kSliceRows + key < arguments.key_length; ++key) {
        const bool is_kept = arguments.key_keep[at.y * arguments.key_length + key_block * kSliceRows + key] != 0;
        word |= std::uint64_t{is_kept ? 1U : 0U} << key;
      }
      call.made_keep_words[at.y * arguments.layout.key_blocks + key_block] = word;
    });
  }
};

}  // namespace weft::kernels::cuda
