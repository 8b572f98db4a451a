// SPDX-License-Identifier: Apache-2.0
// Word by word: what is between two beginnings of words is taken apart and put together again.
#include "weft/text/sampling/subword_sampler.h"

#include <string>
#include <string_view>
#include <utility>

#include "weft/core/error.h"
#include "weft/text/hugging_face.h"
#include "weft/text/pair/piece_tokenizer.h"
#include "weft/text/sampling/lattice.h"
#include "weft/text/sampling/merges.h"
#include "weft/text/sentencepiece/model.h"
#include "weft/text/tokenizer.h"

namespace weft::text {
namespace {

using formats::Json;
using Ids = std::vector<std::int64_t>;

// Where words begin, and which ids are no parts of them.
class Words {
 public:
  Words(std::vector<bool> begins, std::vector<bool> of_model)
      : begins_(std::move(begins)), of_model_(std::move(of_model)) {
    of_model_.resize(begins_.size());
  }

  /// Calls whole(word) for each word and alone(id) for each id that is not part of one.
  template <typename Whole, typename Alone>
  void walk(std::span<const std::int64_t> ids, const Whole& whole, const Alone& alone) const {
    for (std::size_t begin = 0; begin < ids.size();) {
      if (!part_of_word(ids[begin])) {
        alone(ids[begin++]);
        continue;
      }
      std::size_t end = begin + 1;
      while (end < ids.size() && part_of_word(ids[end]) && !begins_[static_cast<std::size_t>(ids[end])]) {
        ++end;
      }
      whole(ids.subspan(begin, end - begin));
      begin = end;
    }
  }

 private:
  bool part_of_word(std::int64_t id) const {
    require(id >= 0 && id < static_cast<std::int64_t>(begins_.size()), "a token to sample is ", id,
            ", but the vocabulary has ", begins_.size(), " ids");
    return of_model_[static_cast<std::size_t>(id)];
  }

  std::vector<bool> begins_;
  std::vector<bool> of_model_;  // by id: in the model's vocabulary, neither special nor added
};

class MergeDropout final : public SubwordSampler {
 public:
  MergeDropout(const Json& model, Words words, double dropout)
      : merges_(model), words_(std::move(words)), dropout_(dropout) {}

  DrawnTokens draw(std::span<const std::int64_t> ids, std::uint64_t seed) const override {
    Draws draws(seed);
    DrawnTokens result;
    const auto whole = [&](std::span<const std::int64_t> word) {
      Ids symbols;
      Ids sizes;
      for (const std::int64_t id : word) {
        const std::size_t before = symbols.size();
        merges_.split(id, symbols);
        sizes.push_back(static_cast<std::int64_t>(symbols.size() - before));
      }
      append_word(result, sizes, merges_.merge(symbols, dropout_, draws));
    };
    words_.walk(ids, whole, [&](std::int64_t id) { result.append(id); });
    return result;
  }

 private:
  Merges merges_;
  Words words_;
  double dropout_;
};

class LatticeSampler final : public SubwordSampler {
 public:
  LatticeSampler(const Json& model, Words words, double alpha)
      : pieces_(model), words_(std::move(words)), alpha_(alpha) {}

  DrawnTokens draw(std::span<const std::int64_t> ids, std::uint64_t seed) const override {
    Draws draws(seed);
    DrawnTokens result;
    const auto whole = [&](std::span<const std::int64_t> word) {
      std::string text;
      Ids sizes;
      for (const std::int64_t id : word) {
        text += pieces_.text(id);
        sizes.push_back(static_cast<std::int64_t>(pieces_.text(id).size()));
      }
      append_word(result, sizes, pieces_.segment(text, alpha_, draws));
    };
    words_.walk(ids, whole, [&](std::int64_t id) { result.append(id); });
    return result;
  }

