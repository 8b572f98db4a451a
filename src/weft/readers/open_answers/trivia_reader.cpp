// SPDX-License-Identifier: Apache-2.0
// The outer object is walked, for its questions may be any number; Domain and VerifiedEval stand behind them.
#include "weft/readers/open_answers/trivia_reader.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/readers/json_lines_reader.h"
#include "weft/readers/json_walker.h"

namespace weft::readers {
namespace {

using formats::Json;

// A document lies in the folder of its kind, perhaps in one below.
std::string page_name(const Json& item, const std::string& where) {
  std::string name = string_field(item, "Filename", where);
  const std::filesystem::path path(name);
  const bool leaves = path.empty() || path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end();
  if (leaves || name.find('\0') != std::string::npos) {
    malformed(where, ": expected the name of a document below the folder 'evidence' at 'Filename', found ",
              quote(name));
  }
  return name;
}

void add_pages(const Json& question, const std::string& name, TriviaPage::Source source, const std::string& where,
               std::vector<TriviaPage>& pages) {
  if (!question.contains(name)) {
    return;
  }
  for (const Json& item : list_field(question, name, where)) {
    pages.push_back({source, page_name(item, where), optional_string(item, "Title", where),
                     optional_truth(item, "DocPartOfVerifiedEval", where)});
  }
}

}  // namespace

class TriviaReader::Parser {
 public:
  Parser(const std::filesystem::path& path, const ReadOptions& options, QuestionPart part)
      : name_(quote(path.native(), 4096)), walker_(path, options, "TriviaQA's JSON"), part_(part) {}

  bool next(TriviaQuestion& question) {
    if (place_ == Place::kStart) {
      walker_.enter('{');
      place_ = Place::kRoot;
    }
    while (place_ != Place::kEnd) {
      if (place_ == Place::kRoot) {
        walk_root();
      } else if (!walker_.more(']')) {
        place_ = Place::kRoot;
      } else {
        read_question(question);
        return true;
      }
    }
    return false;
  }

  const std::string& domain() const {
    const auto found = root_.find("Domain");
    if (found == root_.end() || (found->second != "Wikipedia" && found->second != "Web")) {
      reject("\"Wikipedia\" or \"Web\"", "Domain");
    }
    return found->second.get_ref<const std::string&>();
  }
  bool verified_only() const {
    const auto found = root_.find("VerifiedEval");
    if (found == root_.end() || !found->second.is_boolean()) {
      reject("true or false", "VerifiedEval");
    }
    return found->second.get<bool>();
  }

 private:
  enum class Place { kStart, kRoot, kData, kEnd };

  [[noreturn]] void reject(const char* expected, const char* name) const {
    const auto found = root_.find(name);
    fail(ErrorKind::kFormat, name_, ": expected ", expected, " at '", name, "', found ",
         found == root_.end() ? "none" : found_text(found->second));
  }

  void walk_root() {
    if (!walker_.more('}')) {
      if (!names_.contains("Data") || !walker_.at_end()) {
        walker_.broken(names_.contains("Data") ? "something follows its end" : "it has no list 'Data'");
      }
      place_ = Place::kEnd;
      return;
    }
    const std::string name = walker_.key();
    if (!names_.insert(name).second) {
      walker_.broken(concat("the key ", quote(name), " appears twice"));
    }
    if (name == "Data") {
      walker_.enter('[');
      place_ = Place::kData;
      return;
    }
    Json value = walker_.value();
    if (name == "Domain" || name == "VerifiedEval") {
      root_.emplace(name, std::move(value));
    }
  }

  void read_question(TriviaQuestion& question) {
    const std::int64_t line = walker_.source().next_line_number();
    const std::string text = walker_.raw_value();
    std::string where = walker_.source().where(line);
    Json json;
    try {
      json = formats::parse_json(text, where);
    } catch (const Error& error) {
      malformed(error.what());
    }
    question = {.id = string_field(json, "QuestionId", where)};
    where += ", question " + quote(question.id);
    read_answer(json, where, question);
    add_pages(json, "EntityPages", TriviaPage::Source::kWikipedia, where, question.pages);
    add_pages(json, "SearchResults", TriviaPage::Source::kWeb, where, question.pages);
    question.verified = optional_truth(json, "QuestionPartOfVerifiedEval", where);
    if (part_ == QuestionPart::kWhole) {
      question.question = string_field(json, "Question", where);
      if (question.pages.empty()) {
        malformed(where, ": expected a document in 'EntityPages' or 'SearchResults', found none");
      }
    }
    ids_.add(question.id, where);
  }

  void read_answer(const Json& json, const std::string& where, TriviaQuestion& question) const {
    const auto answer = json.find("Answer");
    if (answer == json.end() || !answer->is_object()) {
      malformed(where, ": expected an object at 'Answer', found ", answer == json.end() ? "none" : answer->type_name());
    }
    question.normalized_aliases = strings_field(*answer, "NormalizedAliases", where);
    if (answer->contains("HumanAnswers")) {
      question.human_answers = strings_field(*answer, "HumanAnswers", where);
    }
    if (question.normalized_aliases.empty() && question.human_answers.empty()) {
      malformed(where, ": the answer must have a name in 'NormalizedAliases' or 'HumanAnswers', found none");
    }
    question.answer = part_ == QuestionPart::kWhole ? string_field(*answer, "Value", where) : std::string();
  }

  std::string name_;
  JsonWalker walker_;
  QuestionPart part_;
  Place place_ = Place::kStart;
  std::set<std::string> names_;       // of the outer object
  std::map<std::string, Json> root_;  // what it says of all questions
  QuestionIds ids_;
};

TriviaReader::TriviaReader(const std::filesystem::path& path, const ReadOptions& options, QuestionPart part)
    : Reader(options), parser_(std::make_unique<Parser>(path, options, part)) {}

TriviaReader::~TriviaReader() = default;

const std::string& TriviaReader::domain() const { return parser_->domain(); }

bool TriviaReader::verified_only() const { return parser_->verified_only(); }

bool TriviaReader::read(TriviaQuestion& question) { return parser_->next(question); }

std::string read_trivia_page(const std::filesystem::path& evidence, const TriviaPage& page) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;
  const char* folder = page.source == TriviaPage::Source::kWikipedia ? "wikipedia" : "web";
  return read_file(ModelFile(evidence / folder, page.file), kMostBytes);
}

}  // namespace weft::readers
