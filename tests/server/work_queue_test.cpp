// SPDX-License-Identifier: Apache-2.0
// Batches of works, their errors, those that were dropped, and the limit. The thread that computes is the test's own.
#include "weft/server/work/work_queue.h"

#include <functional>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "weft/core/error.h"
#include "weft/core/work/pieces.h"
#include "weft/server/http_error.h"
#include "weft/server/work/lent_time.h"

namespace weft::server {
namespace {

// Works that repeat their texts; the sizes of all batches are kept. A text "bad" fails, and "end" stops the queue.
class WorkQueueTest : public testing::Test {
 protected:
  Work work(const std::string& group, std::vector<std::string> texts) {
    Work made{.group = group};
    for (std::string& text : texts) {
      made.texts.push_back({std::move(text)});
    }
    made.compute = [this](std::span<const Text> all) {
      batches_.push_back(all.size());
      std::vector<formats::Json> results;
      for (const Text& text : all) {
        require(text.first != "bad", "a bad text");
        if (text.first == "end") {
          queue_.stop();
        }
        results.emplace_back(text.first);
      }
      return results;
    };
    made.finish = [](std::vector<formats::Json> results) { return formats::Json(std::move(results)); };
    return made;
  }

  std::shared_ptr<Ticket> submit(int id, Work made) {
    return queue_.submit(std::move(made), [this, id](Reply reply) { replies_[id] = std::move(reply); });
  }

  static ServerConfig small() {
    ServerConfig config;
    config.max_in_flight = 6;
    config.max_batch_texts = 4;
    config.max_batch_bytes = 100;
    return config;
  }

