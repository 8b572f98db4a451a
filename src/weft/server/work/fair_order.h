// SPDX-License-Identifier: Apache-2.0
// Whose turn it is: requests are of three sizes by what they cost, and each size that waits gets as much as the others
// (deficit round robin). A short request does not wait for all long ones before it, and a long one not for all short
// ones behind it. The unit is Cost::work(), which for a plain text are its bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace weft::server {

class FairOrder {
 public:
  static constexpr std::size_t kSizes = 3;
  /// The bytes of the oldest request of each size; nothing where none waits.
  using Heads = std::array<std::optional<std::int64_t>, kSizes>;

  /// `batch_bytes` is what each size gets in a round. Longer requests are long, a sixteenth of it and less is short.
  explicit FairOrder(std::int64_t batch_bytes) : batch_bytes_(batch_bytes) {}

  std::size_t size_of(std::int64_t bytes) const;
  /// The size that is next; one of `heads` waits. A size that does not wait saves nothing.
  std::size_t next(const Heads& heads);
  /// A request of `bytes` is computed.
  void pay(std::int64_t bytes);

 private:
  std::int64_t batch_bytes_;
  std::array<std::int64_t, kSizes> saved_{};  // bytes; below 0 where more was computed than was saved
  std::size_t last_ = kSizes - 1;
};

}  // namespace weft::server
