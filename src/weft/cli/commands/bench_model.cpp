// SPDX-License-Identifier: Apache-2.0
// `weft bench model`: an encoder's time and memory beside the matrix products that it consists of.
#include <iostream>
#include <memory>
#include <optional>

#include <ATen/Parallel.h>

#include "weft/attention/devices/device.h"
#include "weft/attention/devices/device_work.h"
#include "weft/bench/model_bench.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/open_model.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/model_argument.h"
#include "weft/cli/front/output.h"
#include "weft/cli/tasks/encoder_flags.h"
#include "weft/training/run/kept_tensors.h"

namespace weft::cli {
namespace {

constexpr const char* kBenchModelExamples =
    "  weft bench model bigbird-base --length 4096 --dtype bfloat16 --json\n"
    "  weft bench model bigbird-base --length 4096 --dtype bfloat16 --task fill-mask --profile\n"
    "  weft bench model bigbird-base --length 4096 --dtype bfloat16 --train";

struct BenchModelConfig {
  std::int64_t length = 4096;
  std::int64_t batch = 1;
  std::int64_t repeats = 5;
  std::string task = "forward";

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = BenchModelConfig;
    visit(Field{"length", &C::length, "tokens in each row of the batch"}.range(1, 1 << 24));
    visit(Field{"batch", &C::batch, "rows in the batch"}.range(1, 1 << 16));
    visit(Field{"repeats", &C::repeats, "timed runs, after a first one that is not counted; the fastest is reported"}
              .range(1, 1 << 16));
    visit(Field{"task", &C::task, "run the encoder alone, or with the scores at eight masks of each row"}.one_of(
        {"forward", "fill-mask"}));
  }
};

struct BenchModelCommand {
  std::string directory;
  formats::Json given = formats::Json::object();
  EncoderFlags encoder;
  bool train = false;
  bool profile = false;
  bool json = false;
};

using formats::Json;

double attention_seconds(const std::vector<bench::OperatorTime>& times) {
  double seconds = 0;
  for (const bench::OperatorTime& time : times) {
    seconds += time.name.starts_with("weft::attention") ? time.seconds : 0;
  }
  return seconds;
}

Json profile_json(const std::vector<bench::OperatorTime>& times) {
  Json list = Json::array();
  for (const bench::OperatorTime& time : times) {
    list.push_back({{"operator", time.name}, {"seconds", time.seconds}, {"calls", time.calls}});
  }
  return list;
}

Json measure(models::EncoderModel& model, const bench::ModelCase& call, std::int64_t threads) {
  const models::EncoderInput input = bench::bench_input(model->config(), call);
  // As `weft train` runs its steps: in memory of the steps before.
  std::optional<training::KeptTensors> kept;
  if (call.train) {
    kept.emplace();
  }
  std::int64_t steps = 0;
  const auto work = [&] {
    bench::run_case(model, input, call);
    if (kept) {
      kept->end_step(++steps);
    }
  };
  const double seconds = bench::best_seconds(work, call.repeats);
  const double peak = bench::peak_gigabytes();  // before anything else is allocated
  const std::vector<bench::OperatorTime> times = bench::profile(work);
  const double flops = bench::product_flops(*model, call);
  const double rate = bench::product_rate(model->config(), call);
  Json result = {{"family", model->config().model_type},
                 {"head", models::to_string(model->head())},
                 {"length", call.length},
                 {"batch", call.batch},
                 {"dtype", tasks::dtype_text(call.dtype)},
                 {"task", call.fill_mask ? "fill-mask" : "forward"},
                 {"train", call.train},
                 {"threads", threads},
                 {"device", attention::opening_device().str()},
                 {"processor", attention::device_description(attention::opening_device())},
                 {"seconds", seconds},
                 {"tokens_per_second", static_cast<double>(call.batch * call.length) / seconds},
                 {"peak_gb", peak},
                 {"gemm_flops", flops},
                 {"gemm_gflops", rate / 1e9},
                 {"gemm_bound_seconds", flops / rate},
                 {"share_of_bound", flops / rate / seconds},
                 {"attention_seconds", attention_seconds(times)}};
  for (const auto& [name, value] : model->computed()) {
    result[name] = value;
  }
  result["profile"] = profile_json(times);
  return result;
}

std::string bench_model_table(const Json& result) {
  Rows rows;
  for (const auto& [name, value] : result.items()) {
    if (name == "profile") {
      for (const Json& entry : value) {
        rows.emplace_back(
            "  " + entry["operator"].get<std::string>(),
            concat(fixed(entry["seconds"].get<double>(), 6), " s in ", entry["calls"].get<std::int64_t>(), " calls"));
      }
    } else {
      rows.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  return name_table(rows);
}

void run_bench_model(const BenchModelCommand& command) {
  BenchModelConfig config;
  formats::update_from_json(config, command.given, "weft bench model");
  const tasks::EncoderSettings settings = encoder_settings(command.encoder, "weft bench model", command.directory);
  if (command.train && settings.int8) {
    throw UsageError("--train and --weights int8 cannot both be given: int8 weights have no gradients");
  }
  if (command.train && config.task != "forward") {
    throw UsageError("--train and --task cannot both be given: --train always computes the masked-LM loss");
  }
  bench::ModelCase call;
  call.length = config.length;
  call.batch = config.batch;
  call.repeats = config.repeats;
  call.dtype = product_type(settings);
  call.fill_mask = config.task == "fill-mask";
  call.train = command.train;
  checkpoint::EncoderLoadOptions load;
  load.encoder = settings.encoder;
  load.check_finite = settings.check_finite;
  // Training keeps its parameters in float32 and casts for the products.
  load.dtype = call.train ? at::kFloat : settings.dtype;
  load.int8 = settings.int8;
  const checkpoint::OpenedModel directory = checkpoint::open_model(command.directory);
  if (command.train) {
    directory.need_floating("weft bench model --train");
  }
  models::EncoderModel model = checkpoint::load_encoder(directory, load);
  const bool has_vocabulary = model->head() == models::Head::kMaskedLanguageModel;
  require(has_vocabulary || !(call.train || call.fill_mask),
          "weft bench model: ", call.train ? "--train" : "--task fill-mask",
          " needs the head masked-lm, but the model has the head ", models::to_string(model->head()));
  model->train(call.train);
  Json result = measure(model, call, at::get_num_threads());
  if (!command.profile) {
    result.erase("profile");
  }
  if (command.json) {
    print_json(result);
  } else {
    std::cout << bench_model_table(result);
  }
}

}  // namespace

void add_bench_model(CLI::App& parent) {
  auto command = std::make_shared<BenchModelCommand>();
  CLI::App& app =
      add_command(parent, "model", "measure time and memory of an encoder, and compare with its matrix products alone",
                  kBenchModelExamples);
  add_model_argument(app, "DIR", command->directory, "model directory (weft init makes one of any size)").required();
  add_fields<BenchModelConfig>(app, {.title = "Options"}, command->given);
  app.add_flag("--train", command->train, "time a training step: masked-LM loss over all positions, and its gradients");
  app.add_flag("--profile", command->profile, "list every operator with its own time in one more run");
  add_encoder_flags(app, command->encoder);
  add_json_flag(app, command->json);
  app.callback([command] { run_bench_model(*command); });
}

}  // namespace weft::cli
