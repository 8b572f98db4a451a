// SPDX-License-Identifier: Apache-2.0
// Commands of both libraries add their arguments to one list, which the program goes through before it runs a command.
#include "weft/cli/front/model_argument.h"

#include <functional>
#include <utility>

#include "weft/hub/models.h"

namespace weft::cli {
namespace {

std::vector<std::function<void()>>& waiting_arguments() {
  static std::vector<std::function<void()>> arguments;
  return arguments;
}

void resolve_value(std::string& value, hub::Need need) { value = hub::local_model(value, need).string(); }

std::string with_name(const std::string& about) { return about + ", or a name of the Hub: ORG/NAME[@REVISION]"; }

}  // namespace

CLI::Option& add_model_argument(CLI::App& app, const std::string& name, std::string& value, const std::string& about,
                                hub::Need need) {
  CLI::Option* const option = app.add_option(name, value, with_name(about));
  waiting_arguments().emplace_back([option, &value, need] {
    if (option->count() > 0) {
      resolve_value(value, need);
    }
  });
  return *option;
}

CLI::Option& add_model_arguments(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                                 const std::string& about) {
  CLI::Option* const option = app.add_option(name, values, with_name(about));
  waiting_arguments().emplace_back([option, &values] {
    if (option->count() > 0) {
      for (std::string& value : values) {
        resolve_value(value, hub::Need::kModel);
      }
    }
  });
  return *option;
}

void resolve_model_arguments() {
  for (const std::function<void()>& argument : waiting_arguments()) {
    argument();
  }
}

void forget_model_arguments() { waiting_arguments().clear(); }

}  // namespace weft::cli
