// SPDX-License-Identifier: Apache-2.0
// Batches of works, their errors, those that were dropped, and the limit. The thread that computes is the test's own.
#include "weft/server/work_queue.h"

#include <map>

#include <gtest/gtest.h>

#include "weft/core/error.h"
#include "weft/server/http_error.h"

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
