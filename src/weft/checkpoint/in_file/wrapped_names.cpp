// SPDX-License-Identifier: Apache-2.0
// The prefix is found by a name that must be there, and not by what most names have in common.
#include "weft/checkpoint/in_file/wrapped_names.h"

#include <algorithm>
#include <array>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"

namespace weft::checkpoint {
namespace {

constexpr std::string_view kCompiled = "_orig_mod.";
// DataParallel, Lightning, PEFT, FSDP.
constexpr std::array<std::string_view, 6> kWrappers{"module.",     "model.",           "base_model.model.",
                                                    "base_model.", "_forward_module.", "_fsdp_wrapped_module."};

class RenamedFile final : public formats::TensorFile {
 public:
  RenamedFile(std::unique_ptr<formats::TensorFile> file, const std::function<std::string(const std::string&)>& rename)
      : file_(std::move(file)), tensors_(file_->tensors()) {
    for (formats::TensorInfo& tensor : tensors_) {
      tensor.name = rename(tensor.name);
    }
    index_names();
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const formats::TensorInfo* const found = find(tensors_[i].name);
      if (found != &tensors_[i]) {
        fail(ErrorKind::kFormat, file_->path().string(), ": the tensors ",
             quote(file_->tensors()[static_cast<std::size_t>(found - tensors_.data())].name), " and ",
             quote(file_->tensors()[i].name), " are both ", quote(tensors_[i].name),
             " without what training wraps around a model");
      }
    }
  }

  const std::vector<formats::TensorInfo>& tensors() const noexcept override { return tensors_; }
  const std::filesystem::path& path() const noexcept override { return file_->path(); }
  void read(const formats::TensorInfo& tensor, void* destination) const override {
    file_->read(within(tensor), destination);
  }
  std::span<const std::byte> bytes(const formats::TensorInfo& tensor) const override {
    return file_->bytes(within(tensor));
  }

 private:
  const formats::TensorInfo& within(const formats::TensorInfo& tensor) const {
    const formats::TensorInfo* const own = find(tensor.name);
    require(own != nullptr, file_->path().string(), " has no tensor ", Quoted(tensor.name));
    return file_->tensors()[static_cast<std::size_t>(own - tensors_.data())];
  }

  std::unique_ptr<formats::TensorFile> file_;
  std::vector<formats::TensorInfo> tensors_;
};

std::string not_compiled(std::string name) {
  for (std::size_t at = name.find(kCompiled); at != std::string::npos; at = name.find(kCompiled, at)) {
    const bool whole = at == 0 || name[at - 1] == '.';
    whole ? static_cast<void>(name.erase(at, kCompiled.size())) : static_cast<void>(at += kCompiled.size());
  }
  return name;
}

bool is_of_wrappers(std::string_view text) {
  while (!text.empty()) {
    const auto* const found = std::find_if(kWrappers.begin(), kWrappers.end(),
                                           [&](std::string_view wrapper) { return text.starts_with(wrapper); });
    if (found == kWrappers.end()) {
      return false;
    }
    text.remove_prefix(found->size());
  }
  return true;
}

/// What stands before an anchor: the shortest there is, empty where an anchor stands as it is; nothing without one.
std::optional<std::string> wrapper_in(const formats::TensorFile& file, const std::vector<std::string>& anchors) {
  constexpr std::size_t kMostAnchors = 64;  // of a model with thousands of layers: any of them will do
  if (std::any_of(anchors.begin(), anchors.end(), [&](const auto& anchor) { return file.find(anchor) != nullptr; })) {
    return std::string();
  }
  const std::span<const std::string> first = std::span(anchors).first(std::min(anchors.size(), kMostAnchors));
  std::optional<std::string> shortest;
  for (const formats::TensorInfo& tensor : file.tensors()) {
    const std::string name = not_compiled(tensor.name);
    for (const std::string& anchor : first) {
      const std::string_view before =
          std::string_view(name).substr(0, name.size() - std::min(name.size(), anchor.size()));
      if (name.ends_with(anchor) && is_of_wrappers(before) && (!shortest || before.size() < shortest->size())) {
        shortest = before;
      }
    }
  }
  return shortest;
}

bool is_first_time(const std::string& what) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard lock(mutex);
  return said.insert(what).second;
}

}  // namespace

std::unique_ptr<formats::TensorFile> open_weights(const std::filesystem::path& directory,
                                                  const std::vector<std::string>& anchors) {
  std::unique_ptr<formats::TensorFile> file = formats::open_tensor_directory(directory);
  const auto& tensors = file->tensors();
  const bool compiled = std::any_of(tensors.begin(), tensors.end(), [](const formats::TensorInfo& tensor) {
    return not_compiled(tensor.name).size() != tensor.name.size();
  });
  const std::string wrapper = wrapper_in(*file, anchors).value_or("");
  if (wrapper.empty() && !compiled) {
    return file;
  }
  const std::string names = concat(compiled ? quote(kCompiled) : "", compiled && !wrapper.empty() ? " and " : "",
                                   wrapper.empty() ? "" : quote(wrapper));
  const std::string path = quote(file->path().native(), 4096);
  if (is_first_time(concat(path, names))) {
    log_warning(path, ": its tensors' names have ", names, ", which training wraps around a model; they are read ",
                "without it");
  }
  return std::make_unique<RenamedFile>(std::move(file), [&](const std::string& name) {
    const std::string plain = not_compiled(name);
    return plain.starts_with(wrapper) ? plain.substr(wrapper.size()) : plain;
  });
}

std::vector<std::string> anchors_of(const std::vector<models::NameRow>& rows, std::string_view prefix) {
  std::vector<std::string> anchors;
  for (const models::NameRow& row : rows) {
    const std::string_view part = row.parts.front();
    if (!part.starts_with('~') || part.find('#') != std::string_view::npos) {
      continue;
    }
    const std::string name = concat(part.substr(1), part.ends_with(".weight") ? "" : ".weight");
    anchors.push_back(concat(prefix, name));
    anchors.push_back(name);
  }
  return anchors;
}

}  // namespace weft::checkpoint
