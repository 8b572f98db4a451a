// SPDX-License-Identifier: Apache-2.0
// Each metric with its type, as Prometheus reads it: buckets of a histogram count what is at most their bound.
#include "weft/server/metrics.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "weft/core/system/machine_memory.h"

namespace weft::server {
namespace {

void write_type(std::ostream& out, const char* name, const char* type) {
  out << "# TYPE " << name << ' ' << type << '\n';
}

void write_value(std::ostream& out, const char* name, const char* type, std::int64_t value) {
  write_type(out, name, type);
  out << name << ' ' << value << '\n';
}

}  // namespace

void Histogram::add(double value) {
  std::size_t bucket = 0;
  while (bucket < kBounds.size() && value > kBounds[bucket]) {
    ++bucket;
  }
  ++counts_[bucket];
  sum_ += value;
}

std::string Histogram::text(const std::string& name) const {
  std::ostringstream out;
  write_type(out, name.c_str(), "histogram");
  std::int64_t count = 0;
  for (std::size_t bucket = 0; bucket < kBounds.size(); ++bucket) {
    count += counts_[bucket];
    out << name << "_bucket{le=\"" << kBounds[bucket] << "\"} " << count << '\n';
  }
  count += counts_.back();
  out << name << "_bucket{le=\"+Inf\"} " << count << '\n';
  out << name << "_sum " << sum_ << '\n' << name << "_count " << count << '\n';
  return out.str();
}

void Metrics::answered(const std::string& route, int status, double seconds) {
  const std::lock_guard lock(mutex_);
  ++answers_[{route, status}];
  seconds_.add(seconds);
}

void Metrics::waited(double seconds) {
  const std::lock_guard lock(mutex_);
  waits_.add(seconds);
}

void Metrics::batch(std::int64_t texts) {
  const std::lock_guard lock(mutex_);
  ++batches_;
  texts_ += texts;
}

void Metrics::dropped() {
  const std::lock_guard lock(mutex_);
  ++dropped_;
}

void Metrics::admitted(std::int64_t tokens, std::int64_t answer_bytes) {
  const std::lock_guard lock(mutex_);
  admitted_tokens_ += tokens;
  admitted_bytes_ += answer_bytes;
}

void Metrics::looked(std::int64_t tokens) {
  const std::lock_guard lock(mutex_);
  ++looks_;
  largest_piece_ = std::max(largest_piece_, tokens);
}

void Metrics::connections(std::int64_t open) {
  const std::lock_guard lock(mutex_);
  connections_ = open;
}

void Metrics::in_flight(Lane lane, std::int64_t waiting, std::int64_t running) {
  const std::lock_guard lock(mutex_);
  waiting_.at(static_cast<std::size_t>(lane)) = waiting;
  running_.at(static_cast<std::size_t>(lane)) = running;
}

std::string Metrics::text() const {
  const std::lock_guard lock(mutex_);
  std::ostringstream out;
  write_type(out, "weft_requests_total", "counter");
  for (const auto& [key, count] : answers_) {
    out << "weft_requests_total{route=\"" << key.first << "\",code=\"" << key.second << "\"} " << count << '\n';
  }
  out << seconds_.text("weft_request_seconds") << waits_.text("weft_queue_seconds");
  write_value(out, "weft_batches_total", "counter", batches_);
  write_value(out, "weft_batch_texts_total", "counter", texts_);
  write_value(out, "weft_requests_dropped_total", "counter", dropped_);
  write_value(out, "weft_admitted_tokens_total", "counter", admitted_tokens_);
  write_value(out, "weft_admitted_answer_bytes_total", "counter", admitted_bytes_);
  write_value(out, "weft_looks_total", "counter", looks_);
  write_value(out, "weft_largest_piece_tokens", "gauge", largest_piece_);
  write_value(out, "weft_connections", "gauge", connections_);
  write_value(out, "weft_requests_waiting", "gauge",
              std::accumulate(waiting_.begin(), waiting_.end(), std::int64_t{0}));
  write_value(out, "weft_requests_running", "gauge",
              std::accumulate(running_.begin(), running_.end(), std::int64_t{0}));
  write_value(out, "process_resident_memory_bytes", "gauge", resident_memory());
  out << more_;
  return out.str();
}

}  // namespace weft::server
