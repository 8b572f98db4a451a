// SPDX-License-Identifier: Apache-2.0
// States are added up window by window, so that only one batch of them is ever held; the sums of a chunk's windows are
// joined in the order of the text, whatever the order in which they were run.
#include "weft/tasks/embedding/chunks.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/work/pieces.h"
#include "weft/tasks/decode/scores.h"
#include "weft/tasks/embedding/window_pooling.h"
#include "weft/text/sentences/sentences.h"
#include "weft/text/utf8.h"

namespace weft::tasks {
namespace {

using checkpoint::PoolingMode;
using formats::Json;

// A token that counts: its row in its window, its chunk, and its place in it.
struct ChunkToken {
  std::size_t row = 0;
  std::size_t chunk = 0;
  std::int64_t place = 0;
};

// Bytes [begin, end) of the text, and how many tokens belong to it.
struct ChunkPlace {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::int64_t tokens = 0;
};

// A text's chunks, and which tokens of each window are theirs.
struct ChunkedText {
  std::vector<ChunkPlace> chunks;
  std::vector<std::vector<ChunkToken>> windows;
};

// A token of a text: bytes [begin, end) of it, without blanks before.
struct TextToken {
  std::size_t window = 0;
  std::size_t row = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

// The tokens that count, in the order of the text. `prompted` is the text behind `prompt` bytes.
std::vector<TextToken> counted_tokens(const EncodedDocument& document, std::string_view prompted, std::size_t prompt,
                                      std::int64_t overlap) {
  std::vector<TextToken> tokens;
  for (std::size_t window = 0; window < document.windows.size(); ++window) {
    const text::Encoding& encoding = document.windows[window];
    std::int64_t dropped = window == 0 ? 0 : overlap;
    for (std::size_t row = 0; row < encoding.ids.size(); ++row) {
      if (encoding.special_mask[row] != 0 || dropped-- > 0) {
        continue;
      }
      const auto begin = static_cast<std::size_t>(encoding.byte_offsets[row].begin);
      const auto end = static_cast<std::size_t>(encoding.byte_offsets[row].end);
      const std::size_t blanks = end - begin - text::strip_left(prompted.substr(begin, end - begin)).size();
      if (begin + blanks >= prompt && (end > prompt || begin >= prompt)) {
        tokens.push_back({window, row, begin + blanks - prompt, end - prompt});
      }
    }
  }
  return tokens;
}

// Which of `chunks`, sorted by their beginnings, a place belongs to.
std::size_t chunk_at(const std::vector<ChunkPlace>& chunks, std::size_t begin) {
  const auto behind = std::upper_bound(chunks.begin(), chunks.end(), begin,
                                       [](std::size_t place, const ChunkPlace& chunk) { return place < chunk.begin; });
  return behind == chunks.begin() ? 0 : static_cast<std::size_t>(behind - chunks.begin()) - 1;
}

std::vector<ChunkPlace> sentence_places(std::string_view text) {
  std::vector<ChunkPlace> places;
  for (const text::SentencePlace& sentence : text::find_sentences(text)) {
    places.push_back({sentence.begin, sentence.end, 0});
  }
  return places;
}

std::vector<ChunkPlace> token_places(const std::vector<TextToken>& tokens, std::size_t count) {
  std::vector<ChunkPlace> places;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i % count == 0) {
      places.push_back({tokens[i].begin, tokens[i].end, 0});
    }
    places.back().end = std::max(places.back().end, tokens[i].end);
  }
  return places;
}

// Without what lies before the first token or behind the last one.
void clamp_places(std::vector<ChunkPlace>& chunks, const std::vector<TextToken>& tokens) {
  std::size_t begin = tokens.empty() ? 0 : tokens.front().begin;
  std::size_t end = 0;
  for (const TextToken& token : tokens) {
    begin = std::min(begin, token.begin);
    end = std::max(end, token.end);
  }
  std::erase_if(chunks, [&](const ChunkPlace& chunk) { return chunk.begin >= end || chunk.end <= begin; });
  for (ChunkPlace& chunk : chunks) {
    chunk.begin = std::max(chunk.begin, begin);
    chunk.end = std::min(chunk.end, end);
  }
}

ChunkedText chunk_text(const EncodedDocument& document, const Document& prompted, std::size_t prompt,
                       const ChunkRule& rule, std::int64_t overlap) {
  const std::vector<TextToken> tokens = counted_tokens(document, prompted.first, prompt, overlap);
  ChunkedText text;
  text.windows.resize(document.windows.size());
  const auto count = static_cast<std::size_t>(rule.tokens);
  text.chunks =
      count > 0 ? token_places(tokens, count) : sentence_places(std::string_view(prompted.first).substr(prompt));
  if (document.left_out > 0) {
    clamp_places(text.chunks, tokens);
  }
  for (std::size_t i = 0; i < tokens.size() && !text.chunks.empty(); ++i) {
    const std::size_t chunk = count > 0 ? i / count : chunk_at(text.chunks, tokens[i].begin);
    text.windows[tokens[i].window].push_back({tokens[i].row, chunk, text.chunks[chunk].tokens++});
  }
  return text;
}

// What the tokens of a chunk in one window add up to, by mode of the recipe; by chunk.
using WindowChunks = std::map<std::size_t, std::vector<WindowPart>>;

WindowChunks window_chunks(std::span<const float> hidden, std::size_t width, const std::vector<ChunkToken>& tokens,
                           const std::vector<PoolingMode>& modes) {
  WindowChunks chunks;
  for (const ChunkToken& token : tokens) {
    std::vector<WindowPart>& parts = chunks[token.chunk];
    parts.resize(modes.size());
    for (std::size_t mode = 0; mode < modes.size(); ++mode) {
      add_row(parts[mode], hidden.subspan(token.row * width, width), modes[mode], token.place);
    }
  }
  return chunks;
}

// One mode's vector of a chunk, from its windows; its last token is that of its last window.
std::vector<double> joined_chunk(std::span<const WindowPart> parts, PoolingMode mode) {
  return join_parts(mode == PoolingMode::kLastToken ? parts.last(1) : parts, mode);
}

// The vectors of all chunks that have tokens, in order: [chunks, width(recipe)]; undefined for none.
at::Tensor chunk_vectors(std::vector<WindowChunks>& windows, const EmbedRecipe& recipe, std::int64_t width) {
  const std::vector<PoolingMode>& modes = recipe.pooling.modes;
  std::map<std::size_t, std::vector<std::vector<WindowPart>>> chunks;  // [mode][window], by chunk
  for (WindowChunks& window : windows) {
    for (auto& [chunk, parts] : window) {
      chunks[chunk].resize(modes.size());
      for (std::size_t mode = 0; mode < modes.size(); ++mode) {
        chunks[chunk][mode].push_back(std::move(parts[mode]));
      }
    }
  }
  if (chunks.empty()) {
    return {};
  }
  const auto columns = static_cast<std::int64_t>(modes.size()) * width;
  const at::Tensor pooled = at::empty({static_cast<std::int64_t>(chunks.size()), columns}, at::kFloat);
  float* out = pooled.mutable_data_ptr<float>();
  for (const auto& [chunk, parts] : chunks) {
    for (std::size_t mode = 0; mode < modes.size(); ++mode) {
      for (const double value : joined_chunk(parts[mode], modes[mode])) {
        *out++ = static_cast<float>(value);
      }
    }
  }
  return after_pooling(recipe, pooled).to(at::kFloat).contiguous();
}

// Places in characters, counted once from one chunk to the next.
class CharacterPlaces {
 public:
  explicit CharacterPlaces(std::string_view text) : text_(text) {}

