// SPDX-License-Identifier: Apache-2.0
// `weft serve`: models behind HTTP. This file opens them, served_routes.h says which path is which task, and server/
// knows HTTP.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <ATen/Parallel.h>

#include "weft/attention/devices/cuda_driver.h"
#include "weft/attention/devices/device.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/bench/calibration_file.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/memory_size.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/short_help.h"
#include "weft/cli/front/tensor_part.h"
#include "weft/cli/front/threads.h"
#include "weft/cli/tasks/encoder_flags.h"
#include "weft/core/error.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/core/system/machine_memory.h"
#include "weft/core/system/message_output.h"
#include "weft/hub/models.h"
#include "weft/page/model_card.h"
#include "weft/page/page_routes.h"
#include "weft/server/cross_origin.h"
#include "weft/server/server.h"
#include "weft/service/memory_account.h"
#include "weft/service/served_model.h"
#include "weft/service/served_routes.h"
#include "weft/service/served_store.h"

namespace weft::cli {
namespace {

constexpr const char* kServeExamples =
    "  weft serve opus-mt-cs-en\n"
    "  weft serve --index notes.weft\n"
    "  weft serve cs-en=runs/translate sentiment --port 8080 --api-key-file keys.txt\n"
    "  curl localhost:4321/translate --data '{\"source_lang\": \"cs\", \"target_lang\": \"en\", \"text\": \"Ahoj!\"}'";

struct MemoryConfig {
  std::string max_memory;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    visit(Field{"max_memory", &MemoryConfig::max_memory,
                "memory of all models together, on a GPU that of the GPU, such as 8G; what may need more is refused "
                "before it is loaded. Without "
                "it only weights that are larger than the machine's memory are"});
  }
};

struct ServeCommand {
  EncoderFlags encoder;
  bool json = false;
  std::vector<std::string> models;
  std::string index;
  formats::Json given = formats::Json::object();
  formats::Json memory = formats::Json::object();
};

struct NamedDirectory {
  std::string name;
  std::string directory;
};

// "NAME=DIR", or a directory whose own name is the model's; what is there has its '=' in its name. `what` is a model or
// the store, and `form` how one is given a name.
NamedDirectory named_directory(const std::string& argument, const char* what, const char* form) {
  const std::size_t equals = argument.find('=');
  std::error_code ignored;
  NamedDirectory model;
  if (equals < argument.find('/') && !std::filesystem::exists(argument, ignored)) {
    model = {argument.substr(0, equals), argument.substr(equals + 1)};
  } else {
    const std::filesystem::path path = std::filesystem::path(argument).lexically_normal();
    model = {(path.has_filename() ? path : path.parent_path()).filename().string(), argument};
    if (!std::filesystem::exists(path, ignored)) {  // a name of the Hub: ORG/NAME@REVISION
      model.name.resize(std::min(model.name.find('@'), model.name.size()));
    }
  }
  constexpr const char* kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  if (model.name.empty() || model.name.find_first_not_of(kLetters) != std::string::npos ||
      model.name.starts_with('.')) {
    throw UsageError(
        concat("the ", what, ' ', quote(argument), " has no name for a path: letters, digits, '.', '_' and '-'"),
        concat("give it one: ", form));
  }
  return model;
}

std::vector<NamedDirectory> named_directories(const std::vector<std::string>& arguments) {
  std::vector<NamedDirectory> models;
  std::set<std::string> names;
  for (const std::string& argument : arguments) {
    models.push_back(named_directory(argument, "model", "NAME=DIR"));
    if (!names.insert(models.back().name).second) {
      throw UsageError(concat("two models have the name ", quote(models.back().name)), "give one another: NAME=DIR");
    }
  }
  return models;
}

// A model that is to be served, its files on this machine.
struct LocalModel {
  std::string name;
  std::string directory;
  checkpoint::OpenedModel opened;
};

std::vector<LocalModel> local_models(const std::vector<std::string>& arguments) {
  std::vector<LocalModel> models;
  for (const NamedDirectory& model : named_directories(arguments)) {
    if (std::error_code ignored; std::filesystem::is_regular_file(model.directory, ignored)) {
      throw Error(ErrorKind::kIo,
                  concat("cannot open the model ", quote(model.directory, 4096), ": is a file, expected a directory"),
                  "a store of weft index is served by --index STORE, a model by the directory that its files lie in");
    }
    const std::filesystem::path directory = hub::local_model(model.directory, hub::Need::kModel);
    models.push_back({model.name, directory.string(), checkpoint::open_model(directory)});
  }
  return models;
}

// The store that --index names, if it names one.
std::optional<service::StoreToServe> named_store(const ServeCommand& command, const std::vector<LocalModel>& models) {
  if (command.index.empty()) {
    if (models.empty()) {
      throw UsageError("weft serve needs models, or --index STORE", "for example: weft serve opus-mt-cs-en");
    }
    return std::nullopt;
  }
  const NamedDirectory named = named_directory(command.index, "store", "NAME=STORE");
  if (std::ranges::find(models, named.name, &LocalModel::name) != models.end()) {
    throw UsageError(concat("a model and the store have the name ", quote(named.name)), "give one another: NAME=STORE");
  }
  return service::store_to_serve(named.name, named.directory);
}

// The driver is asked before LibTorch's CUDA half is opened.
void check_gpu(const std::vector<service::MemoryAccount>& accounts, const service::AccountLimits& limits,
               c10::Device device) {
  const std::int64_t free = attention::free_cuda_bytes(device.index());
  require(free >= 0, "weft serve: the driver does not say how much memory of ", device.str(), " is free");
  service::check_device_accounts(accounts, limits, device.str(), free);
  service::check_host_of_device(limits, machine_memory());
}

// What each model needs; refused here, before a weight is read, if it is too much.
std::vector<service::MemoryAccount> accounts_of(const std::vector<LocalModel>& models,
                                                const std::optional<service::StoreToServe>& store,
                                                const tasks::EncoderRunConfig& encoder, const MachineFlags& machine,
                                                const service::AccountLimits& limits) {
  const attention::OpenOn device(attention::parse_device(machine.device));  // what `auto` of --dtype means there
  std::vector<service::MemoryAccount> accounts;
  accounts.reserve(models.size());
  for (const LocalModel& model : models) {
    accounts.push_back(service::memory_account(model.name, model.opened, encoder, limits));
  }
  if (store) {
    accounts.push_back(service::store_account(*store, encoder, limits));
  }
  if (limits.on_gpu) {
    check_gpu(accounts, limits, attention::opening_device());
  } else {
    service::check_accounts(accounts, limits, resident_memory(), machine_memory());
  }
  return accounts;
}

// A decoder has none of the settings of encoders but the types of its numbers.
void check_flags_of_decoders(const std::vector<LocalModel>& models, const EncoderFlags& flags) {
  for (const LocalModel& model : models) {
    if (model.opened.can(checkpoint::Ability::kWrite) || model.opened.can(checkpoint::Ability::kRead)) {
      continue;
    }
    for (const auto& [field, value] : flags.given.items()) {
      if (field != "dtype" && field != "weights") {
        fail(ErrorKind::kUnsupported, "weft serve: ", quote(model.opened.root().native(), 4096),
             " holds a decoder, and ", flag_name(field), " is for encoders and encoder-decoders");
      }
    }
  }
}

service::AccountLimits account_limits(const ServeCommand& command, const server::ServerConfig& config) {
  MemoryConfig memory;
  formats::update_from_json(memory, command.memory, "weft serve");
  service::AccountLimits limits{.texts = config.max_batch_texts,
                                .text_bytes = std::min(config.max_text_bytes, config.max_body_bytes),
                                .batch_bytes = config.max_batch_bytes,
                                .body_bytes = config.max_body_bytes,
                                .answer_bytes = config.max_answer_bytes,
                                .waiting_bytes = config.max_waiting_bytes};
  tensor_part().describe_device(command.encoder.machine.device);  // refuses what is no device of this machine
  limits.on_gpu = command.encoder.machine.device != "cpu";
  if (command.memory.contains("max_memory")) {
    limits.limit = memory_size("--max-memory", memory.max_memory);
  }
  return limits;
}

void print_start(const ServeCommand& command, const std::string& where, const std::vector<service::ServedModel>& models,
                 const std::vector<service::MemoryAccount>& accounts, const service::AccountLimits& limits) {
  if (command.json) {
    print_json({{"listening", where}, {"models", service::model_list(models)["data"]}});
  } else {
    std::cout << "listening on " << where << '\n';
    for (const service::MemoryAccount& account : accounts) {
      std::cout << "  " << service::account_line(account) << '\n';
    }
    std::cout << "  requests: up to " << memory_text(service::request_bytes(limits)) << " of memory\n";
  }
  std::cout.flush();
}

// oneDNN makes a program for each number of rows that a weight is multiplied with, and it and LibTorch keep 1,024 of
// them, a quarter of a megabyte each: with texts of all lengths a server would grow by hundreds of megabytes. Both read
// this with the first product. Other commands end, and training on texts of all lengths is slower with so few.
void bound_caches_of_shapes() {
  constexpr const char* kPrograms = "128";
  ::setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", kPrograms, 0);
  ::setenv("LRU_CACHE_CAPACITY", kPrograms, 0);
}

void run_serve(const ServeCommand& command) {
  ignore_closed_pipes();
  bound_caches_of_shapes();
  server::ServerConfig config;
  formats::update_from_json(config, command.given, "weft serve");
  server::check_origins(config);
  const service::ServeSettings settings{.encoder = encoder_config(command.encoder, "weft serve"),
                                        .batch = {.rows = config.max_batch_texts}};
  const service::AccountLimits limits = account_limits(command, config);
  const std::vector<LocalModel> directories = local_models(command.models);
  const std::optional<service::StoreToServe> store = named_store(command, directories);
  const std::vector<service::MemoryAccount> accounts =
      accounts_of(directories, store, settings.encoder, command.encoder.machine, limits);
  check_flags_of_decoders(directories, command.encoder);
  apply_machine(command.encoder.machine);
  std::vector<service::ServedModel> models;
  std::map<std::string, formats::Json> cards;
  for (std::size_t i = 0; i < directories.size(); ++i) {
    const auto& [name, directory, opened] = directories[i];
    models.push_back(service::open_served_model(name, opened, settings));
    models.back().memory = service::account_json(accounts[i]);
    cards[name] = page::model_card(opened.root(), opened.path(), opened.json());
    if (!models.back().mask_token.empty()) {
      cards[name]["mask_token"] = models.back().mask_token;
    }
  }
  if (store) {
    models.push_back(service::serve_store(*store, settings));
    models.back().memory = service::account_json(accounts.back());
    cards[store->name] = {{"texts", store->facts.texts}, {"passages", store->facts.passages}};
  }
  // Many clients wait for many requests at a time: /metrics shows them, and bars of single ones would fill the log.
  silence_progress();
  server::Router router = service::routes_of(models, config);
  page::add_card_routes(router, cards);
  page::add_page_routes(router, find_rates({}, at::get_num_threads(), command.encoder.machine.device));
  server::run_server(
      config, std::move(router),
      [&](const std::string& where) { print_start(command, where, models, accounts, limits); },
      service::account_figures(accounts, limits));
}

}  // namespace

void add_serve(CLI::App& parent) {
  auto command = std::make_shared<ServeCommand>();
  CLI::App& app = add_command(parent, "serve", kServeExamples);
  app.add_option(
      "MODEL", command->models,
      "model directories, or names of the Hub: ORG/NAME[@REVISION]; NAME=DIR gives one another name than its own");
  app.add_option("--index", command->index,
                 "store of weft index, to be searched at /search; NAME=STORE gives it another name than its own")
      ->option_text("STORE");
  add_fields<server::ServerConfig>(app, {.title = "Server"}, command->given);
  add_fields<MemoryConfig>(app, {.title = "Memory"}, command->memory);
  add_encoder_flags(app, command->encoder);
  add_json_flag(app, command->json);
  show_first(app, {.flags = {"--address", "--port", "--unix-socket", "--allowed-hosts", "--api-key-file", "--index",
                             "--max-memory", "--dtype", "--threads", "--json"}});
  app.callback([command] { run_serve(*command); });
}

}  // namespace weft::cli
