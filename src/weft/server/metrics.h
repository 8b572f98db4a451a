// SPDX-License-Identifier: Apache-2.0
// Figures of the server in the text format of Prometheus. Labels are routes and statuses, both from fixed lists: what
// clients send never becomes a label.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace weft::server {

/// Counts of values up to each bound, and their sum.
class Histogram {
 public:
  static constexpr std::array kBounds = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2,
                                         0.5,   1.,    2.,    5.,   10.,  60.,  600.};
  void add(double value);
  /// The lines of the histogram `name`.
  std::string text(const std::string& name) const;

 private:
  std::array<std::int64_t, kBounds.size() + 1> counts_{};
  double sum_ = 0;
};

/// The queues of a server.
enum class Lane : std::uint8_t { kModels, kLight };
inline constexpr std::size_t kLanes = 2;

/// Safe from several threads.
class Metrics {
 public:
  /// `more` are lines that stay as they are, behind the server's own.
  explicit Metrics(std::string more = {}) : more_(std::move(more)) {}
  void answered(const std::string& route, int status, double seconds);
  void waited(double seconds);
  void batch(std::int64_t texts);
  void dropped();
  /// A request was taken, with what it costs.
  void admitted(std::int64_t tokens, std::int64_t answer_bytes);
  /// Work looked whether anybody waits, behind a piece of `tokens` tokens.
  void looked(std::int64_t tokens);
  void connections(std::int64_t open);
  void in_flight(Lane lane, std::int64_t waiting, std::int64_t running);
  std::string text() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::int64_t> answers_;
  Histogram seconds_;
  Histogram waits_;
  std::int64_t batches_ = 0;
  std::int64_t texts_ = 0;
  std::int64_t dropped_ = 0;
  std::int64_t admitted_tokens_ = 0;
  std::int64_t admitted_bytes_ = 0;
  std::int64_t looks_ = 0;
  std::int64_t largest_piece_ = 0;
  std::int64_t connections_ = 0;
  std::array<std::int64_t, kLanes> waiting_{};
  std::array<std::int64_t, kLanes> running_{};
  std::string more_;
};

}  // namespace weft::server
