// SPDX-License-Identifier: Apache-2.0
// The assembler reads the files as they are. WEFT_VIEWER_DIRECTORY is their folder, as CMake knows it.
#include "weft/cli/viewer/assets.h"

asm(".pushsection .rodata,\"a\",@progbits\n"
    "weft_viewer_script_begin: .incbin \"" WEFT_VIEWER_DIRECTORY
    "/viewer.js\"\n"
    "weft_viewer_script_end:\n"
    "weft_viewer_style_begin: .incbin \"" WEFT_VIEWER_DIRECTORY
    "/viewer.css\"\n"
    "weft_viewer_style_end: .byte 0\n"
    ".popsection\n");

extern "C" {
[[gnu::visibility("hidden")]] extern const char weft_viewer_script_begin[];
[[gnu::visibility("hidden")]] extern const char weft_viewer_script_end[];
[[gnu::visibility("hidden")]] extern const char weft_viewer_style_begin[];
[[gnu::visibility("hidden")]] extern const char weft_viewer_style_end[];
}

namespace weft::cli {

std::string_view viewer_script() { return {weft_viewer_script_begin, weft_viewer_script_end}; }

std::string_view viewer_style() { return {weft_viewer_style_begin, weft_viewer_style_end}; }

}  // namespace weft::cli
