// SPDX-License-Identifier: Apache-2.0
// `weft bench attention`: verifies a pattern against the reference, then times it beside dense attention.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include <ATen/Parallel.h>

#include "weft/attention/devices/device.h"
#include "weft/attention/devices/device_work.h"
#include "weft/bench/attention_bench.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/pattern/pattern_site.h"
#include "weft/cli/front/threads.h"
#include "weft/core/fields.h"
#include "weft/kernels/fused.h"

namespace weft::cli {
namespace {

constexpr const char* kBenchAttentionExamples =
    "  weft bench attention --pattern 'window(512)' --length 4096\n"
    "  WEFT_ISA=avx2 weft bench attention --pattern 'bigbird(block=64)' --length 16384 --dtype bfloat16 --backward "
    "--json";

struct BenchAttentionConfig {
  std::string pattern = "window(512)";
  std::int64_t length = 4096;
  std::int64_t heads = 12;
  std::int64_t head_dim = 64;
  std::int64_t batch = 1;
  std::string dtype = "float32";
  std::string bias = "none";
  std::string input;
  std::int64_t rounds = 10;
  bool dense = true;
  bool stored_scores = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = BenchAttentionConfig;
    visit(Field{"pattern", &C::pattern, "attention pattern, as docs/pattern-language.md explains"});
    visit(Field{"length", &C::length, "number of queries, and of keys"}.at_least(1));
    visit(Field{"heads", &C::heads, "attention heads"}.at_least(1));
    visit(Field{"head_dim", &C::head_dim, "width of a head"}.at_least(1));
    visit(Field{"batch", &C::batch, "sequences in the batch"}.at_least(1));
    visit(Field{"dtype", &C::dtype, "element type of query, key and value"}.one_of({"float32", "bfloat16"}));
    visit(
        Field{"bias", &C::bias,
              "lower the scores with the distance of query and key, as ALiBi does; dense attention is timed without it"}
            .one_of({"none", "alibi", "bialibi"}));
    visit(Field{"input", &C::input, "positions that `input` means in the expression, for example 0,5,17"});
    visit(Field{"rounds", &C::rounds, "how often each call is timed at least; 0 checks the result and times nothing"}
              .range(0, 1000));
    visit(Field{"dense", &C::dense, "time LibTorch's dense attention for comparison"});
    visit(Field{"stored_scores", &C::stored_scores,
                "time dense attention that keeps all scores in memory, too: LibTorch's products and softmax"});
  }
};

struct BenchAttentionOptions {
  formats::Json given = formats::Json::object();
  MachineFlags machine;
  bool backward = false;
  bool json = false;
};

// Dense time x density / our time: 1 means that an edge costs what it costs in dense attention.
std::optional<double> efficiency(const std::optional<double>& dense, const std::optional<double>& ours,
                                 double density) {
  return dense && ours ? std::optional<double>(*dense * density / *ours) : std::nullopt;
}

bench::AttentionTimes times_of(const bench::AttentionCase& call, const bench::TimedParts& parts, std::int64_t rounds) {
  if (rounds == 0) {
    return {};
  }
  const int least = static_cast<int>(rounds);
  return bench::time_attention(call, parts, {.least_rounds = least, .most_rounds = std::max(50, least)});
}

const char* name_of(at::ScalarType dtype) { return dtype == at::kFloat ? "float32" : "bfloat16"; }

// What each call holds beyond its inputs.
void add_bytes(formats::Json& result, const bench::AttentionBytes& bytes) {
  result["forward_bytes"] = formats::or_null(bytes.forward);
  result["dense_forward_bytes"] = formats::or_null(bytes.dense_forward);
  result["stored_forward_bytes"] = formats::or_null(bytes.stored_forward);
  result["forward_backward_bytes"] = formats::or_null(bytes.forward_backward);
  result["dense_forward_backward_bytes"] = formats::or_null(bytes.dense_forward_backward);
  result["stored_forward_backward_bytes"] = formats::or_null(bytes.stored_forward_backward);
}

formats::Json result_of(const bench::AttentionCase& call, const bench::TimedParts& parts, std::int64_t rounds) {
  if (rounds > 0) {
    bench::check_stored_scores(call, parts);  // before the result is checked, which takes long where it would fail
  }
  const auto layout = attention::cached_layout(call.pattern, call.site(call.length), {});
  const pattern::LayoutStatistics cost = pattern::statistics(layout->blocks());
  const bench::AttentionCheck check = bench::check_attention(call, parts.backward);
  const bench::AttentionTimes times = times_of(call, parts, rounds);
  const double flops = 4.0 * static_cast<double>(cost.edges * call.batch * call.head_dim);
  formats::Json result = {
      {"isa", kernels::to_string(kernels::chosen_isa())},
      {"device", attention::opening_device().str()},
      {"processor", attention::device_description(attention::opening_device())},
      {"path", times.path ? formats::Json(attention::to_string(*times.path)) : formats::Json(nullptr)},
      {"threads", at::get_num_threads()},
      {"dtype", name_of(call.dtype)},
      {"pattern", call.pattern.to_string()},
      {"bias", call.bias},
      {"length", call.length},
      {"batch", call.batch},
      {"heads", call.heads},
      {"head_dim", call.head_dim},
      {"density", cost.density},
      {"edges", cost.edges * call.batch},
      {"slots", cost.slots * call.batch},
      {"forward_ms", formats::or_null(times.forward_ms)},
      {"dense_forward_ms", formats::or_null(times.dense_forward_ms)},
      {"forward_backward_ms", formats::or_null(times.forward_backward_ms)},
      {"dense_forward_backward_ms", formats::or_null(times.dense_forward_backward_ms)},
      {"stored_forward_ms", formats::or_null(times.stored_forward_ms)},
      {"stored_forward_backward_ms", formats::or_null(times.stored_forward_backward_ms)},
      {"efficiency", formats::or_null(efficiency(times.dense_forward_ms, times.forward_ms, cost.density))},
      {"forward_backward_efficiency",
       formats::or_null(efficiency(times.dense_forward_backward_ms, times.forward_backward_ms, cost.density))},
      {"gflops", times.forward_ms ? formats::Json(flops / *times.forward_ms / 1e6) : formats::Json(nullptr)},
      {"gemm_gflops", formats::or_null(times.gemm_gflops)},
      {"yardstick_dtype", times.yardstick_dtype ? formats::Json(name_of(*times.yardstick_dtype)) : nullptr},
      {"workspace_bytes", formats::or_null(times.workspace_bytes)},
      {"max_abs_error", check.max_abs_error},
      {"max_relative_gradient_error", parts.backward ? formats::Json(check.max_abs_gradient_error) : nullptr}};
  add_bytes(result, times.bytes);
  return result;
}

std::string table_of(const formats::Json& result) {
  Rows rows;
  for (const auto& [name, value] : result.items()) {
    rows.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return name_table(rows);
}

void run_bench_attention(const BenchAttentionOptions& options) {
  BenchAttentionConfig config;
  formats::update_from_json(config, options.given, "weft bench attention");
  apply_machine(options.machine);
  bench::AttentionCase call{pattern::Pattern::parse(config.pattern)};
  call.length = config.length;
  call.heads = config.heads;
  call.head_dim = config.head_dim;
  call.batch = config.batch;
  call.bias = config.bias;
  call.dtype = config.dtype == "float32" ? at::kFloat : at::kBFloat16;
  call.input = number_list("--input", config.input, ',');
  std::sort(call.input.begin(), call.input.end());
  require_input({&call.pattern, 1}, call.input);
  const formats::Json result = result_of(
      call, {.backward = options.backward, .dense = config.dense, .stored = config.stored_scores}, config.rounds);
  if (options.json) {
    print_json(result);
  } else {
    std::cout << table_of(result);
  }
}

}  // namespace

void add_bench_attention(CLI::App& parent) {
  auto options = std::make_shared<BenchAttentionOptions>();
  CLI::App& app = add_command(parent, "attention",
                              "check a pattern against the reference, then compare its speed with dense attention",
                              kBenchAttentionExamples);
  add_fields<BenchAttentionConfig>(app, {.title = "Options"}, options->given);
  app.add_flag("--backward", options->backward, "check and time the backward pass, too");
  add_machine_flags(app, options->machine);
  add_json_flag(app, options->json);
  app.callback([options] { run_bench_attention(*options); });
}

}  // namespace weft::cli
