// SPDX-License-Identifier: Apache-2.0
// What the readers of questions over many documents share: members of a record that must be there, and how much of a
// record is read.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "weft/formats/config_json.h"

namespace weft::readers {

/// How much of a question is read.
enum class QuestionPart {
  kGold,  ///< what an evaluation compares with; documents are neither read nor checked
  kWhole  ///< documents too, and answers must be found in them where the format says so
};

/// The questions of a file so far, by their ids: a prediction names a question by its id alone.
class QuestionIds {
 public:
  /// Errors: MalformedRecord that names `where` and `id` where a question before has that id.
  void add(const std::string& id, const std::string& where);

 private:
  std::set<std::string> ids_;
};

/// The list at `name`. Errors: MalformedRecord that names `where` and the member when it is missing or no list.
const formats::Json& list_field(const formats::Json& object, const std::string& name, const std::string& where);

/// The strings of the list at `name`. Errors: as list_field, also for an item that is no string.
std::vector<std::string> strings_field(const formats::Json& object, const std::string& name, const std::string& where);

/// The string at `name`, "" where there is none. Errors: MalformedRecord where it is there and no string.
std::string optional_string(const formats::Json& object, const std::string& name, const std::string& where);

/// The truth value at `name`, false where there is none. Errors: as optional_string.
bool optional_truth(const formats::Json& object, const std::string& name, const std::string& where);

}  // namespace weft::readers
