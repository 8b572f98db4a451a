// SPDX-License-Identifier: Apache-2.0
// Memory in a file: pieces that do not overlap, are used again and are joined; a directory that is not there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/disk/file_memory.h"

namespace weft {
namespace {

struct Piece {
  unsigned char* begin;
  std::size_t bytes;
  unsigned char mark;
};

bool holds_its_mark(const Piece& piece) {
  return std::all_of(piece.begin, piece.begin + piece.bytes, [&](unsigned char byte) { return byte == piece.mark; });
}

TEST(FileMemory, PiecesKeepWhatIsWritten) {
  test::TemporaryDirectory directory;
  FileMemory memory(directory.path());
  EXPECT_TRUE(std::filesystem::is_empty(directory.path())) << "the file has no name";
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 generator(seed);
  std::vector<Piece> pieces;
  for (int i = 0; i < 400; ++i) {
    if (pieces.size() > 20) {
      const std::size_t at = generator() % pieces.size();
      ASSERT_TRUE(holds_its_mark(pieces[at]));
      memory.give_back(pieces[at].begin);
      EXPECT_FALSE(memory.owns(pieces[at].begin));
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(at));
    }
    const std::size_t bytes = generator() % 50000;
    auto* const begin = static_cast<unsigned char*>(memory.take(bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(begin) % 4096, 0U);
    EXPECT_TRUE(memory.owns(begin));
    pieces.push_back({begin, bytes, static_cast<unsigned char>(i)});
    std::memset(begin, pieces.back().mark, bytes);
  }
  for (const Piece& piece : pieces) {
    EXPECT_TRUE(holds_its_mark(piece));
  }
  EXPECT_EQ(memory.bytes(), std::size_t{64} << 20) << "pieces that are given back are taken again";
}

TEST(FileMemory, NeighboursAreJoinedAndTheFileGrows) {
  test::TemporaryDirectory directory;
  FileMemory memory(directory.path());
  constexpr std::size_t kThird = std::size_t{16} << 20;
  std::vector<void*> thirds;
  thirds.reserve(4);
  for (int i = 0; i < 4; ++i) {
    thirds.push_back(memory.take(kThird));
  }
  for (const int i : {1, 3, 0, 2}) {
    memory.give_back(thirds[static_cast<std::size_t>(i)]);
  }
  memory.give_back(nullptr);
  void* const whole = memory.take(4 * kThird);
  EXPECT_EQ(memory.bytes(), 4 * kThird);
  memory.take(kThird);
  EXPECT_GT(memory.bytes(), 4 * kThird);
  memory.give_back(whole);
}

TEST(FileMemory, WhatCannotBeHeldIsOneLine) {
  test::TemporaryDirectory directory;
  test::expect_error(ErrorKind::kIo, {"nothing"}, [&] { FileMemory memory(directory / "nothing"); });
  FileMemory memory(directory.path());
  test::expect_error(ErrorKind::kIo, {"bytes"}, [&] { memory.take(std::size_t{1} << 60); });
  EXPECT_NE(memory.take(1), nullptr);
}

}  // namespace
}  // namespace weft
