// SPDX-License-Identifier: Apache-2.0
// What a request to a task of an encoder-decoder may say beside its texts, and the schemas of these tasks.
#pragma once

#include <string>

#include "weft/core/fields.h"
#include "weft/server/operation.h"

namespace weft::requests {

struct TranslateParameters {
  std::string src_lang;
  std::string tgt_lang;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = TranslateParameters;
    visit(Field{"src_lang", &C::src_lang, "language of the texts"});
    visit(Field{"tgt_lang", &C::tgt_lang, "language to write"});
  }
};

struct SummarizeParameters {
  bool truncation = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    visit(Field{"truncation", &SummarizeParameters::truncation, "cut texts that are too long"});
  }
};

server::Operation translate_operation();
server::Operation summarize_operation();

}  // namespace weft::requests
