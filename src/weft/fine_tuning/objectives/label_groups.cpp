// SPDX-License-Identifier: Apache-2.0
// A name is a label before it is a pattern, so that a label with '*' or '[' in it can be named.
#include "weft/fine_tuning/objectives/label_groups.h"

#include <fnmatch.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

void add_members(const std::string& member, const std::string& group, const LabelNames& labels,
                 std::vector<std::int64_t>& found) {
  if (const std::int64_t exact = labels.find(member); exact >= 0) {
    found.push_back(exact);
    return;
  }
  const std::size_t before = found.size();
  const std::vector<std::string>& names = labels.names();
  for (std::size_t label = 0; label < names.size(); ++label) {
    if (::fnmatch(member.c_str(), names[label].c_str(), 0) == 0) {
      found.push_back(static_cast<std::int64_t>(label));
    }
  }
  require(found.size() > before, "label_groups: ", group, ": no label is called ", Quoted(member),
          " or matches it; the labels are ", [&] { return quoted_list(names, 10); });
}

std::string shown(const Json& value) { return quote(value.dump(-1, ' ', true, Json::error_handler_t::replace), 60); }

}  // namespace

Json read_label_groups(const std::string& file) {
  if (file.empty()) {
    return Json::object();
  }
  Json groups = formats::read_json(named_by_user(file));
  const auto is_list = [](const Json& labels) {
    return labels.is_array() && !labels.empty() &&
           std::all_of(labels.begin(), labels.end(), [](const Json& l) { return l.is_string(); });
  };
  if (!groups.is_object() || groups.empty()) {
    fail(ErrorKind::kFormat, quote(file, 4096), ": expected an object {NAME: [LABEL, ...]} with a group, found ",
         shown(groups));
  }
  for (const auto& [name, members] : groups.items()) {
    if (!is_list(members)) {
      fail(ErrorKind::kFormat, quote(file, 4096), ": group ", quote(name), ": expected a list with a label, found ",
           shown(members));
    }
    if (name.empty() || name == "median" || name.starts_with("median_")) {
      fail(ErrorKind::kFormat, quote(file, 4096), ": a group cannot be called ", quote(name),
           ": roc_auc_NAME would be the name of another figure");
    }
  }
  return groups;
}

std::vector<metrics::LabelGroup> find_label_groups(const Json& groups, const LabelNames& labels) {
  std::vector<metrics::LabelGroup> found;
  for (const auto& [name, members] : groups.items()) {
    metrics::LabelGroup group{name, {}};
    for (const Json& member : members) {
      add_members(member.get<std::string>(), name, labels, group.labels);
    }
    std::sort(group.labels.begin(), group.labels.end());  // one that is named twice counts once
    group.labels.erase(std::unique(group.labels.begin(), group.labels.end()), group.labels.end());
    found.push_back(std::move(group));
  }
  return found;
}

OneClassLabels one_class_labels(std::span<const std::uint8_t> truth, const std::vector<std::string>& names) {
  std::vector<std::size_t> counts(names.size(), 0);
  for (std::size_t i = 0; i < truth.size(); ++i) {
    counts[i % names.size()] += truth[i] != 0 ? 1 : 0;
  }
  const std::size_t rows = names.empty() ? 0 : truth.size() / names.size();
  OneClassLabels found;
  for (std::size_t label = 0; label < names.size(); ++label) {
    if (counts[label] == 0) {
      found.never.push_back(names[label]);
    } else if (counts[label] == rows) {
      found.always.push_back(names[label]);
    }
  }
  return found;
}

std::string left_out_text(const OneClassLabels& found, std::size_t labels) {
  if (found.empty()) {
    return {};
  }
  constexpr std::size_t kMostShown = 5;
  std::string text;
  const auto add = [&text](const std::vector<std::string>& names, const char* who) {
    if (!names.empty()) {
      text += concat(text.empty() ? "" : "; ", who, ": ", quoted_list(names, kMostShown));
    }
  };
  add(found.never, "that no example has");
  add(found.always, "that every example has");
  return concat("no mean and no median of ROC-AUC counts ", found.never.size() + found.always.size(), " of ", labels,
                " labels (", text, ")");
}

}  // namespace weft::fine_tuning
