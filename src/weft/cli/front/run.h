// SPDX-License-Identifier: Apache-2.0
// The command line as one call: parses, dispatches to a command, and turns what is thrown into one line and an exit
// code.
#pragma once

namespace weft::cli {

/// Runs `weft` on the arguments of main(). Returns 0; 1 after a known error; 2 after misuse; 130 after Ctrl-C or
/// SIGTERM once state is saved.
int run(int count, char** arguments);

}  // namespace weft::cli
