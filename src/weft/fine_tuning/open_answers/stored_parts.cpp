// SPDX-License-Identifier: Apache-2.0
// A part is its text, the bytes of its tokens and the words of its tokens, one behind the other.
#include "weft/fine_tuning/open_answers/stored_parts.h"

#include <type_traits>

#include "weft/core/error.h"

namespace weft::fine_tuning {
namespace {

static_assert(std::is_trivially_copyable_v<text::Span>);

template <typename Container>
std::uint64_t bytes_in(const Container& values) {
  return values.size() * sizeof(typename Container::value_type);
}

}  // namespace

void StoredParts::add(const RowPart& part) {
  places_.push_back({bytes_.size(), part.text.size(), part.bytes.size(), part.words.size(), part.begin, part.from});
  bytes_.append(part.text.data(), part.text.size());
  bytes_.append(part.bytes.data(), bytes_in(part.bytes));
  bytes_.append(part.words.data(), bytes_in(part.words));
}

const StoredParts::Place& StoredParts::place(std::size_t number) const {
  require(number < places_.size(), "window ", number, " was asked for, and there are ", places_.size());
  return places_[number];
}

std::string StoredParts::text(std::size_t number) const {
  const Place& of = place(number);
  std::string text(of.letters, '\0');
  bytes_.read(of.begin, text.data(), text.size());
  return text;
}

RowPart StoredParts::part(std::size_t number) const {
  const Place& of = place(number);
  RowPart part{.text = text(number), .begin = of.row_begin, .from = of.from};
  part.bytes.resize(of.tokens);
  part.words.resize(of.words);
  bytes_.read(of.begin + of.letters, part.bytes.data(), bytes_in(part.bytes));
  bytes_.read(of.begin + of.letters + bytes_in(part.bytes), part.words.data(), bytes_in(part.words));
  return part;
}

}  // namespace weft::fine_tuning
