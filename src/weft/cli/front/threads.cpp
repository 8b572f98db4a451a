// SPDX-License-Identifier: Apache-2.0
// For threads the flag wins over WEFT_THREADS, and that over LibTorch.
#include "weft/cli/front/threads.h"

#include <string>

#include <CLI/App.hpp>

#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/tensor_part.h"
#include "weft/core/environment.h"

namespace weft::cli {

void add_threads_flag(CLI::App& app, std::int64_t& threads) {
  app.add_option_function<std::string>(
         "--threads",
         [&threads](const std::string& word) {
           parse_value("--threads", {word}, threads);
           if (threads < 0 || threads > 4096) {
             throw UsageError("--threads must be 0 to 4096, found " + word);
           }
         },
         "threads to compute with; 0 leaves the choice to WEFT_THREADS and LibTorch (default 0)")
      ->option_text("N");
}

std::int64_t asked_threads(std::int64_t threads) {
  const std::string variable = environment("WEFT_THREADS").value_or("");
  if (threads == 0 && !variable.empty()) {
    parse_value("WEFT_THREADS", {variable}, threads);
    if (threads < 1 || threads > 4096) {
      throw UsageError("WEFT_THREADS must be 1 to 4096, found " + variable);
    }
  }
  return threads;
}

std::int64_t apply_threads(std::int64_t threads) { return tensor_part().use_threads(asked_threads(threads)); }

void add_machine_flags(CLI::App& app, MachineFlags& flags) {
  add_threads_flag(app, flags.threads);
  app.add_option("--device", flags.device,
                 "where models compute: cpu, cuda (the first GPU, or that of LOCAL_RANK) or cuda:N (default cpu)")
      ->option_text("DEVICE");
  app.add_flag("--tf32,!--no-tf32", flags.tf32,
               "a GPU multiplies float32 with 11 bits of each factor, on tensor cores");
}

void apply_machine(const MachineFlags& flags) {
  apply_threads(flags.threads);
  tensor_part().use_device(flags.device, flags.tf32);
}

}  // namespace weft::cli
