// SPDX-License-Identifier: Apache-2.0
// Translation and summaries with a writer in place of a model: no sentence is lost, all white space stays, languages
// are checked, and what is too long is said.
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/tasks/sequences/languages.h"
#include "weft/tasks/sequences/summarize.h"
#include "weft/tasks/sequences/translate.h"
#include "weft/text/hugging_face/texts.h"
#include "weft/text/utf8.h"

namespace weft::tasks {
namespace {

using formats::Json;
using test::expect_error;

/// Writes what it reads `texts` times, between `<` and `>` where it marks, and remembers it.
class Copier final : public Writer {
 public:
  explicit Copier(std::size_t texts = 1, bool marks = false) : texts_(texts), marks_(marks) {}

  std::vector<std::vector<Written>> write(const WritingRequest& request) override {
    std::vector<std::vector<Written>> written;
    for (std::size_t i = 0; i < request.sources.size(); ++i) {
      const Ids& source = request.sources[i];
      read.push_back(source);
      numbers[source].push_back(request.numbers[i]);
      Ids ids = source;
      if (marks_) {
        ids.insert(ids.begin(), '<');
        ids.push_back('>');
      }
      written.emplace_back(texts_, Written{.ids = ids, .complete = source.size() % 2 == 0});
    }
    return written;
  }

  std::vector<Ids> read;
  std::map<Ids, Ids> numbers;  ///< that a source came with

 private:
  std::size_t texts_;
  bool marks_;
};

/// Settles what it writes token by token.
class TellingCopier final : public Writer {
 public:
  std::vector<std::vector<Written>> write(const WritingRequest& request) override {
    for (std::size_t source = 0; request.on_settled && source < request.sources.size(); ++source) {
      for (std::size_t count = 1; count < request.sources[source].size(); ++count) {
        request.on_settled(source, std::span(request.sources[source]).first(count));
      }
    }
    return Copier().write(request);
  }
};

SequenceModel byte_model(std::shared_ptr<Writer> writer, std::int64_t longest) {
  return {.writer = std::move(writer),
          .tokenizer = text::make_pair_tokenizer(text::make_byte_tokenizer(), {}),
          .name = "'bytes'",
          .longest = longest,
          .vocabulary = 256};
}

SequenceModel marian_model(const char* name, std::shared_ptr<Writer> writer) {
  SequenceModel model = byte_model(std::move(writer), 1000);
  model.tokenizer = text::load_pair_tokenizer(std::filesystem::path(WEFT_TEST_DATA_DIR) / "pairs" / name);
  model.vocabulary = 1 << 20;
  return model;
}

TranslateOptions by_sentences() {
  return {.split = [](std::string_view text) { return text::find_sentences(text); }};
}

std::string random_document(std::mt19937_64& random, bool long_paragraph) {
  static const std::vector<std::string> pieces = {"The loom weaves. ",
                                                  "Mr. J. Smith said: \"No!\"",
                                                  " ",
                                                  "\n",
                                                  "\n\n\n",
                                                  "\r\n",
                                                  "\t",
                                                  "?!?!...",
                                                  "😀",
                                                  "👩‍👩‍👧 🇫🇷 ",
                                                  "中文。日本語！",
                                                  "\u3000",
                                                  "…",
                                                  "e.g. ",
                                                  "3.14 ",
                                                  ">>",
                                                  "<<",
                                                  ") ",
                                                  "«Oui», dit-elle. ",
                                                  "\u00a0",
                                                  "\xFF\xC3",
                                                  "- ",
                                                  "1. one\n",
                                                  "a",
                                                  "A",
                                                  "—",
                                                  "( ",
                                                  "مرحبا؟ ",
                                                  "https://a.b/c?d=e#f ",
                                                  "x@y.z, ok; ",
                                                  "\u2028",
                                                  "\u200b",
                                                  ">>fr<<"};
  std::string text;
  const std::size_t parts = random() % 60;
  for (std::size_t i = 0; i < parts; ++i) {
    text += pieces[random() % pieces.size()];
  }
  for (int i = 0; long_paragraph && i < 10000; ++i) {
    text += random() % 9 == 0 ? ", word" : " word";
  }
  return text + std::string(random() % 3, '\n');
}

// Each sentence lies where it says, in order, and between two there is nothing but white space.
void expect_aligned(const Json& result, const std::string& document) {
  std::size_t end = 0;
  for (const Json& sentence : result["sentences"]) {
    const std::string source = sentence["source"];
    const std::size_t begin = text::byte_offset(document, sentence["start"].get<std::size_t>());
    ASSERT_GE(begin, end);
    EXPECT_EQ(text::strip_left(document.substr(end, begin - end)), "");
    end = text::byte_offset(document, sentence["end"].get<std::size_t>());
    EXPECT_EQ(document.substr(begin, end - begin), source);
    EXPECT_EQ(sentence["translation"], source);
  }
  EXPECT_EQ(text::strip_left(document.substr(end)), "");
}

TEST(Translate, KeepsEveryDocument) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::vector<Document> documents;
  documents.reserve(1000);
  for (int i = 0; i < 1000; ++i) {
    documents.push_back({.first = random_document(random, i % 250 == 0), .name = concat("text ", i)});
  }
  const auto copier = std::make_shared<Copier>();
  const std::vector<TaskResult> results = translate(byte_model(copier, 120), documents, by_sentences());
  ASSERT_EQ(results.size(), documents.size());
  std::int64_t divided = 0;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const std::string& given = documents[i].first;
    const std::string valid = text::valid_text(given);
    const std::string& document = valid.empty() ? given : valid;
    ASSERT_EQ(results[i].result.size(), 1U);
    ASSERT_EQ(results[i].result[0]["translation_text"], document) << i;
    expect_aligned(results[i].result[0], document);
    divided += results[i].metadata["divided"].get<std::int64_t>();
  }
  EXPECT_GE(divided, 4) << "paragraphs of 10,000 words are longer than 120 bytes";
  for (const Ids& source : copier->read) {
    EXPECT_LE(source.size(), 120U);
  }
}

