// SPDX-License-Identifier: Apache-2.0
// The program `weft`: everything is in libweft, so that what the command line does can be linked and tested.
#include "weft/cli/run.h"

int main(int count, char** arguments) { return weft::cli::run(count, arguments); }
