// SPDX-License-Identifier: Apache-2.0
// SentencePiece models through the library of that name, which trusts its files: sentencepiece_check.h looks at them
// first.
#include <climits>

#include <sentencepiece_processor.h>

#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/text/hugging_face.h"
#include "weft/text/sentencepiece_check.h"
#include "weft/text/tokenizer.h"

namespace weft::text {
namespace {

constexpr const char* kFileName = "tokenizer.model";

class SentencePieceTokenizer final : public Tokenizer {
 public:
  SentencePieceTokenizer(std::string model, const std::string& where) : model_(std::move(model)) {
    check_sentencepiece_model(model_, where);
    const auto status = processor_.LoadFromSerializedProto(model_);
    if (!status.ok()) {
      fail(ErrorKind::kFormat, where, ": not a SentencePiece model: ", quote(status.message(), 200));
    }
  }

  std::vector<std::int64_t> encode(std::string_view text) const override {
    require(text.size() < INT_MAX, "SentencePiece takes less than 2 GiB of text at once, found ", text.size(),
            " bytes");
    std::vector<int> ids;
    const auto status = processor_.Encode({text.data(), text.size()}, &ids);
    require(status.ok(), "cannot encode the text: ", quote(status.message(), 200));
    return {ids.begin(), ids.end()};
  }

  std::string decode(const std::vector<std::int64_t>& ids) const override {
    const std::int64_t size = vocabulary_size();
    std::vector<int> narrow(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      require(ids[i] >= 0 && ids[i] < size, "token ", i, " is ", ids[i], ", but the vocabulary has ", size, " ids");
      narrow[i] = static_cast<int>(ids[i]);
    }
    std::string text;
    const auto status = processor_.Decode(narrow, &text);
    require(status.ok(), "cannot decode the tokens: ", quote(status.message(), 200));
    return text;
  }

  std::int64_t vocabulary_size() const override { return processor_.GetPieceSize(); }
  std::string kind() const override { return "sentencepiece"; }
  void save(const std::filesystem::path& directory) const override {
    write_file_atomically(directory / kFileName, model_);
  }

 private:
  std::string model_;
  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace

std::unique_ptr<Tokenizer> load_sentencepiece(const std::filesystem::path& model_file) {
  constexpr std::uint64_t kLargestModel = std::uint64_t{256} << 20;
  return std::make_unique<SentencePieceTokenizer>(read_file(model_file, kLargestModel),
                                                  quote(model_file.native(), 4096));
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / kFileName;
  std::error_code error;
  const bool present = std::filesystem::exists(std::filesystem::symlink_status(file, error));
  const bool hugging_face = HuggingFaceTokenizer::present_in(directory);
  if (present && hugging_face) {
    fail(ErrorKind::kFormat, quote(directory.native(), 4096), ": has the files of two tokenisers: ", kFileName,
         " and those of Hugging Face");
  }
  if (hugging_face) {
    return std::make_unique<HuggingFaceTokenizer>(directory);
  }
  return present ? load_sentencepiece(file) : make_byte_tokenizer();
}

}  // namespace weft::text
