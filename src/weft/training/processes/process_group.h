// SPDX-License-Identifier: Apache-2.0
// The processes that train together, as the trainer sees them: their number, and sums over all of them. One process
// alone is a group too, whose sums are its own values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <ATen/core/Tensor.h>

#include "weft/core/system/process_rank.h"

namespace weft::training {

/// Every process calls the same functions in the same order. Errors: kIo that names the process which ended, within 30
/// seconds of its end.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  virtual std::int64_t rank() const noexcept { return 0; }
  virtual std::int64_t size() const noexcept { return 1; }
  /// The one that writes files and talks to the user.
  bool is_first() const noexcept { return rank() == 0; }
  bool is_alone() const noexcept { return size() == 1; }

  /// Begins to replace `tensor` by its sum over all processes; the result is there when the function that it returns
  /// has returned. The order of the summands does not change from call to call.
  virtual std::function<void()> begin_sum(const at::Tensor& tensor);
  /// Replaces `tensor` by that of the first process.
  virtual void copy_from_first(const at::Tensor& tensor);
  /// Tells the others that this process is about to end because of `reason`, unless fail_together() was called.
  virtual void announce_failure(const std::string& reason);
  /// All processes found the same fault and end with the same error: none has to tell the others.
  void fail_together() noexcept { failed_together_ = true; }
  /// Waits until all have come here.
  void meet() { sum(0.0); }

  double sum(double value);
  double from_first(double value);
  std::string text_from_first(const std::string& text);
  /// The text of the first process whose text is not empty, in all of them; empty where all are.
  std::string first_text(const std::string& text);

 protected:
  bool failed_together() const noexcept { return failed_together_; }

 private:
  bool failed_together_ = false;
};

/// The group of this process: itself, but while a JoinedProcesses lives.
ProcessGroup& processes();

/// While one lives, this process belongs to the group that the launcher's environment names (environment.h), and has
/// its rank there (core/system/process_rank.h).
class JoinedProcesses {
 public:
  /// Waits up to five minutes for all to come. Errors: kArgument for the environment, kIo where the others cannot be
  /// reached.
  JoinedProcesses();
  ~JoinedProcesses();
  JoinedProcesses(const JoinedProcesses&) = delete;
  JoinedProcesses& operator=(const JoinedProcesses&) = delete;

 private:
  std::optional<RankAmongProcesses> rank_;
};

}  // namespace weft::training
