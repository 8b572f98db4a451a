// SPDX-License-Identifier: Apache-2.0
// The tokenizer.json that `transformers` would make of a directory's older files: the vocabulary, and the rules that
// the families' tokeniser classes add to it.
#pragma once

#include <string>
#include <string_view>

#include "weft/text/hugging_face/settings.h"

namespace weft::text {

/// The text of a tokenizer.json. Fills in the names of the roles in `settings` that the family gives and the files do
/// not. Errors: kFormat naming `where` and the line, token or piece.
std::string compose_bert(std::string_view vocabulary, TokenizerSettings& settings, std::string_view where);
/// MPNet's: the same words between RoBERTa's marks.
std::string compose_mpnet(std::string_view vocabulary, TokenizerSettings& settings, std::string_view where);
std::string compose_roberta(std::string_view vocabulary, std::string_view merges, TokenizerSettings& settings,
                            std::string_view where);
/// GPT-2's byte pairs: those of RoBERTa, without tokens around a text.
std::string compose_gpt2(std::string_view vocabulary, std::string_view merges, TokenizerSettings& settings,
                         std::string_view where);
/// ESM's letters of proteins, one a line: a text is cut wherever one of them stands, and at white space.
std::string compose_esm(std::string_view vocabulary, TokenizerSettings& settings, std::string_view where);
/// Transformer-XL's words: text split at white space, with `<eos>` for the end of each line, and no tokens around it.
/// `vocabulary` is an object of words and ids.
std::string compose_words(std::string_view vocabulary, TokenizerSettings& settings, std::string_view where);
/// Of SentencePiece models. Errors: kUnsupported, too, for a model of another kind than unigram, but for NLLB.
std::string compose_big_bird(std::string_view model, TokenizerSettings& settings, std::string_view where);
std::string compose_xlm_roberta(std::string_view model, TokenizerSettings& settings, std::string_view where);
/// DeBERTa's: the model's pieces with their ids, and `[MASK]` behind them.
std::string compose_deberta(std::string_view model, TokenizerSettings& settings, std::string_view where);
/// T5's: behind the pieces the tokens `<extra_id_99>` to `<extra_id_0>`, as many as the settings say, where the model
/// has none itself.
std::string compose_t5(std::string_view model, TokenizerSettings& settings, std::string_view where);
/// The codes of languages stand behind the pieces: those of the first model, or of mBART-50.
std::string compose_mbart(std::string_view model, TokenizerSettings& settings, std::string_view where);
std::string compose_mbart50(std::string_view model, TokenizerSettings& settings, std::string_view where);
/// NLLB's byte pairs, with the codes of its 202 languages behind the pieces. Errors: kUnsupported for another kind.
std::string compose_nllb(std::string_view model, TokenizerSettings& settings, std::string_view where);
std::string compose_camembert(std::string_view model, TokenizerSettings& settings, std::string_view where);

}  // namespace weft::text