  ServerConfig config_ = small();
  Metrics metrics_;
  WorkQueue queue_{config_, metrics_};
  std::vector<std::size_t> batches_;
  std::map<int, Reply> replies_;
};

TEST_F(WorkQueueTest, LikeWorksAreComputedTogether) {
  submit(0, work("a", {"0", "zero"}));
  submit(1, work("b", {"1"}));
  submit(2, work("a", {"2"}));
  submit(3, work("a", {"3", "three"}));  // five texts: not with the two before it
  submit(4, work("a", {"4"}));
  submit(5, work("b", {"end"}));
  queue_.run();
  EXPECT_EQ(batches_, (std::vector<std::size_t>{4, 2}));
  EXPECT_EQ(replies_[0].body, "[\"0\",\"zero\"]\n");
  EXPECT_EQ(replies_[4].body, "[\"4\"]\n");
  EXPECT_EQ(replies_[1].body, "[\"1\"]\n");
  EXPECT_EQ(replies_[5].status, 200) << "what is being computed when the queue stops is answered";
  EXPECT_EQ(replies_[3].status, 503);
  EXPECT_THROW(submit(6, work("a", {"6"})), HttpError);
}

TEST_F(WorkQueueTest, HeadersAreThoseOfTheRequestsOwnResults) {
  for (int id = 0; id < 2; ++id) {
    Work made = work("a", std::vector<std::string>(static_cast<std::size_t>(id) + 1, "text"));
    made.headers = [](std::span<const formats::Json> results) {
      return Fields{{"X-Texts", std::to_string(results.size())}};
    };
    submit(id, std::move(made));
  }
  submit(2, work("b", {"end"}));
  queue_.run();
  EXPECT_EQ(batches_.front(), 3U);
  EXPECT_EQ(replies_[0].headers, (Fields{{"X-Texts", "1"}}));
  EXPECT_EQ(replies_[1].headers, (Fields{{"X-Texts", "2"}}));
  EXPECT_TRUE(replies_[2].headers.empty());
}

TEST_F(WorkQueueTest, ErrorsStayWithTheirRequest) {
  submit(0, work("a", {"0"}));
  submit(1, work("a", {"bad"}));
  submit(2, work("a", {"2"}));
  submit(3, work("b", {"end"}));
  queue_.run();
  EXPECT_EQ(batches_, (std::vector<std::size_t>{3, 1, 1, 1, 1}));
  EXPECT_EQ(replies_[0].status, 200);
  EXPECT_EQ(replies_[1].status, 400);
  EXPECT_EQ(replies_[2].body, "[\"2\"]\n");
}

TEST_F(WorkQueueTest, LongTextsGoAloneAndLeftOnesAreDropped) {
  submit(0, work("a", {std::string(1000, 'x')}));
  submit(1, work("a", {"1"}))->gone = true;
  submit(2, work("a", {"2"}));
  submit(3, work("b", {"end", std::string(1000, 'x')}));  // long too: behind the first one
  queue_.run();
  EXPECT_EQ(batches_, (std::vector<std::size_t>{1, 1, 2}));
  EXPECT_EQ(replies_[1].status, 503);
  EXPECT_NE(metrics_.text().find("weft_requests_dropped_total 1\n"), std::string::npos);
  EXPECT_NE(metrics_.text().find("weft_queue_seconds_count 3\n"), std::string::npos);
}

TEST_F(WorkQueueTest, AShortTextDoesNotWaitForAllLongOnes) {
  std::vector<std::size_t> order;
  const auto sized = [&](std::size_t bytes) {
    Work made = work("a", {std::string(bytes, 'x')});
    made.compute = [&order, inner = made.compute](std::span<const Text> all) {
      order.push_back(all.front().first.size());
      return inner(all);
    };
    return made;
  };
  submit(0, sized(1000));
  submit(1, sized(1000));
  submit(2, sized(1000));
  submit(3, sized(5));
  submit(4, work("b", {"end"}));  // also short, behind the other one
  queue_.run();
  EXPECT_EQ(order, (std::vector<std::size_t>{5})) << "both short texts before the long ones";
  EXPECT_EQ(replies_[0].status, 503);
  EXPECT_EQ(replies_[3].status, 200);
}

// Work that sends its texts as pieces, and says how many it could send.
Work pieces(std::vector<std::string> texts) {
  Work made{.group = "a"};
  for (std::string& text : texts) {
    made.texts.push_back({std::move(text)});
  }
  made.run = [all = made.texts](const Listener& listener) {
    std::int64_t sent = 0;
    for (const Text& text : all) {
      require(text.first != "bad", "a bad text");
      sent += listener.waits() && listener.send(text.first) ? 1 : 0;
    }
    return formats::Json(sent);
  };
  return made;
}

TEST_F(WorkQueueTest, PiecesComeBeforeTheReply) {
  std::string seen;
  const auto take = [&](const formats::Json& piece) {
    seen += piece.get<std::string>();
    return seen.size() < 3;
  };
  submit(0, work("a", {"0"}));
  queue_.submit(pieces({"x", "y", "z"}), [&](Reply reply) { seen += "=" + reply.body; }, take);
  submit(1, work("a", {"1"}));  // the first and this one are computed together, the work with pieces alone
  queue_.submit(pieces({"u", "bad"}), [&](Reply reply) { replies_[2] = std::move(reply); });
  const auto left = queue_.submit(pieces({"v"}), [&](Reply reply) { replies_[3] = std::move(reply); }, take);
  submit(4, work("b", {"end"}));
  left->gone = true;
  queue_.run();
  EXPECT_EQ(batches_, (std::vector<std::size_t>{2, 1}));
  EXPECT_EQ(seen, "xyz=2\n") << "the third piece was refused";
  EXPECT_EQ(replies_[2].status, 400);
  EXPECT_EQ(replies_[3].status, 503);
}

// Work that goes in pieces until nobody waits, or all are done, and keeps the order of events.
class PiecesTest : public WorkQueueTest {
 protected:
  // `bytes` say how large it is; behind each piece `after` is called with its number.
  Work long_work(std::size_t bytes, int count, const std::function<void(int)>& after = {}) {
    Work made = work("long", {std::string(bytes, 'x')});
    made.compute = [this, count, after](std::span<const Text> all) {
      for (int i = 0; i < count; ++i) {
        events_ += 'p';
        end_piece(7);
        if (after) {
          after(i);
        }
      }
      events_ += '!';
      return std::vector<formats::Json>(all.size(), count);
    };
    return made;
  }
  Work short_work(const std::string& name) {
    Work made = work(name, {name});
    made.compute = [this, name](std::span<const Text> all) {
      events_ += name;
      return std::vector<formats::Json>(all.size(), name);
    };
    return made;
  }

