// SPDX-License-Identifier: Apache-2.0
// Work for others: what a thread computes for the clients of a server. Warnings are for whoever runs the program; those
// about texts of clients are none of its business, and a client could fill its log with them.
#pragma once

namespace weft {

/// While one lives, warnings of this thread count as messages for developers (LogLevel::kDebug).
class ClientsWork {
 public:
  ClientsWork() noexcept;
  ~ClientsWork();
  ClientsWork(const ClientsWork&) = delete;
  ClientsWork& operator=(const ClientsWork&) = delete;

 private:
  bool before_;
};

bool is_clients_work() noexcept;

}  // namespace weft
