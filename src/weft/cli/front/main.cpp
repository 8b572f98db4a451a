// SPDX-License-Identifier: Apache-2.0
// The program `weft`: what needs no tensors is in libweft_core, the rest in libweft, which run() opens where a command
// needs it.
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "weft/cli/front/prepare_process.h"
#include "weft/cli/front/run.h"

namespace {

/// Ends the process without what libraries do at its end: LibTorch takes each of its operators out of its tables, which
/// is 85 ms of 300 that `weft fill-mask` takes on a small model. Everything is written and closed by then.
[[noreturn]] void end(int code) {
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  if (WEFT_WHOLE_EXIT) {  // sanitizers and coverage write their results there
    std::exit(code);      // NOLINT(concurrency-mt-unsafe): no thread of ours is left
  }
  std::_Exit(code);
}

}  // namespace

int main(int count, char** arguments) {
  weft::cli::prepare_process();
  end(weft::cli::run(count, arguments));
}
