// SPDX-License-Identifier: Apache-2.0
// Batches out of the requests that wait. A batch that fails is computed request by request, so that one client's error
// is not another's.
#include "weft/server/work/work_queue.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "weft/core/work/clients_work.h"
#include "weft/core/work/pieces.h"
#include "weft/server/http_error.h"
#include "weft/server/work/lent_time.h"

namespace weft::server {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point since) { return std::chrono::duration<double>(Clock::now() - since).count(); }

std::int64_t bytes_of(const Text& text) {
  return static_cast<std::int64_t>(text.first.size() + (text.second ? text.second->size() : 0));
}

std::int64_t bytes_of(const Work& work) {
  std::int64_t bytes = 0;
  for (const Text& text : work.texts) {
    bytes += bytes_of(text);
  }
  return bytes;
}

// The replies of some works of one group, in their order.
std::vector<Reply> replies(std::span<const Work* const> works) {
  std::vector<Text> texts;
  for (const Work* work : works) {
    texts.insert(texts.end(), work->texts.begin(), work->texts.end());
  }
  std::vector<formats::Json> results = works.front()->compute(texts);
  if (results.size() != texts.size()) {
    fail(ErrorKind::kUnsupported, "a model gave ", results.size(), " results for ", texts.size(), " texts");
  }
  std::vector<Reply> all;
  auto begin = results.begin();
  for (const Work* work : works) {
    const auto end = begin + static_cast<std::ptrdiff_t>(work->texts.size());
    Fields headers = work->headers ? work->headers({begin, end}) : Fields();
    all.push_back(json_reply(work->finish({std::make_move_iterator(begin), std::make_move_iterator(end)})));
    all.back().headers = std::move(headers);
    begin = end;
  }
  return all;
}

Reply reply_piece_by_piece(const Work& work, const WorkQueue::Piece& piece, const Ticket& ticket) {
  const Listener listener{.send = [&](const formats::Json& one) { return !ticket.gone && (!piece || piece(one)); },
                          .waits = [&] { return !ticket.gone; }};
  return json_reply(work.run(listener));
}

Reply dropped_reply() {
  return error_reply(status::kUnavailable, "unavailable", "the request was dropped before it was computed");
}

[[noreturn]] void refuse_size(const std::string& found, std::int64_t limit, const char* unit, const char* flag) {
  throw HttpError(status::kTooLarge, "too_large",
                  concat(found, "; the server takes at most ", limit, " ", unit, " (", flag, ")"));
}

}  // namespace

Ticket::Ticket(std::shared_ptr<WaitingBytes> all, std::int64_t bytes, Cost cost)
    : all_(std::move(all)), bytes_(bytes), cost_(cost) {
  *all_ += bytes_;
}

/// Looks after the work of some items, which are computed together.
class WorkQueue::Watcher final : public PieceWatcher {
 public:
  Watcher(WorkQueue& queue, std::span<const Item> items, std::size_t size)
      : queue_(queue), items_(items), size_(size) {}

  bool goes_on(std::int64_t tokens) noexcept override {
    queue_.metrics_.looked(tokens);
    try {
      lend();
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): no memory for others now
    }
    return std::ranges::any_of(items_, [](const Item& item) { return !item.ticket->gone; });
  }

 private:
  void lend() {
    if (size_ == 0) {
      return;
    }
    time_.worked(seconds_since(since_));
    while (time_.may_lend()) {
      Items others;
      queue_.next_below(size_, others);
      if (others.empty()) {
        break;
      }
      const Clock::time_point begin = Clock::now();
      const OtherWork other_work;
      queue_.compute(others);
      time_.lent(seconds_since(begin));
    }
    since_ = Clock::now();
  }

  WorkQueue& queue_;
  const std::span<const Item> items_;
  const std::size_t size_;
  LentTime time_;
  Clock::time_point since_ = Clock::now();
};

