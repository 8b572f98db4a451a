// SPDX-License-Identifier: Apache-2.0
// A sign of life for work that says nothing of itself, such as a call into a library that takes minutes.
#pragma once

#include <string>
#include <utility>

#include "weft/core/progress.h"

namespace weft::cli {

/// Shows "label  1m12s" on stderr, as ProgressBar and under its rules, until it is destroyed.
class BusyBar {
 public:
  explicit BusyBar(std::string label) : bar_(std::move(label), 0) { bar_.keep_showing(); }

 private:
  ProgressBar bar_;
};

}  // namespace weft::cli
