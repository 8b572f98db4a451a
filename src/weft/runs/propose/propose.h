// SPDX-License-Identifier: Apache-2.0
// A proposal from what is asked for to what was found: patterns that hold the mass of a profile, the file, the losses
// on a held-out text. `weft propose` and Python call this.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/fields.h"
#include "weft/formats/config_json.h"
#include "weft/profile/prune/layout_cost.h"

namespace weft::runs {

/// What a proposal takes besides profile::ProposeSettings.
struct ProposeConfig {
  std::string model;
  std::string rates;
  std::vector<std::string> held_out;
  std::int64_t max_bytes = 0;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = ProposeConfig;
    visit(Field{"model", &C::model,
                "directory of the model, which graphs of its own patterns lie below; by default the one that was "
                "profiled"});
    visit(Field{"rates", &C::rates,
                "a file that `weft bench calibrate --out FILE` wrote; by default the one it writes without --out"});
    visit(Field{"held_out", &C::held_out,
                "text that the model did not learn, files and folders: print its loss with the model's own attention "
                "and with the proposed one, over --length tokens at once"});
    visit(Field{"max_bytes", &C::max_bytes, "bytes of --held-out to read; 0 for all"}.at_least(0).only_with_any(
        {"held_out"}));
  }
};

struct ProposeRequest {
  std::string_view asker;                         ///< begins messages: "weft propose"
  std::string profile;                            ///< a file of `weft profile`
  std::string out;                                ///< JSON file to write; or none
  formats::Json given = formats::Json::object();  ///< fields of ProposeConfig and of profile::ProposeSettings
  /// What patterns cost here, by ProposeConfig::rates.
  std::function<profile::LayoutCost(const std::string& rates)> cost;
};

/// Writes the file and gives what `weft propose --json` prints: profile::proposal_json() and "held_out", which is
/// compare_held_out() or null. Errors: kFormat and kArgument for a field; those of profile::read_profile(),
/// profile::propose() and compare_held_out().
formats::Json propose(const ProposeRequest& request);

}  // namespace weft::runs
