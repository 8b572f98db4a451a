// SPDX-License-Identifier: Apache-2.0
// vocab.json by the events of its parser, the two line formats by their lines.
#include "weft/text/hugging_face/vocabulary.h"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/formats/json_events.h"
#include "weft/text/utf8.h"

namespace weft::text {
namespace {

// One level of keys and numbers, put into the table as they come.
class VocabularyReader : public formats::JsonEvents {
 public:
  TokenIds take() { return std::move(ids_); }

  bool null() override { reject_value("null"); }
  bool boolean(bool) override { reject_value("true or false"); }
  bool number_integer(number_integer_t) override { reject_value("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { reject_value("a fraction"); }
  bool string(string_t&) override { reject_value("a string"); }
  bool start_array(std::size_t) override { reject_value("a list"); }
  bool end_array() override { return true; }
  bool end_object() override { return true; }

  bool start_object(std::size_t) override {
    if (std::exchange(open_, true)) {
      reject_value("an object");
    }
    return true;
  }

  bool key(string_t& value) override {
    const auto [place, fresh] = ids_.emplace(std::move(value), 0);
    if (!fresh) {
      reject("the token ", quote(place->first), " appears twice");
    }
    current_ = &*place;
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    constexpr std::uint64_t kLargestId = std::uint64_t{1} << 31;
    if (current_ == nullptr || value >= kLargestId) {
      reject_value(concat("the number ", value));
    }
    current_->second = static_cast<std::int64_t>(value);
    return true;
  }

 private:
  [[noreturn]] void reject_value(std::string_view found) const {
    if (current_ == nullptr) {
      reject("expected an object of tokens and ids, found ", found);
    }
    reject("the id of ", quote(current_->first), " must be an integer from 0 to 2147483647, found ", found);
  }

  bool open_ = false;
  TokenIds ids_;
  TokenIds::value_type* current_ = nullptr;
};

// Without white space at the end, of which Unicode has more kinds than ASCII.
std::string_view trim_end(std::string_view line) {
  constexpr std::string_view kBlanks[] = {" ",      "\t",     "\n",     "\v",     "\f",     "\r",     "\u0085",
                                          "\u00A0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004",
                                          "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200A", "\u2028",
                                          "\u2029", "\u202F", "\u205F", "\u3000"};
  const auto blank_end = [&] {
    return std::find_if(std::begin(kBlanks), std::end(kBlanks), [&](auto blank) { return line.ends_with(blank); });
  };
  for (const auto* blank = blank_end(); blank != std::end(kBlanks); blank = blank_end()) {
    line.remove_suffix(blank->size());
  }
  return line;
}

// Calls `use(line, number)` for every line, counted from 0.
template <typename Use>
void for_each_line(std::string_view text, const Use& use) {
  for (std::int64_t number = 0; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    use(text.substr(0, end), number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

std::string json_string(std::string_view text, std::string_view where) {
  if (!is_valid_utf8(text)) {
    fail(ErrorKind::kFormat, where, ": the token ", quote(text), " is not UTF-8");
  }
  // Nearly every token is plain; the others take the way of a document.
  const bool plain = std::all_of(text.begin(), text.end(),
                                 [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\'; });
  if (!plain) {
    return formats::print_json(formats::Json(text));
  }
  std::string quoted;
  quoted.reserve(text.size() + 2);
  quoted += '"';
  quoted += text;
  quoted += '"';
  return quoted;
}

TokenIds read_vocabulary_json(std::string_view json, std::string_view where) {
  VocabularyReader reader;
  reader.parse(json, where);
  return reader.take();
}

TokenIds read_vocabulary_lines(std::string_view text) {
  TokenIds ids;
  for_each_line(text, [&](std::string_view line, std::int64_t number) { ids[std::string(trim_end(line))] = number; });
  return ids;
}

std::string merges_as_json(std::string_view text, std::string_view where) {
  std::string json = "[";
  for_each_line(text, [&](std::string_view line, std::int64_t number) {
    line.remove_suffix(line.ends_with('\r') ? 1 : 0);
    // As the crate skips them when it reads the file itself.
    if (line.starts_with("#version") || line.empty()) {
      return;
    }
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos || line.find(' ', blank + 1) != std::string_view::npos) {
      fail(ErrorKind::kFormat, where, ": line ", number + 1, " must be two tokens with a blank between, found ",
           quote(line));
    }
    json += json.size() > 1 ? ",[" : "[";
    json += json_string(line.substr(0, blank), where);
    json += ',';
    json += json_string(line.substr(blank + 1), where);
    json += ']';
  });
  return json + "]";
}

namespace {

// In the order in which they get ids; the last of two with the same content says its flags.
std::vector<AddedToken> in_order(const TokenizerSettings& settings) {
  std::vector<AddedToken> order;
  std::unordered_map<std::string, std::size_t> places;
  std::unordered_set<std::string> named;
  for (const auto& token : settings.named) {
    named.insert(token ? token->content : std::string());
  }
  // The crate keeps the first place of a token that is added twice, and the flags of the last.
  const auto add = [&](AddedToken token) {
    token.special = token.special || named.contains(token.content);
    const auto [place, fresh] = places.emplace(token.content, order.size());
    if (fresh) {
      order.push_back(std::move(token));
    } else {
      order[place->second] = std::move(token);
    }
  };
  // A token that added_tokens_decoder has keeps the flags it has there.
  std::unordered_set<std::string> described;
  for (const auto& [id, token] : settings.added) {
    add(token);
    described.insert(token.content);
  }
  for (const auto& token : settings.named) {
    if (token && !described.contains(token->content)) {
      add(*token);
    }
  }
  for (const AddedToken& token : settings.extra) {
    if (!described.contains(token.content)) {
      add(token);
    }
  }
  return order;
}

}  // namespace

AddedTokens::AddedTokens(const TokenizerSettings& settings, const TokenIds& vocabulary, std::string_view where) {
  // New tokens get the ids behind the vocabulary, in the order in which they are added.
  auto next = static_cast<std::int64_t>(vocabulary.size());
  std::vector<std::pair<std::int64_t, AddedToken>> tokens;
  for (AddedToken& token : in_order(settings)) {
    const auto known = vocabulary.find(token.content);
    const std::int64_t id = known != vocabulary.end() ? known->second : next++;
    ids_.emplace(token.content, id);
    tokens.emplace_back(id, std::move(token));
  }
  // transformers would give it another id without a word, and the model another embedding.
  for (const auto& [id, token] : settings.added) {
    if (ids_.at(token.content) != id) {
      fail(ErrorKind::kFormat, where, ": the token ", quote(token.content), " is to have the id ", id,
           ", but beside this vocabulary it has ", ids_.at(token.content));
    }
  }
  std::sort(tokens.begin(), tokens.end(), [](const auto& left, const auto& right) { return left.first < right.first; });
  for (const auto& [id, token] : tokens) {
    json_.push_back({{"id", id},
                     {"content", token.content},
                     {"single_word", token.single_word},
                     {"lstrip", token.strip_left},
                     {"rstrip", token.strip_right},
                     {"normalized", token.normalized},
                     {"special", token.special}});
  }
}

}  // namespace weft::text
