// SPDX-License-Identifier: Apache-2.0
// A mark on the thread.
#include "weft/core/work/clients_work.h"

#include <utility>

namespace weft {
namespace {

thread_local bool for_clients = false;

}  // namespace

ClientsWork::ClientsWork() noexcept : before_(std::exchange(for_clients, true)) {}
ClientsWork::~ClientsWork() { for_clients = before_; }

bool is_clients_work() noexcept { return for_clients; }

}  // namespace weft