// Errors: HttpError 413 for work that is refused whatever else there is to do.
void WorkQueue::check(const Work& work, const Cost& cost) const {
  const auto texts = static_cast<std::int64_t>(work.texts.size());
  if (texts > config_.max_request_texts) {
    refuse_size(concat("the request has ", texts, " texts"), config_.max_request_texts, "texts", "max_request_texts");
  }
  for (const Text& text : work.texts) {
    if (bytes_of(text) > config_.max_text_bytes) {
      refuse_size(concat("a text of the request has ", bytes_of(text), " bytes"), config_.max_text_bytes, "bytes",
                  "max_text_bytes");
    }
  }
  if (cost.answer_bytes > config_.max_answer_bytes) {
    refuse_size(concat("the request asks for an answer of up to ", cost.answer_bytes, " bytes"),
                config_.max_answer_bytes, "bytes", "max_answer_bytes");
  }
}

std::shared_ptr<Ticket> WorkQueue::submit(Work work, Done done, Piece piece) {
  const std::int64_t bytes = bytes_of(work);
  Cost cost = work.cost;
  cost.tokens = std::max(cost.tokens, bytes);
  check(work, cost);
  const std::int64_t kept = bytes + cost.answer_bytes;
  const std::lock_guard lock(mutex_);
  if (stopped_) {
    throw HttpError(status::kUnavailable, "unavailable", "the server is stopping");
  }
  std::int64_t in_flight = static_cast<std::int64_t>(items_.size());
  for (const Items* batch : running_) {
    in_flight += static_cast<std::int64_t>(batch->size());
  }
  if (in_flight >= config_.max_in_flight) {
    throw HttpError(status::kTooMany, "overloaded",
                    concat("the server works on ", config_.max_in_flight, " requests already (max_in_flight)"));
  }
  const std::int64_t before = *waiting_bytes_;
  if (before > 0 && before + kept > config_.max_waiting_bytes) {
    throw HttpError(status::kTooMany, "overloaded",
                    concat("the requests that wait have texts and answers of ", before, " bytes, and this one of ",
                           kept, "; the server keeps ", config_.max_waiting_bytes, " (max_waiting_bytes)"));
  }
  const auto ticket = std::make_shared<Ticket>(waiting_bytes_, kept, cost);
  metrics_.admitted(cost.tokens, cost.answer_bytes);
  items_.push_back({std::move(work), std::move(done), std::move(piece), ticket, cost.work(), Clock::now()});
  publish();
  changed_.notify_one();
  return ticket;
}

void WorkQueue::run() {
  for (bool more = true; more;) {
    Items batch;
    next(batch);
    more = !batch.empty();
    if (more) {
      compute(batch);
    }
  }
}

void WorkQueue::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  for (const Items* batch : running_) {
    for (const Item& item : *batch) {
      item.ticket->gone = true;
    }
  }
  changed_.notify_all();
}

// Under the mutex: a batch, if there is one below `below`, which is being computed from now on.
void WorkQueue::take(Items& batch, std::size_t below) {
  take_turn(batch, below);
  if (!batch.empty()) {
    take_alike(batch);
    running_.push_back(&batch);
  }
  publish();
}

// The next batch, or nothing after stop().
void WorkQueue::next(Items& batch) {
  bool ends = false;
  while (batch.empty() && !ends) {
    Items refused;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopped_ || !items_.empty(); });
      refused = take_refused();
      take(batch, FairOrder::kSizes);
      ends = stopped_;
    }
    refuse(refused);
  }
}

// The next batch of requests that are smaller than `size`, or nothing where none waits that may be computed now.
void WorkQueue::next_below(std::size_t size, Items& batch) {
  Items refused;
  {
    const std::lock_guard lock(mutex_);
    if (!stopped_) {
      refused = take_refused();
      take(batch, size);
    }
  }
  refuse(refused);
}

// Those whose client left; all of them once the queue is stopped.
WorkQueue::Items WorkQueue::take_refused() {
  Items refused;
  std::deque<Item> others;
  for (Item& item : items_) {
    if (stopped_ || item.ticket->gone) {
      refused.push_back(std::move(item));
    } else {
      others.push_back(std::move(item));
    }
  }
  items_.swap(others);
  return refused;
}