TEST(Translate, WritesEverySentenceOnce) {
  const std::vector<Document> documents = {
      {.first = " One is here. Two is there!\n\n\tThree?\n"}, {.first = ""}, {.first = "\n \n"}};
  const auto model = byte_model(std::make_shared<Copier>(2, true), 100);
  const std::vector<TaskResult> results = translate(model, documents, by_sentences());
  ASSERT_EQ(results[0].result.size(), 2U);
  EXPECT_EQ(results[0].result[1]["translation_text"], " <One is here.> <Two is there!>\n\n\t<Three?>\n");
  EXPECT_EQ(results[0].metadata["sentences"], 3);
  EXPECT_EQ(results[0].metadata["incomplete"], 1) << "only 'One is here.' has an odd number of bytes";
  EXPECT_EQ(results[0].result[0]["sentences"][2],
            Json({{"source", "Three?"}, {"translation", "<Three?>"}, {"start", 30}, {"end", 36}}));
  EXPECT_EQ(results[1].result[0]["translation_text"], "");
  EXPECT_EQ(results[2].result[0]["translation_text"], "\n \n");
  EXPECT_EQ(results[2].metadata["sentences"], 0);
}

TEST(Translate, DrawsAreNamedByThePlaceOfAText) {
  const std::vector<Document> documents = {{.first = "One. Two.", .place = 7}, {.first = "One.", .place = 9}};
  for (const std::int64_t rows : {1, 16}) {
    const auto writer = std::make_shared<Copier>();
    TranslateOptions options = by_sentences();
    options.batch.rows = rows;
    translate(byte_model(writer, 100), documents, options);
    EXPECT_EQ(writer->numbers[Ids({'O', 'n', 'e', '.'})], Ids({draw_number(7, 0), draw_number(9, 0)})) << rows;
    EXPECT_EQ(writer->numbers[Ids({'T', 'w', 'o', '.'})], Ids({draw_number(7, 1)})) << rows;
    const auto summary_writer = std::make_shared<Copier>();
    summarize(byte_model(summary_writer, 100), documents, {.batch = options.batch});
    EXPECT_EQ(summary_writer->numbers[Ids({'O', 'n', 'e', '.'})], Ids({draw_number(9, 0)})) << rows;
  }
}

