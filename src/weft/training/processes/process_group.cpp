// SPDX-License-Identifier: Apache-2.0
// The group of one, and the one group that a process has.
#include "weft/training/processes/process_group.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>

#include "weft/core/log.h"
#include "weft/training/processes/environment.h"
#include "weft/training/processes/gloo_group.h"

namespace weft::training {
namespace {

std::unique_ptr<ProcessGroup>& current_group() {
  static std::unique_ptr<ProcessGroup> group = std::make_unique<ProcessGroup>();
  return group;
}

}  // namespace

std::function<void()> ProcessGroup::begin_sum(const at::Tensor&) {
  return [] {};
}

void ProcessGroup::copy_from_first(const at::Tensor&) {}

void ProcessGroup::announce_failure(const std::string&) {}

double ProcessGroup::sum(double value) {
  const at::Tensor total = at::scalar_tensor(value, at::kDouble);
  begin_sum(total)();
  return total.item<double>();
}

double ProcessGroup::from_first(double value) {
  const at::Tensor first = at::scalar_tensor(value, at::kDouble);
  copy_from_first(first);
  return first.item<double>();
}

std::string ProcessGroup::text_from_first(const std::string& text) {
  const auto length = static_cast<std::int64_t>(from_first(static_cast<double>(text.size())));
  if (is_alone() || length == 0) {
    return is_alone() ? text : std::string();
  }
  const at::Tensor bytes = at::zeros({length}, at::kByte);
  if (is_first()) {
    std::copy(text.begin(), text.end(), bytes.mutable_data_ptr<std::uint8_t>());
  }
  copy_from_first(bytes);
  return {reinterpret_cast<const char*>(bytes.const_data_ptr<std::uint8_t>()), static_cast<std::size_t>(length)};
}

std::string ProcessGroup::first_text(const std::string& text) {
  if (is_alone()) {
    return text;
  }
  // Sums in which all summands but one are 0.
  const at::Tensor lengths = at::zeros({size()}, at::kDouble);
  double* const of_rank = lengths.mutable_data_ptr<double>();
  of_rank[rank()] = static_cast<double>(text.size());
  begin_sum(lengths)();
  const std::int64_t speaker = std::find_if(of_rank, of_rank + size(), [](double one) { return one > 0; }) - of_rank;
  if (speaker == size()) {
    return {};
  }
  const auto length = static_cast<std::int64_t>(of_rank[speaker]);
  const at::Tensor bytes = at::zeros({length}, at::kByte);
  if (rank() == speaker) {
    std::copy(text.begin(), text.end(), bytes.mutable_data_ptr<std::uint8_t>());
  }
  begin_sum(bytes)();
  return {reinterpret_cast<const char*>(bytes.const_data_ptr<std::uint8_t>()), static_cast<std::size_t>(length)};
}

ProcessGroup& processes() { return *current_group(); }

JoinedProcesses::JoinedProcesses() {
  const std::optional<ProcessPlace> place = process_place();
  if (!place) {
    return;
  }
  current_group() = make_gloo_group(*place);
  rank_.emplace(place->rank);
  // One voice: what the others would warn of, the first says as well.
  if (!processes().is_first()) {
    set_log_level(LogLevel::kError);
    ::setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1", 1);
  }
}

JoinedProcesses::~JoinedProcesses() { current_group() = std::make_unique<ProcessGroup>(); }

}  // namespace weft::training
