// SPDX-License-Identifier: Apache-2.0
// The queries and keys of one pass, from which any part of any head can be drawn later: four bytes a number, where
// weights would be the square of the length.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weft/attention/profile/attention_observer.h"
#include "weft/attention/profile/head_picture.h"

namespace weft::tasks {

class KeptAttention {
 public:
  /// Keeps a call of the part with this number. Errors: those of scored_call(), with the part's `name`.
  void keep(std::size_t part, const std::string& name, const attention::MassCall& call);
  /// Draws a part as PictureOfHead does; where the pass had more keys than are asked for, their cells follow. Safe from
  /// several threads once all is kept. Errors: those of PictureOfHead; kArgument for a part of which nothing is kept.
  attention::HeadPicture draw(std::size_t part, const attention::PictureRequest& request) const;
  /// What is kept, in bytes.
  std::int64_t bytes() const noexcept { return bytes_; }

 private:
  std::map<std::size_t, std::vector<attention::ScoredCall>> calls_;
  std::int64_t bytes_ = 0;
};

}  // namespace weft::tasks
