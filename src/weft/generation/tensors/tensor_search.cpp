// SPDX-License-Identifier: Apache-2.0
// Tables of ids to texts, and back.
#include "weft/generation/tensors/tensor_search.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <span>

#include "weft/checkpoint/input/input_tensors.h"
#include "weft/core/error.h"
#include "weft/core/interrupt.h"
#include "weft/core/quote.h"
#include "weft/generation/pair_decoder.h"
#include "weft/generation/settings/read_settings.h"

namespace weft::generation {
namespace {

using checkpoint::InputTensors;

// Searched together: more would take memory by the number of texts.
constexpr std::size_t kTextsOfABatch = 32;

/// Errors: kFormat unless the tensor is [B, N] with something in it.
at::Tensor require_table(const std::string& path, const char* name, const at::Tensor& tensor) {
  if (tensor.dim() != 2 || tensor.numel() == 0) {
    fail(ErrorKind::kFormat, quote(path, 4096), ": tensor ", quote(name), " must hold whole numbers [B, N], found ",
         tensor.sizes());
  }
  return tensor;
}

/// Zeros and ones of the shape of `ids`; all ones where the file has none.
at::Tensor mask_of(InputTensors& inputs, const char* name, const at::Tensor& ids, const std::string& path) {
  const at::Tensor mask = inputs[name].defined() ? inputs[name].contiguous() : at::ones_like(ids);
  if (mask.sizes() != ids.sizes()) {
    fail(ErrorKind::kFormat, quote(path, 4096), ": ", name, " is ", mask.sizes(), ", the ids are ", ids.sizes());
  }
  if (mask.min().item<std::int64_t>() < 0 || mask.max().item<std::int64_t>() > 1) {
    fail(ErrorKind::kFormat, quote(path, 4096), ": ", name, " must hold 0 and 1 only");
  }
  return mask;
}

/// What a decoder has written before, one row a source. transformers puts the start token before one without it.
at::Tensor beginnings_of(InputTensors& inputs, const at::Tensor& sources, const std::string& path) {
  if (!inputs["decoder_input_ids"].defined()) {
    require(!inputs["decoder_attention_mask"].defined(), Quoted(path, 4096),
            ": decoder_attention_mask belongs to decoder_input_ids, which are not there");
    return {};
  }
  const at::Tensor ids = require_table(path, "decoder_input_ids", inputs["decoder_input_ids"]).contiguous();
  if (ids.size(0) != sources.size(0)) {
    fail(ErrorKind::kFormat, quote(path, 4096), ": decoder_input_ids have ", ids.size(0), " rows, input_ids ",
         sources.size(0));
  }
  if (mask_of(inputs, "decoder_attention_mask", ids, path).eq(0).any().item<bool>()) {
    fail(ErrorKind::kUnsupported, quote(path, 4096),
         ": decoder_attention_mask must be ones: texts that are continued together have one length; give those of "
         "each length in a file of their own");
  }
  return ids;
}

/// What `work` gives. Its errors say which input is wrong: here in which file, too.
template <typename Work>
auto of_file(const std::string& path, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw Error(error.kind(), concat(quote(path, 4096), ": ", error.what()), error.hint());
  }
}

Ids row_ids(const at::Tensor& table, std::int64_t row) {
  const std::int64_t* const first = table.const_data_ptr<std::int64_t>() + row * table.size(1);
  return {first, first + table.size(1)};
}

}  // namespace

TensorTexts read_tensor_texts(const std::string& path, bool with_source) {
  InputTensors inputs = checkpoint::read_input_tensors(
      path, with_source ? checkpoint::pair_inputs() : checkpoint::pair_inputs().first(2), {"input_ids"});
  TensorTexts texts;
  texts.input_ids = require_table(path, "input_ids", inputs["input_ids"]).contiguous();
  texts.attention_mask = mask_of(inputs, "attention_mask", texts.input_ids, path);
  if (inputs["global_attention_mask"].defined()) {
    texts.global_attention_mask = mask_of(inputs, "global_attention_mask", texts.input_ids, path);
  }
  texts.decoder_input_ids = beginnings_of(inputs, texts.input_ids, path);
  return texts;
}

TensorResults tabulate(const std::vector<Ids>& before, const std::vector<std::vector<Sequence>>& found,
                       const GenerationConfig& config) {
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

TensorResults continue_texts(Decoder& decoder, const TensorTexts& texts, const GenerationConfig& config,
                             const std::string& path) {
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
      SearchRequest request{.scores = true};
      for (const std::size_t row : part) {
        request.prompts.emplace_back(before[row].end() - static_cast<long>(length), before[row].end());
        request.numbers.push_back(static_cast<std::int64_t>(row));
      }
      std::vector<std::vector<Sequence>> texts_found = of_file(path, [&] { return search(decoder, request, config); });
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

/// The start token, or what is given, behind it where it does not begin with it. As in transformers, which looks at all
/// rows together.
std::vector<Ids> beginnings(const TensorTexts& sources, std::int64_t start) {
  const std::int64_t rows = sources.input_ids.size(0);
  const at::Tensor& given = sources.decoder_input_ids;
  if (!given.defined()) {
    return std::vector<Ids>(static_cast<std::size_t>(rows), Ids{start});
  }
  const bool lack_start = given.select(1, 0).ne(start).all().item<bool>();
  std::vector<Ids> all;
  for (std::int64_t row = 0; row < rows; ++row) {
    all.push_back(row_ids(given, row));
    if (lack_start) {
      all.back().insert(all.back().begin(), start);
    }
  }
  return all;
}

}  // namespace

TensorResults write_targets(const models::EncoderDecoder& model, const TensorTexts& sources,
                            const GenerationConfig& config, const std::string& path) {
  constexpr auto kBatch = static_cast<std::int64_t>(kTextsOfABatch);
  const std::int64_t rows = sources.input_ids.size(0);
  const std::vector<Ids> before = beginnings(sources, start_token(config, path));
  std::vector<std::vector<Sequence>> found;
  for (std::int64_t first = 0; first < rows && !interrupted(); first += kBatch) {
    const std::int64_t count = std::min(kBatch, rows - first);
    SearchRequest request{.scores = true};
    for (std::int64_t row = first; row < first + count; ++row) {
      request.prompts.push_back(before[static_cast<std::size_t>(row)]);
      request.sources.push_back(source_text(sources, row, path));
      request.numbers.push_back(row);
    }
    const auto part = [&](const at::Tensor& tensor) {
      return tensor.defined() ? tensor.narrow(0, first, count) : tensor;
    };
    std::vector<std::vector<Sequence>> texts = of_file(path, [&] {
      PairDecoder decoder(model, part(sources.input_ids), part(sources.attention_mask),
                          part(sources.global_attention_mask));
      return search(decoder, request, config);
    });
    std::move(texts.begin(), texts.end(), std::back_inserter(found));
  }
  found.resize(before.size());
  return tabulate(before, found, config);
}

}  // namespace weft::generation
