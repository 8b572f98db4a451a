// SPDX-License-Identifier: Apache-2.0
// Texts, their ids and what people say of them, from the forms that others write.
#include <cmath>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"
#include "weft/store/texts/corpus_reader.h"
#include "weft/store/texts/judgements.h"
#include "weft/store/texts/passages.h"

namespace weft::store {
namespace {

namespace fs = std::filesystem;

std::string read_all(const std::vector<std::string>& paths, const CorpusOptions& options = {}) {
  CorpusReader reader(paths, options);
  std::string all;
  for (CorpusText text; reader.next(text);) {
    all += text.id + "|" + text.title + "|" + text.text + (text.whole ? "|whole\n" : "\n");
  }
  return all;
}

TEST(CorpusReader, ReadsFoldersOfBeir) {
  const test::TemporaryDirectory directory;
  write_file_atomically(directory.path() / "corpus.jsonl",
                        "{\"_id\": \"d1\", \"title\": \"T\", \"text\": \"one\"}\n{\"_id\": 2, \"text\": \"two\"}\n");
  write_file_atomically(directory.path() / "queries.jsonl", "{\"_id\": \"q\", \"text\": \"who?\"}\n");
  EXPECT_EQ(read_all({directory.path()}), "d1|T|one\n2||two\n");
  EXPECT_EQ(read_all({directory.path() / "queries.jsonl"}), "q||who?\n");
}

TEST(CorpusReader, ReadsTablesRecordsAndWholeFiles) {
  const test::TemporaryDirectory directory;
  fs::create_directories(directory.path() / "below");
  write_file_atomically(directory.path() / "a.csv", "id,title,text\n7,T,\"one, two\"\n");
  write_file_atomically(directory.path() / "b.tsv", "pid\ttext\n8\tthree\n");
  write_file_atomically(directory.path() / "below" / "c.txt", "A whole\ntext.\n");
  write_file_atomically(directory.path() / "d.jsonl", "{\"text\": \"four\"}\n");
  EXPECT_EQ(read_all({directory.path()}),
            "7|T|one, two\n8||three\nbelow/c.txt||A whole\ntext.\n|whole\nd.jsonl:1||four\n");
  EXPECT_EQ(read_all({directory.path() / "below" / "c.txt"}, {.format = "lines"}),
            (directory.path() / "below" / "c.txt").native() + ":1||A whole\n" +
                (directory.path() / "below" / "c.txt").native() + ":2||text.\n");
}

TEST(CorpusReader, AnIdIsATextOrAWholeNumberAndNoName) {
  const test::TemporaryDirectory directory;
  const fs::path file = directory.path() / "a.jsonl";
  write_file_atomically(file, "{\"name\": \"Bob\", \"id\": null, \"title\": \"\", \"text\": \"one\"}\n");
  EXPECT_EQ(read_all({file}), file.native() + ":1||one\n");
  for (const char* id : {"7.5", "\"\"", "true", "[\"a\"]", "123456789012345678901234567890"}) {
    write_file_atomically(file, std::string("{\"id\": ") + id + ", \"text\": \"one\"}\n");
    test::expect_error(ErrorKind::kFormat, {"line 1", "'id'"}, [&] { read_all({file}); });
  }
  write_file_atomically(file, "{\"title\": [], \"text\": \"one\"}\n");
  test::expect_error(ErrorKind::kFormat, {"line 1", "'title'", "'[]'"}, [&] { read_all({file}); });
  write_file_atomically(directory.path() / "b.fa", ">chr1 first\nACGT\n");
  EXPECT_EQ(read_all({directory.path() / "b.fa"}), "chr1||ACGT\n");
}

TEST(CorpusReader, LeavesOutTheStoreThatAFolderHas) {
  const test::TemporaryDirectory directory;
  const fs::path store = directory.path() / "a.weft";
  for (const char* name : {"a.weft", "a.weft-wal", "a.weft-shm", "a.weft.txt"}) {
    write_file_atomically(directory.path() / name, "text");
  }
  fs::create_directories(directory.path() / "b");
  write_file_atomically(directory.path() / "b" / "a.weft", "another");
  EXPECT_EQ(read_all({directory.path()}, {.store = store}), "a.weft.txt||text|whole\nb/a.weft||another|whole\n");
}

TEST(CorpusReader, NamesOrCountsWhatIsMalformed) {
  const test::TemporaryDirectory directory;
  const fs::path file = directory.path() / "a.jsonl";
  write_file_atomically(file, "{\"id\": 1, \"text\": \"one\"}\n{\"id\": 2}\n{\"id\": 3, \"text\": \"three\"}\n");
  test::expect_error(ErrorKind::kFormat, {"line 2"}, [&] { read_all({file}); });
  CorpusReader reader({file}, {.skip_malformed = true});
  int texts = 0;
  for (CorpusText text; reader.next(text);) {
    ++texts;
  }
  EXPECT_EQ(texts, 2);
  EXPECT_EQ(reader.report().skipped, 1);
}

TEST(CorpusReader, NamesOrCountsFilesThatHoldNoText) {
  using namespace std::string_literals;
  const test::TemporaryDirectory directory;
  write_file_atomically(directory.path() / "a.png", "\x89PNG\r\n\x1A\n");
  write_file_atomically(directory.path() / "b.txt", "text");
  write_file_atomically(directory.path() / "c.xz", "\xFD\x37zXZ\0"s);
  test::expect_error(ErrorKind::kFormat, {"a.png", "PNG"}, [&] { read_all({directory.path()}); });
  CorpusReader reader({directory.path()}, {.skip_malformed = true});
  CorpusText text;
  ASSERT_TRUE(reader.next(text));
  EXPECT_EQ(text.id, "b.txt");
  EXPECT_FALSE(reader.next(text));
  EXPECT_EQ(reader.report().skipped, 2);
  EXPECT_NE(reader.report().first_skipped.find("a.png"), std::string::npos);
}

TEST(CutPassages, AreWholeSentencesThatFit) {
  const std::string text = "One two. Three four! Five \xC3\xA9\xC3\xA9.  \n Six.";
  const auto parts = [&](std::int64_t length) {
    std::vector<std::string> found;
    for (const text::SentencePlace& place : cut_passages(text, length)) {
      found.emplace_back(place.in(text));
    }
    return found;
  };
  using Parts = std::vector<std::string>;
  EXPECT_EQ(parts(0), Parts{text});
  EXPECT_EQ(parts(20), (Parts{"One two. Three four!", "Five \xC3\xA9\xC3\xA9.  \n Six."}));
  EXPECT_EQ(parts(8), (Parts{"One two.", "Three", "four!", "Five \xC3\xA9\xC3\xA9.", "Six."}));
  EXPECT_EQ(parts(2), (Parts{"On", "e", "tw", "o.", "Th", "re", "e", "fo", "ur", "!", "Fi", "ve", "\xC3\xA9\xC3\xA9",
                             ".", "Si", "x."}));
  EXPECT_TRUE(cut_passages(" \n", 5).empty());
}

TEST(Judgements, AreThoseOfBeirAndTrec) {
  const test::TemporaryDirectory directory;
  const fs::path file = directory.path() / "qrels.tsv";
  write_file_atomically(file, "query-id\tcorpus-id\tscore\n1\td1\t2\n1\td2\t0\n2\td1\t1\n");
  const Judgements beir = read_judgements(file);
  EXPECT_EQ(beir.at("1").at("d1"), 2);
  write_file_atomically(file, "1 0 d1 2\n1 0 d2 0\n2 0 d1 1\n");
  EXPECT_EQ(read_judgements(file), beir);
  write_file_atomically(file, "1 0 d1 2\n1 0 d1 0\n");
  test::expect_error(ErrorKind::kFormat, {"line 2: the text 'd1' was judged for the query '1' before"},
                     [&] { read_judgements(file); });
  write_file_atomically(file, "1 0 d1 2\nx\n");
  test::expect_error(ErrorKind::kFormat, {"line 2: expected a query id"}, [&] { read_judgements(file); });
}

// By hand after trec_eval: for query 1 c (0) and b (2) score the same, and c comes first; a (1) was not found.
TEST(SearchEvaluation, IsThatOfTrecEval) {
  const Judgements judged = {{"1", {{"a", 1}, {"b", 2}, {"c", 0}}}, {"2", {{"a", 1}}}, {"3", {{"a", 0}}}};
  SearchEvaluation evaluation(judged);
  evaluation.add("1", {{"d", 3.0}, {"b", 1.0}, {"c", 1.0 + 1e-12}, {"1", 9.0}});
  evaluation.add("2", {});
  evaluation.add("3", {{"a", 1.0}});
  evaluation.add("4", {{"a", 1.0}});
  const std::optional<metrics::RankingFigures> figures = evaluation.figures();
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->queries, 3U);
  EXPECT_EQ(figures->unanswered, 1U);  // query 3, which counts 0
  EXPECT_DOUBLE_EQ(figures->ndcg_at_10, (2.0 / 2.0) / (2.0 + 1.0 / std::log2(3.0)) / 3.0);
  EXPECT_DOUBLE_EQ(figures->mrr_at_10, 1.0 / 3.0 / 3.0);
  EXPECT_DOUBLE_EQ(figures->recall_at_10, 0.5 / 3.0);
  EXPECT_DOUBLE_EQ(figures->map, 1.0 / 3.0 / 2.0 / 3.0);
}

}  // namespace
}  // namespace weft::store
