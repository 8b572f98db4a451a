// SPDX-License-Identifier: Apache-2.0
// `weft bench mechanisms`: a table of time and memory by length, from which to choose an attention on this machine.
#include <unistd.h>
#include <algorithm>
#include <functional>
#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/Parallel.h>

#include "weft/attention/devices/device.h"
#include "weft/attention/devices/device_work.h"
#include "weft/bench/mechanism_bench.h"
#include "weft/bench/mechanism_plot.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/pattern/pattern_site.h"
#include "weft/cli/front/threads.h"
#include "weft/core/error.h"
#include "weft/core/fields.h"
#include "weft/core/progress.h"

namespace weft::cli {
namespace {

constexpr const char* kBenchMechanismsExamples =
    "  weft bench mechanisms\n"
    "  weft bench mechanisms --causal --lengths 512,4096,32768 --json\n"
    "  weft bench mechanisms --attention full 'window(512)' 'performer(features=128)' --no-backward\n"
    "  weft bench mechanisms --plot mechanisms.png";
constexpr std::int64_t kLongestCall = std::int64_t{1} << 24;
constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

struct BenchMechanismsConfig {
  std::vector<std::string> attention;
  std::string lengths = "512,2048,8192,32768,131072";
  std::int64_t batch = 1;
  std::int64_t heads = 8;
  std::int64_t head_dim = 64;
  std::string dtype = "float32";
  bool causal = false;
  bool backward = true;
  double seconds = 10;
  double memory = 0;
  std::string plot;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = BenchMechanismsConfig;
    visit(
        Field{"attention", &C::attention,
              "mechanisms and patterns to measure, the first of which is compared with; without it one of each kind"});
    visit(Field{"lengths", &C::lengths, "lengths in tokens, ascending, with commas"});
    visit(Field{"batch", &C::batch, "texts in a call"}.range(1, 1 << 16));
    visit(Field{"heads", &C::heads, "attention heads"}.range(1, 4096));
    visit(Field{"head_dim", &C::head_dim, "width of a head"}.range(1, 1024));
    visit(Field{"dtype", &C::dtype, "element type of query, key and value"}.one_of({"float32", "bfloat16"}));
    visit(Field{"causal", &C::causal, "as in a decoder: each token sees those before it"});
    visit(Field{"backward", &C::backward, "measure gradients, too"});
    visit(Field{"seconds", &C::seconds, "leave out calls that would take longer"}.range(0.001, 86400.0));
    visit(Field{"memory", &C::memory,
                "leave out calls that would need more GiB; 0: half of the machine's, or of what a GPU has free"}
              .range(0.0, 65536.0));
    visit(Field{"plot", &C::plot, "write a figure of time and memory, with a table, to this PNG or SVG file"});
  }
};

struct BenchMechanismsOptions {
  formats::Json given = formats::Json::object();
  MachineFlags machine;
  bool json = false;
};

std::vector<std::string> one_of_each_kind(bool causal) {
  return causal ? std::vector<std::string>{"causal",   "window(left=511)", "lsh(causal=rank)",
                                           "relative", "linear",           "performer",
                                           "rfa",      "rfa(gate=yes)"}
                : std::vector<std::string>{"full", "window(512)", "lsh",       "linear",     "performer",
                                           "rfa",  "nystrom",     "linformer", "little_bird"};
}

std::int64_t half_of_memory() {
  if (const c10::Device device = attention::opening_device(); attention::has_own_memory(device)) {
    const std::int64_t free = attention::free_cuda_bytes(device.index());
    require(free >= 0, "weft bench mechanisms: the driver does not say how much memory ", device.str(),
            " has; give --memory");
    return free / 2;
  }
  return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) / 2 * static_cast<std::int64_t>(sysconf(_SC_PAGE_SIZE));
}

