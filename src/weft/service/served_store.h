// SPDX-License-Identifier: Apache-2.0
// A store of `weft index` behind routes, as a model whose only task is `search`.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "weft/checkpoint/open_model.h"
#include "weft/service/memory_account.h"
#include "weft/service/served_model.h"
#include "weft/store/store.h"

namespace weft::service {

/// A store that is to be served, before anything of it is read.
struct StoreToServe {
  std::string name;  ///< in paths
  std::filesystem::path file;
  store::StoreFacts facts;
  std::optional<store::VectorSpace> space;
  std::optional<checkpoint::OpenedModel> embedder;  ///< of its vectors
  std::chrono::milliseconds look_after{10'000};     ///< how long questions see a commit before a later one is asked for
};

/// Errors: those of store::Store and checkpoint::open_model().
StoreToServe store_to_serve(const std::string& name, const std::filesystem::path& file);

/// What it needs of memory: words that are kept for further questions, codes of vectors, and its embedder. Errors: as
/// memory_account().
MemoryAccount store_account(const StoreToServe& store, const tasks::EncoderRunConfig& config,
                            const AccountLimits& limits);

/// `search`, by POST {"query", "by", "top_k"}. Questions see one commit of the store; what another process commits is
/// there for those that come `look_after` later, once all its passages have vectors. Errors: as store::StoreSearch,
/// tasks::open_embedder() and tasks::check_same_model(); of requests: kArgument for vectors where the store had none,
/// HttpError 503 where they are of another model by now, and where the store cannot be read: the log says why.
ServedModel serve_store(const StoreToServe& store, const ServeSettings& settings);

}  // namespace weft::service
