// SPDX-License-Identifier: Apache-2.0
// A table of first bytes.
#include "weft/readers/input/no_text.h"

#include <algorithm>
#include <array>

#include "weft/core/error.h"

namespace weft::readers {
namespace {

using namespace std::string_view_literals;

struct NoText {
  std::string_view magic;
  std::string_view name;
  std::string_view hint;
};

constexpr std::string_view kToTable = "write it as CSV or as JSON lines first, for example with pandas";
constexpr std::string_view kToText = "write its text to a file first";
constexpr std::string_view kToPicture = "write it as PNG; pictures are trained on by weft train --train-images";
constexpr std::string_view kToSound = "write it as WAV; sound is trained on by weft train --train-audio";
constexpr std::array kNoTexts = {
    NoText{"PAR1"sv, "Apache Parquet", kToTable},
    NoText{"ARROW1"sv, "Apache Arrow", kToTable},
    NoText{"SQLite format 3"sv, "an SQLite data base", kToTable},
    NoText{"\x89HDF\r\n"sv, "HDF5", kToTable},
    NoText{"\x93NUMPY"sv, "an array of NumPy", kToTable},
    NoText{"\xD0\xCF\x11\xE0"sv, "an old Office document", "save it as CSV or as text in UTF-8 first"sv},
    NoText{"%PDF-"sv, "a PDF", kToText},
    NoText{"{\\rtf"sv, "an RTF document", kToText},
    NoText{"\x89PNG\r\n"sv, "a PNG picture", "pictures are trained on by weft train --train-images"sv},
    NoText{"\xFF\xD8\xFF"sv, "a JPEG picture", kToPicture},
    NoText{"GIF87a"sv, "a GIF picture", kToPicture},
    NoText{"GIF89a"sv, "a GIF picture", kToPicture},
    NoText{"OggS\0"sv, "Ogg sound", kToSound},
    NoText{"fLaC\0"sv, "FLAC sound", kToSound},
    NoText{"ID3\x03"sv, "MP3 sound", kToSound},
    NoText{"ID3\x04"sv, "MP3 sound", kToSound},
    NoText{"GGUF\3\0"sv, "a model of llama.cpp", kToText},
    NoText{"\x7F"
           "ELF"sv,
           "a program", kToText},
    NoText{"version https://git-lfs.github.com/spec/"sv, "a pointer of Git LFS, and the file itself was not fetched",
           "fetch it in its repository with: git lfs pull"sv},
};

// Those whose name stands behind a length: of a RIFF file, and of the JSON that safetensors begin with.
constexpr NoText kTensors{"", "safetensors", "the directory of a model is no folder of texts"};
constexpr NoText kSound{"", "a WAV sound", "sound is trained on by weft train --train-audio"};
constexpr NoText kWebP{"", "a WebP picture", kToPicture};

const NoText* behind_a_length(std::string_view head) {
  if (head.size() < 12) {
    return nullptr;
  }
  if (head.substr(4, 4) == "\0\0\0\0"sv && head.substr(8, 2) == "{\""sv) {
    return &kTensors;
  }
  const std::string_view kind = head.starts_with("RIFF") ? head.substr(8, 4) : std::string_view();
  return kind == "WAVE" ? &kSound : kind == "WEBP" ? &kWebP : nullptr;
}

// Whether every second byte, from `place` on, looks like the upper half of UTF-16: zero for blanks and Latin letters,
// small and always the same for those of most alphabets; and the other bytes are no such ones.
bool has_upper_halves(std::string_view head, std::size_t place) {
  std::array<std::size_t, 9> small{};  // how often each small half comes
  std::size_t halves = 0;
  std::size_t zeros = 0;
  std::size_t other_zeros = 0;
  for (std::size_t i = 0; i < head.size(); ++i) {
    const bool half = i % 2 == place;
    halves += half ? 1 : 0;
    if (const auto byte = static_cast<unsigned char>(head[i]); half && byte < small.size()) {
      ++small[byte];
    }
    (half ? zeros : other_zeros) += head[i] == '\0' ? 1 : 0;
  }
  const std::size_t letters = zeros + *std::max_element(small.begin() + 1, small.end());
  return head.size() > 2 && zeros > 4 * other_zeros && 10 * letters >= 6 * halves;
}

std::string_view kind_of_utf16(std::string_view head) {
  return has_upper_halves(head, 1) ? "UTF-16LE" : has_upper_halves(head, 0) ? "UTF-16BE" : "";
}

}  // namespace

void refuse_no_text(ByteSource& bytes) {
  constexpr std::size_t kHead = 64;
  const std::string_view head = bytes.first_line(kHead);
  if (const std::string_view kind = kind_of_utf16(head); !kind.empty()) {
    throw Error(ErrorKind::kFormat,
                concat(bytes.name(), ": looks like ", kind, " without a byte order mark, expected UTF-8"),
                concat("convert it first, for example with: iconv -f ", kind, " -t UTF-8"));
  }
  const auto* known =
      std::find_if(kNoTexts.begin(), kNoTexts.end(), [&](const NoText& one) { return head.starts_with(one.magic); });
  if (const NoText* found = known == kNoTexts.end() ? behind_a_length(head) : known; found != nullptr) {
    throw Error(ErrorKind::kFormat, concat(bytes.name(), ": is ", found->name, ", expected text"),
                std::string(found->hint));
  }
}

}  // namespace weft::readers
