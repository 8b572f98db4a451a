// SPDX-License-Identifier: Apache-2.0
// Kind and size first, then token by token, then the rules.
#include "weft/training/distillation/same_vocabulary.h"

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/text/hugging_face.h"

namespace weft::training {
namespace {

using text::HuggingFaceTokenizer;

// How a vocabulary writes an id; nothing for an id without a token.
std::optional<std::string> token_of(const text::Tokenizer& tokenizer, std::int64_t id) {
  try {
    const auto* published = dynamic_cast<const HuggingFaceTokenizer*>(&tokenizer);
    return published != nullptr ? published->token(id) : tokenizer.decode({id});
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string token_text(const std::optional<std::string>& token) { return token ? quote(*token) : "none"; }

std::optional<std::string> rule_difference(const HuggingFaceTokenizer& expected, const HuggingFaceTokenizer& found) {
  for (std::size_t role = 0; role < text::kSpecialRoles; ++role) {
    const auto special = static_cast<text::SpecialRole>(role);
    if (expected.special(special) != found.special(special)) {
      const auto id_text = [](const std::optional<std::int64_t>& id) { return id ? std::to_string(*id) : "none"; };
      return concat("special token number ", role, " has the id ", id_text(found.special(special)), ", expected ",
                    id_text(expected.special(special)));
    }
  }
  if (expected.model_json() != found.model_json()) {
    return "it has the same tokens, and other rules that make them (merges or scores)";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> vocabulary_difference(const text::Tokenizer& expected, const text::Tokenizer& found) {
  if (expected.kind() != found.kind()) {
    return concat("its tokeniser is of the kind ", quote(found.kind()), ", expected ", quote(expected.kind()));
  }
  if (expected.vocabulary_size() != found.vocabulary_size()) {
    return concat("it has ", found.vocabulary_size(), " tokens, expected ", expected.vocabulary_size());
  }
  for (std::int64_t id = 0; id < expected.vocabulary_size(); ++id) {
    const std::optional<std::string> is = token_of(found, id);
    const std::optional<std::string> wanted = token_of(expected, id);
    if (is != wanted) {
      return concat("token ", id, " is ", token_text(is), ", expected ", token_text(wanted));
    }
  }
  const auto* published = dynamic_cast<const HuggingFaceTokenizer*>(&expected);
  return published != nullptr ? rule_difference(*published, dynamic_cast<const HuggingFaceTokenizer&>(found))
                              : std::nullopt;
}

}  // namespace weft::training