 private:
  Pieces pieces_;
  Words words_;
  double alpha_;
};

// The ids of the model's own vocabulary but for what is unknown, special or added.
std::vector<bool> ids_of_model(const Json& model, const HuggingFaceTokenizer& tokenizer) {
  std::vector<bool> result(static_cast<std::size_t>(tokenizer.vocabulary_size()));
  if (model.at("vocab").is_object()) {
    for (const auto& [token, id] : model.at("vocab").items()) {
      result.at(id.get<std::size_t>()) = true;
    }
  } else {
    for (std::size_t id = 0; id < model.at("vocab").size(); ++id) {
      result.at(id) = true;
    }
    const Json unknown = model.value("unk_id", Json());
    if (unknown.is_number_integer()) {
      result.at(unknown.get<std::size_t>()) = false;
    }
  }
  for (std::size_t id = 0; id < result.size(); ++id) {
    result[id] = result[id] && !tokenizer.is_added(static_cast<std::int64_t>(id));
  }
  return result;
}

[[noreturn]] void refuse(const std::string& setting, const std::string& needed, const std::string& found) {
  fail(ErrorKind::kUnsupported, setting, " needs ", needed, " in a tokenizer.json, found ", found);
}

// Marian's and Pegasus' pieces by their ids in the model; ids without a piece of this side have no text.
std::unique_ptr<SubwordSampler> piece_sampler(const PieceTokenizer& tokenizer, const SubwordSampling& sampling) {
  const SentencePieceModel& pieces = tokenizer.parts().cut->model();
  if (sampling.bpe_dropout > 0 || pieces.kind != SentencePieceModel::Kind::kUnigram) {
    fail(ErrorKind::kUnsupported, sampling.bpe_dropout > 0 ? "bpe_dropout" : "unigram_alpha",
         " with SentencePiece models of ", tokenizer.kind(), " needs unigram_alpha and a unigram model");
  }
  const auto size = static_cast<std::size_t>(tokenizer.vocabulary_size());
  std::vector<bool> begins(size);
  std::vector<bool> of_model(size);
  Json table = Json(std::vector<Json>(size, Json::array({"", 0.0})));
  for (const Piece& piece : pieces.pieces) {
    const std::int64_t id = tokenizer.id(piece.text);
    if (piece.type == PieceType::kNormal && id != tokenizer.unknown() && !tokenizer.is_special(id)) {
      const auto place = static_cast<std::size_t>(id);
      table[place] = Json::array({piece.text, piece.score});
      begins[place] = piece.text.starts_with(kVisibleBlank);
      of_model[place] = true;
    }
  }
  const Json model = {{"vocab", std::move(table)}, {"unk_id", tokenizer.unknown()}};
  return std::make_unique<LatticeSampler>(model, Words(std::move(begins), std::move(of_model)), sampling.unigram_alpha);
}

}  // namespace

std::unique_ptr<SubwordSampler> make_subword_sampler(const Tokenizer& tokenizer, const SubwordSampling& sampling) {
  const bool merges = sampling.bpe_dropout > 0;
  require(merges != (sampling.unigram_alpha > 0), "one of bpe_dropout and unigram_alpha must be above 0, found ",
          sampling.bpe_dropout, " and ", sampling.unigram_alpha);
  const std::string setting = merges ? "bpe_dropout" : "unigram_alpha";
  const std::string needed = merges ? "a BPE model" : "a unigram model";
  if (const auto* pieces = dynamic_cast<const PieceTokenizer*>(&tokenizer)) {
    return piece_sampler(*pieces, sampling);
  }
  const auto* hugging_face = dynamic_cast<const HuggingFaceTokenizer*>(&tokenizer);
  if (hugging_face == nullptr) {
    refuse(setting, needed, "a tokeniser of kind " + tokenizer.kind());
  }
  const Json model = Json::parse(hugging_face->model_json());
  const auto type = model.value("type", std::string());
  if (type != (merges ? "BPE" : "Unigram")) {
    refuse(setting, needed, "a model of type " + type);
  }
  std::vector<bool> begins = word_beginnings(tokenizer);  // first: it refuses ids that are too many to be listed
  Words words(std::move(begins), ids_of_model(model, *hugging_face));
  if (merges) {
    return std::make_unique<MergeDropout>(model, std::move(words), sampling.bpe_dropout);
  }
  return std::make_unique<LatticeSampler>(model, std::move(words), sampling.unigram_alpha);
}

}  // namespace weft::text
