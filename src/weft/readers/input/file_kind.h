// SPDX-License-Identifier: Apache-2.0
// What a file is: the one place where this is decided, for every command that reads data or texts. First by what
// stands in it, then by its name in small or capital letters, and never in silence (docs/data.md).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/readers/byte_source.h"

namespace weft::readers {

/// What was decided, and by what.
struct FileKind {
  std::string format;        ///< text, jsonl, json, csv, tsv, fasta, conll or squad
  std::string reason;        ///< of what stands in it: "begins with a JSON object"; empty where the name said it
  bool sure = true;          ///< false for a guess from the first byte alone, where the name says nothing
  bool named_alike = false;  ///< the name says the same
  bool is_object = false;    ///< begins with a whole JSON object, of a record or not

  bool by_content() const noexcept { return !reason.empty(); }
};

/// The names of fields and columns that a record is known by, and those of `fields` that are not empty.
std::vector<std::string> known_fields(const std::vector<std::string>& fields = {});

/// The formats, as a flag names them: jsonl are JSON objects, one a line; json is an array of objects, or objects that
/// each go over several lines; squad is the JSON of SQuAD.
///
/// By content, whatever the name: a JSON object in the first line that has a field which Weft looks for, or any object
/// where the name says JSON or nothing; objects over several lines likewise; an array of objects; the list "data" in an
/// object (SQuAD); a FASTA header above a line of letters; sentences in columns that all end in a tag of B-, I- or O; a
/// table whose first row has a name that Weft looks for (no blanks around names, no name twice) and whose further rows,
/// in the first 64 KiB, all have as many fields. `fields` are names to look for besides the usual ones. Errors: kFormat
/// for what is no text (refuse_no_text), and for a file named .json that holds no JSON; as ByteSource.
FileKind decide_kind(ByteSource& bytes, const std::vector<std::string>& fields = {});

/// decide_kind() of a regular file.
FileKind kind_of_file(const std::filesystem::path& file, const std::vector<std::string>& fields = {});

/// "csv by name", "jsonl by content": for people.
std::string kind_text(const FileKind& kind);

/// The format that a file's name says, in small or capital letters: csv, tsv, jsonl, json, conll, fasta, text; empty
/// for every other name. ".gz" is looked through. For a file that may be opened decide_kind() is right.
std::string format_of_name(const std::filesystem::path& file);

/// The ending of a name in small letters, with its dot: ".csv" of "A.CSV"; with `unpacked` of "A.csv.GZ", too.
std::string small_ending(const std::filesystem::path& file, bool unpacked);

}  // namespace weft::readers
