// SPDX-License-Identifier: Apache-2.0
// Roles, templates and the frame of a tokenizer.json.
#include "weft/text/hugging_face/compose_parts.h"

namespace weft::text {
namespace {

using formats::Json;

Json special(const std::string& name, int type = 0) { return {{"SpecialToken", {{"id", name}, {"type_id", type}}}}; }

Json sequence(const char* name, int type = 0) { return {{"Sequence", {{"id", name}, {"type_id", type}}}}; }

Json entry(const std::string& name, const AddedTokens& added) {
  return {{"id", name}, {"ids", Json::array({added.id(name)})}, {"tokens", Json::array({name})}};
}

Json processor(const Json& single, const Json& pair, const std::string& begin, const std::string& end,
               const AddedTokens& added) {
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", pair},
          {"special_tokens", {{begin, entry(begin, added)}, {end, entry(end, added)}}}};
}

}  // namespace

void name_roles(TokenizerSettings& settings, const std::array<const char*, kSpecialRoles>& names) {
  for (std::size_t role = 0; role < kSpecialRoles; ++role) {
    if (!settings.named[role] && names[role] != nullptr) {
      settings.named[role] = AddedToken{.content = names[role], .special = true};
    }
  }
}

std::string assemble(const Json& parts, const AddedTokens& added, const std::string& model) {
  // Truncation and padding belong to a call, not to the tokeniser.
  Json head = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}, {"added_tokens", added.json()}};
  head.update(parts);
  std::string text = formats::print_json(head);
  text.pop_back();
  return text + ",\"model\":" + model + "}";
}

Json bert_processor(const TokenizerSettings& settings, const AddedTokens& added) {
  const std::string& cls = name_of(settings, SpecialRole::kClass);
  const std::string& sep = name_of(settings, SpecialRole::kSeparator);
  const Json single = Json::array({special(cls), sequence("A"), special(sep)});
  Json pair = single;
  pair.push_back(sequence("B", 1));
  pair.push_back(special(sep, 1));
  return processor(single, pair, cls, sep, added);
}

Json two_ends_processor(const TokenizerSettings& settings, const AddedTokens& added) {
  const std::string& begin = name_of(settings, SpecialRole::kBegin);
  const std::string& end = name_of(settings, SpecialRole::kEnd);
  const Json single = Json::array({special(begin), sequence("A"), special(end)});
  Json pair = single;
  for (const Json& part : {special(end), sequence("B"), special(end)}) {
    pair.push_back(part);
  }
  return processor(single, pair, begin, end, added);
}

Json bare_processor() {
  const Json single = Json::array({sequence("A")});
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", Json::array({sequence("A"), sequence("B", 1)})},
          {"special_tokens", Json::object()}};
}

Json one_end_processor(const TokenizerSettings& settings, const AddedTokens& added) {
  const std::string& end = name_of(settings, SpecialRole::kEnd);
  const Json single = Json::array({sequence("A"), special(end)});
  Json pair = single;
  pair.push_back(sequence("B"));
  pair.push_back(special(end));
  return processor(single, pair, end, end, added);
}

Json language_processor(const TokenizerSettings& settings, const AddedTokens& added, const std::string& code,
                        bool code_first) {
  const std::string& end = name_of(settings, SpecialRole::kEnd);
  const auto framed = [&](const Json& texts) {
    Json all = Json::array();
    if (code_first) {
      all.push_back(special(code));
    }
    all.insert(all.end(), texts.begin(), texts.end());
    all.push_back(special(end));
    if (!code_first) {
      all.push_back(special(code));
    }
    return all;
  };
  return processor(framed(Json::array({sequence("A")})), framed(Json::array({sequence("A"), sequence("B")})), code, end,
                   added);
}

}  // namespace weft::text
