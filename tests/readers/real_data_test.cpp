// SPDX-License-Identifier: Apache-2.0
// Published data sets from WEFT_DATA, whole: as many records as their makers say.
#include <cstdlib>
#include <memory>

#include <gtest/gtest.h>

#include "readers/reading.h"
#include "weft/readers/conll_reader.h"
#include "weft/readers/fasta_reader.h"
#include "weft/readers/squad_reader.h"
#include "weft/readers/table_reader.h"

namespace weft::readers {
namespace {

class RealData : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* data = std::getenv("WEFT_DATA");
    if (data == nullptr) {
      GTEST_SKIP() << "WEFT_DATA is not set";
    }
    folder_ = data;
  }
  std::filesystem::path file(const std::string& name) const {
    EXPECT_TRUE(std::filesystem::exists(folder_ / name)) << name << ": unpack its archive";
    return folder_ / name;
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(RealData, Questions) {
  SquadReader squad(file("squad2/dev-v2.0.json"));
  std::int64_t impossible = 0;
  for (const Question& question : test::all_records(squad)) {
    impossible += question.impossible ? 1 : 0;
  }
  EXPECT_EQ(squad.report().records, 6078);
  EXPECT_GT(impossible, 2500);
  SquadReader covid(file("covidqa/covidqa_fixed.json"));
  EXPECT_EQ(test::all_records(covid).size(), 1380U);
}

TEST_F(RealData, Sentences) {
  ConllReader train(file("wnut17/train.conll"));
  EXPECT_EQ(test::all_records(train).size(), 3394U);
  ConllReader dev(file("wnut17/dev.conll"));
  EXPECT_EQ(test::all_records(dev).size(), 1009U);
}

TEST_F(RealData, Tables) {
  for (const auto& [name, rows] : {std::pair{"sst2/train.tsv", 60614U}, {"sst2/dev.tsv", 6735U}}) {
    TableReader reader(file(name), TableOptions::of(name));
    EXPECT_EQ(test::all_records(reader).size(), rows) << name;
    EXPECT_EQ(reader.column("label"), 1U);
  }
}

TEST_F(RealData, Sequences) {
  FastaReader genome(file("genomics/ecoli.fa.gz"));
  const auto records = test::all_records(genome);
  std::size_t bases = 0;
  for (const FastaRecord& record : records) {
    bases += record.sequence.size();
  }
  EXPECT_GT(bases, 4600000U);
  FastaReader tata(file("genomics/Arabidopsis_tata.fa"));
  for (const FastaRecord& record : test::all_records(tata)) {
    EXPECT_EQ(record.sequence.size(), 251U) << record.name;
  }
}

}  // namespace
}  // namespace weft::readers
