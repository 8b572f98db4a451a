// SPDX-License-Identifier: Apache-2.0
// The choice of an instruction set, and how codes lie.
#include "weft/kernels/int8/product.h"

#include <algorithm>
#include <cmath>

#include "weft/core/cpu.h"
#include "weft/kernels/fused.h"
#include "weft/kernels/int8/instances.h"

namespace weft::kernels {
namespace {

const Int8Kernels& int8_kernels_of(Int8Set set) noexcept {
  switch (set) {
#if defined(__x86_64__)
    case Int8Set::kAvx2:
      return kAvx2Int8;
    case Int8Set::kAvxVnni:
      return kAvxVnniInt8;
    case Int8Set::kAvx512:
      return kAvx512Int8;
    case Int8Set::kAvx512Vnni:
      return kAvx512VnniInt8;
#endif
    default:
      return kGenericInt8;
  }
}

}  // namespace

const char* to_string(Int8Set set) noexcept {
  switch (set) {
    case Int8Set::kAvx2:
      return "avx2";
    case Int8Set::kAvxVnni:
      return "avxvnni";
    case Int8Set::kAvx512:
      return "avx512";
    case Int8Set::kAvx512Vnni:
      return "avx512vnni";
    default:
      return "generic";
  }
}

bool is_available(Int8Set set) noexcept {
  const CpuFeatures& cpu = cpu_features();
  switch (set) {
    case Int8Set::kAvx2:
      return cpu.avx2;
    case Int8Set::kAvxVnni:
      return cpu.avx_vnni;
    case Int8Set::kAvx512:
      return cpu.avx512;
    case Int8Set::kAvx512Vnni:
      return cpu.avx512_vnni;
    default:
      return true;
  }
}

Int8Set chosen_int8_set() {
  const InstructionSet isa = chosen_isa();
  if (isa <= InstructionSet::kGeneric) {
    return Int8Set::kGeneric;
  }
  const bool narrow = isa == InstructionSet::kAvx2;
  const Int8Set fast = narrow ? Int8Set::kAvxVnni : Int8Set::kAvx512Vnni;
  // A processor that is held to AVX2 though it has more multiplies as one that has no more.
  const bool is_held = narrow && cpu_features().avx512;
  return !is_held && is_available(fast) ? fast : narrow ? Int8Set::kAvx2 : Int8Set::kAvx512;
}

std::int64_t int8_workspace(Int8Set set, std::int64_t rows, std::int64_t inputs) noexcept {
  const std::int64_t of_row = padded_inputs(inputs) * int8_kernels_of(set).code_bytes;
  return rows * (of_row + static_cast<std::int64_t>(sizeof(float)));
}

void multiply_int8(Int8Set set, const Int8Product& call, const ParallelFor& parallel) noexcept {
  if (call.rows > 0 && call.outputs > 0) {
    int8_kernels_of(set).multiply(call, parallel);
  }
}

bool quantise_outputs(const Int8Storage& to, const float* weights, std::int64_t begin, std::int64_t end) noexcept {
  const std::int64_t stride = padded_inputs(to.inputs);
  bool is_finite = true;
  for (std::int64_t output = begin; output < end; ++output) {
    const float* const row = weights + output * to.inputs;
    float most = 0.0F;
    for (std::int64_t i = 0; i < to.inputs; ++i) {
      is_finite = is_finite && std::isfinite(row[i]);
      most = std::max(most, std::abs(row[i]));
    }
    // An output whose weights are all 0 has a scale too: files hold none that is 0.
    const float scale = most > 0.0F ? std::max(most / static_cast<float>(kInt8Most), 1e-38F) : 1.0F;
    std::int32_t sum = 0;
    for (std::int64_t i = 0; i < to.inputs; ++i) {
      const float whole = is_finite ? std::nearbyint(row[i] / scale) : 0.0F;
      const auto code = static_cast<std::int8_t>(std::clamp(whole, -127.0F, 127.0F));
      to.codes[place_of_code(output, i, stride)] = code;
      sum += code;
    }
    to.scales[output] = scale;
    to.corrections[output] = -128 * sum;
  }
  return is_finite;
}

bool place_codes(const Int8Storage& to, const std::int8_t* codes, std::int64_t begin, std::int64_t end) noexcept {
  const std::int64_t stride = padded_inputs(to.inputs);
  bool is_right = true;
  for (std::int64_t output = begin; output < end; ++output) {
    std::int32_t sum = 0;
    for (std::int64_t i = 0; i < to.inputs; ++i) {
      const std::int8_t code = codes[output * to.inputs + i];
      is_right = is_right && code >= -kInt8Most;
      to.codes[place_of_code(output, i, stride)] = code;
      sum += code;
    }
    to.corrections[output] = -128 * sum;
  }
  return is_right;
}

void read_codes(const Int8Matrix& from, std::int64_t output, std::int8_t* codes) noexcept {
  const std::int64_t stride = padded_inputs(from.inputs);
  for (std::int64_t i = 0; i < from.inputs; ++i) {
    codes[i] = from.codes[place_of_code(output, i, stride)];
  }
}

}  // namespace weft::kernels
