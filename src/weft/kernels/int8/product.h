// SPDX-License-Identifier: Apache-2.0
// Products of int8 numbers: y = f(x W^T + b), W as codes with a scale an output, x turned into codes with a scale a row
// on the way. Sums of products of codes are exact in 32 bits on every instruction set.
#pragma once

#include <cstdint>

#include "weft/core/parallel.h"
#include "weft/kernels/arguments.h"

namespace weft::kernels {

/// Instruction sets that multiply codes, slowest first. All give the same sums.
enum class Int8Set : std::uint8_t {
  kGeneric,     ///< every processor
  kAvx2,        ///< products of pairs of 16-bit numbers
  kAvxVnni,     ///< AVX-VNNI: four codes an instruction and lane
  kAvx512,      ///< AVX-512 BW without VNNI, as kAvx2
  kAvx512Vnni,  ///< AVX-512 VNNI
};
inline constexpr Int8Set kInt8Sets[] = {Int8Set::kGeneric, Int8Set::kAvx2, Int8Set::kAvxVnni, Int8Set::kAvx512,
                                        Int8Set::kAvx512Vnni};

/// "generic", "avx2", "avxvnni", "avx512", "avx512vnni".
const char* to_string(Int8Set set) noexcept;
/// Whether this processor has it.
bool is_available(Int8Set set) noexcept;
/// That of this process: the best under the instruction set of the attention kernels, see chosen_isa(), whose errors it
/// throws.
Int8Set chosen_int8_set();

/// Outputs lie in panels of so many, inputs in groups of four; zeros fill the last ones.
inline constexpr std::int64_t kInt8Panel = 16;
inline constexpr std::int64_t kInt8Group = 4;
/// The largest code: both signs have it.
inline constexpr std::int64_t kInt8Most = 127;
/// Of more inputs a sum could leave 32 bits.
inline constexpr std::int64_t kInt8Inputs = 131072;

[[gnu::always_inline]] constexpr std::int64_t padded_outputs(std::int64_t outputs) noexcept {
  return (outputs + kInt8Panel - 1) / kInt8Panel * kInt8Panel;
}
[[gnu::always_inline]] constexpr std::int64_t padded_inputs(std::int64_t inputs) noexcept {
  return (inputs + kInt8Group - 1) / kInt8Group * kInt8Group;
}
/// Where the code of an output and an input lies among padded_outputs * padded_inputs. `inputs` are padded.
[[gnu::always_inline]] constexpr std::int64_t place_of_code(std::int64_t output, std::int64_t input,
                                                            std::int64_t inputs) noexcept {
  return output / kInt8Panel * kInt8Panel * inputs + input / kInt8Group * kInt8Panel * kInt8Group +
         output % kInt8Panel * kInt8Group + input % kInt8Group;
}

/// W [outputs, inputs] as products read it. Codes are in [-127, 127].
struct Int8Matrix {
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  const std::int8_t* codes = nullptr;         ///< [padded_outputs * padded_inputs], see place_of_code()
  const float* scales = nullptr;              ///< [padded_outputs]; code times scale is the number
  const std::int32_t* corrections = nullptr;  ///< [padded_outputs]: -128 times the sum of an output's codes
};

/// What is done with a sum, in the registers that hold it.
enum class Int8Function : std::uint8_t { kNone, kGelu, kGeluNew, kQuickGelu, kRelu, kSilu };

/// y[row, o] = f(sum of x[row, i] W[first + o, i] + bias[o]) for `outputs` outputs from `first` on, or with `is_gated`
/// y[row, o] = f(gate) value of output o and output o + outputs / 2. A row of x has the scale max |x| / 127 and the
/// nearest codes; a row that holds NaN or infinity gives NaN. Rows are contiguous; x and y in float32 or bfloat16.
struct Int8Product {
  Int8Matrix weight;
  std::int64_t first = 0;    ///< a multiple of kInt8Panel
  std::int64_t outputs = 0;  ///< with a gate a multiple of 2 kInt8Panel
  std::int64_t rows = 0;
  DType dtype = DType::kFloat32;
  const void* x = nullptr;      ///< [rows, inputs]
  const float* bias = nullptr;  ///< [outputs] or null
  void* y = nullptr;            ///< [rows, outputs], half of them with a gate
  void* workspace = nullptr;    ///< int8_workspace() bytes
  Int8Function function = Int8Function::kNone;
  bool is_gated = false;
};

/// Bytes that a product of so many rows needs beside its tensors.
std::int64_t int8_workspace(Int8Set set, std::int64_t rows, std::int64_t inputs) noexcept;

/// Same bits for any number of threads.
void multiply_int8(Int8Set set, const Int8Product& call, const ParallelFor& parallel) noexcept;

/// Codes and scales of a matrix that is being made; as Int8Matrix.
struct Int8Storage {
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  std::int8_t* codes = nullptr;
  float* scales = nullptr;
  std::int32_t* corrections = nullptr;
};

/// Outputs [begin, end) from their numbers [outputs, inputs]: scale max |w| / 127, nearest codes. False where one of
/// them is NaN or infinite. Zeros that fill up must be there before.
bool quantise_outputs(const Int8Storage& to, const float* weights, std::int64_t begin, std::int64_t end) noexcept;
/// The same from codes [outputs, inputs]; scales are left alone. False where a code is -128.
bool place_codes(const Int8Storage& to, const std::int8_t* codes, std::int64_t begin, std::int64_t end) noexcept;
/// Codes [inputs] of an output as they were placed.
void read_codes(const Int8Matrix& from, std::int64_t output, std::int8_t* codes) noexcept;

}  // namespace weft::kernels
