// SPDX-License-Identifier: Apache-2.0
// One question a format, asked by the first visible byte; where none says yes, the name decides.
#include "weft/readers/input/file_kind.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/text/small_letters.h"
#include "weft/readers/conll_reader.h"
#include "weft/readers/fasta_reader.h"
#include "weft/readers/input/columns.h"
#include "weft/readers/input/head_looks.h"
#include "weft/readers/input/no_text.h"

namespace weft::readers {
namespace {

constexpr std::size_t kHead = std::size_t{1} << 16;         // that rows and sentences are looked for in
constexpr std::size_t kLongestLine = std::size_t{1} << 20;  // that is parsed to tell JSON lines from one document
using Row = std::pair<std::string_view, std::string_view>;
constexpr std::array kNames = {
    Row{".csv", "csv"},   Row{".tsv", "tsv"},     Row{".tab", "tsv"},   Row{".jsonl", "jsonl"}, Row{".ndjson", "jsonl"},
    Row{".json", "json"}, Row{".conll", "conll"}, Row{".iob", "conll"}, Row{".iob2", "conll"},  Row{".bio", "conll"},
    Row{".fa", "fasta"},  Row{".fna", "fasta"},   Row{".faa", "fasta"}, Row{".ffn", "fasta"},   Row{".fasta", "fasta"},
    Row{".txt", "text"},  Row{".text", "text"},   Row{".md", "text"}};

// What a record may have besides those: a row or an object that has any of them is a record.
constexpr std::array<std::string_view, 8> kMoreFields = {"question", "context",    "prompt",    "choices",
                                                         "premise",  "hypothesis", "sentence1", "sentence2"};

class Decision {
 public:
  Decision(ByteSource& bytes, const std::vector<std::string>& fields)
      : bytes_(bytes), named_(format_of_name(bytes.path())), wanted_(known_fields(fields)) {}

  FileKind decide() {
    refuse_no_text(bytes_);
    line_ = first_visible_line();
    const char first = line_.empty() ? '\0' : line_.front();
    FileKind kind = first == '{' ? object() : first == '[' ? array() : first == '>' ? sequences() : columns();
    kind = kind.format.empty() ? by_name(first) : kind;
    const bool json = kind.format == "json" || kind.format == "jsonl" || kind.format == "squad";
    kind.named_alike = kind.format == named_ || (named_ == "json" && json);
    return kind;
  }

 private:
  // Without the blanks before it; a line end stays.
  std::string first_visible_line() {
    std::string_view text = bytes_.first_line(kLongestLine);
    if (text.find_first_not_of(kBlanksAndEnds) == std::string_view::npos) {
      text = bytes_.head(kHead);
    }
    text.remove_prefix(std::min(text.find_first_not_of(kBlanksAndEnds), text.size()));
    const std::size_t end = text.find('\n');
    return std::string(text.substr(0, end == std::string_view::npos ? end : end + 1));
  }

  // From the first visible byte on. Waits for all of it.
  Head head() {
    std::string_view text = bytes_.head(kHead);
    const bool whole = text.size() < kHead;
    text.remove_prefix(std::min(text.find_first_not_of(kBlanksAndEnds), text.size()));
    return {text, whole};
  }

  bool is_wanted(const std::string& name) const {
    return std::find(wanted_.begin(), wanted_.end(), name) != wanted_.end();
  }

  // The first visible line, or, where the object in it goes on, all of the head.
  Head object_head() {
    const bool cut = line_.size() >= kLongestLine && !line_.ends_with('\n');
    const Head line{line_, !cut};
    return cut || look_at_object(line).closed ? line : head();
  }

  bool is_squad(const ObjectLook& look, std::string_view text) const {
    const bool open_name = named_.empty() || named_ == "json";
    return look.data_list && (open_name || text.find("\"paragraphs\"") != std::string_view::npos);
  }

