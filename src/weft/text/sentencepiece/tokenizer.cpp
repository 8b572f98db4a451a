// SPDX-License-Identifier: Apache-2.0
// SentencePiece models (`tokenizer.model`, a Reformer's `spiece.model`): ids and text as the library of that name gives
// them, from a file that sentencepiece_check.h has looked at first.
#include "weft/text/tokenizer.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/formats/config_json.h"
#include "weft/text/hugging_face.h"
#include "weft/text/sentencepiece/processor.h"
#include "weft/text/sentencepiece/reformer_pieces.h"

namespace weft::text {
namespace {

constexpr const char* kFileName = "tokenizer.model";
constexpr const char* kReformerFileName = "spiece.model";

class SentencePieceTokenizer final : public Tokenizer {
 public:
  SentencePieceTokenizer(std::string file, std::string where) : processor_(std::move(file), std::move(where)) {}

  std::vector<std::int64_t> encode(std::string_view text) const override {
    std::vector<std::int64_t> ids;
    processor_.encode(text, [&](std::string_view, std::int32_t id) { ids.push_back(id); });
    return ids;
  }

  std::string decode(const std::vector<std::int64_t>& ids) const override {
    const std::int64_t size = vocabulary_size();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      require(ids[i] >= 0 && ids[i] < size, "token ", i, " is ", ids[i], ", but the vocabulary has ", size, " ids");
    }
    // A control piece and a normal one may be written alike; then the first is meant.
    return processor_.decode(ids.size(), [&](std::size_t i) {
      return std::string_view(processor_.model().pieces[static_cast<std::size_t>(ids[i])].text);
    });
  }

  std::int64_t vocabulary_size() const override { return static_cast<std::int64_t>(processor_.model().pieces.size()); }
  std::string kind() const override { return "sentencepiece"; }
  void save(const std::filesystem::path& directory) const override {
    write_file_atomically(directory / kFileName, processor_.file());
  }

 private:
  SentencePieceProcessor processor_;
};

/// Empty where there is none, or no object.
formats::Json config_of(const std::filesystem::path& directory) {
  const ModelFile file(directory, "config.json");
  const formats::Json config = file.exists() ? formats::read_json(file) : formats::Json();
  return config.is_object() ? config : formats::Json::object();
}

bool says(const formats::Json& config, const char* field, const formats::Json& value) {
  const auto found = config.find(field);
  return found != config.end() && *found == value;
}

// Bytes have no file of their own: config.json says where they begin.
std::int64_t first_byte(const std::filesystem::path& directory, const formats::Json& config) {
  const bool reformer = says(config, "model_type", "reformer");
  // An encoder may have the mask behind the bytes.
  const bool masked = says(config, "vocab_size", 259) && !says(config, "is_decoder", true);
  if (reformer && !says(config, "vocab_size", 258) && !masked) {
    fail(ErrorKind::kFormat, quote(directory.native(), 4096), ": has no tokeniser's files, which only a Reformer over ",
         "bytes (vocab_size 258, of an encoder 259) goes without; expected tokenizer.json or ", kReformerFileName);
  }
  return reformer || says(config, "tokenizer_class", "bytes+2") ? 2 : 0;
}

}  // namespace

std::unique_ptr<Tokenizer> load_sentencepiece(const FilePlace& model_file) {
  constexpr std::uint64_t kLargestModel = std::uint64_t{64} << 20;
  return std::make_unique<SentencePieceTokenizer>(read_file(model_file, kLargestModel),
                                                  quote(model_file.path().native(), 4096));
}

namespace {

bool may_have_reformer_pieces(const std::filesystem::path& directory) {
  return ModelFile(directory, kReformerFileName).exists() && !ModelFile(directory, "tokenizer.json").exists();
}

}  // namespace

bool has_reformer_pieces(const std::filesystem::path& directory) {
  return may_have_reformer_pieces(directory) && says(config_of(directory), "model_type", "reformer");
}

namespace {

// `config` gives config.json, which is read where it decides something.
template <typename Config>
std::unique_ptr<Tokenizer> load_from(const std::filesystem::path& directory, const Config& config) {
  if (may_have_reformer_pieces(directory) && says(config(), "model_type", "reformer")) {
    return load_sentencepiece(ModelFile(directory, kReformerFileName));
  }
  const ModelFile file(directory, kFileName);
  const bool present = file.exists();
  const bool hugging_face = HuggingFaceTokenizer::present_in(directory);
  if (present && hugging_face) {
    fail(ErrorKind::kFormat, quote(directory.native(), 4096), ": has the files of two tokenisers: ", kFileName,
         " and those of Hugging Face");
  }
  if (hugging_face) {
    return std::make_unique<HuggingFaceTokenizer>(directory);
  }
  return present ? load_sentencepiece(file) : make_byte_tokenizer(first_byte(directory, config()));
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& directory) {
  return load_from(directory, [&] { return config_of(directory); });
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& directory, const formats::Json& config) {
  return load_from(directory, [&]() -> const formats::Json& { return config; });
}

}  // namespace weft::text
