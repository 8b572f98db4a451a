// SPDX-License-Identifier: Apache-2.0
// A table's row becomes the object that JSON would have, so that names are looked for in one way.
#include "weft/fine_tuning/retrieval/text_groups.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>
#include <string_view>

#include "weft/core/error.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/fine_tuning/record_fields.h"
#include "weft/fine_tuning/record_reading.h"
#include "weft/readers/file_list.h"
#include "weft/readers/input/columns.h"
#include "weft/readers/input/group_columns.h"
#include "weft/readers/json_document_reader.h"
#include "weft/readers/json_lines_reader.h"
#include "weft/readers/table_reader.h"

namespace weft::fine_tuning {
namespace {

namespace fs = std::filesystem;
using formats::Json;

constexpr std::string_view kRecordFormats = "csv tsv jsonl json";

std::string names_in(const Json& object) {
  std::vector<std::string> names;
  names.reserve(object.size());
  for (const auto& [name, value] : object.items()) {
    names.push_back(name);
  }
  return quoted_list(names, 12);
}

/// The names of fields that say what, chosen for one file's first record and for each object of JSON anew.
struct GroupFields {
  std::string query;
  std::string text;
  std::vector<std::string> negatives;
  std::string score;  // empty: none
};

/// A field that is looked for.
struct Wanted {
  std::string_view what;  // "first text"
  std::string_view flag;
  const std::string& named;
};

// What a flag names, which must be there, or a field with a usual name.
std::string find_field(const Json& object, const Wanted& wanted, std::span<const std::string_view> usual,
                       const std::string& other, const std::string& place) {
  if (!wanted.named.empty()) {
    if (!object.contains(wanted.named)) {
      readers::malformed(place, ": ", wanted.flag, " ", quote(wanted.named), " is not there; there are ",
                         names_in(object));
    }
    return wanted.named;
  }
  std::string found = readers::usual_field(object, usual, other);
  if (found.empty()) {
    readers::malformed(place, ": no column or field has a name that Weft looks for as the ", wanted.what,
                       "; there are ", names_in(object), ", and ", wanted.flag, " names another");
  }
  return found;
}

template <typename Patterns>
std::vector<std::string> fields_like(const Json& object, const Patterns& patterns) {
  std::vector<std::string> found;
  for (const auto& [name, value] : object.items()) {
    const bool named = std::any_of(patterns.begin(), patterns.end(), [&, &field = name](const auto& pattern) {
      return ::fnmatch(std::string(pattern).c_str(), field.c_str(), 0) == 0;
    });
    if (named) {
      found.push_back(name);
    }
  }
  return found;
}

GroupFields choose_fields(const Json& object, const DataSettings& settings, const std::string& place) {
  GroupFields fields;
  fields.query = find_field(object, {"first text", "text_field", settings.text_field}, readers::kQueryFields,
                            settings.pair_field, place);
  fields.text = find_field(object, {"second text", "pair_field", settings.pair_field}, readers::kPositiveFields,
                           fields.query, place);
  fields.negatives = settings.negative_field.empty() ? fields_like(object, readers::kNegativeFields)
                                                     : fields_like(object, settings.negative_field);
  if (!settings.negative_field.empty() && fields.negatives.empty()) {
    readers::malformed(place, ": negative_field names nothing that is there: ", names_in(object));
  }
  require(settings.label_field.size() < 2, "label_field must name one column of scores, found ",
          settings.label_field.size());
  if (!settings.label_field.empty()) {
    fields.score =
        find_field(object, {"score", "label_field", settings.label_field.front()}, readers::kScoreFields, {}, place);
  } else {
    fields.score = readers::usual_field(object, readers::kScoreFields, fields.text);
  }
  return fields;
}

void take_text(const Json& value, const std::string& name, const std::string& place, std::vector<std::string>& texts) {
  if (!value.is_string()) {
    readers::malformed(place, ": ", quote(name), " must be a text or a list of texts, found ", value.type_name());
  }
  const auto& text = value.get_ref<const std::string&>();
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    readers::malformed(place, ": ", quote(name), " is empty, and there is no meaning to learn from nothing");
  }
  texts.push_back(text);
}

void take_texts(const Json& object, const std::string& name, const std::string& place,
                std::vector<std::string>& texts) {
  const Json& value = object.at(name);
  if (!value.is_array()) {
    take_text(value, name, place, texts);
    return;
  }
  for (const Json& one : value) {
    take_text(one, name, place, texts);
  }
}

double number_in(const Json& value, const std::string& name, const std::string& place) {
  std::optional<double> number;
  if (value.is_number()) {
    number = value.get<double>();
  } else if (value.is_boolean()) {
    number = value.get<bool>() ? 1.0 : 0.0;
  } else if (value.is_string()) {
    number = real_of(value.get_ref<const std::string&>());
  }
  if (!number || !std::isfinite(*number)) {
    readers::malformed(place, ": ", quote(name), " must be a number, found ",
                       value.is_string() ? quote(value.get_ref<const std::string&>()) : value.dump());
  }
  return *number;
}

TextGroup group_of(const Json& object, const GroupFields& fields, std::string place) {
  TextGroup group;
  group.place = std::move(place);
  std::vector<std::string> query;
  take_texts(object, fields.query, group.place, query);
  if (query.size() != 1) {
    readers::malformed(group.place, ": ", quote(fields.query), " must be one text, found ", query.size());
  }
  group.query = std::move(query.front());
  take_texts(object, fields.text, group.place, group.positives);
  if (group.positives.empty()) {
    readers::malformed(group.place, ": ", quote(fields.text), " has no text");
  }
  for (const std::string& name : fields.negatives) {
    take_texts(object, name, group.place, group.negatives);
  }
  if (fields.score.empty()) {
    return group;
  }
  group.score = number_in(object.at(fields.score), fields.score, group.place);
  if (!group.negatives.empty() || group.positives.size() != 1) {
    readers::malformed(group.place, ": ", quote(fields.score), " is the score of two texts, but the query has ",
                       group.positives.size() + group.negatives.size(), " texts, ", group.negatives.size(),
                       " of them negatives; take the column out, or name what is meant with label_field and ",
                       "negative_field");
  }
  return group;
}

class GroupReading {
 public:
  GroupReading(const DataSettings& settings, const std::function<void(const TextGroup&)>& visit)
      : settings_(settings), options_(read_options(settings)), visit_(visit) {}