  FileKind object() {
    const Head all = object_head();
    const ObjectLook look = look_at_object(all);
    const bool several = all.text.data() != line_.data();
    const auto wanted =
        std::find_if(look.keys.begin(), look.keys.end(), [&](const std::string& key) { return is_wanted(key); });
    const bool has_wanted = wanted != look.keys.end();
    if (!has_wanted && is_squad(look, all.text)) {
      return {"squad", "has SQuAD's list 'data'"};
    }
    if (!look.parsed && (look.closed || all.whole)) {
      return named_.empty() ? FileKind{"jsonl", "begins with '{'", false} : FileKind{};
    }
    const std::string reason = concat("begins with a JSON object", several ? " over several lines" : "",
                                      has_wanted ? " that has " + quote(*wanted) : "");
    const bool named = named_ == "json" || named_ == "jsonl";
    const std::string format = several ? "json" : "jsonl";
    return has_wanted || named || named_.empty() ? FileKind{format, reason, has_wanted || named, false, true}
                                                 : FileKind{};
  }

  FileKind array() {
    const std::string_view line = line_;
    const std::size_t last = line.find_last_not_of(kBlanksAndEnds);
    const bool goes_on = line[last] == '[' || line[last] == '{';
    const bool found = looks_like_array({line, false}) || (goes_on && looks_like_array(head()));
    return found ? FileKind{"json", "begins with an array of JSON objects"} : FileKind{};
  }

  FileKind sequences() {
    const bool found = is_fasta_header(line_) && looks_like_fasta(head());
    return found ? FileKind{"fasta", "begins with a FASTA header and a sequence"} : FileKind{};
  }

  FileKind columns() {
    const std::string_view line = std::string_view(line_).substr(0, line_.find_last_not_of("\r\n") + 1);
    if ((tagged_columns(line) > 0 || line.starts_with("-DOCSTART-")) && looks_like_conll(head())) {
      return {"conll", "has words in lines that end in a tag"};
    }
    for (const char separator : {'\t', ','}) {
      const std::string column = named_ == "conll" ? std::string() : wanted_column(line, separator, wanted_);
      if (!column.empty() && looks_like_table(head(), separator)) {
        return {separator == ',' ? "csv" : "tsv", concat("is a table with a column ", quote(column))};
      }
    }
    return {};
  }

  FileKind by_name(char first) const {
    if (named_ == "json" && first != '{' && first != '[' && first != '\0') {
      throw Error(ErrorKind::kFormat,
                  concat(bytes_.name(), ": its name says JSON, but it begins with ", quote(line_, 20),
                         ", expected objects, one a line or in an array, or SQuAD's JSON"),
                  concat(option("format"), " names what it is"));
    }
    return {named_.empty() ? "text" : named_, ""};
  }

  ByteSource& bytes_;
  std::string named_;
  std::vector<std::string> wanted_;
  std::string line_;
};

}  // namespace

std::vector<std::string> known_fields(const std::vector<std::string>& fields) {
  std::vector<std::string> known(kMoreFields.begin(), kMoreFields.end());
  known.insert(known.begin(), kTargetFields.begin(), kTargetFields.end());
  known.insert(known.begin(), kSourceFields.begin(), kSourceFields.end());
  known.insert(known.begin(), kTextFields.begin(), kTextFields.end());
  std::copy_if(fields.begin(), fields.end(), std::back_inserter(known),
               [](const std::string& field) { return !field.empty(); });
  return known;
}

FileKind decide_kind(ByteSource& bytes, const std::vector<std::string>& fields) {
  return Decision(bytes, fields).decide();
}

FileKind kind_of_file(const std::filesystem::path& file, const std::vector<std::string>& fields) {
  ByteSource bytes(file);
  return decide_kind(bytes, fields);
}

std::string kind_text(const FileKind& kind) {
  return concat(kind.format, kind.by_content() ? " by content" : kind.named_alike ? " by name" : "");
}

std::string small_ending(const std::filesystem::path& file, bool unpacked) {
  std::filesystem::path name = small_letters(file.filename().string());
  const std::string ending = name.extension().string();
  const bool packed = unpacked && (ending == ".gz" || ending == ".gzip" || ending == ".bgz");
  return packed ? name.stem().extension().string() : ending;
}

std::string format_of_name(const std::filesystem::path& file) {
  const std::string ending = small_ending(file, true);
  const auto* found = std::find_if(kNames.begin(), kNames.end(), [&](const Row& row) { return row.first == ending; });
  return found == kNames.end() ? std::string() : std::string(found->second);
}

}  // namespace weft::readers
