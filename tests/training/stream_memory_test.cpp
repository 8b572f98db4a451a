// SPDX-License-Identifier: Apache-2.0
// Memories between steps: a step that does not end changes nothing, and files of other steps or shapes are refused.
#include "weft/training/stream_memory.h"

#include <ATen/ops/full.h>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace weft::training {
namespace {

/// As a model leaves it: one layer, one row, two tokens.
void leave(layers::SegmentMemory& memory, double number) { memory.layers = {at::full({1, 2, 3}, number)}; }

double number_in(const layers::SegmentMemory& memory) { return memory.layers.at(0)[0][0][0].item<double>(); }

constexpr StreamMemory::Shape kShape{1, 1, 4, 3};

TEST(StreamMemory, AStepThatDoesNotEndLeavesTheOneBefore) {
  const test::TemporaryDirectory folder;
  StreamMemory memory(2);
  for (const std::int64_t part : {0, 1}) {
    leave(*memory.begin(0, part, false), 10.0 + static_cast<double>(part));
  }
  EXPECT_EQ(number_in(*memory.begin(1, 1, true)), 11.0);
  leave(*memory.begin(1, 0, true), 20.0);
  EXPECT_EQ(memory.begin(1, 1, false)->length(), 0) << "an epoch begins";
  leave(*memory.begin(1, 1, true), 21.0);
  memory.save(folder / "whole");
  EXPECT_EQ(number_in(*memory.begin(2, 0, true)), 20.0);
  memory.save(folder / "cut");  // step 2 came to its first part only
  test::expect_error(ErrorKind::kArgument, {"step 4", "step 2"}, [&] { memory.begin(4, 0, true); });
  for (const char* file : {"whole", "cut"}) {
    StreamMemory loaded(2);
    loaded.load(folder / file, 2, kShape);
    EXPECT_EQ(number_in(*loaded.begin(2, 0, true)), 20.0) << file;
    EXPECT_EQ(number_in(*loaded.begin(2, 1, true)), 21.0) << file;
  }
}

TEST(StreamMemory, RefusesFilesOfOtherRuns) {
  const test::TemporaryDirectory folder;
  StreamMemory memory(1);
  memory.save(folder / "first");
  memory.load(folder / "first", 0, kShape);
  leave(*memory.begin(0, 0, false), 1.0);
  memory.save(folder / "second");
  const auto load = [&](std::int64_t parts, std::int64_t step, const StreamMemory::Shape& shape) {
    return [&, parts, step, shape] { StreamMemory(parts).load(folder / "second", step, shape); };
  };
  EXPECT_NO_THROW(load(1, 1, kShape)());
  test::expect_error(ErrorKind::kFormat, {"second", "step 7"}, load(1, 7, kShape));
  test::expect_error(ErrorKind::kFormat, {"second", "parts.1"}, load(2, 1, kShape));
  test::expect_error(ErrorKind::kFormat, {"up to 1"}, load(1, 1, {1, 1, 1, 3}));
  test::expect_error(ErrorKind::kFormat, {"parts.0.layers.1"}, load(1, 1, {2, 1, 4, 3}));
  test::expect_error(ErrorKind::kFormat, {"0 layers", "found 2"}, load(1, 1, {0, 1, 4, 3}));
}

TEST(StreamMemory, RefusesDamagedCompressedRows) {
  const test::TemporaryDirectory folder;
  const StreamMemory::Shape shape{2, 1, 4, 3, 5};
  const auto refused = [&](std::initializer_list<std::string_view> words, const auto& damage) {
    StreamMemory memory(1);
    layers::SegmentMemory& left = *memory.begin(0, 0, false);
    left.layers = {at::full({1, 2, 3}, 1.0), at::full({1, 2, 3}, 1.0)};
    left.compressed = {at::full({1, 5, 3}, 2.0), at::full({1, 5, 3}, 2.0)};
    damage(left);
    memory.save(folder / "rows");
    const auto load = [&] { StreamMemory(1).load(folder / "rows", 1, shape); };
    if (words.size() == 0) {
      EXPECT_NO_THROW(load());
    } else {
      test::expect_error(ErrorKind::kFormat, words, load);
    }
  };
  refused({}, [](layers::SegmentMemory&) {});
  refused({"rows", "parts.0.compressed.1", "up to 5"},
          [](auto& left) { left.compressed[1] = at::full({1, 6, 3}, 2.0); });
  refused({"parts.0.compressed.1"}, [](auto& left) { left.compressed[1] = at::full({1, 4, 3}, 2.0); });
  refused({"parts.0.compressed.0"}, [](auto& left) { left.compressed[0] = at::full({1, 5, 4}, 2.0); });
  refused({"parts.0.compressed.0"}, [](auto& left) { left.compressed[0] = at::full({1, 5, 3}, 2, at::kLong); });
  refused({"parts.0.compressed.1"}, [](auto& left) { left.compressed.pop_back(); });
  refused({"parts.0.layers.0"}, [](auto& left) { left.layers[0] = at::full({2, 2, 3}, 1.0); });
}

}  // namespace
}  // namespace weft::training
