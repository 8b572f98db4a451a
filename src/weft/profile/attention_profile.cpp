// SPDX-License-Identifier: Apache-2.0
// What shards have in common, and their sum.
#include "weft/profile/attention_profile.h"

#include <algorithm>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/system/option_name.h"

namespace weft::profile {
namespace {

bool is_same_site(const PartSite& left, const PartSite& right) {
  return left.name == right.name && left.heads == right.heads && left.head_dim == right.head_dim &&
         left.expression == right.expression && left.maximum_length == right.maximum_length &&
         left.reason == right.reason;
}

// What of two shards differs and must not; empty: nothing.
std::string difference(const AttentionProfile& left, const AttentionProfile& right) {
  if (left.model.digest != right.model.digest || left.model.dtype != right.model.dtype) {
    return "the model";
  }
  if (left.data.digest != right.data.digest || left.progress.units != right.progress.units) {
    return "the texts, or the lengths or batches that they were read in,";
  }
  if (left.tile != right.tile || left.edge_limit != right.edge_limit || left.progress.shards != right.progress.shards) {
    return "the settings";
  }
  const bool is_same = std::equal(left.parts.begin(), left.parts.end(), right.parts.begin(), right.parts.end(),
                                  [](const Part& a, const Part& b) { return is_same_site(a.site, b.site); });
  return is_same ? "" : "the attention";
}

}  // namespace

const Part* AttentionProfile::find(std::string_view name) const {
  const auto found = std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return part.site.name == name; });
  return found == parts.end() ? nullptr : &*found;
}

void require_complete(const AttentionProfile& profile, const std::string& where) {
  if (!profile.progress.complete) {
    throw Error(ErrorKind::kArgument,
                concat(where, ": the profile was stopped after ", profile.progress.units, " units of its texts"),
                "go on with `weft profile ... --resume`");
  }
  if (profile.progress.shards > 1) {
    throw Error(ErrorKind::kArgument,
                concat(where, ": the profile is shard ", profile.progress.shard, " of ", profile.progress.shards),
                "join the shards with `weft profile --merge SHARD ... --out FILE`");
  }
}

std::vector<const Part*> attending_parts(const AttentionProfile& profile, std::string_view attend,
                                         const std::string& where) {
  std::vector<const Part*> parts;
  for (const Part& part : profile.parts) {
    if (attend != "both" && part.site.cross != (attend == "cross")) {
      continue;
    }
    require(part.site.reason.empty(), where, ": the profile has no sums of ", part.site.name, ": ", part.site.reason);
    require(part.sums.queries() > 0, where, ": the profile has no row of ", part.site.name, "; profile a text first");
    parts.push_back(&part);
  }
  const bool has_cross =
      std::any_of(profile.parts.begin(), profile.parts.end(), [](const Part& part) { return part.site.cross; });
  require(!parts.empty() && (attend != "both" || has_cross), where, ": the profile is of a model without ",
          attend == "both" ? "cross" : attend, "-attention, found ", option("attend"), " ", attend);
  return parts;
}

AttentionProfile merge_profiles(std::vector<AttentionProfile> shards, std::span<const std::string> names) {
  require(!shards.empty() && shards.size() == names.size(), "profile: there is nothing to merge");
  const std::int64_t count = shards.front().progress.shards;
  std::vector<bool> seen(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const Progress& progress = shards[i].progress;
    require(progress.complete, names[i], ": the shard was stopped after ", progress.units,
            " units of its texts; go on with ", option("resume"));
    const std::string differs = difference(shards.front(), shards[i]);
    require(differs.empty(), names[i], ": ", differs, " of this profile and of ", names.front(), " differ");
    require(progress.shard < count && !seen[static_cast<std::size_t>(progress.shard)], names[i], ": shard ",
            progress.shard, " of ", count, " is there twice");
    seen[static_cast<std::size_t>(progress.shard)] = true;
  }
  const auto missing = std::find(seen.begin(), seen.end(), false) - seen.begin();
  require(missing == count, "profile: shard ", missing, " of ", count, " is missing");
  AttentionProfile merged = std::move(shards.front());
  for (std::size_t i = 1; i < shards.size(); ++i) {
    merged.data.texts += shards[i].data.texts;
    merged.data.tokens += shards[i].data.tokens;
    for (std::size_t part = 0; part < merged.parts.size(); ++part) {
      merged.parts[part].sums.add(shards[i].parts[part].sums);
      std::string& note = merged.parts[part].site.note;
      note = note.empty() ? shards[i].parts[part].site.note : note;
    }
  }
  merged.progress.shard = 0;
  merged.progress.shards = 1;
  return merged;
}

}  // namespace weft::profile