void WorkQueue::refuse(Items& refused) {
  for (Item& item : refused) {
    metrics_.dropped();
    item.done(dropped_reply());
  }
}

// Moves the oldest item of the size whose turn it is, of those below `below`, into `batch`.
void WorkQueue::take_turn(Items& batch, std::size_t below) {
  FairOrder::Heads heads;
  std::array<std::deque<Item>::iterator, FairOrder::kSizes> first{};
  bool any = false;
  for (auto item = items_.begin(); item != items_.end(); ++item) {
    const std::size_t size = order_.size_of(item->cost);
    if (size < below && !heads.at(size)) {
      heads.at(size) = item->cost;
      first.at(size) = item;
      any = true;
    }
  }
  if (!any) {
    return;
  }
  const auto chosen = first.at(order_.next(heads));
  order_.pay(chosen->cost);
  batch.push_back(std::move(*chosen));
  items_.erase(chosen);
}

// Moves items of the same group behind it, those that fit, in the order of arrival. A request larger than a batch goes
// alone.
void WorkQueue::take_alike(Items& batch) {
  std::int64_t cost = batch.front().cost;
  auto texts = static_cast<std::int64_t>(batch.front().work.texts.size());
  const auto has_room = [&] { return cost < config_.max_batch_bytes && texts < config_.max_batch_texts; };
  for (auto item = items_.begin(); item != items_.end() && !batch.front().work.run && has_room();) {
    const auto more = static_cast<std::int64_t>(item->work.texts.size());
    const bool fits = !item->work.run && item->work.group == batch.front().work.group && !item->ticket->gone &&
                      cost + item->cost <= config_.max_batch_bytes && texts + more <= config_.max_batch_texts;
    if (!fits) {
      ++item;
      continue;
    }
    cost += item->cost;
    texts += more;
    order_.pay(item->cost);
    batch.push_back(std::move(*item));
    item = items_.erase(item);
  }
}

// One client's error is not another's: the works of a batch that fails are computed one by one.
std::vector<Reply> WorkQueue::replies_of(std::span<const Item> batch, std::size_t size) {
  try {
    Watcher watcher(*this, batch, size);
    const WatchedPieces watched(watcher);
    const ClientsWork for_clients;
    const Item& first = batch.front();
    if (first.work.run) {
      return {reply_piece_by_piece(first.work, first.piece, *first.ticket)};
    }
    std::vector<const Work*> works;
    works.reserve(batch.size());
    for (const Item& item : batch) {
      works.push_back(&item.work);
    }
    return replies(works);
  } catch (const std::exception& failure) {
    if (batch.size() == 1) {
      return {error_reply(failure)};
    }
  }
  std::vector<Reply> all;
  all.reserve(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    all.push_back(batch[i].ticket->gone ? dropped_reply() : replies_of(batch.subspan(i, 1), size).front());
  }
  return all;
}

void WorkQueue::compute(Items& batch) {
  std::int64_t texts = 0;
  std::size_t size = 0;
  for (const Item& item : batch) {
    metrics_.waited(seconds_since(item.since));
    texts += static_cast<std::int64_t>(item.work.texts.size());
    size = std::max(size, order_.size_of(item.cost));
  }
  metrics_.batch(texts);
  std::vector<Reply> all = replies_of(batch, size);
  {  // before anybody has an answer: a client's next request finds the place of its last one free
    const std::lock_guard lock(mutex_);
    std::erase(running_, &batch);
    publish();
  }
  for (std::size_t i = 0; i < batch.size(); ++i) {
    batch[i].done(std::move(all[i]));
  }
}

// Under the mutex.
void WorkQueue::publish() {
  std::int64_t running = 0;
  for (const Items* batch : running_) {
    running += static_cast<std::int64_t>(batch->size());
  }
  metrics_.in_flight(lane_, static_cast<std::int64_t>(items_.size()), running);
}

}  // namespace weft::server
