// SPDX-License-Identifier: Apache-2.0
// The scan of codes finds what a comparison of all float32 vectors finds, and compares few of them.
#include "weft/store/vectors/vector_index.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/random.h"
#include "weft/store/fusion.h"
#include "weft/store/store_writer.h"
#include "weft/store/vectors/codes.h"

namespace weft::store {
namespace {

constexpr std::int64_t kPassages = 600;

// Some alike, some equal, one 0.
std::vector<float> drawn_vector(std::uint64_t number, std::int64_t width) {
  std::vector<float> vector;
  for (std::int64_t i = 0; i < width; ++i) {
    const Philox4 draw = philox(7, number / 2, static_cast<std::uint64_t>(i));
    vector.push_back(number == 5 ? 0.0F : random_unit(draw.value[0]) + random_unit(draw.value[1]) - 1.0F);
  }
  vector.front() += 0.01F * static_cast<float>(number % 3);
  return vector;
}

struct VectorStore {
  VectorStore(const std::string& similarity, std::int64_t width)
      : store(directory.path() / "s", Access::kCreate),
        space{.model = "m", .digest = "d", .width = width, .similarity = similarity} {
    StoreWriter writer(store);
    for (std::int64_t i = 0; i < kPassages; ++i) {
      writer.put({.id = std::to_string(i), .text = "a"}, 0);
    }
    writer.commit();
    store.set_vector_space(space);
    for (const Passage& passage : store.without_vector(0, kPassages)) {
      vectors.push_back({passage.number, drawn_vector(static_cast<std::uint64_t>(passage.number), width)});
    }
    write_vectors(store, space, vectors);
  }
  std::vector<Hit> by_comparing_all(std::vector<float> question, std::size_t count) const {
    const bool cosine = space.similarity == "cosine";
    std::vector<Hit> hits;
    if (cosine) {
      scale_to_one(question);
    }
    for (PassageVector one : vectors) {
      if (cosine) {
        scale_to_one(one.numbers);
      }
      hits.push_back({one.passage, exact_product(one.numbers, question)});
    }
    keep_best(hits, count);
    return hits;
  }

  test::TemporaryDirectory directory;
  Store store;
  VectorSpace space;
  std::vector<PassageVector> vectors;
};

TEST(VectorIndex, FindsWhatAComparisonOfAllFinds) {
  for (const char* similarity : {"cosine", "dot"}) {
    for (const std::int64_t width : {1, 3, 48, 384}) {
      VectorStore made(similarity, width);
      VectorIndex index(made.store);
      for (std::uint64_t number = 10000; number < 10010; ++number) {
        const std::vector<float> question = drawn_vector(number, width);
        for (const std::size_t count : {1, 10, 2000}) {
          const std::vector<Hit> expected = made.by_comparing_all(question, count);
          const std::vector<Hit> found = index.search(question, count);
          ASSERT_EQ(found.size(), expected.size());
          for (std::size_t i = 0; i < found.size(); ++i) {
            EXPECT_EQ(found[i].passage, expected[i].passage) << similarity << width << ' ' << count << ' ' << i;
            EXPECT_EQ(found[i].score, expected[i].score);
          }
        }
      }
      index.search(drawn_vector(10001, width), 1);
      if (width == 384) {
        EXPECT_LT(index.compared(), std::size_t{kPassages / 4});
      }
    }
  }
}

TEST(VectorIndex, CodesOfExtremeVectorsHold) {
  std::vector<float> large(1024, 3e38F);
  std::vector<float> small(1024, 1e-40F);
  for (const std::vector<float>& vector : {large, small}) {
    const VectorCode code = code_of(vector);
    const QuestionCode question = question_code(vector);
    std::int32_t product = 0;
    code_products(code.numbers.data(), question.numbers.data(), 1, 1024, &product);
    EXPECT_GT(product, 0);
    EXPECT_NEAR(code.scale * question.scale * product / exact_product(vector, vector), 1.0, 1e-2);
  }
  large[3] = std::nanf("");
  test::expect_error(ErrorKind::kNumeric, {"not finite"}, [&] { code_of(large); });
}

TEST(VectorIndex, AsksForVectorsThatAreMissing) {
  VectorStore made("cosine", 3);
  StoreWriter writer(made.store);
  writer.put({.id = "7", .text = "another text"}, 0);
  writer.commit();
  test::expect_error(ErrorKind::kArgument, {"1 of 600 passages have no vector yet"}, [&] { VectorIndex{made.store}; });
  made.store.set_vector_space({.model = "n", .digest = "e", .width = 4, .similarity = "dot"});
  EXPECT_EQ(made.store.facts().vectors, 0);
}

TEST(VectorIndex, OfADamagedFileSaysSo) {
  VectorStore made("cosine", 3);
  const std::vector<float> none(3, std::nanf(""));
  made.store.database().prepare("UPDATE vectors SET numbers = ?").bind(1, std::as_bytes(std::span(none))).run();
  VectorIndex index(made.store);
  test::expect_error(ErrorKind::kFormat, {"is not finite"}, [&] { index.search(drawn_vector(1, 3), 1); });
  made.store.database().run("UPDATE codes SET codes = x'00'");
  test::expect_error(ErrorKind::kFormat, {"the code of the vector of passage 1 cannot be"},
                     [&] { VectorIndex{made.store}; });
}

TEST(Fusion, SumsReciprocalRanks) {
  const std::vector<Hit> words = {{7, 9.0}, {3, 8.0}};
  const std::vector<Hit> vectors = {{3, 0.9}, {5, 0.8}, {4, 0.7}};
  const std::vector<Hit> fused = fuse(words, vectors);
  ASSERT_EQ(fused.size(), 4U);
  EXPECT_EQ(fused[0].passage, 3);
  EXPECT_DOUBLE_EQ(fused[0].score, 1.0 / 62 + 1.0 / 61);
  EXPECT_EQ(fused[1].passage, 7);
  EXPECT_DOUBLE_EQ(fused[1].score, 1.0 / 61);
  EXPECT_EQ(fused[2].passage, 5);
  EXPECT_EQ(fused[3].passage, 4);
}

}  // namespace
}  // namespace weft::store
