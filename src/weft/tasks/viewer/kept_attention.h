// SPDX-License-Identifier: Apache-2.0
// The queries and keys of one pass, from which any part of any head can be drawn later: four bytes a number, where
// weights would be the square of the length.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "weft/attention/profile/attention_observer.h"
#include "weft/attention/profile/head_picture.h"

namespace weft::tasks {

class KeptAttention {
 public:
  /// Keeps a call of the part with this number. Errors: those of scored_call(), with the part's `name`.
  void keep(std::size_t part, const std::string& name, const attention::MassCall& call);
  /// Draws a part as PictureOfHead does, all keys of the pass unless the request ends before. A head that was drawn
  /// with all its rows is remembered by 12 bytes a row: parts of it then cost their own edges, and whole rows before.
  /// Safe from several threads once all is kept. Errors: those of PictureOfHead; kArgument for a part of which nothing
  /// is kept.
  attention::HeadPicture draw(std::size_t part, const attention::PictureRequest& request) const;
  /// What is kept, in bytes.
  std::int64_t bytes() const noexcept { return bytes_; }

 private:
  using HeadName = std::pair<std::size_t, std::int64_t>;
  using SharedScales = std::shared_ptr<const attention::RowScales>;
  SharedScales scales_of(const HeadName& head) const;

  std::map<std::size_t, std::vector<attention::ScoredCall>> calls_;
  std::int64_t bytes_ = 0;
  mutable std::mutex mutex_;
  mutable std::map<HeadName, SharedScales> scales_;
};

}  // namespace weft::tasks