  std::string events_;
};

TEST_F(PiecesTest, LongWorkLendsItsThreadToShortWork) {
  submit(0, long_work(1000, 3, [&](int piece) {
           if (piece == 0) {
             submit(1, short_work("a"));
             submit(2, long_work(1000, 1));  // as long: it waits
           } else if (piece == 2) {
             queue_.stop();
           }
         }));
  queue_.run();
  EXPECT_EQ(events_, "ppap!") << "one look and no more before the short work";
  EXPECT_EQ(replies_[0].body, "[3]\n");
  EXPECT_EQ(replies_[1].body, "[\"a\"]\n");
  EXPECT_EQ(replies_[2].status, 503);
  EXPECT_NE(metrics_.text().find("weft_looks_total 3\n"), std::string::npos);
  EXPECT_NE(metrics_.text().find("weft_largest_piece_tokens 7\n"), std::string::npos);
}

TEST_F(PiecesTest, ShortWorkLendsNothing) {
  submit(0, long_work(1, 2, [&](int) { submit(1, short_work("a")); }));
  submit(2, long_work(1000, 1, [&](int) { queue_.stop(); }));
  queue_.run();
  EXPECT_EQ(events_.substr(0, 3), "pp!");
}

TEST_F(PiecesTest, AnErrorOfWorkInBetweenStaysThere) {
  submit(0, long_work(1000, 2, [&](int) { queue_.stop(); }));
  submit(1, work("a", {"bad"}));
  submit(3, long_work(1000, 1));
  queue_.run();
  EXPECT_EQ(replies_[1].status, 400);
}

TEST_F(PiecesTest, WorkEndsWhereNobodyWaits) {
  std::shared_ptr<Ticket> ticket;
  ticket = submit(0, long_work(1000, 1000, [&](int) {
                    ticket->gone = true;
                    submit(1, work("b", {"end"}));
                  }));
  queue_.run();
  EXPECT_EQ(events_, "pp") << "its second look is the last";
  EXPECT_EQ(replies_[0].status, 503);
}

TEST_F(PiecesTest, WorkOfOthersInTheBatchGoesOn) {
  std::shared_ptr<Ticket> left;
  const auto look = [&](std::span<const Text> all) {
    left->gone = true;
    end_piece();
    return std::vector<formats::Json>(all.size(), "done");
  };
  Work first = work("a", {"1"});
  Work second = work("a", {"2"});
  first.compute = look;
  second.compute = look;
  left = submit(0, std::move(first));
  submit(1, std::move(second));
  submit(2, work("b", {"end"}));
  queue_.run();
  EXPECT_EQ(replies_[1].status, 200);
}

TEST_F(PiecesTest, AStopEndsWhatIsComputed) {
  submit(0, long_work(1000, 1000, [&](int) { queue_.stop(); }));
  queue_.run();
  EXPECT_EQ(events_, "pp");
  EXPECT_EQ(replies_[0].status, 503);
}

// A client that asks for too much is told what, and which limit says so; nothing of it is queued.
TEST_F(WorkQueueTest, WhatExceedsALimitIsRefused) {
  config_.max_request_texts = 3;
  config_.max_text_bytes = 50;
  config_.max_answer_bytes = 1000;
  const auto expect_refused = [&](Work made, int status, const char* flag) {
    try {
      submit(9, std::move(made));
      ADD_FAILURE() << flag;
    } catch (const HttpError& error) {
      EXPECT_EQ(error.status(), status);
      EXPECT_NE(std::string(error.what()).find(flag), std::string::npos) << error.what();
    }
  };
  expect_refused(work("a", {"1", "2", "3", "4"}), 413, "max_request_texts");
  expect_refused(work("a", {std::string(51, 'x')}), 413, "max_text_bytes");
  Work pair = work("a", {std::string(26, 'x')});
  pair.texts.front().second = std::string(25, 'y');
  expect_refused(std::move(pair), 413, "max_text_bytes");
  Work talkative = work("a", {"1"});
  talkative.cost.answer_bytes = 1001;
  expect_refused(std::move(talkative), 413, "max_answer_bytes");
  EXPECT_NE(metrics_.text().find("weft_admitted_tokens_total 0\n"), std::string::npos);
}

TEST_F(WorkQueueTest, WhatWaitsTogetherIsBounded) {
  config_.max_waiting_bytes = 1000;
  const auto asks = [&](std::int64_t bytes) {
    Work made = work("a", {"x"});
    made.cost.answer_bytes = bytes;
    return made;
  };
  std::shared_ptr<Ticket> first = submit(0, asks(600));
  EXPECT_EQ(first->cost().answer_bytes, 600);
  EXPECT_EQ(first->cost().tokens, 1);
  EXPECT_THROW(submit(1, asks(600)), HttpError);
  submit(2, asks(100));
  submit(3, work("b", {"end"}));
  queue_.run();
  EXPECT_EQ(replies_[0].status, 200);
  EXPECT_EQ(replies_[2].status, 200);
}

TEST_F(WorkQueueTest, ATicketKeepsItsPlaceUntilItsAnswerIsSent) {
  config_.max_waiting_bytes = 1000;
  Work made = work("a", {"x"});
  made.cost.answer_bytes = 900;
  std::shared_ptr<Ticket> held;
  submit(1, work("b", {"y"}));
  held = submit(0, made);
  Work last = work("c", {"z"});
  last.compute = [&](std::span<const Text>) {
    EXPECT_THROW(submit(3, made), HttpError) << "computed, and not sent yet";
    held.reset();
    EXPECT_NO_THROW(submit(4, made));
    queue_.stop();
    return std::vector<formats::Json>(1, "z");
  };
  submit(2, std::move(last));
  queue_.run();
  EXPECT_EQ(replies_[0].status, 200);
}

TEST(LentTime, IsAsMuchAsTheLongWorkHad) {
  LentTime time;
  EXPECT_TRUE(time.may_lend());
  time.lent(1);
  EXPECT_FALSE(time.may_lend());
  time.worked(1);
  EXPECT_TRUE(time.may_lend());
}

TEST_F(WorkQueueTest, TheLimitIsAnError) {
  for (int i = 0; i < 6; ++i) {
    submit(i, work("a", {"x"}));
  }
  try {
    submit(6, work("a", {"x"}));
    FAIL();
  } catch (const HttpError& error) {
    EXPECT_EQ(error.status(), 429);
    EXPECT_NE(std::string(error.what()).find("max_in_flight"), std::string::npos);
  }
}

}  // namespace
}  // namespace weft::server
