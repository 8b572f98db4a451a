// SPDX-License-Identifier: Apache-2.0
// Which path is which task of which model.
#pragma once

#include <vector>

#include "weft/server/limits.h"
#include "weft/server/router.h"
#include "weft/service/served_model.h"

namespace weft::service {

/// The models, as GET /v1/models lists them.
formats::Json model_list(const std::vector<ServedModel>& models);

/// The routes of all tasks: under the name of their model, alone where one model has them, and those of other servers,
/// where a request's body may name the model.
server::Router routes_of(const std::vector<ServedModel>& models, const server::ServerConfig& config);

}  // namespace weft::service
