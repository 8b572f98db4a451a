// SPDX-License-Identifier: Apache-2.0
// A tokenizer of FTS5 by itself, made as the index makes its own.
#include "weft/store/words/word_tokenizer.h"

#include <array>
#include <limits>
#include <new>

#include "weft/core/error.h"

namespace weft::store {
namespace {

// FTS5 hands out its interface through a pointer that a statement binds.
fts5_api* interface_of(Database& database) {
  fts5_api* found = nullptr;
  Statement asks = database.prepare("SELECT fts5(?1)");
  asks.bind(1, static_cast<void*>(&found), "fts5_api_ptr");
  asks.step();
  asks.reset();
  if (found == nullptr) {
    throw Error(ErrorKind::kUnsupported, "this SQLite was built without FTS5, its index of words",
                "install Debian's libsqlite3-0, or another that has FTS5");
  }
  return found;
}

int add_word(void* words, int /*flags*/, const char* word, int bytes, int /*begin*/, int /*end*/) noexcept {
  try {
    static_cast<std::vector<std::string>*>(words)->emplace_back(word, static_cast<std::size_t>(bytes));
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  }
  return SQLITE_OK;
}

}  // namespace

WordTokenizer::WordTokenizer(Store& store) {
  // As in the statement that made the index (file/schema.cpp): the tokenizer's name, then what it is told.
  std::array<const char*, 3> arguments = {"unicode61", "remove_diacritics", "2"};
  const bool english = store.words().stem == "english";
  fts5_api* const fts5 = interface_of(store.database());
  void* context = nullptr;
  int code = fts5->xFindTokenizer(fts5, english ? "porter" : "unicode61", &context, &functions_);
  if (code == SQLITE_OK) {
    const char** const begin = english ? arguments.data() : arguments.data() + 1;
    code = functions_.xCreate(context, begin, english ? 3 : 2, &tokenizer_);
  }
  if (code != SQLITE_OK) {
    store.database().fail_with(code);
  }
}

WordTokenizer::~WordTokenizer() { functions_.xDelete(tokenizer_); }

std::vector<std::string> WordTokenizer::words(std::string_view text) const {
  require(text.size() < std::numeric_limits<int>::max(), "a question has at most 2 GiB, found ", text.size(), " bytes");
  std::vector<std::string> found;
  const int code = functions_.xTokenize(tokenizer_, &found, FTS5_TOKENIZE_QUERY, text.data(),
                                        static_cast<int>(text.size()), add_word);
  if (code != SQLITE_OK) {
    throw std::bad_alloc();
  }
  return found;
}

}  // namespace weft::store
