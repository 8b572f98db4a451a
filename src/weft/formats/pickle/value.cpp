// SPDX-License-Identifier: Apache-2.0
// The names that are known, and what they stand for.
#include "weft/formats/pickle/value.h"

namespace weft::formats {
namespace {

constexpr Global kGlobals[] = {
    {"collections", "OrderedDict", GlobalRole::kOrderedDict},
    {"collections", "Counter", GlobalRole::kCounter},
    {"torch", "Size", GlobalRole::kSize},
    {"torch._utils", "_rebuild_tensor", GlobalRole::kTensor},
    {"torch._utils", "_rebuild_tensor_v2", GlobalRole::kTensor},
    {"torch._utils", "_rebuild_tensor_v3", GlobalRole::kTensorWithDtype},
    {"torch._utils", "_rebuild_parameter", GlobalRole::kParameter},
    {"torch._utils", "_rebuild_parameter_with_state", GlobalRole::kParameter},
    {"torch", "FloatStorage", GlobalRole::kStorage, Dtype::F32},
    {"torch", "HalfStorage", GlobalRole::kStorage, Dtype::F16},
    {"torch", "BFloat16Storage", GlobalRole::kStorage, Dtype::BF16},
    {"torch", "DoubleStorage", GlobalRole::kStorage, Dtype::F64},
    {"torch", "LongStorage", GlobalRole::kStorage, Dtype::I64},
    {"torch", "IntStorage", GlobalRole::kStorage, Dtype::I32},
    {"torch", "ShortStorage", GlobalRole::kStorage, Dtype::I16},
    {"torch", "CharStorage", GlobalRole::kStorage, Dtype::I8},
    {"torch", "ByteStorage", GlobalRole::kStorage, Dtype::U8},
    {"torch", "BoolStorage", GlobalRole::kStorage, Dtype::BOOL},
    {"torch", "ComplexFloatStorage", GlobalRole::kStorage, Dtype::C64},
    {"torch.storage", "UntypedStorage", GlobalRole::kStorage},
    {"torch", "UntypedStorage", GlobalRole::kStorage},
    {"torch", "float32", GlobalRole::kDtype, Dtype::F32},
    {"torch", "float16", GlobalRole::kDtype, Dtype::F16},
    {"torch", "bfloat16", GlobalRole::kDtype, Dtype::BF16},
    {"torch", "float64", GlobalRole::kDtype, Dtype::F64},
    {"torch", "int64", GlobalRole::kDtype, Dtype::I64},
    {"torch", "int32", GlobalRole::kDtype, Dtype::I32},
    {"torch", "int16", GlobalRole::kDtype, Dtype::I16},
    {"torch", "int8", GlobalRole::kDtype, Dtype::I8},
    {"torch", "uint8", GlobalRole::kDtype, Dtype::U8},
    {"torch", "uint16", GlobalRole::kDtype, Dtype::U16},
    {"torch", "uint32", GlobalRole::kDtype, Dtype::U32},
    {"torch", "uint64", GlobalRole::kDtype, Dtype::U64},
    {"torch", "bool", GlobalRole::kDtype, Dtype::BOOL},
    {"torch", "complex64", GlobalRole::kDtype, Dtype::C64},
    {"torch", "float8_e4m3fn", GlobalRole::kDtype, Dtype::F8_E4M3},
    {"torch", "float8_e5m2", GlobalRole::kDtype, Dtype::F8_E5M2},
    {"torch", "float8_e8m0fnu", GlobalRole::kDtype, Dtype::F8_E8M0},
};

}  // namespace

const Global* find_global(std::string_view module, std::string_view name) {
  for (const Global& global : kGlobals) {
    if (global.module == module && global.name == name) {
      return &global;
    }
  }
  return nullptr;
}

}  // namespace weft::formats
