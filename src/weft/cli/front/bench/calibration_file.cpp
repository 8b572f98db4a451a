// SPDX-License-Identifier: Apache-2.0
// To JSON and back; whose machine it is.
#include "weft/cli/front/bench/calibration_file.h"

#include <algorithm>

#include "weft/cli/front/tensor_part.h"
#include "weft/core/cpu.h"
#include "weft/core/environment.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/joined.h"
#include "weft/core/log.h"
#include "weft/core/version.h"
#include "weft/kernels/fused.h"

namespace weft::cli {
namespace {

using formats::Json;

constexpr const char* kAgain = "; run `weft bench calibrate` here";
constexpr const char* kGpus = "gpus";

/// The four directions of attention by their names in the file.
template <typename Rates, typename Visit>
void for_each_direction(Rates& rates, const Visit& visit) {
  visit("forward", rates.forward);
  visit("backward", rates.backward);
  visit("dense_forward", rates.dense_forward);
  visit("dense_backward", rates.dense_backward);
}

Json attention_json(const inspect::MeasuredAttention& measured) {
  Json json = {{"dtype", measured.dtype}, {"head_dim", measured.head_dim}};
  for_each_direction(measured.rates,
                     [&](const char* name, const auto& rates) { json[name] = formats::to_json(rates); });
  return json;
}

/// The value of a key that must be there.
const Json& member(const Json& json, const char* name, const std::string& where) {
  const auto found = json.is_object() ? json.find(name) : json.end();
  if (found == json.end()) {
    fail(ErrorKind::kFormat, where, ": ", name, " is missing", kAgain);
  }
  return *found;
}

const Json& list(const Json& json, const char* name, const std::string& where) {
  const Json& found = member(json, name, where);
  if (!found.is_array()) {
    fail(ErrorKind::kFormat, where, ": ", name, " must be a list");
  }
  return found;
}

/// Every field must be there: a rate that is not would count as nothing.
template <typename Config>
void read_all(Config& config, const Json& json, const std::string& where) {
  Config::fields([&](const auto& field) { member(json, std::string(field.name).c_str(), where); });
  formats::update_from_json(config, json, where);
}

inspect::MeasuredAttention attention_from_json(const Json& json, const std::string& where) {
  inspect::MeasuredAttention measured;
  formats::read_value(member(json, "dtype", where), where + ": dtype", measured.dtype);
  formats::read_value(member(json, "head_dim", where), where + ": head_dim", measured.head_dim);
  for_each_direction(measured.rates, [&](const char* name, auto& rates) {
    read_all(rates, member(json, name, where), concat(where, ": ", name));
  });
  return measured;
}

/// Interpolation divides by the difference of two widths.
void check_widths(const std::vector<inspect::MeasuredAttention>& measured, const std::string& where) {
  for (auto one = measured.begin(); one != measured.end(); ++one) {
    require(one->head_dim >= 1, where, ": head_dim must be at least 1, found ", one->head_dim);
    const bool is_again = std::any_of(measured.begin(), one, [&](const inspect::MeasuredAttention& earlier) {
      return earlier.dtype == one->dtype && earlier.head_dim == one->head_dim;
    });
    require(!is_again, where, ": ", one->dtype, " with head_dim ", one->head_dim, " is there twice");
  }
}

/// What of `found` differs from this machine, in words; empty where nothing does.
std::string differing_fields(const Machine& found, const Machine& here) {
  std::vector<std::string> words;
  Machine::fields([&](const auto& field) {
    if (found.*field.member != here.*field.member) {
      words.push_back(concat(field.name, " is ", found.*field.member, " there and ", here.*field.member, " here"));
    }
  });
  return joined(words, ", ");
}

// What a file has of a GPU of that name. Errors: kArgument where it has nothing.
const Json& calibration_of_gpu(const Json& file, const std::string& name, const std::string& where) {
  if (file.is_object() && file.contains(kGpus)) {
    for (const Json& each : list(file, kGpus, where)) {
      if (member(member(each, "machine", where), "processor", where) == name) {
        return each;
      }
    }
  }
  fail(ErrorKind::kArgument, where, ": there is no calibration of ", name,
       "; run `weft bench calibrate --device cuda` here");
}

inspect::MachineRates rates_of_this_machine(const std::filesystem::path& path, const Machine& here) {
  const Json file = formats::read_json(named_by_user(path));
  const bool is_gpu = here.isa == kGpuIsa;
  require(is_gpu || !file.is_object() || file.contains("machine") || !file.contains(kGpus), path.string(),
          ": there is no calibration of the CPU", kAgain);
  const Json& json = is_gpu ? calibration_of_gpu(file, here.processor, path.string()) : file;
  Calibration calibration = calibration_from_json(json, path.string());
  const std::string words = differing_fields(calibration.machine, here);
  require(words.empty(), path.string(), " is the calibration of another machine: ", words, kAgain);
  return std::move(calibration.rates);
}

}  // namespace

Machine this_machine(std::int64_t threads, const std::string& device) {
  if (device != "cpu") {
    return {tensor_part().describe_device(device), kGpuIsa, 1, std::string(kVersion)};
  }
  // LibTorch is asked only where nobody else knows.
  return {cpu_description(), kernels::to_string(kernels::chosen_isa()),
          threads > 0 ? threads : tensor_part().use_threads(0), std::string(kVersion)};
}

Json calibration_json(const Calibration& calibration) {
  Json attention = Json::array();
  for (const inspect::MeasuredAttention& each : calibration.rates.attention) {
    attention.push_back(attention_json(each));
  }
  Json layers = Json::array();
  for (const inspect::LayerRates& each : calibration.rates.layers) {
    layers.push_back(formats::to_json(each));
  }
  return {{"machine", formats::to_json(calibration.machine)},
          {"date", calibration.date},
          {"attention", attention},
          {"layers", layers},
          {"update_seconds", calibration.rates.update_seconds}};
}

Calibration calibration_from_json(const Json& json, const std::string& where) {
  Calibration calibration;
  read_all(calibration.machine, member(json, "machine", where), where + ": machine");
  formats::read_value(member(json, "date", where), where + ": date", calibration.date);
  formats::read_value(member(json, "update_seconds", where), where + ": update_seconds",
                      calibration.rates.update_seconds);
  for (const Json& each : list(json, "attention", where)) {
    calibration.rates.attention.push_back(attention_from_json(each, where + ": attention"));
  }
  check_widths(calibration.rates.attention, where);
  for (const Json& each : list(json, "layers", where)) {
    read_all(calibration.rates.layers.emplace_back(), each, where + ": layers");
  }
  return calibration;
}

std::optional<std::filesystem::path> calibration_path() {
  const std::optional<std::filesystem::path> directory = cache_directory();
  return directory ? std::optional(*directory / "machine.json") : std::nullopt;
}

namespace {

// What is there; an empty object where that is nothing, or no calibration.
Json file_at(const std::filesystem::path& path) {
  try {
    Json file = std::filesystem::exists(path) ? formats::read_json(named_by_user(path)) : Json::object();
    return file.is_object() ? file : Json::object();
  } catch (const Error&) {
    return Json::object();
  }
}

Json with_calibration(Json file, const Calibration& calibration) {
  const Json before = file.contains(kGpus) && file[kGpus].is_array() ? file[kGpus] : Json::array();
  Json others = Json::array();
  for (const Json& each : before) {
    const Json* const machine = each.is_object() && each.contains("machine") ? &each["machine"] : nullptr;
    if (machine == nullptr || !machine->is_object() ||
        machine->value("processor", Json()) != calibration.machine.processor) {
      others.push_back(each);
    }
  }
  if (calibration.machine.isa == kGpuIsa) {
    others.push_back(calibration_json(calibration));
  } else {
    file = calibration_json(calibration);
  }
  if (!others.empty()) {
    file[kGpus] = std::move(others);
  }
  return file;
}

}  // namespace

void write_calibration(const std::filesystem::path& path, const Calibration& calibration) {
  std::error_code problem;
  if (path.has_parent_path() && !std::filesystem::create_directories(path.parent_path(), problem) && problem) {
    fail(ErrorKind::kIo, "cannot make the folder ", path.parent_path().string(), ": ", problem.message());
  }
  write_file_atomically(path, formats::print_json(with_calibration(file_at(path), calibration), 2) + "\n");
}

std::optional<inspect::MachineRates> find_rates(const std::string& given, std::int64_t threads,
                                                const std::string& device) {
  const std::optional<std::filesystem::path> path =
      given.empty() ? calibration_path() : std::optional<std::filesystem::path>(given);
  if (!path || (given.empty() && !std::filesystem::exists(*path))) {
    return std::nullopt;
  }
  try {
    return rates_of_this_machine(*path, this_machine(threads, device));
  } catch (const Error& error) {
    if (!given.empty()) {
      throw;
    }
    log_warning(error.what(), "; no seconds are predicted");
    return std::nullopt;
  }
}

}  // namespace weft::cli
