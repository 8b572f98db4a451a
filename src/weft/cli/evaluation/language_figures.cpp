// SPDX-License-Identifier: Apache-2.0
// A row is there where its figure is.
#include "weft/cli/evaluation/language_figures.h"

#include <cstdint>

#include "weft/cli/front/output.h"
#include "weft/core/error.h"

namespace weft::cli {

using formats::Json;

std::string language_figures(const Json& result) {
  Rows rows;
  if (result.contains("bits_per_byte")) {
    const bool pictures = result.contains("pictures");
    rows = {{"bits per byte", fixed(result.at("bits_per_byte").get<double>(), 4) + (pictures ? ", or per dim" : "")}};
    if (pictures) {
      rows.emplace_back("pictures", digits(result["pictures"].get<std::int64_t>()));
    }
    if (result.contains("bits_per_character")) {
      rows.emplace_back("bits per character", fixed(result["bits_per_character"].get<double>(), 4));
    }
    if (result.contains("bits_per_base")) {
      rows.emplace_back("bits per base", fixed(result["bits_per_base"].get<double>(), 4));
    }
    rows.emplace_back("perplexity", fixed(result.at("perplexity").get<double>(), 4) + " of a token");
    rows.emplace_back("bytes", digits(result.at("bytes").get<std::int64_t>()));
  } else {
    rows = {{"loss", fixed(result.at("loss").get<double>(), 4) + " nats a masked token"},
            {"accuracy", fixed(result.at("masked_accuracy").get<double>(), 4)},
            {"masked tokens", digits(result.at("masked_tokens").get<std::int64_t>())}};
  }
  rows.emplace_back("context", digits(result.at("context").get<std::int64_t>()) + " tokens");
  if (result.contains("memory")) {
    rows.emplace_back("memory", digits(result["memory"].get<std::int64_t>()) + " tokens before each segment");
  }
  if (result.contains("compressed_memory")) {
    rows.emplace_back("compressed",
                      digits(result["compressed_memory"].get<std::int64_t>()) + " rows before the memory");
  }
  for (const Json& layer : result.value("spans", Json::array())) {
    std::string spans;
    for (const Json& span : layer.at("spans")) {
      spans += concat(spans.empty() ? "" : " ", fixed(span.get<double>(), 1));
    }
    rows.emplace_back(concat("spans of layer ", layer.at("layer").get<std::int64_t>()), spans);
  }
  rows.emplace_back("dtype", result.at("dtype").get<std::string>());
  rows.emplace_back("seconds", fixed(result.at("seconds").get<double>(), 1));
  return name_table(rows);
}

}  // namespace weft::cli
