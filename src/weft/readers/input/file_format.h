// SPDX-License-Identifier: Apache-2.0
// What kind of records a file holds, told by its name or by how it begins.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

namespace weft::readers {

/// The columns and JSON fields that hold the text of a record where nobody names another, most usual first.
inline constexpr std::array<std::string_view, 5> kTextFields = {"text", "sentence", "sequence", "review", "content"};

/// The format that a file's name says: csv, tsv, jsonl, conll, fasta, text; empty for every other name. ".gz" is looked
/// through.
std::string format_of_name(const std::filesystem::path& file);

/// The format that a file's first line says: jsonl when it begins with '{', fasta when it begins with '>' and a name;
/// empty for every other line.
std::string format_of_line(std::string_view line);

/// The format of a regular file for a program that must not guess wrong about a malformed one: what the name says; for
/// a name that says nothing what the first line says; .json is SQuAD's unless its first line is a record by itself;
/// else text. Errors: as ByteSource.
std::string format_of_file(const std::filesystem::path& file);

}  // namespace weft::readers
