// SPDX-License-Identifier: Apache-2.0
// The assembler reads the files as they are. WEFT_VIEWER_DIRECTORY is their folder, as CMake knows it.
#include "weft/page/viewer_files.h"

asm(".pushsection .rodata,\"a\",@progbits\n"
    "kViewerScriptBegin: .incbin \"" WEFT_VIEWER_DIRECTORY
    "/painting.js\"\n"
    ".incbin \"" WEFT_VIEWER_DIRECTORY
    "/viewer.js\"\n"
    "kViewerScriptEnd:\n"
    "kViewerStyleBegin: .incbin \"" WEFT_VIEWER_DIRECTORY
    "/viewer.css\"\n"
    "kViewerStyleEnd:\n"
    "kBaseStyleBegin: .incbin \"" WEFT_VIEWER_DIRECTORY
    "/base.css\"\n"
    "kBaseStyleEnd: .byte 0\n"
    ".popsection\n");

extern "C" {
[[gnu::visibility("hidden")]] extern const char kViewerScriptBegin[];
[[gnu::visibility("hidden")]] extern const char kViewerScriptEnd[];
[[gnu::visibility("hidden")]] extern const char kViewerStyleBegin[];
[[gnu::visibility("hidden")]] extern const char kViewerStyleEnd[];
[[gnu::visibility("hidden")]] extern const char kBaseStyleBegin[];
[[gnu::visibility("hidden")]] extern const char kBaseStyleEnd[];
}

namespace weft::page {

std::string_view viewer_script() { return {kViewerScriptBegin, kViewerScriptEnd}; }

std::string_view viewer_style() { return {kViewerStyleBegin, kViewerStyleEnd}; }

std::string_view base_style() { return {kBaseStyleBegin, kBaseStyleEnd}; }

}  // namespace weft::page
