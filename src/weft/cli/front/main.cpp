// SPDX-License-Identifier: Apache-2.0
// The program `weft`: what needs no tensors is in libweft_core, the rest in libweft, which run() opens where a command
// needs it.
#include "weft/cli/front/prepare_process.h"
#include "weft/cli/front/run.h"

int main(int count, char** arguments) {
  weft::cli::prepare_process();
  return weft::cli::run(count, arguments);
}
