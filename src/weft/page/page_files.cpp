// SPDX-License-Identifier: Apache-2.0
// The assembler reads the files as they are, each behind its length. WEFT_PAGE_DIRECTORY is their folder, as CMake
// knows it. The two lists of names must be in the same order.
#include "weft/page/page_files.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "weft/page/viewer_files.h"

asm(".pushsection .rodata,\"a\",@progbits\n"
    ".balign 8\n"
    "kPageFilesBegin:\n"
    ".irp "
    "file,index.html,page.css,icon.svg,main.js,elements.js,server.js,models.js,card.js,tasks.js,trial.js,settings.js,"
    "watch.js,results.js,patterns.js,figures.js,picture.js,attention.js\n"
    ".balign 8\n"
    ".quad 2f - 1f\n"
    "1: .incbin \"" WEFT_PAGE_DIRECTORY
    "/\\file\"\n"
    "2:\n"
    ".endr\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" {
[[gnu::visibility("hidden")]] extern const char kPageFilesBegin[];
}

namespace weft::page {
namespace {

constexpr std::string_view kHtml = "text/html; charset=utf-8";
constexpr std::string_view kCss = "text/css; charset=utf-8";
constexpr std::string_view kScript = "text/javascript; charset=utf-8";

constexpr std::array kEmbedded = {
    PageFile{"/", kHtml, {}},
    PageFile{"/page.css", kCss, {}},
    PageFile{"/icon.svg", "image/svg+xml", {}},
    PageFile{"/main.js", kScript, {}},
    PageFile{"/elements.js", kScript, {}},
    PageFile{"/server.js", kScript, {}},
    PageFile{"/models.js", kScript, {}},
    PageFile{"/card.js", kScript, {}},
    PageFile{"/tasks.js", kScript, {}},
    PageFile{"/trial.js", kScript, {}},
    PageFile{"/settings.js", kScript, {}},
    PageFile{"/watch.js", kScript, {}},
    PageFile{"/results.js", kScript, {}},
    PageFile{"/patterns.js", kScript, {}},
    PageFile{"/figures.js", kScript, {}},
    PageFile{"/picture.js", kScript, {}},
    PageFile{"/attention.js", kScript, {}},
};

}  // namespace

std::vector<PageFile> page_files() {
  std::vector<PageFile> files;
  const char* at = kPageFilesBegin;
  for (PageFile file : kEmbedded) {
    at += (8 - reinterpret_cast<std::uintptr_t>(at) % 8) % 8;
    std::uint64_t length = 0;
    std::memcpy(&length, at, sizeof(length));
    at += sizeof(length);
    file.content = {at, static_cast<std::size_t>(length)};
    at += length;
    files.push_back(file);
  }
  files.push_back({"/viewer.js", kScript, viewer_script()});
  files.push_back({"/base.css", kCss, base_style()});
  files.push_back({"/viewer.css", kCss, viewer_style()});
  return files;
}

}  // namespace weft::page
