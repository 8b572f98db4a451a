// SPDX-License-Identifier: Apache-2.0
// One entry of one dict.
#include "weft/formats/pickle/pickled_words.h"

#include <string_view>
#include <unordered_set>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/formats/pickle/torch_file.h"
#include "weft/formats/pickle/value.h"

namespace weft::formats {
namespace {

constexpr std::string_view kWordList = "idx2sym";

/// The value of the list's key; null where there is none.
const Value* word_list(const PickleValues& pickle) {
  const std::vector<ValueId>& items = pickle.top().items;
  for (std::size_t i = 0; pickle.top().kind == Value::Kind::kDict && i + 1 < items.size(); i += 2) {
    if (pickle.at(items[i]).kind == Value::Kind::kText && pickle.at(items[i]).text == kWordList) {
      return &pickle.at(items[i + 1]);
    }
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> read_pickled_words(const FilePlace& file) {
  const std::string where = quote(file.path().native(), 4096);
  const PickledObject object = read_torch_object(file);
  const Value* const list = word_list(object.pickle);
  if (list == nullptr || list->kind != Value::Kind::kList || list->items.empty()) {
    fail(ErrorKind::kFormat, where, ": expected a dict with a list of words, ", kWordList, ", found ",
         list == nullptr ? "none" : kind_name(list->kind));
  }
  std::vector<std::string> words;
  std::unordered_set<std::string_view> known;
  words.reserve(list->items.size());
  for (const ValueId id : list->items) {
    const Value& word = object.pickle.at(id);
    if (word.kind != Value::Kind::kText || !known.insert(word.text).second) {
      fail(ErrorKind::kFormat, where, ": entry ", words.size(), " of ", kWordList,
           " must be a word that is not before it, ", "found ",
           word.kind == Value::Kind::kText ? quote(word.text) : std::string(kind_name(word.kind)));
    }
    words.emplace_back(word.text);
  }
  return words;
}

}  // namespace weft::formats