  std::int64_t at(std::size_t byte) {
    if (byte < byte_) {
      byte_ = 0;
      characters_ = 0;
    }
    characters_ += text::code_point_count(text_.substr(byte_, byte - byte_));
    byte_ = byte;
    return static_cast<std::int64_t>(characters_);
  }

 private:
  std::string_view text_;
  std::size_t byte_ = 0;
  std::size_t characters_ = 0;
};

Json chunk_list(const ChunkedText& chunked, const std::string& text, const at::Tensor& vectors) {
  Json list = Json::array();
  CharacterPlaces characters(text);
  std::int64_t row = 0;
  for (const ChunkPlace& chunk : chunked.chunks) {
    if (chunk.tokens == 0) {
      continue;
    }
    const std::int64_t start = characters.at(chunk.begin);
    const std::int64_t end = characters.at(chunk.end);
    const std::span<const float> vector = numbers(vectors).subspan(static_cast<std::size_t>(row * vectors.size(1)),
                                                                   static_cast<std::size_t>(vectors.size(1)));
    list.push_back({{"start", start},
                    {"end", end},
                    {"byte_start", chunk.begin},
                    {"byte_end", chunk.end},
                    {"tokens", chunk.tokens},
                    {"text", text.substr(chunk.begin, chunk.end - chunk.begin)},
                    {"embedding", std::vector<float>(vector.begin(), vector.end())}});
    ++row;
  }
  return list;
}

EmbedRecipe chunk_recipe(const Embedder& embedder, const ChunkRun& run) {
  EmbedRecipe recipe = with_request(embedder.recipe, run.embed.request, embedder.model.name);
  if (std::ranges::find(recipe.pooling.modes, PoolingMode::kCls) != recipe.pooling.modes.end()) {
    throw Error(ErrorKind::kArgument,
                concat(embedder.model.name,
                       ": chunks are pooled from their own tokens, but the model takes the first "
                       "token of a text for its vector (pooling ",
                       checkpoint::pooling_text(recipe.pooling.modes), ")"),
                concat(option("pooling"), " mean takes the mean of a chunk's tokens"));
  }
  return recipe;
}

Json chunk_metadata(Json metadata, const ChunkedText& chunked, std::int64_t overlap) {
  const auto without = std::ranges::count(chunked.chunks, 0, &ChunkPlace::tokens);
  metadata["chunks"] = std::ssize(chunked.chunks) - without;
  if (chunked.windows.size() > 1) {
    metadata["overlap"] = overlap;
  }
  if (without > 0) {
    metadata["without_tokens"] = without;
  }
  return metadata;
}

}  // namespace

