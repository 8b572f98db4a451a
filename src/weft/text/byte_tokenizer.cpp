// SPDX-License-Identifier: Apache-2.0
// The tokeniser that needs no file: a byte is its own id, and any bytes, valid UTF-8 or not, come back as they were.
#include "weft/core/error.h"
#include "weft/text/tokenizer.h"

namespace weft::text {
namespace {

constexpr std::int64_t kBytes = 256;

class ByteTokenizer final : public Tokenizer {
 public:
  std::vector<std::int64_t> encode(std::string_view text) const override {
    std::vector<std::int64_t> ids(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
      ids[i] = static_cast<unsigned char>(text[i]);
    }
    return ids;
  }

  std::string decode(const std::vector<std::int64_t>& ids) const override {
    std::string text(ids.size(), '\0');
    for (std::size_t i = 0; i < ids.size(); ++i) {
      require(ids[i] >= 0 && ids[i] < kBytes, "token ", i, " is ", ids[i], ", but bytes are 0 to 255");
      text[i] = static_cast<char>(ids[i]);
    }
    return text;
  }

  std::int64_t vocabulary_size() const override { return kBytes; }
  std::string kind() const override { return "bytes"; }
  void save(const std::filesystem::path&) const override {}
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_tokenizer() { return std::make_unique<ByteTokenizer>(); }

}  // namespace weft::text
