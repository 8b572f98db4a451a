// SPDX-License-Identifier: Apache-2.0
// What the first bytes of a file look like, format by format: pieces of decide_kind().
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::readers {

/// The beginning of a file, which may be cut anywhere, and whether it is all of it.
struct Head {
  std::string_view text;
  bool whole = false;
};

/// What is between values of JSON, and around rows.
inline constexpr std::string_view kBlanksAndEnds = " \t\r\n";

/// The outside of a JSON object that a head begins with.
struct ObjectLook {
  bool closed = false;     ///< its end is there, with nothing but blanks or another object behind
  bool parsed = false;     ///< closed, and JSON
  bool data_list = false;  ///< it has a list at "data", as SQuAD's
  std::vector<std::string> keys = {};
};
ObjectLook look_at_object(const Head& head);

/// Whether a head begins with an array whose first item is a JSON object.
bool looks_like_array(const Head& head);

/// Whether a head begins with a FASTA header and a line of letters.
bool looks_like_fasta(const Head& head);

/// Whether a head is sentences in columns, each line ending in a tag.
bool looks_like_conll(const Head& head);

/// The first name among `wanted` in a line that is a row of names; empty where it is none, or has none of them.
std::string wanted_column(std::string_view line, char separator, const std::vector<std::string>& wanted);

/// Whether a head is rows of as many fields as the first, of which there are more.
bool looks_like_table(const Head& head, char separator);

}  // namespace weft::readers
