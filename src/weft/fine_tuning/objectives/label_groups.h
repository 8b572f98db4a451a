// SPDX-License-Identifier: Apache-2.0
// Labels that are reported as one, as --label-groups names them: DeepSEA's 919 profiles are 125, 690 and 104 of three
// kinds.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/fine_tuning/labels.h"
#include "weft/formats/config_json.h"
#include "weft/metrics/roc_auc.h"

namespace weft::fine_tuning {

/// {NAME: [LABEL, ...]} of a file; an empty object for no file. Errors: kIo; kFormat naming the file for another form,
/// and for a name that would be that of a figure of its own: "median", and what begins with "median_".
formats::Json read_label_groups(const std::string& file);

/// Each group with the numbers of its labels, in their order. A LABEL that no label is called stands for all that it
/// matches as a shell's pattern: "TF_*". Errors: kArgument naming the group, for what is and matches no label.
std::vector<metrics::LabelGroup> find_label_groups(const formats::Json& groups, const LabelNames& labels);

/// Labels that have no area in truth [rows, labels], because all rows have them or none has.
struct OneClassLabels {
  std::vector<std::string> never;   ///< that no row has
  std::vector<std::string> always;  ///< that every row has
  bool empty() const noexcept { return never.empty() && always.empty(); }
};

OneClassLabels one_class_labels(std::span<const std::uint8_t> truth, const std::vector<std::string>& names);

/// A sentence that says how many have none, which they are, and that no mean and no median counts them; empty without
/// such labels. `labels` is how many there are.
std::string left_out_text(const OneClassLabels& found, std::size_t labels);

}  // namespace weft::fine_tuning
