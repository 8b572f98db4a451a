// SPDX-License-Identifier: Apache-2.0
// A profile from what is asked for to what was found: which texts and which part of them, the file, the pictures, the
// summary. `weft profile` and Python call this.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/fields.h"
#include "weft/formats/config_json.h"

namespace weft::runs {

/// What a profile takes besides tasks::ProfileTexts.
struct ProfileConfig {
  std::string out;
  std::string svg;
  std::string png;
  std::int64_t tile = 64;
  std::int64_t edges = 1024;
  std::string dtype = "run";
  std::string shard = "0/1";
  bool resume = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = ProfileConfig;
    visit(Field{"out", &C::out, "file to write, in the format safetensors"});
    visit(Field{"svg", &C::svg, "draw the mean attention of each head into this SVG file, too"});
    visit(Field{"png", &C::png, "draw the mean attention of each head into this PNG file, too"});
    visit(Field{"tile", &C::tile, "positions on each side of a tile, whose sums show where long texts look"}.range(
        1, 1 << 16));
    visit(Field{"edges", &C::edges, "every edge is summed where no text is longer than so many tokens; 0 for no edges"}
              .range(0, 1 << 14));
    visit(Field{"dtype", &C::dtype,
                "number format of matrix products; run is what the run learned in, float32 for a model of no run"}
              .one_of({"run", "float32", "bfloat16"}));
    visit(Field{"shard", &C::shard,
                "which part of the texts this process runs, of how many: 0/4 to 3/4; --merge joins them"});
    visit(Field{"resume", &C::resume, "go on where a run with the same --out was stopped"});
  }
};

struct ProfileRequest {
  std::string_view asker;                         ///< begins messages: "weft profile"
  std::string model;                              ///< directory of a model; none where shards are joined
  std::vector<std::string> merge;                 ///< files of shards, which are joined into one
  formats::Json given = formats::Json::object();  ///< fields of ProfileConfig and of tasks::ProfileTexts
};

/// Writes the files and gives what `weft profile --json` prints: {"out", profile::summary_json(), "seconds"}. Errors:
/// UsageError for what does not fit together; kFormat and kArgument for a field; those of checkpoint::open_model(),
/// tasks::open_profile_input(), tasks::run_profile() and profile::merge_profiles().
formats::Json profile(const ProfileRequest& request);

}  // namespace weft::runs
