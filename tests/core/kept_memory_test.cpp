// SPDX-License-Identifier: Apache-2.0
// Memory that is used again: pieces that do not overlap, also where their pages were moved; no more than was held at
// once; what goes back to the system and when; several threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "weft/core/system/kept_memory.h"

namespace weft {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

struct MarkedPiece {
  unsigned char* begin;
  std::size_t bytes;
  unsigned char mark;
};

MarkedPiece marked(KeptMemory& memory, std::size_t bytes, unsigned char mark) {
  const MarkedPiece piece{static_cast<unsigned char*>(memory.take(bytes)), bytes, mark};
  std::memset(piece.begin, mark, bytes);
  return piece;
}

bool is_as_written(const MarkedPiece& piece) {
  return piece.bytes == 0 ||
         (*piece.begin == piece.mark && std::memcmp(piece.begin, piece.begin + 1, piece.bytes - 1) == 0);
}

// Sizes of all kinds, so that pieces are found, moved together and made.
void take_and_give_back(KeptMemory& memory, std::uint64_t seed, int count, std::size_t most_bytes) {
  std::mt19937_64 generator(seed);
  std::vector<MarkedPiece> pieces;
  for (int i = 0; i < count; ++i) {
    if (pieces.size() > 6) {
      const std::size_t at = generator() % pieces.size();
      ASSERT_TRUE(is_as_written(pieces[at]));
      ASSERT_TRUE(memory.owns(pieces[at].begin));
      memory.give_back(pieces[at].begin);
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(at));
    }
    pieces.push_back(marked(memory, generator() % most_bytes, static_cast<unsigned char>(i)));
    if (i % 16 == 0) {
      memory.end_period();
    }
  }
  for (const MarkedPiece& piece : pieces) {
    EXPECT_TRUE(is_as_written(piece));
    memory.give_back(piece.begin);
  }
}

TEST(KeptMemory, PiecesKeepWhatIsWritten) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  for (const bool large_pages : {false, true}) {
    KeptMemory memory(large_pages);
    take_and_give_back(memory, seed, 200, 9 * kMegabyte);
    EXPECT_EQ(memory.figures().held, 0U);
    EXPECT_GT(memory.figures().moved, 0U);
  }
}

TEST(KeptMemory, ThreadsDoNotDisturbEachOther) {
  KeptMemory memory(false);
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&memory, seed] { take_and_give_back(memory, seed, 80, 3 * kMegabyte); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(memory.figures().held, 0U);
}

TEST(KeptMemory, BeginsOfPieces) {
  KeptMemory memory(true);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4097}, 2 * kMegabyte - 1}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.take(bytes)) % 4096, 0U) << bytes;
  }
  for (const std::size_t bytes : {2 * kMegabyte, 2 * kMegabyte + 1, 5 * kMegabyte}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.take(bytes)) % (2 * kMegabyte), 0U) << bytes;
  }
}

TEST(KeptMemory, AStepLikeTheLastAsksTheSystemForNothing) {
  KeptMemory memory(false);
  std::size_t after_first = 0;
  for (int step = 0; step < 5; ++step) {
    std::vector<void*> pieces;
    for (const std::size_t bytes : {3 * kMegabyte, kMegabyte / 2, 12 * kMegabyte, 3 * kMegabyte}) {
      pieces.push_back(memory.take(bytes));
    }
    for (void* piece : pieces) {
      memory.give_back(piece);
    }
    memory.end_period();
    after_first = step == 0 ? memory.figures().fresh : after_first;
  }
  EXPECT_EQ(memory.figures().fresh, after_first);
  EXPECT_EQ(memory.figures().moved, 0U);
  EXPECT_EQ(memory.figures().handed, 5 * after_first);
}

TEST(KeptMemory, HeldAndKeptAreAtMostWhatWasHeldAtOnce) {
  KeptMemory memory(false);
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 generator(seed);
  std::vector<void*> pieces;
  std::size_t most = 0;
  for (int i = 0; i < 300; ++i) {
    if (pieces.size() > generator() % 12) {
      std::swap(pieces.back(), pieces[generator() % pieces.size()]);
      memory.give_back(pieces.back());
      pieces.pop_back();
    }
    pieces.push_back(memory.take(generator() % (8 * kMegabyte)));
    const KeptMemory::Figures figures = memory.figures();
    most = std::max(most, figures.held);
    ASSERT_LE(figures.held + figures.kept, most);
  }
}

TEST(KeptMemory, PagesAreMovedWhereNoPieceFits) {
  KeptMemory memory(false);
  const MarkedPiece first = marked(memory, 4 * kMegabyte, 1);
  const MarkedPiece second = marked(memory, 4 * kMegabyte, 2);
  const MarkedPiece stays = marked(memory, 2 * kMegabyte, 3);
  memory.give_back(first.begin);
  memory.give_back(second.begin);
  const MarkedPiece whole = marked(memory, 8 * kMegabyte, 4);
  EXPECT_EQ(memory.figures().moved, 8 * kMegabyte);
  EXPECT_EQ(memory.figures().kept, 0U);
  EXPECT_TRUE(is_as_written(stays));
  memory.give_back(whole.begin);
  // What is left of a piece is kept.
  const MarkedPiece part = marked(memory, 3 * kMegabyte, 5);
  EXPECT_EQ(memory.figures().kept, 5 * kMegabyte - kMegabyte) << "3 MiB is one large page, moved, and 1 MiB made";
  EXPECT_TRUE(is_as_written(part) && is_as_written(stays));
}

TEST(KeptMemory, WhatNobodyTakesGoesBack) {
  KeptMemory memory(false);
  memory.give_back(memory.take(6 * kMegabyte));
  memory.end_period();
  memory.give_back(memory.take(kMegabyte));
  EXPECT_EQ(memory.figures().kept, 5 * kMegabyte) << "one period is over: it may be asked for again";
  memory.end_period();
  EXPECT_LE(memory.figures().kept, kMegabyte);
  memory.release();
  EXPECT_EQ(memory.figures().kept, 0U);
}

TEST(KeptMemory, RefusesWhatCannotBe) {
  KeptMemory memory(false);
  EXPECT_THROW(memory.take(~std::size_t{0}), std::bad_alloc);
  EXPECT_THROW(memory.take(std::size_t{1} << 46), std::bad_alloc);
  int own = 0;
  EXPECT_FALSE(memory.owns(&own));
  memory.give_back(&own);
  memory.give_back(nullptr);
  EXPECT_EQ(memory.figures().held, 0U);
}

}  // namespace
}  // namespace weft
