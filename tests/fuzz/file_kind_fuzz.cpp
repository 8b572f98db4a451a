// SPDX-License-Identifier: Apache-2.0
// Any bytes as a file that says nothing by its name: one of the known formats, or a one-line error; asked twice, the
// same; and its texts to the end, or to a one-line error.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "fuzz/support/memory_file.h"
#include "weft/core/log.h"
#include "weft/readers/input/file_kind.h"
#include "weft/readers/input/input_texts.h"

namespace {

constexpr std::array<std::string_view, 8> kFormats = {"text", "jsonl", "json", "csv", "tsv", "fasta", "conll", "squad"};

void check_kind(const std::filesystem::path& path) {
  weft::readers::ByteSource bytes(path);
  const weft::readers::FileKind kind = weft::readers::decide_kind(bytes);
  const weft::readers::FileKind again = weft::readers::decide_kind(bytes);
  if (kind.format != again.format || kind.reason != again.reason ||
      std::find(kFormats.begin(), kFormats.end(), kind.format) == kFormats.end()) {
    std::abort();
  }
  weft::readers::InputTexts texts(std::move(bytes), {});
  for (weft::readers::InputText text; texts.next(text);) {
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::set_log_level(weft::LogLevel::kError);
  const weft::fuzz::MemoryFile file(data, size);
  try {
    check_kind(file.path());
  } catch (const weft::Error& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) {
      std::abort();
    }
  }
  return 0;
}
