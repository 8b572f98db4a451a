// SPDX-License-Identifier: Apache-2.0
// The outer levels (data, articles, paragraphs) are walked; memory holds one paragraph.
#include "weft/readers/squad_reader.h"

#include <string_view>
#include <utility>

#include "weft/core/quote.h"
#include "weft/formats/config_json.h"
#include "weft/readers/json_lines_reader.h"
#include "weft/readers/json_walker.h"
#include "weft/readers/open_answers/json_parts.h"
#include "weft/text/utf8.h"

namespace weft::readers {
namespace {

using formats::Json;

AnswerSpan answer_span(const Json& json, const std::string& context, const std::string& where) {
  AnswerSpan answer{string_field(json, "text", where), 0};
  answer.start = whole_number_field(json, "answer_start", where);
  const auto place = static_cast<std::size_t>(answer.start);
  const std::size_t begin = answer.start < 0 ? context.size() : text::byte_offset(context, place);
  if (answer.text.empty() || std::string_view(context).substr(begin, answer.text.size()) != answer.text) {
    malformed(where, ": the context must have the answer ", quote(answer.text), " at ", answer.start, ", found ",
              quote(std::string_view(context).substr(begin, answer.text.size())));
  }
  return answer;
}

// Text, or a whole number as some sets have it.
std::string id_field(const Json& json, const std::string& where) {
  const auto found = json.is_object() ? json.find("id") : json.end();
  return found != json.end() && found->is_number_integer() ? found->dump() : string_field(json, "id", where);
}

bool is_impossible(const Json& json, const std::string& where) {
  const auto found = json.find("is_impossible");
  if (found != json.end() && !found->is_boolean()) {
    malformed(where, ": is_impossible must be true or false, found an item of type ", found->type_name());
  }
  return found != json.end() && found->get<bool>();
}

}  // namespace

class SquadReader::Parser {
 public:
  Parser(ByteSource bytes, const ReadOptions& options, SquadAnswers answers)
      : walker_(std::move(bytes), options, "SQuAD's JSON"), answers_(answers) {}

  bool next(Question& question) {
    while (next_question_ >= questions_.size()) {
      std::string text;
      if (!next_paragraph(text)) {
        return false;
      }
      open_paragraph(text);
    }
    read_question(questions_[next_question_++], question);
    return true;
  }

 private:
  enum class Place { kStart, kRoot, kData, kArticle, kParagraphs, kEnd };

  void open_paragraph(const std::string& text) {
    questions_.clear();
    next_question_ = 0;
    const std::string where = walker_.source().where(paragraph_line_);
    Json paragraph;
    try {
      paragraph = formats::parse_json(text, concat(where, ", paragraph at byte ", paragraph_offset_));
    } catch (const Error& error) {
      malformed(error.what());
    }
    context_ = std::make_shared<const std::string>(string_field(paragraph, "context", where));
    questions_ = list_field(paragraph, "qas", where).get<std::vector<Json>>();
  }

  void read_question(const Json& json, Question& question) const {
    std::string where = walker_.source().where(paragraph_line_);
    question = {id_field(json, where), title_, {}, context_, {}, false};
    where += ", question " + quote(question.id);
    question.question = string_field(json, "question", where);
    if (answers_ == SquadAnswers::kRead) {
      read_answers(json, where, question);
    }
  }

  static void read_answers(const Json& json, const std::string& where, Question& question) {
    question.impossible = is_impossible(json, where);
    for (const Json& answer : list_field(json, "answers", where)) {
      question.answers.push_back(answer_span(answer, *question.context, where));
    }
    if (question.answers.empty() != question.impossible) {
      malformed(where,
                question.impossible ? ": an impossible question must have no answer, found "
                                    : ": a question must have an answer or be impossible, found ",
                question.answers.size());
    }
  }

  void enter(char bracket, Place place) {
    walker_.enter(bracket);
    place_ = place;
  }

  void walk_root() {
    if (!walker_.more('}')) {
      if (!seen_data_ || !walker_.at_end()) {
        walker_.broken(seen_data_ ? "something follows its end" : "it has no list 'data'");
      }
      place_ = Place::kEnd;
    } else if (walker_.key() == "data") {
      seen_data_ = true;
      enter('[', Place::kData);
    } else {
      walker_.value();
    }
  }

  void walk_data() {
    if (!walker_.more(']')) {
      place_ = Place::kRoot;
    } else {
      title_.clear();
      has_paragraphs_ = false;
      enter('{', Place::kArticle);
    }
  }

  void walk_article() {
    if (!walker_.more('}')) {
      place_ = Place::kData;
      if (!has_paragraphs_) {
        malformed(walker_.source().where(walker_.source().next_line_number()), ": the article ", quote(title_),
                  " that ends here has no list 'paragraphs'");
      }
      return;
    }
    const std::string name = walker_.key();
    if (name == "paragraphs") {
      has_paragraphs_ = true;
      enter('[', Place::kParagraphs);
    } else {
      const Json other = walker_.value();
      title_ = name == "title" && other.is_string() ? other.get<std::string>() : title_;
    }
  }

  bool next_paragraph(std::string& text) {
    while (place_ != Place::kEnd) {
      if (place_ == Place::kStart) {
        enter('{', Place::kRoot);
      } else if (place_ == Place::kRoot) {
        walk_root();
      } else if (place_ == Place::kData) {
        walk_data();
      } else if (place_ == Place::kArticle) {
        walk_article();
      } else if (!walker_.more(']')) {
        place_ = Place::kArticle;
      } else {
        paragraph_line_ = walker_.source().next_line_number();
        paragraph_offset_ = walker_.source().offset();
        text = walker_.raw_value();
        return true;
      }
    }
    return false;
  }

  JsonWalker walker_;
  SquadAnswers answers_;
  Place place_ = Place::kStart;
  bool seen_data_ = false;
  std::string title_;
  bool has_paragraphs_ = false;  // the article
  std::int64_t paragraph_line_ = 1;
  std::uint64_t paragraph_offset_ = 0;
  std::shared_ptr<const std::string> context_;
  std::vector<Json> questions_;
  std::size_t next_question_ = 0;
};

SquadReader::SquadReader(const std::filesystem::path& path, const ReadOptions& options, SquadAnswers answers)
    : SquadReader(ByteSource(path), options, answers) {}

SquadReader::SquadReader(ByteSource bytes, const ReadOptions& options, SquadAnswers answers)
    : Reader(options), parser_(std::make_unique<Parser>(std::move(bytes), options, answers)) {}

SquadReader::~SquadReader() = default;

bool SquadReader::read(Question& question) { return parser_->next(question); }

}  // namespace weft::readers