TEST(Translate, DividesWhatIsTooLong) {
  const std::vector<Document> documents = {{.first = "aaaa bbbb cccc, dddd eeee"}, {.first = "日本語日本語"}};
  const auto model = byte_model(std::make_shared<Copier>(1, true), 14);
  const std::vector<TaskResult> results = translate(model, documents, by_sentences());
  EXPECT_EQ(results[0].result[0]["translation_text"], "<aaaa bbbb> <cccc,> <dddd eeee>");
  EXPECT_EQ(results[0].result[0]["sentences"][0]["parts"], 3);
  EXPECT_EQ(results[0].metadata["divided"], 1);
  EXPECT_EQ(results[1].result[0]["translation_text"], "<日本語><日本語>") << "between characters";
  expect_error(ErrorKind::kArgument, {"the text", "more than the 14 tokens", "'bytes'", "by sentences"},
               [&] { translate(model, documents, {}); });
  EXPECT_EQ(translate(model, std::vector<Document>{{.first = "ab. cd."}}, {})[0].result[0]["translation_text"],
            "<ab. cd.>");
}

class TranslateMarian : public ::testing::Test {
 protected:
  SequenceModel model_ = {
      .writer = std::make_shared<Copier>(),
      .tokenizer = text::load_pair_tokenizer(std::filesystem::path(WEFT_TEST_DATA_DIR) / "pairs/marian-codes"),
      .name = "'marian'",
      .longest = 512,
      .vocabulary = 1000};
  const std::vector<Document> documents_ = {{.first = "Hello, world. A man walks.\n"}};
};

TEST_F(TranslateMarian, EverySentenceGetsItsLanguage) {
  TranslateOptions options = by_sentences();
  options.code = language_code(model_, "", "fr");
  translate(model_, documents_, options);
  const auto french = model_.tokenizer->find(">>fr<<", text::Side::kSource);
  const auto& read = static_cast<Copier&>(*model_.writer).read;
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].front(), french);
  EXPECT_EQ(read[1].front(), french);
  // A text's own code counts, and is not translated.
  const auto result = translate(model_, std::vector<Document>{{.first = ">>de<< Hello, world. A man walks."}}, options);
  EXPECT_EQ(read[2].front(), model_.tokenizer->find(">>de<<", text::Side::kSource));
  EXPECT_EQ(result[0].result[0]["sentences"][0]["start"], 7);
  EXPECT_EQ(result[0].result[0]["sentences"][0]["source"], "Hello, world.");
}

TEST_F(TranslateMarian, LanguagesThatAreNotThere) {
  expect_error(ErrorKind::kArgument, {"the text", "'marian'", "target_lang", "'de', 'fr'"},
               [&] { translate(model_, documents_, by_sentences()); });
  expect_error(ErrorKind::kArgument, {"'marian'", "'xx'", "'de', 'fr'"}, [&] { language_code(model_, "", "xx"); });
  EXPECT_EQ(language_code(model_, "en", ">>de<<"), ">>de<<") << "a language that is not named is not checked";
  model_.source_language = "cs";
  expect_error(ErrorKind::kArgument, {"source language is 'cs', not 'en'"}, [&] { language_code(model_, "en", "fr"); });
}

TEST_F(TranslateMarian, TokensThatTheModelLacks) {
  model_.vocabulary = 5;
  TranslateOptions options = by_sentences();
  options.code = ">>fr<<";
  expect_error(ErrorKind::kFormat, {"'marian'", "the model has 5 rows", "two models"},
               [&] { translate(model_, documents_, options); });
}

// Sentences of a summary come as soon as they are certain, characters whole, and all of them are the summary.
TEST(Summarize, SentencesComeAsTheyAreWritten) {
  const SequenceModel model = byte_model(std::make_shared<TellingCopier>(), 4096);
  const std::vector<Document> documents = {
      {.first = "The loom weaves. It is old! 日本語。 And so on", .name = "text 1"},
      {.first = "One", .name = "text 2"}};
  std::vector<std::vector<std::string>> pieces(documents.size());
  SummarizeOptions options;
  options.on_summarized = [&](std::size_t document, std::string_view text) {
    pieces[document].emplace_back(text);
    return true;
  };
  const std::vector<TaskResult> results = summarize(model, documents, options);
  EXPECT_EQ(pieces[0], (std::vector<std::string>{"The loom weaves. ", "It is old! ", "日本語。 ", "And so on"}));
  EXPECT_EQ(pieces[1], std::vector<std::string>{"One"});
  EXPECT_EQ(results[0].result.front()["summary_text"], documents[0].first);
  options.on_summarized = [](std::size_t, std::string_view) { return false; };
  expect_error(ErrorKind::kInterrupted, {"nobody waits"}, [&] { summarize(model, documents, options); });
}

