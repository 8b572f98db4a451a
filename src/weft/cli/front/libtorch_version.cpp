// SPDX-License-Identifier: Apache-2.0
// Patches of a minor version keep its classes.
#include "weft/cli/front/libtorch_version.h"

#include <string>

#include "weft/core/error.h"

namespace weft::cli {
namespace {

// "2.15" of "LibTorch 2.15.0".
std::string minor_version(std::string_view compiled_for) {
  const std::string_view version = compiled_for.substr(compiled_for.find(' ') + 1);
  const std::size_t minor = version.find('.') + 1;
  return std::string(version.substr(0, version.find('.', minor)));
}

}  // namespace

void check_libtorch_version(std::uint64_t found, std::string_view compiled_for) {
  constexpr int kMajor = 56;
  constexpr int kMinor = 48;
  constexpr std::uint64_t kByte = 0xff;
  const std::string wanted = minor_version(compiled_for);
  const std::string opened = concat((found >> kMajor) & kByte, ".", (found >> kMinor) & kByte);
  if (opened != wanted) {
    throw Error(
        ErrorKind::kUnsupported,
        concat("libweft was compiled for LibTorch ", wanted, ", but the one that was opened is ", opened),
        concat("name the folder of LibTorch ", wanted, " in WEFT_LIBTORCH, or pip install 'torch==", wanted, ".*'"));
  }
}

}  // namespace weft::cli