bench::MechanismCalls calls_of(const BenchMechanismsConfig& config) {
  bench::MechanismCalls calls;
  calls.lengths = number_list("--lengths", config.lengths, ',');
  const bool rising =
      std::adjacent_find(calls.lengths.begin(), calls.lengths.end(), std::greater_equal<>()) == calls.lengths.end();
  if (calls.lengths.empty() || !rising || calls.lengths.front() < 1 || calls.lengths.back() > kLongestCall) {
    throw UsageError(concat("--lengths must be ascending numbers in [1, ", kLongestCall,
                            "] with commas, such as 512,2048, found '", config.lengths, "'"));
  }
  calls.batch = config.batch;
  calls.heads = config.heads;
  calls.head_dim = config.head_dim;
  calls.causal = config.causal;
  calls.backward = config.backward;
  calls.dtype = config.dtype == "float32" ? at::kFloat : at::kBFloat16;
  calls.most_seconds = config.seconds;
  calls.most_bytes = config.memory > 0 ? static_cast<std::int64_t>(config.memory * kGibibyte) : half_of_memory();
  return calls;
}

formats::Json json_of(const bench::MechanismReport& report, const bench::MechanismReport& baseline) {
  formats::Json lengths = formats::Json::array();
  for (const bench::MechanismTimes& times : report.times) {
    lengths.push_back({{"length", times.length},
                       {"forward_ms", times.forward_ms},
                       {"forward_bytes", times.forward_bytes},
                       {"forward_backward_ms", formats::or_null(times.forward_backward_ms)},
                       {"forward_backward_bytes", formats::or_null(times.forward_backward_bytes)}});
  }
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? formats::Json(nullptr) : formats::Json(text);
  };
  return {{"attention", report.attention},
          {"lengths", lengths},
          {"refused", text_or_null(report.refused)},
          {"skipped_from", report.skipped_from > 0 ? formats::Json(report.skipped_from) : formats::Json(nullptr)},
          {"skipped_why", text_or_null(report.skipped_why)},
          {"faster_from", formats::or_null(bench::faster_from(report, baseline))},
          {"break_even", formats::or_null(&report == &baseline ? std::nullopt : bench::break_even(report, baseline))},
          {"less_memory_from", formats::or_null(bench::smaller_from(report, baseline))},
          {"state_bytes", formats::or_null(report.state_bytes)}};
}

using Cell = std::function<std::string(const bench::MechanismTimes&)>;

/// A column behind those of the lengths.
struct LastColumn {
  std::string heading;
  std::function<std::string(const bench::MechanismReport&)> cell = {};
};

/// A line a mechanism, a column a length.
std::string length_table(const std::string& title, const std::vector<bench::MechanismReport>& reports,
                         const std::vector<std::int64_t>& lengths, const Cell& cell, const LastColumn& last = {}) {
  std::size_t width = title.size();
  for (const bench::MechanismReport& report : reports) {
    width = std::max(width, report.attention.size());
  }
  std::ostringstream text;
  text << std::left << std::setw(static_cast<int>(width)) << title << std::right;
  for (const std::int64_t length : lengths) {
    text << std::setw(10) << digits(length);
  }
  text << (last.cell ? "  " + last.heading : "") << '\n';
  for (const bench::MechanismReport& report : reports) {
    text << std::left << std::setw(static_cast<int>(width)) << report.attention << std::right;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      text << std::setw(10) << (i < report.times.size() ? cell(report.times[i]) : "-");
    }
    if (last.cell) {
      text << std::setw(static_cast<int>(last.heading.size()) + 2) << last.cell(report);
    }
    text << '\n';
  }
  return text.str() + "\n";
}

std::string milliseconds_text(double milliseconds) { return fixed(milliseconds, milliseconds < 100 ? 2 : 0); }

std::string mebibytes_text(std::int64_t bytes) { return fixed(static_cast<double>(bytes) / (1 << 20), 1); }

/// What the tables do not say.
void print_notes(const std::vector<bench::MechanismReport>& reports) {
  const bench::MechanismReport& baseline = reports.front();
  for (const bench::MechanismReport& report : reports) {
    std::string note;
    const auto from = bench::faster_from(report, baseline);
    const auto less = bench::smaller_from(report, baseline);
    if (&report != &baseline && report.refused.empty()) {
      note += from ? concat("faster than `", baseline.attention, "` from ", digits(*from), " tokens on")
                   : concat("not faster than `", baseline.attention, "` at these lengths");
      note += less ? concat(", less memory from ", digits(*less), " on") : ", not less memory";
    }
    if (report.state_bytes) {
      note += concat(note.empty() ? "" : "; ", "state after 1,024 tokens ",
                     with_unit(static_cast<double>(*report.state_bytes), "B"));
    }
    if (report.skipped_from > 0) {
      note += concat(note.empty() ? "" : "; ", "left out from ", digits(report.skipped_from),
                     " tokens on: ", report.skipped_why);
    }
    if (!report.refused.empty()) {
      note = report.refused;
    }
    if (!note.empty()) {
      std::cout << report.attention << ": " << note << '\n';
    }
  }
}