TEST(Summarize, TruncatesOnlyWhenAsked) {
  const auto copier = std::make_shared<Copier>();
  SequenceModel model = byte_model(copier, 8);
  model.tokenizer = text::make_pair_tokenizer(text::make_byte_tokenizer(), {.before = {1}, .behind = {2}});
  const std::vector<Document> documents = {{.first = "ab"}, {.first = "a long text", .name = "text 2"}};
  expect_error(ErrorKind::kArgument, {"text 2", "13 tokens", "at most 8"}, [&] { summarize(model, documents, {}); });
  const std::vector<TaskResult> results = summarize(model, documents, {.truncate = true});
  EXPECT_EQ(results[0].result, Json::array({{{"summary_text", "ab"}}}));
  EXPECT_EQ(results[1].result[0]["summary_text"], "a long");
  EXPECT_EQ(results[1].metadata["truncated"], 5);
  EXPECT_EQ(copier->read[0], (Ids{1, 'a', ' ', 'l', 'o', 'n', 'g', 2})) << "the end keeps its token";
}

TEST(LanguageCodes, MayHaveBlanksAroundThem) {
  const std::vector<std::string> codes{">>de<<", ">>fr<<"};
  for (const char* text : {">>fr<<The loom", ">>fr<< The loom", "  >>fr<<\t The loom"}) {
    const std::string code = own_code(text, codes);
    EXPECT_EQ(code, ">>fr<<") << text;
    EXPECT_EQ(std::string(text).substr(behind_code(text, code)), "The loom");
  }
  EXPECT_EQ(own_code("The >>fr<<", codes), "");
  EXPECT_EQ(behind_code(" The", ""), 0U);
  const auto copier = std::make_shared<Copier>();
  const SequenceModel model = marian_model("marian-codes", copier);
  for (const char* text : {">>fr<< The loom", " >>fr<<  The loom"}) {
    const std::vector<Document> documents{{text, std::nullopt, "one"}};
    const auto results = translate(model, documents, by_sentences());
    const auto written = results.front().result.front().at("translation_text").get<std::string>();
    EXPECT_FALSE(written.starts_with(' ')) << written;
    EXPECT_EQ(copier->read.back(), copier->read.front());
  }
}

TEST(LanguageCodes, OfAnotherModelAreNoText) {
  const auto read = [](const char* name, const std::string& text) {
    const std::vector<Document> documents{{text, std::nullopt, "line 3"}};
    TranslateOptions options = by_sentences();
    options.code = std::string(name) == "marian-codes" ? std::optional<std::string>(">>de<<") : std::nullopt;
    translate(marian_model(name, std::make_shared<Copier>()), documents, options);
  };
  expect_error(ErrorKind::kArgument, {"line 3", ">>xx<<", "'de', 'fr'"}, [&] { read("marian-codes", ">>xx<< Loom"); });
  expect_error(ErrorKind::kArgument, {"line 3", ">>fr<<", "one language"},
               [&] { read("marian-separate", ">>fr<< Loom"); });
  for (const char* text : {" >>xx<< Loom", ">>no code at all, but a long text<<", ">> quoted <<", ">><<", "Loom"}) {
    EXPECT_NO_THROW(read("marian-codes", text)) << text;
    EXPECT_NO_THROW(read("marian-separate", text)) << text;
  }
  const SequenceModel bytes = byte_model(std::make_shared<Copier>(), 1000);
  const std::vector<Document> documents{{">>fr<< Loom", std::nullopt, "one"}};
  EXPECT_NO_THROW(translate(bytes, documents, by_sentences()));  // whose tokeniser knows of no codes
}

}  // namespace
}  // namespace weft::tasks
