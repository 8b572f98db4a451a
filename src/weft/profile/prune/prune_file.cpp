// SPDX-License-Identifier: Apache-2.0
// Expressions are parsed once their files are there, so that what is saved carries the digests of the graphs.
#include "weft/profile/prune/prune_file.h"

#include <algorithm>
#include <span>
#include <type_traits>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/core/system/usage_error.h"
#include "weft/formats/json_members.h"
#include "weft/formats/sha256.h"
#include "weft/inspect/graph/statistics.h"
#include "weft/profile/prune/expression.h"

namespace weft::profile {
namespace {

using formats::Json;

constexpr std::int64_t kPruneVersion = 1;
constexpr std::int64_t kLongestGraph = 4096;

std::string file_digest(const std::filesystem::path& path) {
  const MappedFile file(named_by_user(path));
  formats::Sha256 digest;
  digest.add(file.bytes().data(), file.bytes().size());
  return formats::hexadecimal(digest.digest());
}

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

Json graph_json(const pattern::Pattern& pattern, const pattern::Site& site) {
  if (site.query_length != site.key_length || site.query_length > kLongestGraph) {
    return nullptr;
  }
  const inspect::GraphStatistics graph = inspect::graph_statistics(pattern, {.site = site});
  if (!graph.is_measured) {
    return nullptr;
  }
  return {{"average_path", graph.paths.average.value},
          {"largest_path", graph.paths.largest},
          {"unreachable", graph.paths.unreachable.value},
          {"spectral_gap", graph.second_eigenvalue ? Json(1 - graph.second_eigenvalue->value) : Json(nullptr)}};
}

// The sums over layers that a person reads first.
Json totals(std::span<const PruneResult> results) {
  const auto sum = [&](auto PruneResult::* member) {
    std::remove_cvref_t<decltype(results[0].*member)> total = 0;
    for (const PruneResult& result : results) {
      total += result.*member;
    }
    return total;
  };
  // Of many layers the sums of mass could leave 63 bits.
  const auto mass = [&](std::int64_t PruneResult::* member) {
    double total = 0;
    for (const PruneResult& result : results) {
      total += static_cast<double>(result.*member);
    }
    return total;
  };
  const double whole = mass(&PruneResult::mass);
  const double cost = sum(&PruneResult::cost);
  return {{"units", sum(&PruneResult::units)},
          {"kept_units", sum(&PruneResult::kept_units)},
          {"density", share(sum(&PruneResult::kept_units), sum(&PruneResult::units))},
          {"edges", sum(&PruneResult::edges)},
          {"kept_edges", sum(&PruneResult::kept_edges)},
          {"edge_density", share(sum(&PruneResult::kept_edges), sum(&PruneResult::edges))},
          {"kept_mass", whole > 0 ? mass(&PruneResult::kept_mass) / whole : 0},
          {"emptied_rows", sum(&PruneResult::emptied_rows)},
          {"cost", cost},
          {"kept_cost", sum(&PruneResult::kept_cost)},
          {"cost_share", cost > 0 ? sum(&PruneResult::kept_cost) / cost : 0}};
}

Json part_json(const PruneResult& result, const std::string& expression, const PruneOrigin& origin,
               const std::filesystem::path& directory) {
  Json json = {{"name", result.layer.part->site.name}};
  json.update(totals(std::span(&result, 1)));
  const pattern::Pattern pattern = pattern::Pattern::parse(expression, directory);
  json["graph"] = origin.measures_graphs ? graph_json(pattern, result.layer.graph.site) : Json(nullptr);
  return json;
}

bool has_graphs(const PruneSettings& settings) { return settings.unit != "head" && settings.control != "window"; }

// Of all patterns of the model.
std::vector<pattern::PatternFile> base_files(const AttentionProfile& profile, const std::filesystem::path& directory) {
  std::vector<pattern::PatternFile> files;
  for (const Part& part : profile.parts) {
    if (part.site.expression.find("edges(") != std::string::npos) {
      for (pattern::PatternFile& file : pattern::Pattern::parse(part.site.expression, directory).files()) {
        files.push_back(std::move(file));
      }
    }
  }
  return files;
}

bool holds_only_graphs(const std::filesystem::path& folder) {
  const std::filesystem::directory_iterator entries(folder);
  return std::all_of(begin(entries), end(entries), [](const std::filesystem::directory_entry& entry) {
    return entry.is_regular_file() && is_graph_name(entry.path().filename().string());
  });
}

// Whether `path` is a file of weft prune whose graphs are in the folder of that name.
bool names_graphs_in(const std::filesystem::path& path, const std::string& folder) {
  try {
    const std::string name = concat("edges(\"", folder, "/");
    for (const PrunedPatterns::List& list : read_prune(path).lists) {
      if (std::any_of(list.expressions.begin(), list.expressions.end(),
                      [&](const std::string& one) { return one.find(name) != std::string::npos; })) {
        return true;
      }
    }
    return false;
  } catch (const Error&) {  // it is another file, or none
    return false;
  }
}

// A folder of graphs is replaced as a whole: what is there must be the graphs of the file that is replaced with it.
void check_graph_folder(const std::filesystem::path& path, const std::filesystem::path& folder) {
  if (!std::filesystem::exists(std::filesystem::symlink_status(folder))) {
    return;
  }
  if (std::filesystem::is_directory(folder) && std::filesystem::is_empty(folder)) {
    return;
  }
  const bool are_graphs = std::filesystem::is_directory(folder) && holds_only_graphs(folder);
  if (!are_graphs || !names_graphs_in(path, folder.filename().string())) {
    throw Error(ErrorKind::kArgument,
                concat("prune: ", quote(folder.string(), 4096), " is in the way: the graphs of ",
                       quote(path.string(), 4096), " go into that folder, and what is there is not of an earlier one"),
                "give a file of another name, or remove the folder");
  }
}

// A graph of the model's own pattern, below the folder from which it is read or below the one to which it is copied,
// must not be in the folder of graphs.
void check_own_graphs(const PruneOrigin& origin, const std::filesystem::path& directory,
                      const std::filesystem::path& folder) {
  const std::filesystem::path replaced = std::filesystem::weakly_canonical(folder);
  for (const pattern::PatternFile& file : base_files(origin.profile, origin.model_directory)) {
    for (const std::filesystem::path& base : {origin.model_directory, directory}) {
      const std::filesystem::path below =
          std::filesystem::weakly_canonical(base / file.name).lexically_relative(replaced);
      require(below.empty() || *below.begin() == "..", "prune: the model's own pattern names ", Quoted(file.name, 4096),
              ", and graphs would replace the folder ", Quoted(folder.string(), 4096),
              "; write a file of another name");
    }
  }
}

}  // namespace

Json begun_prune_file(const ModelOrigin& model) {
  return {{"weft_prune", kPruneVersion}, {"model", formats::to_json(model)}};
}

std::string cost_unit(bool costs_are_seconds) {
  return costs_are_seconds ? "seconds a text, forwards" : "keys computed";
}

void check_base_files(const AttentionProfile& profile, const std::filesystem::path& from,
                      const std::filesystem::path& to) {
  for (const pattern::PatternFile& file : base_files(profile, from)) {
    const std::filesystem::path target = to / file.name;
    require(!std::filesystem::exists(target) || read_file(ModelFile(to, file.name)) == file.content ||
                std::filesystem::equivalent(target, from / file.name),
            "prune: ", Quoted(target.string(), 4096),
            " is in the way of a graph of that name that the model's own pattern needs; write to another folder");
  }
}

void write_base_files(const AttentionProfile& profile, const std::filesystem::path& from,
                      const std::filesystem::path& to) {
  check_base_files(profile, from, to);
  for (const pattern::PatternFile& file : base_files(profile, from)) {
    const std::filesystem::path target = to / file.name;
    if (!std::filesystem::exists(target)) {
      std::filesystem::create_directories(target.parent_path());
      write_file_atomically(target, file.content);
    }
  }
}

void check_prune_path(const std::filesystem::path& path, const PruneOrigin& origin) {
  const std::filesystem::path directory = path.parent_path();
  const std::string folder = path.stem().string();
  if (!path.has_extension() || folder.empty()) {
    throw UsageError(
        concat("prune: the file to write needs an ending, because its graphs go into a folder of its name ",
               "without it, found ", quote(path.string(), 4096)),
        "for example prune.json");
  }
  const std::filesystem::path beside = directory.empty() ? "." : directory;
  if (has_graphs(origin.settings)) {
    check_own_graphs(origin, beside, directory / folder);
    check_graph_folder(path, directory / folder);
  }
  check_base_files(origin.profile, origin.model_directory, beside);
}

std::string list_of(const PartSite& site) {
  if (site.cross) {
    return "cross_attention";
  }
  const auto begins = [&](std::string_view prefix) { return site.name.starts_with(prefix); };
  return begins("encoder.") ? "encoder_attention" : begins("decoder.") ? "decoder_attention" : "attention";
}

Json attention_lists(const AttentionProfile& profile, const std::vector<std::string>& replaced) {
  Json lists = Json::object();
  Json shape = Json::object();
  for (std::size_t part = 0; part < profile.parts.size(); ++part) {
    const PartSite& site = profile.parts[part].site;
    const std::string list = list_of(site);
    lists[list].push_back(replaced[part].empty() ? site.expression : replaced[part]);
    shape[list] = {{"layers", lists[list].size()}, {"heads", site.heads}, {"head_dim", site.head_dim}};
  }
  Json json = {{"shape", std::move(shape)}};
  json.update(lists);
  return json;
}

Json write_prune(const std::filesystem::path& path, const PruneOrigin& origin,
                 const std::vector<PruneResult>& results) {
  const std::filesystem::path directory = path.parent_path();
  const std::string folder = path.stem().string();
  check_prune_path(path, origin);
  std::vector<std::string> replaced(origin.profile.parts.size());
  const auto number_of = [&](const PruneResult& result) {
    return static_cast<std::size_t>(result.layer.part - origin.profile.parts.data());
  };
  if (has_graphs(origin.settings)) {
    write_directory_atomically(directory / folder, [&](const std::filesystem::path& made) {
      for (const PruneResult& result : results) {
        write_graphs(made, result, longest_keys(origin.profile, *result.layer.part));
      }
    });
  }
  write_base_files(origin.profile, origin.model_directory, directory.empty() ? "." : directory);
  Json parts = Json::array();
  for (const PruneResult& result : results) {
    std::string& text = replaced[number_of(result)];
    text = pruned_pattern(result, folder, directory, longest_keys(origin.profile, *result.layer.part)).to_string();
    parts.push_back(part_json(result, text, origin, directory));
  }
  Json json = begun_prune_file(origin.profile.model);
  json["profile"] = {{"path", origin.profile_path.string()},
                     {"digest", file_digest(origin.profile_path)},
                     {"data", formats::to_json(origin.profile.data)}};
  json["settings"] = formats::to_json(origin.settings);
  json.update(totals(results));
  json["cost_unit"] = cost_unit(origin.costs_are_seconds);
  json.update(attention_lists(origin.profile, replaced));
  json["parts"] = std::move(parts);
  write_file_atomically(path, formats::print_json(json, 1) + "\n");
  return json;
}

const PrunedPatterns::List* PrunedPatterns::find(std::string_view name) const {
  const auto found = std::find_if(lists.begin(), lists.end(), [&](const List& list) { return list.name == name; });
  return found == lists.end() ? nullptr : &*found;
}

PrunedPatterns read_prune(const std::filesystem::path& path) {
  const Json json = formats::read_json_object(named_by_user(path));
  const std::string where = quote(path.string(), 4096);
  if (!json.contains("weft_prune")) {
    throw Error(ErrorKind::kFormat, concat(where, " is no file of `weft prune` or `weft propose`"),
                "`weft prune PROFILE --density 0.1 -o prune.json` makes one");
  }
  const auto version = formats::value_of<std::int64_t>(json, "weft_prune", where);
  if (version != kPruneVersion) {
    fail(ErrorKind::kFormat, where, ": version ", kPruneVersion, " can be read, found version ", version);
  }
  PrunedPatterns found;
  found.directory = path.parent_path();
  const Json& model = formats::object_member(json, "model", where);
  found.model_kind = formats::value_of<std::string>(model, "kind", where);
  found.model_digest = formats::value_of<std::string>(model, "digest", where);
  const Json& shape = formats::object_member(json, "shape", where);
  for (const char* name : {"attention", "encoder_attention", "decoder_attention", "cross_attention"}) {
    if (json.contains(name)) {
      const Json& of_list = formats::object_member(shape, name, concat(where, ": shape"));
      found.lists.push_back({name, formats::value_of<std::vector<std::string>>(json, name, where),
                             formats::value_of<std::int64_t>(of_list, "heads", where)});
      require(!found.lists.back().expressions.empty(), where, ": ", name, " has no layer");
    }
  }
  if (found.lists.empty()) {
    fail(ErrorKind::kFormat, where, ": the list `attention` is missing");
  }
  return found;
}

}  // namespace weft::profile