ChunkRule parse_chunk_rule(std::string_view rule) {
  if (rule == "sentences") {
    return {};
  }
  ChunkRule parsed;
  const char* const end = rule.end();
  const auto [rest, error] = std::from_chars(rule.begin(), end, parsed.tokens);
  require(error == std::errc() && rest == end && parsed.tokens > 0,
          "chunks must be \"sentences\" or a number of tokens above 0, found ", Quoted(rule));
  return parsed;
}

std::vector<TaskResult> embed_chunks(Embedder& embedder, std::span<const Document> documents, const ChunkRun& run) {
  const EmbedRecipe recipe = chunk_recipe(embedder, run);
  const std::vector<Document> prompted = with_prompt(documents, recipe.prompt);
  const LengthRule rule = windowed_texts(embedder.model, run.embed.run, text::Truncation::kOnlyFirst);
  EncodedBatch encoded(embedder.model, prompted, rule);
  std::vector<ChunkedText> chunked;
  std::vector<std::vector<WindowChunks>> sums(documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i) {
    chunked.push_back(chunk_text(encoded[i], prompted[i], recipe.prompt.size(), run.rule, rule.stride));
    sums[i].resize(encoded[i].windows.size());
    end_piece();
  }
  std::int64_t width = 0;
  const auto add = [&](const EncodedBatch::Place& place, const WindowOutput& output) {
    width = output.hidden.size(1);
    const std::span<const float> hidden = numbers(output.hidden);
    require_finite(hidden);
    sums[place.document][place.window] = window_chunks(
        hidden, static_cast<std::size_t>(width), chunked[place.document].windows[place.window], recipe.pooling.modes);
  };
  encoded.run(embedder.model, run.embed.run.batch, true, add);
  const c10::InferenceMode no_graph;
  const Json said = applied(embedder.model, recipe);
  std::vector<TaskResult> results(documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const at::Tensor vectors = chunk_vectors(sums[i], recipe, width);
    results[i] = {chunk_list(chunked[i], documents[i].first, vectors),
                  chunk_metadata(encoded.metadata(i), chunked[i], rule.stride)};
    results[i].metadata["embedding"] = said;
    end_piece();
  }
  return results;
}

}  // namespace weft::tasks
