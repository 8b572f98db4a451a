// SPDX-License-Identifier: Apache-2.0
// Batches out of the requests that wait. A batch that fails is computed request by request, so that one client's error
// is not another's.
#include "weft/server/work_queue.h"

#include <array>
#include <iterator>
#include <utility>

#include "weft/server/http_error.h"

namespace weft::server {
namespace {

double seconds_since(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

std::int64_t bytes_of(const Work& work) {
  std::int64_t bytes = 0;
  for (const Text& text : work.texts) {
    bytes += static_cast<std::int64_t>(text.first.size() + (text.second ? text.second->size() : 0));
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
  auto begin = std::make_move_iterator(results.begin());
  for (const Work* work : works) {
    const auto end = begin + static_cast<std::ptrdiff_t>(work->texts.size());
    all.push_back(json_reply(work->finish({begin, end})));
    begin = end;
  }
  return all;
}

Reply reply_piece_by_piece(const Work& work, const WorkQueue::Piece& piece, const Ticket& ticket) {
  const Listener listener{.send = [&](const formats::Json& one) { return !ticket.gone && (!piece || piece(one)); },
                          .waits = [&] { return !ticket.gone; }};
  return json_reply(work.run(listener));
}

}  // namespace

std::shared_ptr<Ticket> WorkQueue::submit(Work work, Done done, Piece piece) {
  auto ticket = std::make_shared<Ticket>();
  const std::int64_t bytes = bytes_of(work);
  const std::lock_guard lock(mutex_);
  if (stopped_) {
    throw HttpError(status::kUnavailable, "unavailable", "the server is stopping");
  }
  if (static_cast<std::int64_t>(items_.size()) + running_ >= config_.max_in_flight) {
    throw HttpError(status::kTooMany, "overloaded",
                    concat("the server works on ", config_.max_in_flight, " requests already (max_in_flight)"));
  }
  items_.push_back(
      {std::move(work), std::move(done), std::move(piece), ticket, bytes, std::chrono::steady_clock::now()});
  publish();
  changed_.notify_one();
  return ticket;
}

void WorkQueue::run() {
  for (std::vector<Item> batch = next(); !batch.empty(); batch = next()) {
    compute(batch);
  }
}

void WorkQueue::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

// The next batch, or nothing after stop().
std::vector<WorkQueue::Item> WorkQueue::next() {
  std::unique_lock lock(mutex_);
  std::vector<Item> batch;
  while (batch.empty()) {
    changed_.wait(lock, [&] { return stopped_ || !items_.empty(); });
    std::vector<Item> refused = take_refused();
    if (!items_.empty()) {
      take_turn(batch);
      take_alike(batch);
    }
    for (Item& item : refused) {
      metrics_.dropped();
      item.done(error_reply(status::kUnavailable, "unavailable", "the request was dropped before it was computed"));
    }
    if (stopped_) {
      break;
    }
  }
  running_ = static_cast<std::int64_t>(batch.size());
  publish();
  return batch;
}

// Those whose client left; all of them once the queue is stopped.
std::vector<WorkQueue::Item> WorkQueue::take_refused() {
  std::vector<Item> refused;
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

// Moves the oldest item of the size whose turn it is into `batch`.
void WorkQueue::take_turn(std::vector<Item>& batch) {
  FairOrder::Heads heads;
  std::array<std::deque<Item>::iterator, FairOrder::kSizes> first{};
  for (auto item = items_.begin(); item != items_.end(); ++item) {
    const std::size_t size = order_.size_of(item->bytes);
    if (!heads.at(size)) {
      heads.at(size) = item->bytes;
      first.at(size) = item;
    }
  }
  const auto chosen = first.at(order_.next(heads));
  order_.pay(chosen->bytes);
  batch.push_back(std::move(*chosen));
  items_.erase(chosen);
}

// Moves items of the same group behind it, those that fit, in the order of arrival. A request larger than a batch goes
// alone.
void WorkQueue::take_alike(std::vector<Item>& batch) {
  std::int64_t bytes = batch.front().bytes;
  auto texts = static_cast<std::int64_t>(batch.front().work.texts.size());
  const auto has_room = [&] { return bytes < config_.max_batch_bytes && texts < config_.max_batch_texts; };
  for (auto item = items_.begin(); item != items_.end() && !batch.front().work.run && has_room();) {
    const auto more = static_cast<std::int64_t>(item->work.texts.size());
    const bool fits = !item->work.run && item->work.group == batch.front().work.group && !item->ticket->gone &&
                      bytes + item->bytes <= config_.max_batch_bytes && texts + more <= config_.max_batch_texts;
    if (!fits) {
      ++item;
      continue;
    }
    bytes += item->bytes;
    texts += more;
    order_.pay(item->bytes);
    batch.push_back(std::move(*item));
    item = items_.erase(item);
  }
}

// One client's error is not another's: the works of a batch that fails are computed one by one.
std::vector<Reply> WorkQueue::replies_of(const std::vector<Item>& batch) {
  std::vector<const Work*> works;
  works.reserve(batch.size());
  for (const Item& item : batch) {
    works.push_back(&item.work);
  }
  try {
    const Item& first = batch.front();
    if (first.work.run) {
      return {reply_piece_by_piece(first.work, first.piece, *first.ticket)};
    }
    return replies(works);
  } catch (const std::exception& failure) {
    if (batch.size() == 1) {
      return {error_reply(failure)};
    }
  }
  std::vector<Reply> all;
  for (const Work*& work : works) {
    try {
      all.push_back(replies({&work, 1}).front());
    } catch (const std::exception& alone) {
      all.push_back(error_reply(alone));
    }
  }
  return all;
}

void WorkQueue::compute(std::vector<Item>& batch) {
  std::int64_t texts = 0;
  for (const Item& item : batch) {
    metrics_.waited(seconds_since(item.since));
    texts += static_cast<std::int64_t>(item.work.texts.size());
  }
  metrics_.batch(texts);
  std::vector<Reply> all = replies_of(batch);
  {  // before anybody has an answer: a client's next request finds the place of its last one free
    const std::lock_guard lock(mutex_);
    running_ = 0;
    publish();
  }
  for (std::size_t i = 0; i < batch.size(); ++i) {
    batch[i].done(std::move(all[i]));
  }
}

// Under the mutex.
void WorkQueue::publish() { metrics_.in_flight(lane_, static_cast<std::int64_t>(items_.size()), running_); }

}  // namespace weft::server
