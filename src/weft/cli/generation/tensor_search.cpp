// SPDX-License-Identifier: Apache-2.0
// Tables of ids to texts, and back.
#include "weft/cli/generation/tensor_search.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>

#include <algorithm>
#include <limits>
#include <map>
#include <span>

#include "weft/checkpoint/tensors.h"
#include "weft/core/error.h"
#include "weft/core/interrupt.h"
#include "weft/core/quote.h"
#include "weft/generation/pair_decoder.h"
#include "weft/generation/settings/read_settings.h"

namespace weft::cli {
namespace {

using generation::Ids;
using generation::Sequence;

// Searched together: more would take memory by the number of texts.
constexpr std::size_t kTextsOfABatch = 32;

at::Tensor table_of_ids(const std::string& path, const std::string& name, const at::Tensor& tensor) {
  if (!at::isIntegralType(tensor.scalar_type(), /*includeBool=*/true) || tensor.dim() != 2 || tensor.numel() == 0) {
    fail(ErrorKind::kFormat, quote(path, 4096), ": tensor ", quote(name), " must hold whole numbers [B, N], found ",
         tensor.toString(), " ", tensor.sizes());
  }
  return tensor.to(at::kLong).contiguous();
}

Ids row_ids(const at::Tensor& table, std::int64_t row) {
  const std::int64_t* const first = table.const_data_ptr<std::int64_t>() + row * table.size(1);
  return {first, first + table.size(1)};
}

}  // namespace

TensorTexts read_texts(const std::string& path) {
  TensorTexts texts;
  for (const auto& [name, tensor] : checkpoint::load_tensors(path)) {
    if (name != "input_ids" && name != "attention_mask") {
      fail(ErrorKind::kFormat, quote(path, 4096), ": unknown tensor ", quote(name),
           ", expected input_ids or attention_mask");
    }
    (name == "input_ids" ? texts.input_ids : texts.attention_mask) = table_of_ids(path, name, tensor);
  }
  if (!texts.input_ids.defined()) {
    fail(ErrorKind::kFormat, quote(path, 4096), ": has no tensor 'input_ids'");
  }
  if (!texts.attention_mask.defined()) {
    texts.attention_mask = at::ones_like(texts.input_ids);
  }
  if (texts.attention_mask.sizes() != texts.input_ids.sizes()) {
    fail(ErrorKind::kFormat, quote(path, 4096), ": attention_mask is ", texts.attention_mask.sizes(),
         ", input_ids are ", texts.input_ids.sizes());
  }
  if (texts.attention_mask.min().item<std::int64_t>() < 0 || texts.attention_mask.max().item<std::int64_t>() > 1) {
    fail(ErrorKind::kFormat, quote(path, 4096), ": attention_mask must hold 0 and 1 only");
  }
  return texts;
}

TensorResults tabulate(const std::vector<Ids>& before, const std::vector<std::vector<Sequence>>& found,
                       const generation::GenerationConfig& config) {
  std::size_t longest = 0;
  for (std::size_t item = 0; item < found.size(); ++item) {
    longest = std::max(longest, before[item].size());
    for (const Sequence& text : found[item]) {
      longest = std::max(longest, before[item].size() + text.ids.size());
    }
  }
  const std::int64_t end = config.eos_token_id.empty() ? 0 : config.eos_token_id.front();
  const std::int64_t copies = config.num_return_sequences;
  const std::int64_t rows = std::ssize(found) * copies;
  TensorResults results{at::full({rows, static_cast<std::int64_t>(longest)},
                                 config.pad_token_id >= 0 ? config.pad_token_id : end, at::kLong),
                        at::full({rows}, -std::numeric_limits<float>::infinity(), at::kFloat)};
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto item = static_cast<std::size_t>(row / copies);
    const auto number = static_cast<std::size_t>(row % copies);
    std::int64_t* const first = results.sequences.mutable_data_ptr<std::int64_t>() + row * results.sequences.size(1);
    std::int64_t* const next = std::copy(before[item].begin(), before[item].end(), first);
    if (number < found[item].size()) {
      std::copy(found[item][number].ids.begin(), found[item][number].ids.end(), next);
      results.scores.mutable_data_ptr<float>()[row] = static_cast<float>(found[item][number].score);
    }
  }
  return results;
}

