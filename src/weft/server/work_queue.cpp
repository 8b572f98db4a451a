// SPDX-License-Identifier: Apache-2.0
// Batches in the order of arrival. A batch that fails is computed request by request, so that one client's error is not
// another's.
#include "weft/server/work_queue.h"

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

}  // namespace

std::shared_ptr<Ticket> WorkQueue::submit(Work work, Done done) {
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
  items_.push_back({std::move(work), std::move(done), ticket, bytes, std::chrono::steady_clock::now()});
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
    std::vector<Item> refused;
    while (!items_.empty() && (stopped_ || items_.front().ticket->gone)) {
      refused.push_back(std::move(items_.front()));
      items_.pop_front();
    }
    if (!stopped_ && !items_.empty()) {
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

// Moves the oldest item into `batch`, and those of its group that fit beside it. A request larger than a batch goes
// alone.
void WorkQueue::take_alike(std::vector<Item>& batch) {
  std::int64_t bytes = 0;
  std::int64_t texts = 0;
  for (auto item = items_.begin(); item != items_.end();) {
    const auto more = static_cast<std::int64_t>(item->work.texts.size());
    const bool fits =
        batch.empty() || (item->work.group == batch.front().work.group && !item->ticket->gone &&
                          bytes + item->bytes <= config_.max_batch_bytes && texts + more <= config_.max_batch_texts);
    if (!fits) {
      ++item;
      continue;
    }
    bytes += item->bytes;
    texts += more;
    batch.push_back(std::move(*item));
    item = items_.erase(item);
    if (bytes >= config_.max_batch_bytes || texts >= config_.max_batch_texts) {
      break;
    }
  }
}

void WorkQueue::compute(std::vector<Item>& batch) {
  std::vector<const Work*> works;
  std::int64_t texts = 0;
  for (const Item& item : batch) {
    metrics_.waited(seconds_since(item.since));
    works.push_back(&item.work);
    texts += static_cast<std::int64_t>(item.work.texts.size());
  }
  metrics_.batch(texts);
  std::vector<Reply> all;
  try {
    all = replies(works);
  } catch (const std::exception& failure) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      try {
        all.push_back(batch.size() == 1 ? error_reply(failure) : replies({&works[i], 1}).front());
      } catch (const std::exception& alone) {
        all.push_back(error_reply(alone));
      }
    }
  }
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
void WorkQueue::publish() { metrics_.in_flight(static_cast<std::int64_t>(items_.size()), running_); }

}  // namespace weft::server
