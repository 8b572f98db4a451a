// SPDX-License-Identifier: Apache-2.0
// x = s q + e and y = t p + f give x.y = s t q.p + s q.f + e.y, whose last two terms are at most |s q| |f| + |e| |y|.
#include "weft/store/vectors/vector_index.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>

#include "weft/core/error.h"
#include "weft/store/vectors/codes.h"

namespace weft::store {
namespace {

// Beyond what sums of float64 lose: bounds are never too narrow.
constexpr double kRounding = 1e-9;

VectorSpace space_of(Store& store) {
  const std::optional<VectorSpace> space = store.vector_space();
  if (!space) {
    throw Error(ErrorKind::kArgument, concat(store.name(), ": the store has no vectors"),
                "weft index STORE --model EMBEDDER computes them; a search by words needs none");
  }
  return *space;
}

}  // namespace

void scale_to_one(std::span<float> vector) {
  const double length = std::sqrt(exact_product(vector, vector));
  if (length > 0.0) {
    for (float& value : vector) {
      value = static_cast<float>(static_cast<double>(value) / length);
    }
  }
}

void write_vectors(Store& store, const VectorSpace& space, std::span<const PassageVector> vectors) {
  Database& database = store.database();
  Transaction transaction(database);
  Statement codes = database.prepare(
      "INSERT OR REPLACE INTO codes SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM passages WHERE number = ?1)");
  Statement numbers = database.prepare(
      "INSERT OR REPLACE INTO vectors SELECT ?1, ?2 WHERE EXISTS (SELECT 1 FROM passages WHERE number = ?1)");
  for (const PassageVector& one : vectors) {
    require(std::ssize(one.numbers) == space.width, "a vector of the store has ", space.width, " numbers, found ",
            one.numbers.size());
    std::vector<float> row = one.numbers;
    if (space.similarity == "cosine") {
      scale_to_one(row);
    }
    const VectorCode code = code_of(row);
    codes.bind(1, one.passage).bind(2, code.scale).bind(3, code.error);
    codes.bind(4, std::as_bytes(std::span(code.numbers))).run();
    numbers.bind(1, one.passage).bind(2, std::as_bytes(std::span(row))).run();
  }
  transaction.commit();
}

VectorIndex::VectorIndex(Store& store) : store_(&store), space_(space_of(store)) {
  const StoreFacts facts = store.facts();
  if (facts.vectors != facts.passages) {
    throw Error(ErrorKind::kArgument,
                concat(store.name(), ": ", facts.passages - facts.vectors, " of ", facts.passages,
                       " passages have no vector yet"),
                "weft index STORE goes on with them; a search by words needs none");
  }
  read_codes(store.database());
}

void VectorIndex::read_codes(Database& database) {
  const auto width = static_cast<std::size_t>(space_.width);
  row_.resize(width);
  Statement rows = database.prepare("SELECT number, scale, error, codes FROM codes ORDER BY number");
  while (rows.step()) {
    const std::span<const std::byte> code = rows.bytes(3);
    const double scale = rows.real(1);
    const double error = rows.real(2);
    if (code.size() != width || !(scale >= 0.0) || !(error >= 0.0) || !std::isfinite(scale) || !std::isfinite(error)) {
      database.damaged(concat("the code of the vector of passage ", rows.integer(0), " cannot be"));
    }
    const std::size_t begin = codes_.size();
    codes_.resize(begin + width);
    std::memcpy(codes_.data() + begin, code.data(), width);
    double squares = 0.0;
    for (std::size_t i = begin; i < codes_.size(); ++i) {
      squares += static_cast<double>(codes_[i]) * static_cast<double>(codes_[i]);
    }
    numbers_.push_back(rows.integer(0));
    scales_.push_back(scale);
    errors_.push_back(error);
    lengths_.push_back(scale * std::sqrt(squares));
  }
}

std::vector<VectorIndex::Bounds> VectorIndex::bounds(std::span<const float> question) const {
  const QuestionCode code = question_code(question);
  std::vector<std::int32_t> products(numbers_.size());
  code_products(codes_.data(), code.numbers.data(), std::ssize(numbers_), space_.width, products.data());
  std::vector<Bounds> found(numbers_.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double product = scales_[i] * code.scale * static_cast<double>(products[i]);
    const double off = (lengths_[i] * code.error + errors_[i] * code.length) * (1.0 + kRounding) +
                       (lengths_[i] + errors_[i]) * code.length * kRounding;
    found[i] = {product - off, product + off};
  }
  return found;
}

double VectorIndex::exact(Statement& rows, std::int64_t passage, std::span<const float> question) {
  rows.bind(1, passage);
  if (!rows.step() || rows.bytes(0).size() != question.size_bytes()) {
    store_->database().damaged(concat("the vector of passage ", passage, " is not there, or has another width"));
  }
  std::memcpy(row_.data(), rows.bytes(0).data(), question.size_bytes());
  rows.reset();
  const double product = exact_product(row_, question);
  if (!std::isfinite(product)) {
    store_->database().damaged(concat("the vector of passage ", passage, " is not finite"));
  }
  return product;
}

std::vector<Hit> VectorIndex::search(std::span<const float> question, std::size_t count) {
  require(std::ssize(question) == space_.width, "the vectors of ", store_->name(), " have ", space_.width,
          " numbers, that of the question has ", question.size());
  std::vector<float> vector(question.begin(), question.end());
  if (space_.similarity == "cosine") {
    scale_to_one(vector);
  }
  const std::vector<Bounds> found = bounds(vector);
  compared_ = 0;
  const std::size_t wanted = std::min(count, found.size());
  if (wanted == 0) {
    return {};
  }
  // As many passages as are wanted have at least this product: what cannot reach it is none of them.
  std::vector<double> lows;
  lows.reserve(found.size());
  for (const Bounds& one : found) {
    lows.push_back(one.low);
  }
  const auto last = lows.begin() + static_cast<std::ptrdiff_t>(wanted - 1);
  std::nth_element(lows.begin(), last, lows.end(), std::greater<>());
  std::vector<Hit> hits;
  Statement rows = store_->database().prepare("SELECT numbers FROM vectors WHERE number = ?");
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].high >= *last) {
      hits.push_back({numbers_[i], exact(rows, numbers_[i], vector)});
    }
  }
  compared_ = hits.size();
  keep_best(hits, count);
  return hits;
}

}  // namespace weft::store
