// SPDX-License-Identifier: Apache-2.0
// Bytes, the tokeniser that needs no file (a byte is its own id, and any bytes, valid UTF-8 or not, come back as they
// were), and what every tokeniser can be asked.
#include "weft/text/tokenizer.h"

#include <string>
#include <string_view>

#include "weft/core/error.h"

namespace weft::text {

std::vector<std::string> texts_behind(const Tokenizer& tokenizer) {
  // One id near 2^32 in a tokenizer.json would ask for as many texts.
  constexpr std::int64_t kMostIds = 1 << 24;
  const std::int64_t size = tokenizer.vocabulary_size();
  if (size > kMostIds) {
    fail(ErrorKind::kFormat, "the tokeniser has ids up to ", size - 1, ", but words are looked for in vocabularies of ",
         kMostIds, " tokens at most");
  }
  std::vector<std::string> texts(static_cast<std::size_t>(size));
  const std::vector<std::int64_t> anchor = tokenizer.encode("a");
  const std::string before = tokenizer.decode(anchor);
  for (std::size_t id = 0; id < texts.size(); ++id) {
    std::vector<std::int64_t> pair = anchor;
    pair.push_back(static_cast<std::int64_t>(id));
    const std::string text = tokenizer.decode(pair);
    texts[id] = text.size() > before.size() ? text.substr(before.size()) : std::string();
  }
  return texts;
}

std::vector<bool> word_beginnings(const Tokenizer& tokenizer) {
  constexpr std::string_view kSpace = " \t\n\r";
  const std::vector<std::string> texts = texts_behind(tokenizer);
  std::vector<bool> begins(texts.size());
  for (std::size_t id = 0; id < texts.size(); ++id) {
    begins[id] = !texts[id].empty() && kSpace.find(texts[id].front()) != std::string_view::npos;
  }
  return begins;
}

namespace {

constexpr std::int64_t kBytes = 256;

class ByteTokenizer final : public Tokenizer {
 public:
  explicit ByteTokenizer(std::int64_t first) : first_(first) {}

  std::vector<std::int64_t> encode(std::string_view text) const override {
    std::vector<std::int64_t> ids(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
      ids[i] = first_ + static_cast<unsigned char>(text[i]);
    }
    return ids;
  }

  std::string decode(const std::vector<std::int64_t>& ids) const override {
    std::string text;
    text.reserve(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      require(ids[i] >= 0 && ids[i] < vocabulary_size(), "token ", i, " is ", ids[i], ", but bytes are ", first_,
              " to ", vocabulary_size() - 1);
      if (ids[i] >= first_) {
        text.push_back(static_cast<char>(ids[i] - first_));
      }
    }
    return text;
  }

  std::int64_t vocabulary_size() const override { return first_ + kBytes; }
  std::string kind() const override { return first_ == 0 ? "bytes" : concat("bytes+", first_); }
  void save(const std::filesystem::path&) const override {}

 private:
  std::int64_t first_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_tokenizer(std::int64_t first) { return std::make_unique<ByteTokenizer>(first); }

}  // namespace weft::text
