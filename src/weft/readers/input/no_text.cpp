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
  std::string_view kind = {};  // stands at `place`, behind a length
  std::size_t place = 0;
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
    NoText{"RIFF"sv, "a WebP picture", kToPicture, "WEBP"sv, 8},
    NoText{"RIFF"sv, "a WAV sound", "sound is trained on by weft train --train-audio"sv, "WAVE"sv, 8},
    NoText{""sv, "safetensors", "the directory of a model is no folder of texts"sv, "\0\0\0\0{\""sv, 4},
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

bool is_of(const NoText& known, std::string_view head) {
  return head.starts_with(known.magic) && head.substr(std::min(known.place, head.size())).starts_with(known.kind);
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
  bytes.first_line(kHead);
  const std::string_view head = bytes.read_ahead(kHead);  // a line end may stand in a length before the signature
  if (const std::string_view kind = kind_of_utf16(head); !kind.empty()) {
    throw Error(ErrorKind::kFormat,
                concat(bytes.name(), ": looks like ", kind, " without a byte order mark, expected UTF-8"),
                concat("convert it first, for example with: iconv -f ", kind, " -t UTF-8"));
  }
  const auto* found =
      std::find_if(kNoTexts.begin(), kNoTexts.end(), [&](const NoText& known) { return is_of(known, head); });
  if (found != kNoTexts.end()) {
    throw Error(ErrorKind::kFormat, concat(bytes.name(), ": is ", found->name, ", expected text"),
                std::string(found->hint));
  }
}

}  // namespace weft::readers
