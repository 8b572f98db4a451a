// SPDX-License-Identifier: Apache-2.0
// Lines and rows of a head are whole, but for the last one, which counts only where the head is all of the file.
#include "weft/readers/input/head_looks.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "weft/core/error.h"
#include "weft/formats/config_json.h"
#include "weft/readers/conll_reader.h"
#include "weft/readers/fasta_reader.h"

namespace weft::readers {
namespace {

std::string_view without_end(std::string_view line) {
  while (line.ends_with('\n') || line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

// Takes the next line off `rest`, without its end; false where none is whole.
bool take_line(Head& rest, std::string_view& line) {
  const std::size_t end = rest.text.find('\n');
  if (rest.text.empty() || (end == std::string_view::npos && !rest.whole)) {
    return false;
  }
  line = without_end(rest.text.substr(0, end));
  rest.text.remove_prefix(end == std::string_view::npos ? rest.text.size() : end + 1);
  return true;
}

// Behind the closing quote of the string that begins at `begin`; npos where it has none.
std::size_t string_end(std::string_view text, std::size_t begin) {
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

// The brackets of an object, strings skipped, until it closes or the text ends.
class ObjectWalk {
 public:
  ObjectWalk(std::string_view text, ObjectLook& look) : text_(text), look_(look) {}

  // The end of the object; npos where it is not there.
  std::size_t run() {
    for (std::size_t i = 0; i < text_.size();) {
      if (text_[i] == '"') {
        const std::size_t end = string_end(text_, i);
        if (end == std::string_view::npos) {
          return end;
        }
        take_string(i, end);
        i = end;
        continue;
      }
      depth_ += text_[i] == '{' || text_[i] == '[' ? 1 : 0;
      depth_ -= text_[i] == '}' || text_[i] == ']' ? 1 : 0;
      if (depth_ == 0) {
        return i + 1;
      }
      ++i;
    }
    return std::string_view::npos;
  }

 private:
  // A string in the object itself with a colon behind is a key.
  void take_string(std::size_t begin, std::size_t end) {
    const std::size_t colon = text_.find_first_not_of(kBlanksAndEnds, end);
    if (depth_ != 1 || colon == std::string_view::npos || text_[colon] != ':') {
      return;
    }
    const std::string_view key = text_.substr(begin + 1, end - begin - 2);
    const std::size_t value = text_.find_first_not_of(kBlanksAndEnds, colon + 1);
    look_.data_list = look_.data_list || (key == "data" && value != std::string_view::npos && text_[value] == '[');
    look_.keys.emplace_back(key);
  }

  std::string_view text_;
  ObjectLook& look_;
  std::int64_t depth_ = 0;
};

bool is_object(std::string_view text) {
  try {
    return formats::parse_json(text, "").is_object();
  } catch (const Error&) {
    return false;
  }
}

// The fields of a row; false where the head ends before it does.
bool take_row(Head& rest, char separator, std::vector<std::string>& fields) {
  const bool quotes = separator == ',';
  fields.assign(1, {});
  for (std::size_t i = 0; i < rest.text.size(); ++i) {
    const char byte = rest.text[i];
    if (quotes && byte == '"' && fields.back().empty() && (i == 0 || rest.text[i - 1] == separator)) {
      std::size_t end = i;  // behind "" the field goes on
      do {
        end = rest.text.find('"', end + 1);
        if (end == std::string_view::npos) {
          return false;
        }
        ++end;
      } while (end < rest.text.size() && rest.text[end] == '"');
      fields.back() = rest.text.substr(i + 1, end - i - 2);
      i = end - 1;
    } else if (byte == '\n') {
      rest.text.remove_prefix(i + 1);
      return true;
    } else if (byte == separator) {
      fields.emplace_back();
    } else if (byte != '\r') {
      fields.back().push_back(byte);
    }
  }
  const bool last = rest.whole && !rest.text.empty();
  rest.text = {};
  return last;
}

// No blank stands at the beginning or end of a column's name, as it does behind a comma in a sentence.
bool are_names(const std::vector<std::string>& fields) {
  constexpr std::size_t kLongest = 64;
  const std::set<std::string_view> distinct(fields.begin(), fields.end());
  return distinct.size() == fields.size() && std::all_of(fields.begin(), fields.end(), [](const std::string& name) {
           return !name.empty() && name.size() <= kLongest && name.front() != ' ' && name.back() != ' ';
         });
}

bool is_blank_row(const std::vector<std::string>& fields) { return fields.size() == 1 && fields.front().empty(); }

}  // namespace

ObjectLook look_at_object(const Head& head) {
  ObjectLook look;
  const std::size_t end = ObjectWalk(head.text, look).run();
  if (end == std::string_view::npos) {
    return look;
  }
  const std::size_t next = head.text.find_first_not_of(kBlanksAndEnds, end);
  look.closed = next == std::string_view::npos || head.text[next] == '{';
  look.parsed = look.closed && is_object(head.text.substr(0, end));
  return look;
}

bool looks_like_array(const Head& head) {
  const auto visible = [&](std::size_t from) {
    const std::size_t found = head.text.find_first_not_of(kBlanksAndEnds, from);
    return found == std::string_view::npos ? '\0' : head.text[found];
  };
  const std::size_t brace = head.text.find('{');
  if (!head.text.starts_with('[') || visible(1) != '{' || brace == std::string_view::npos) {
    return false;
  }
  return visible(brace + 1) == '"' || visible(brace + 1) == '}';
}

bool looks_like_fasta(const Head& head) {
  Head rest = head;
  std::string_view line;
  if (!is_fasta_header(head.text) || !take_line(rest, line)) {
    return false;
  }
  do {
    line = rest.text;  // a sequence may be longer than the head
  } while (take_line(rest, line) && line.starts_with(';'));
  return is_sequence_line(line);
}

bool looks_like_conll(const Head& head) {
  Head rest = head;
  std::size_t columns = 0;
  std::int64_t words = 0;
  bool ended = false;  // a sentence of several words
  std::int64_t longest = 0;
  for (std::string_view line; take_line(rest, line);) {
    if (line.find_first_not_of(kBlanksAndEnds) == std::string_view::npos || line.starts_with("-DOCSTART-")) {
      ended = ended || words > 1;
      words = 0;
      continue;
    }
    const std::size_t found = tagged_columns(line);
    if (found < 2 || (columns > 0 && found != columns)) {
      return false;
    }
    columns = found;
    longest = std::max(longest, ++words);
  }
  return ended || (head.whole && longest > 1);
}

std::string wanted_column(std::string_view line, char separator, const std::vector<std::string>& wanted) {
  Head rest{line, true};
  std::vector<std::string> names;
  if (!take_row(rest, separator, names) || names.size() < 2 || !are_names(names)) {
    return {};
  }
  const auto found = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    return std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  });
  return found == names.end() ? std::string() : *found;
}

bool looks_like_table(const Head& head, char separator) {
  Head rest = head;
  std::vector<std::string> names;
  if (!take_row(rest, separator, names)) {
    return false;
  }
  std::int64_t rows = 0;
  for (std::vector<std::string> fields; take_row(rest, separator, fields);) {
    if (!is_blank_row(fields) && fields.size() != names.size()) {
      return false;
    }
    rows += is_blank_row(fields) ? 0 : 1;
  }
  return rows > 0;
}

}  // namespace weft::readers
