// SPDX-License-Identifier: Apache-2.0
// Any bytes as pytorch_model.bin: either a one-line error, or tensors that can all be read and are no larger than the
// file.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "weft/core/error.h"
#include "weft/formats/pickle/torch_file.h"

namespace {

void read_all(const std::filesystem::path& path, std::size_t size) {
  const weft::formats::TorchFile file(path);
  for (const weft::formats::TensorInfo& tensor : file.tensors()) {
    if (tensor.end - tensor.begin > size) {
      std::abort();
    }
    std::string content(tensor.end - tensor.begin, '\0');
    file.read(tensor, content.data());
    const auto mapped = file.bytes(tensor);
    if (!mapped.empty() && content != std::string_view(reinterpret_cast<const char*>(mapped.data()), mapped.size())) {
      std::abort();
    }
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int memory = memfd_create("fuzz", MFD_CLOEXEC);
  if (memory < 0 || write(memory, data, size) != static_cast<ssize_t>(size)) {
    std::abort();
  }
  try {
    read_all("/proc/self/fd/" + std::to_string(memory), size);
  } catch (const weft::Error& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) {
      std::abort();
    }
  }
  close(memory);
  return 0;
}