void print_tables(const std::vector<bench::MechanismReport>& reports, const bench::MechanismCalls& calls) {
  const auto print = [&](const char* title, const Cell& cell, const LastColumn& last = {}) {
    std::cout << length_table(title, reports, calls.lengths, cell, last);
  };
  // What a mechanism is chosen by: the length from which on it takes less time than the first one.
  const LastColumn even{"break-even", [&](const bench::MechanismReport& report) {
                          const auto length = bench::break_even(report, reports.front());
                          return &report == &reports.front() || !length ? std::string("-") : digits(*length);
                        }};
  print(
      "forward, ms", [](const bench::MechanismTimes& times) { return milliseconds_text(times.forward_ms); },
      calls.backward ? LastColumn{} : even);
  if (calls.backward) {
    print(
        "forward and backward, ms",
        [](const bench::MechanismTimes& times) { return milliseconds_text(*times.forward_backward_ms); }, even);
  }
  print("forward, MiB", [](const bench::MechanismTimes& times) { return mebibytes_text(times.forward_bytes); });
  if (calls.backward) {
    print("forward and backward, MiB",
          [](const bench::MechanismTimes& times) { return mebibytes_text(*times.forward_backward_bytes); });
  }
  print_notes(reports);
}

void run_bench_mechanisms(const BenchMechanismsOptions& options) {
  BenchMechanismsConfig config;
  formats::update_from_json(config, options.given, "weft bench mechanisms");
  apply_machine(options.machine);
  const bench::MechanismCalls calls = calls_of(config);
  const std::vector<std::string> expressions =
      config.attention.empty() ? one_of_each_kind(config.causal) : config.attention;
  if (!config.plot.empty()) {
    bench::check_mechanism_plot(config.plot, expressions.size());
  }
  std::vector<bench::MechanismReport> reports;
  ProgressBar progress("measuring", static_cast<double>(expressions.size()));
  for (const std::string& expression : expressions) {
    progress.update(static_cast<double>(reports.size()), expression);
    reports.push_back(bench::measure_mechanism(expression, calls));
  }
  progress.finish();
  const std::string shape =
      concat(attention::device_description(attention::opening_device()), ", ", counted(at::get_num_threads(), "thread"),
             ", ", config.dtype, ", ", config.causal ? "causal, " : "", "batch ", calls.batch, ", ",
             counted(calls.heads, "head"), " of ", counted(calls.head_dim, "column"));
  if (!config.plot.empty()) {
    bench::write_mechanism_plot(config.plot, shape, reports, calls);
  }
  if (!options.json) {
    std::cout << shape << "; `-` was left out\n\n";
    print_tables(reports, calls);
    return;
  }
  formats::Json mechanisms = formats::Json::array();
  for (const bench::MechanismReport& report : reports) {
    mechanisms.push_back(json_of(report, reports.front()));
  }
  print_json({{"device", attention::opening_device().str()},
              {"processor", attention::device_description(attention::opening_device())},
              {"threads", at::get_num_threads()},
              {"dtype", config.dtype},
              {"causal", config.causal},
              {"batch", calls.batch},
              {"heads", calls.heads},
              {"head_dim", calls.head_dim},
              {"mechanisms", mechanisms}});
}

}  // namespace

void add_bench_mechanisms(CLI::App& parent) {
  auto options = std::make_shared<BenchMechanismsOptions>();
  CLI::App& app =
      add_command(parent, "mechanisms", "time and memory of attention mechanisms by length", kBenchMechanismsExamples);
  add_fields<BenchMechanismsConfig>(app, {.title = "Options"}, options->given);
  add_machine_flags(app, options->machine);
  add_json_flag(app, options->json);
  app.callback([options] { run_bench_mechanisms(*options); });
}

}  // namespace weft::cli
