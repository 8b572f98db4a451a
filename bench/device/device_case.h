// SPDX-License-Identifier: Apache-2.0
// What scripts/device-check needs to call libweft_cuda with tensors of any PyTorch: layouts of expressions, and calls
// made from addresses, as plain C functions. Nothing here sees CUDA or LibTorch: the memory is the caller's.
#pragma once

#include <cstdint>

extern "C" {

/// The sizes of a call: query [batch, heads, queries, head_dim], key and value [batch, key_heads, keys, ...].
struct WeftCaseShape {
  std::int64_t batch, heads, key_heads, queries, keys, head_dim, value_dim;
  std::int32_t dtype;  ///< kernels::DType
  float dropout;       ///< the probability; 0: none
  std::uint64_t seed;
  std::int32_t is_tf32;  ///< not 0: float32 may be multiplied as TF32
};

/// A tensor of four dimensions, whose last is contiguous.
struct WeftCaseTensor {
  void* data;
  std::int64_t batch_stride, head_stride, row_stride;  ///< in elements
};

/// Tensors of a call; those of the backward pass may be empty in a forward call.
struct WeftCaseTensors {
  WeftCaseTensor query, key, value, output;
  WeftCaseTensor output_gradient, query_gradient, key_gradient, value_gradient;
  float* log_sum_exp;            ///< [batch, heads, queries]
  const std::uint8_t* key_keep;  ///< [batch, keys]; null: all are kept
  /// [heads][distance_span]: what is added to a score, entry distance_zero + query - key; null: nothing. And its
  /// gradient.
  const float* distances;
  float* distance_gradient;
  std::int64_t distance_span, distance_zero;
  /// [batch, heads, queries] and [batch, key_heads, keys]: a query sees keys up to its own position; null: all.
  const std::int32_t* query_positions;
  const std::int32_t* key_positions;
};

/// What went wrong in the last call of this thread that gave null; one line.
const char* weft_case_problem();

struct WeftCase;
/// The layout of an expression and the plans of its calls; null: weft_case_problem() says why.
WeftCase* weft_case_open(const char* expression, const WeftCaseShape* shape);
void weft_case_close(WeftCase* opened);

/// sizeof(kernels::cuda::DeviceCall) here: that of libweft_cuda must be the same.
unsigned long weft_case_call_bytes();
/// Edges over all heads, for one row of the batch.
double weft_case_edges(const WeftCase* opened);
/// The layout and the plans as one piece of memory: its size, and its bytes, which the caller copies to `place` of the
/// device and keeps there. `place` is a multiple of 256.
std::int64_t weft_case_tables_bytes(const WeftCase* opened);
void weft_case_fill_tables(WeftCase* opened, void* bytes, void* place);
/// Memory of the device that a call needs, and the call itself, which holds until the next one: what weft_cuda_forward
/// and weft_cuda_backward take, and with one query and no dropout weft_cuda_decode.
std::int64_t weft_case_room_bytes(WeftCase* opened, const WeftCaseTensors* tensors, int is_backward);
const void* weft_case_call(WeftCase* opened, const WeftCaseTensors* tensors, void* room, int is_backward);

/// Whether each query sees each key, asked of the pattern pair by pair: [heads][queries][keys], 0 or its multiplicity.
/// Null, or what is wrong.
const char* weft_case_multiplicity(const char* expression, std::int64_t heads, std::int64_t queries, std::int64_t keys,
                                   std::uint8_t* to);

/// Which scores of a call stay under its dropout, as a CPU draws them: [batch][heads][queries][keys], 1 or 0.
void weft_case_kept(const WeftCaseShape* shape, std::uint8_t* to);

/// Blocks of `tile` queries by `tile` keys: 0 none, 1 some edges, 2 all, as [heads][queries / tile][keys / tile].
const char* weft_case_blocks(const char* expression, std::int64_t heads, std::int64_t queries, std::int64_t keys,
                             std::int32_t tile, std::uint8_t* to);
}