  void read(const fs::path& file) {
    const readers::FileKind kind = kind_for(file, settings_, kRecordFormats);
    ++report_.kinds[readers::kind_text(kind)];
    if (kind.format == "csv" || kind.format == "tsv") {
      read_table(file, kind.format);
      return;
    }
    const auto reader = readers::open_json_records(readers::ByteSource(file), kind.format, options_);
    const auto visit = [&](const readers::JsonRecord& record) {
      const std::string place = place_of(file, record.line);
      take(record.object, choose_fields(record.object, settings_, place), file, record.line);
    };
    read_records(*reader, options_, visit, report_);
  }
  const readers::ReadReport& report() const { return report_; }

 private:
  static std::string place_of(const fs::path& file, std::int64_t line) {
    return concat(quote(file.native(), 4096), " line ", line);
  }

  void read_table(const fs::path& file, const std::string& format) {
    readers::TableReader reader(file, readers::TableOptions::of_format(format, settings_.header), options_);
    std::optional<GroupFields> fields;  // the same for all rows, and no row's fault
    const auto visit = [&](const readers::TableRow& row) {
      Json object = Json::object();
      for (std::size_t column = 0; column < row.fields.size(); ++column) {
        object[reader.columns()[column]] = row.fields[column];
      }
      if (!fields) {
        try {
          fields = choose_fields(object, settings_, quote(file.native(), 4096));
        } catch (const readers::MalformedRecord& error) {
          throw Error(ErrorKind::kArgument, error.what());
        }
      }
      take(object, *fields, file, row.line);
    };
    read_records(reader, options_, visit, report_);
  }

  void take(const Json& object, const GroupFields& fields, const fs::path& file, std::int64_t line) {
    TextGroup group = group_of(object, fields, place_of(file, line));
    group.origin = {{"file", file.string()}, {"line", line}};
    for (const auto& [name, value] : object.items()) {
      if (is_id_field(name) && (value.is_string() || value.is_number())) {
        group.origin["id"] = value;
      }
    }
    visit_(group);
  }

  const DataSettings& settings_;
  readers::ReadOptions options_;
  const std::function<void(const TextGroup&)>& visit_;
  readers::ReadReport report_;
};

}  // namespace

readers::ReadReport read_text_groups(const std::vector<std::string>& paths, const DataSettings& settings,
                                     const std::function<void(const TextGroup&)>& visit) {
  GroupReading reading(settings, visit);
  for (const fs::path& file : readers::list_files(paths)) {
    reading.read(file);
  }
  return reading.report();
}

double scaled_score(const TextGroup& group, const DataSettings& settings, double least) {
  const double score = group.score.value_or(0.0) / settings.score_max;
  if (score < least || score > 1.0) {
    readers::malformed(group.place, ": the score ", *group.score, " is ", score, " of score_max ", settings.score_max,
                       ", which must be from ", least, " to 1; ", option("score_max"),
                       " N divides scores by N (5 for those of STS-B)");
  }
  return score;
}

}  // namespace weft::fine_tuning
