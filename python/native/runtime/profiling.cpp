// SPDX-License-Identifier: Apache-2.0
// Where the attention of a model goes, and short patterns that hold it: the calls, the files and the JSON of
// `weft profile` and `weft propose`.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <ATen/Parallel.h>

#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "python_call.h"
#include "weft/cli/front/bench/calibration_file.h"
#include "weft/formats/config_json_fields.h"
#include "weft/hub/models.h"
#include "weft/runs/profile/profile.h"
#include "weft/runs/propose/propose.h"

namespace weft::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using formats::Json;

// What the commands take by options that are no fields.
template <typename Value>
Value take_out(Json& given, const char* task, const char* name) {
  Value value;
  if (const auto found = given.find(name); found != given.end()) {
    formats::read_value(*found, concat(task, ": ", name), value);
    given.erase(name);
  }
  return value;
}

// As the commands print it: bytes that are no UTF-8 become U+FFFD.
std::string printed_as_command(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

profile::LayoutCost cost_here(const std::string& rates) {
  return profile::LayoutCost(cli::find_rates(rates, at::get_num_threads()));
}

std::string profile_as_asked(const std::string& model, const std::string& settings) {
  runs::ProfileRequest request = {.asker = "profile"};
  request.given = formats::parse_json(settings, "settings");
  request.merge = take_out<std::vector<std::string>>(request.given, "profile", "merge");
  return compute([&] {
    request.model = model.empty() ? std::string() : hub::local_model(model).string();
    return printed_as_command(runs::profile(request));
  });
}

std::string propose_as_asked(const std::string& file, const std::string& settings) {
  runs::ProposeRequest request = {.asker = "propose"};
  request.profile = file;
  request.given = formats::parse_json(settings, "settings");
  request.out = take_out<std::string>(request.given, "propose", "out");
  request.cost = cost_here;
  return compute([&] { return printed_as_command(runs::propose(request)); });
}

}  // namespace

void bind_profiling(nb::module_& module) {
  module.def("profile", profile_as_asked, "model"_a, "settings"_a);
  module.def("propose", propose_as_asked, "profile"_a, "settings"_a);
}

}  // namespace weft::python
