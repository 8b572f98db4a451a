// SPDX-License-Identifier: Apache-2.0
// Who watches is asked behind each piece, on its own thread; what work has changed is put aside for other work.
#include "weft/core/work/pieces.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/piece_counter.h"
#include "weft/core/interrupt.h"

namespace weft {
namespace {

using Counter = test::PieceCounter;

TEST(Pieces, WithoutAWatcherNothingHappens) {
  end_piece(5);
  EXPECT_FALSE(nobody_waits());
  EXPECT_FALSE(interrupted());
}

TEST(Pieces, TheWatcherEndsThem) {
  Counter counter(2);
  {
    const WatchedPieces watched(counter);
    end_piece(5);
    std::thread([] { end_piece(9); }).join();
    test::expect_error(ErrorKind::kInterrupted, {"nobody waits"}, [] { end_piece(6); });
    EXPECT_TRUE(interrupted());
  }
  EXPECT_FALSE(interrupted());
  EXPECT_EQ(counter.tokens(), (std::vector<std::int64_t>{5, 6, 0}));
}

TEST(Pieces, AWatcherWithinAnother) {
  Counter outer(9);
  const WatchedPieces watched(outer);
  {
    Counter inner(9);
    const WatchedPieces within(inner);
    end_piece(1);
    EXPECT_EQ(inner.tokens().size(), 1U);
  }
  end_piece(2);
  EXPECT_EQ(outer.tokens(), (std::vector<std::int64_t>{2}));
}

class Changed final : StateOfWork {
 public:
  bool is_there() const { return there_; }

 private:
  void put_aside() noexcept override { there_ = false; }
  void bring_back() noexcept override { there_ = true; }
  bool there_ = true;
};

TEST(Pieces, OtherWorkFindsThingsAsTheyWere) {
  const Changed first;
  {
    const OtherWork other;
    EXPECT_FALSE(first.is_there());
    const Changed second;
    {
      const OtherWork third;
      EXPECT_FALSE(second.is_there());
    }
    EXPECT_TRUE(second.is_there());
    EXPECT_FALSE(first.is_there());
  }
  EXPECT_TRUE(first.is_there());
}

}  // namespace
}  // namespace weft
