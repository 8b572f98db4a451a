// SPDX-License-Identifier: Apache-2.0
// The names of the paths, and the questions to the backends.
#include "weft/attention/operator/paths.h"

#include <c10/core/impl/LocalDispatchKeySet.h>

#include <string>
#include <vector>

#include "weft/attention/backends/list.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"
#include "weft/core/joined.h"

namespace weft::attention {
namespace {

constexpr Path kPaths[] = {Path::kAuto, Path::kFused, Path::kPortable, Path::kScalar, Path::kDecode, Path::kDense};

bool is_asked(const Way& way, const Call& call, Asker asker) {
  const bool has_path = call.path == Path::kAuto ? way.is_automatic : way.path == call.path;
  return has_path && (way.backward != nullptr || asker == Asker::kFrontDoor);
}

std::string found_in(const Call& call) {
  const pattern::Tile& tile = call.layout->blocks().tile;
  return concat("found ", call.query.scalar_type(), " on ", call.query.device(), ", head_dim ", call.query.size(3),
                ", tile ", tile.query, " x ", tile.key);
}

[[noreturn]] void refuse_call(const Call& call, Asker asker) {
  std::vector<Refusal> refusals;
  for (const Backend* backend : backends()) {
    for (const Way& way : backend->ways) {
      if (is_asked(way, call, asker)) {
        refusals.push_back({backend->name, way.takes(call).reason()});
      }
    }
  }
  if (call.path == Path::kAuto) {
    fail(ErrorKind::kUnsupported, "attention: no backend takes this call; ", reasons_of(refusals), "; ",
         found_in(call));
  }
  if (refusals.empty()) {
    fail(ErrorKind::kArgument, "attention: no backend has a path ", to_string(call.path), "; ", found_in(call));
  }
  const auto reason_of = [](const Refusal& refusal) { return refusal.reason; };
  fail(ErrorKind::kArgument, "attention: ", joined(distinct(refusals), "; ", reason_of), "; ", found_in(call));
}

}  // namespace

const char* to_string(Path path) noexcept {
  switch (path) {
    case Path::kFused:
      return "fused";
    case Path::kPortable:
      return "portable";
    case Path::kScalar:
      return "scalar";
    case Path::kDecode:
      return "decode";
    case Path::kDense:
      return "dense";
    default:
      return "auto";
  }
}

Path path_of(std::string_view name) {
  for (const Path path : kPaths) {
    if (name == to_string(path)) {
      return path;
    }
  }
  const std::string known = joined(kPaths, ", ", [](Path path) { return to_string(path); });
  fail(ErrorKind::kArgument, "attention: path must be one of ", known, "; found \"", name, "\"");
}

void choose_way(Call& call, Asker asker) {
  require(call.path != Path::kDecode,
          "attention: path must not be decode: a query row without gradients takes that path by itself");
  for (const Backend* backend : backends()) {
    for (const Way& way : backend->ways) {
      if (is_asked(way, call, asker) && way.takes(call).is_yes()) {
        call.path = way.path;
        call.taken = {&way, backend};
        return;
      }
    }
  }
  refuse_call(call, asker);
}

std::optional<Decoded> run_decoding(const Call& call) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  for (const Backend* backend : backends()) {
    for (const DecodeWay& way : backend->decode) {
      if (way.takes(call).is_yes()) {
        const std::optional<Forward> found = way.forward(call);
        return found ? std::optional(Decoded{{in_memory_order(found->output), found->log_sum_exp}, backend})
                     : std::nullopt;
      }
    }
  }
  return std::nullopt;
}

Forward run_forward(const Call& call) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const Forward forward = call.taken.way->forward(call);
  return {in_memory_order(forward.output), with_new_strides(forward.log_sum_exp)};
}

Gradients run_backward(const Call& call, const Forward& forward, const at::Tensor& output_gradient) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  Gradients found = call.taken.way->backward(call, forward, output_gradient);
  for (at::Tensor* gradient : {&found.query, &found.key, &found.value}) {
    *gradient = in_memory_order(*gradient);
  }
  return found;
}

}  // namespace weft::attention
