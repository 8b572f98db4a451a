// SPDX-License-Identifier: Apache-2.0
// A profile as a safetensors file: the sums of each part are tensors, all else is one JSON object in the metadata. The
// file is not trusted: a shape that its metadata do not give is an error before anything is allocated.
#include <set>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/formats/config_json.h"
#include "weft/formats/json_members.h"
#include "weft/formats/safetensors.h"
#include "weft/profile/attention_profile.h"

namespace weft::profile {
namespace {

using formats::Json;
using Shape = std::vector<std::int64_t>;

constexpr const char* kKey = "weft_profile";
constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kLongest = std::int64_t{1} << 31;

struct Sum {
  const char* name;
  std::vector<std::int64_t> MassSums::* numbers;
  Shape shape;
};

// The tensors that sums of this size have.
std::vector<Sum> tensors_of(const MassSums& sums) {
  const std::int64_t heads = sums.shape().heads;
  std::vector<Sum> tensors = {{"tile_mass", &MassSums::tile, {heads, sums.query_tiles(), sums.key_tiles()}},
                              {"distance_mass", &MassSums::distance, {heads, sums.distances()}},
                              {"key_mass", &MassSums::key, {heads, sums.keys()}},
                              {"entropy", &MassSums::entropy, {heads}},
                              {"rows", &MassSums::rows, {heads, sums.queries()}}};
  if (sums.has_edges()) {
    tensors.push_back({"edge_mass", &MassSums::edge, {heads, sums.queries(), sums.keys()}});
  }
  return tensors;
}

bool has_tensors(const Part& part) { return part.site.reason.empty() && part.sums.queries() > 0; }

Json description(const AttentionProfile& profile) {
  Json parts = Json::array();
  for (const Part& part : profile.parts) {
    Json json = formats::to_json(part.site);
    json["queries"] = part.sums.queries();
    json["keys"] = part.sums.keys();
    parts.push_back(std::move(json));
  }
  return {{"version", kVersion},
          {"tile", profile.tile},
          {"edge_limit", profile.edge_limit},
          {"mass_unit", "2^-36"},
          {"entropy_unit", "2^-28"},
          {"model", formats::to_json(profile.model)},
          {"data", formats::to_json(profile.data)},
          {"progress", formats::to_json(profile.progress)},
          {"parts", std::move(parts)}};
}

template <typename Config>
Config config_of(const Json& json, const char* name, const std::string& where) {
  Config config;
  formats::update_from_json(config, formats::object_member(json, name, where), concat(where, ": ", name));
  return config;
}

std::int64_t length_of(const Json& json, const char* name, std::int64_t lowest, const std::string& where) {
  const auto length = formats::value_of<std::int64_t>(json, name, where);
  if (length < lowest || length > kLongest) {
    fail(ErrorKind::kFormat, where, ": ", name, " must be from ", lowest, " to 2^31, found ", length);
  }
  return length;
}

std::vector<std::int64_t> read_sum(const formats::SafetensorsFile& file, const std::string& name, const Shape& shape) {
  const formats::TensorInfo* info = file.find(name);
  const std::string where = quote(file.path().string(), 4096);
  if (info == nullptr || info->dtype != formats::Dtype::I64 || info->shape != shape) {
    fail(ErrorKind::kFormat, where, ": the tensor ", quote(name), info == nullptr ? " is missing" : " is not I64 of ",
         info == nullptr ? "" : "the shape that the metadata give");
  }
  // As many bytes as the file has: the header was checked against it.
  std::vector<std::int64_t> numbers((info->end - info->begin) / sizeof(std::int64_t));
  if (!numbers.empty()) {
    file.read(*info, numbers.data());
  }
  return numbers;
}

Part read_part(const formats::SafetensorsFile& file, const AttentionProfile& profile, const Json& json,
               const std::string& where) {
  Part part;
  formats::update_from_json(part.site, json, where, {"queries", "keys"});
  const std::int64_t queries = length_of(json, "queries", 0, where);
  const std::int64_t keys = length_of(json, "keys", 0, where);
  if ((queries == 0) != (keys == 0)) {
    fail(ErrorKind::kFormat, where, ": there are ", queries, " queries and ", keys, " keys; both are 0, or none is");
  }
  const MassShape shape{part.site.heads, profile.tile, profile.edge_limit};
  part.sums = MassSums::sized(shape, queries, keys);
  if (has_tensors(part)) {
    for (const Sum& sum : tensors_of(part.sums)) {
      part.sums.*sum.numbers = read_sum(file, concat(part.site.name, ".", sum.name), sum.shape);
    }
    try {
      part.sums.check(concat(where, ": ", quote(part.site.name)));
    } catch (const Error& error) {
      throw Error(ErrorKind::kFormat, error.what());
    }
  }
  return part;
}

}  // namespace

void write_profile(const std::filesystem::path& path, const AttentionProfile& profile) {
  std::vector<formats::TensorSource> sources;
  for (const Part& part : profile.parts) {
    if (has_tensors(part)) {
      part.sums.check(concat("profile: ", part.site.name));
      for (const Sum& sum : tensors_of(part.sums)) {
        sources.push_back(
            {concat(part.site.name, ".", sum.name), formats::Dtype::I64, sum.shape, (part.sums.*sum.numbers).data()});
      }
    }
  }
  formats::write_safetensors(path, sources, {{kKey, formats::print_json(description(profile))}});
}

AttentionProfile read_profile(const std::filesystem::path& path) {
  const formats::SafetensorsFile file(named_by_user(path));
  const std::string where = quote(path.string(), 4096);
  const auto text = file.metadata().find(kKey);
  if (text == file.metadata().end()) {
    throw Error(ErrorKind::kFormat, concat(where, " is a safetensors file, but no profile of attention"),
                "`weft profile MODEL --text PATH --out FILE` makes one");
  }
  const Json json = formats::parse_json(text->second, concat(where, ": ", kKey));
  const auto version = formats::value_of<std::int64_t>(json, "version", where);
  if (version != kVersion) {
    fail(ErrorKind::kFormat, where, ": profiles of version ", kVersion, " can be read, found version ", version);
  }
  AttentionProfile profile;
  profile.tile = length_of(json, "tile", 1, where);
  profile.edge_limit = length_of(json, "edge_limit", 0, where);
  profile.model = config_of<ModelOrigin>(json, "model", where);
  profile.data = config_of<DataOrigin>(json, "data", where);
  profile.progress = config_of<Progress>(json, "progress", where);
  std::set<std::string> names;
  for (const Json& part : formats::list_member(json, "parts", where)) {
    profile.parts.push_back(read_part(file, profile, part, concat(where, ": part ", profile.parts.size())));
    if (!names.insert(profile.parts.back().site.name).second) {
      fail(ErrorKind::kFormat, where, ": two parts are named ", quote(profile.parts.back().site.name));
    }
  }
  return profile;
}

}  // namespace weft::profile
