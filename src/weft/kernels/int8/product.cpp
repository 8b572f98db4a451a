// SPDX-License-Identifier: Apache-2.0
// The choice of an instruction set, and how codes lie.
#include "weft/kernels/int8/product.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <vector>

#include "weft/core/cpu.h"
#include "weft/core/log.h"
#include "weft/kernels/fused.h"
#include "weft/kernels/int8/instances.h"

namespace weft::kernels {
namespace {

std::int64_t workspace_of(const Int8Kernels& kernels, std::int64_t rows, std::int64_t inputs) noexcept {
  const std::int64_t coded = (rows + kernels.rows - 1) / kernels.rows * kernels.rows;
  return coded * padded_inputs(inputs) * kernels.code_bytes + rows * static_cast<std::int64_t>(sizeof(float));
}

#if defined(__x86_64__)
// Whether a product on tiles gives the bits of vectors: for rows and outputs that do not fill the last tiles.
// Emulators, hypervisors and compilers have been wrong about tiles.
bool code_tiles_are_right() {
  constexpr std::int64_t kRows = 41;
  constexpr std::int64_t kInputs = 128;
  constexpr std::int64_t kOutputs = 50;
  std::vector<std::int8_t> codes(padded_outputs(kOutputs) * kInputs);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<std::int8_t>(static_cast<int>(i * 37 % 255) - 127);
  }
  const std::vector<float> scales(padded_outputs(kOutputs), 0.5F);
  const std::vector<std::int32_t> corrections(scales.size(), -128);
  std::vector<float> x(kRows * kInputs);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i * 11 % 101) - 50.0F;
  }
  const auto product = [&](const Int8Kernels& kernels) {
    std::vector<float> y(kRows * kOutputs);
    std::vector<float> workspace(static_cast<std::size_t>(workspace_of(kernels, kRows, kInputs)) / sizeof(float) + 1);
    Int8Product call;
    call.weight = {.outputs = kOutputs,
                   .inputs = kInputs,
                   .codes = codes.data(),
                   .scales = scales.data(),
                   .corrections = corrections.data()};
    call.outputs = kOutputs;
    call.rows = kRows;
    call.x = x.data();
    call.y = y.data();
    call.workspace = workspace.data();
    kernels.multiply(call, kSerial);
    return y;
  };
  return product(kAmxInt8) == product(kAvx512VnniInt8);
}

// Asked once: tiles where the attention kernels use them, and the processor has those of bytes. Of an instruction set
// that WEFT_ISA does not name whoever asks for it hears.
bool uses_code_tiles() noexcept {
  static const bool uses = [] {
    try {
      if (chosen_isa() != InstructionSet::kAmx || !__builtin_cpu_supports("amx-int8")) {
        return false;
      }
      const bool right = code_tiles_are_right();
      if (!right) {
        log_warning("this processor has AMX, but its product of two small matrices of bytes is wrong: it is not used");
      }
      return right;
    } catch (const std::exception&) {
      return false;
    }
  }();
  return uses;
}
#endif

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
      return uses_code_tiles() ? kAmxInt8 : kAvx512VnniInt8;
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
  return workspace_of(int8_kernels_of(set), rows, inputs);
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