TensorResults continue_texts(generation::Decoder& decoder, const TensorTexts& texts,
                             const generation::GenerationConfig& config, const std::string& path) {
  const std::int64_t rows = texts.input_ids.size(0);
  std::vector<Ids> before;
  std::map<std::size_t, std::vector<std::size_t>> rows_of_length;
  for (std::int64_t row = 0; row < rows; ++row) {
    before.push_back(row_ids(texts.input_ids, row));
    const Ids mask = row_ids(texts.attention_mask, row);
    const auto padding = static_cast<std::size_t>(std::find(mask.begin(), mask.end(), 1) - mask.begin());
    if (padding == mask.size() || std::find(mask.begin() + static_cast<long>(padding), mask.end(), 0) != mask.end()) {
      fail(ErrorKind::kFormat, quote(path, 4096), ": row ", row,
           " of attention_mask must be zeros, then at least a one: a text is continued behind its last token");
    }
    rows_of_length[mask.size() - padding].push_back(static_cast<std::size_t>(row));
  }
  std::vector<std::vector<Sequence>> found(before.size());
  for (const auto& [length, members] : rows_of_length) {
    for (std::size_t first = 0; first < members.size() && !interrupted(); first += kTextsOfABatch) {
      const auto part = std::span(members).subspan(first, std::min(kTextsOfABatch, members.size() - first));
      generation::SearchRequest request{.scores = true};
      for (const std::size_t row : part) {
        request.prompts.emplace_back(before[row].end() - static_cast<long>(length), before[row].end());
        request.numbers.push_back(static_cast<std::int64_t>(row));
      }
      std::vector<std::vector<Sequence>> texts_found = generation::search(decoder, request, config);
      for (std::size_t i = 0; i < part.size(); ++i) {
        found[part[i]] = std::move(texts_found[i]);
      }
    }
  }
  return tabulate(before, found, config);
}

namespace {

/// Row `row` without its padding.
Ids source_text(const TensorTexts& sources, std::int64_t row, const std::string& path) {
  Ids ids = row_ids(sources.input_ids, row);
  const Ids mask = row_ids(sources.attention_mask, row);
  const auto padding = std::find(mask.begin(), mask.end(), 0);
  if (padding == mask.begin() || std::find(padding, mask.end(), 1) != mask.end()) {
    fail(ErrorKind::kFormat, quote(path, 4096), ": row ", row,
         " of attention_mask must be ones, then zeros: a source has its padding behind it");
  }
  ids.resize(static_cast<std::size_t>(padding - mask.begin()));
  return ids;
}

}  // namespace

TensorResults write_targets(const models::EncoderDecoder& model, const TensorTexts& sources,
                            const generation::GenerationConfig& config, const std::string& path) {
  constexpr auto kBatch = static_cast<std::int64_t>(kTextsOfABatch);
  const std::int64_t rows = sources.input_ids.size(0);
  const std::vector<Ids> before(static_cast<std::size_t>(rows), Ids{generation::start_token(config, path)});
  std::vector<std::vector<Sequence>> found;
  for (std::int64_t first = 0; first < rows && !interrupted(); first += kBatch) {
    const std::int64_t count = std::min(kBatch, rows - first);
    generation::SearchRequest request{.scores = true};
    for (std::int64_t row = first; row < first + count; ++row) {
      request.prompts.push_back(before.front());
      request.sources.push_back(source_text(sources, row, path));
      request.numbers.push_back(row);
    }
    generation::PairDecoder decoder(model, sources.input_ids.narrow(0, first, count),
                                    sources.attention_mask.narrow(0, first, count));
    for (std::vector<Sequence>& texts : generation::search(decoder, request, config)) {
      found.push_back(std::move(texts));
    }
  }
  found.resize(before.size());
  return tabulate(before, found, config);
}

}  // namespace weft::cli
