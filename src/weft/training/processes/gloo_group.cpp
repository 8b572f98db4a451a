// SPDX-License-Identifier: Apache-2.0
// The one file that sees Gloo, which sums what lies in the host's memory. Its own timeout is long: whether a process
// still lives is the watchdog's to say.
#include "weft/training/processes/gloo_group.h"

#include <c10/util/Logging.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "weft/attention/backends/host_memory.h"
#include "weft/core/environment.h"
#include "weft/core/error.h"
#include "weft/core/one_line.h"
#include "weft/core/quote.h"
#include "weft/training/processes/handshake.h"
#include "weft/training/processes/meeting_point.h"
#include "weft/training/processes/nccl_sums.h"
#include "weft/training/processes/watchdog.h"

namespace weft::training {
namespace {

using Store = c10::intrusive_ptr<c10d::Store>;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::hours kCollectiveLimit{24};  // a process may evaluate or write as long as it lives

// LibTorch's and Gloo's messages go on with the functions that were on the stack.
std::string first_line_of(const std::exception& error) {
  const std::string text = error.what();
  return one_line(text.substr(0, text.find('\n')));
}

// c10d warns of every connection that ends, with the functions that were on the stack; the watchdog says in plain words
// what matters of it. TORCH_CPP_LOG_LEVEL asks for more.
void keep_c10d_quiet() {
  constexpr int kErrorsOnly = 2;
  if (environment("TORCH_CPP_LOG_LEVEL")) {
    c10::initLogging();
  } else {
    FLAGS_caffe2_log_level = kErrorsOnly;
  }
}

// What is left of the time for all to come; a little at the end, since none at all means no limit to some.
std::chrono::milliseconds left_until(Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  return std::max(left, std::chrono::milliseconds(100));
}

// The first process keeps the store, at the address that it was told and no other, unless the launcher does.
Store open_store(const ProcessPlace& place, Deadline deadline) {
  c10d::TCPStoreOptions options;
  options.port = place.port;
  options.isServer = place.rank == 0 && !place.launcher_keeps_store;
  options.waitWorkers = false;
  std::string address;
  if (options.isServer) {
    const ListeningSocket socket = listen_at(place);
    options.masterListenFd = socket.number;
    address = socket.address;
  } else {
    address = reach(place, deadline);
  }
  options.timeout = left_until(deadline);
  try {
    return c10::make_intrusive<c10d::TCPStore>(address, options);
  } catch (const std::exception& error) {
    fail(ErrorKind::kIo, "process ", place.rank, " of ", place.size, " cannot reach the others at ",
         quote(place.address), ", port ", place.port, " (MASTER_ADDR, MASTER_PORT): ", first_line_of(error));
  }
}

std::shared_ptr<gloo::transport::Device> network_device() {
  const auto name = environment("GLOO_SOCKET_IFNAME");
  try {
    return name ? c10d::ProcessGroupGloo::createDeviceForInterface(*name)
                : c10d::ProcessGroupGloo::createDefaultDevice();
  } catch (const std::exception& error) {
    fail(ErrorKind::kIo, "cannot use the network interface ", name ? quote(*name) : "of this machine's name",
         " (GLOO_SOCKET_IFNAME): ", first_line_of(error));
  }
}

class GlooGroup final : public ProcessGroup {
 public:
  GlooGroup(const ProcessPlace& place, const Store& meeting, Deadline deadline)
      : place_(place),
        meeting_(meeting),
        store_(join_run(meeting, place)),
        watchdog_(store_->clone(), place.rank, place.size) {
    auto options = c10d::ProcessGroupGloo::Options::create(left_until(deadline));
    options->devices = {network_device()};
    guarded([&] { meet(options); });
  }

  // Before the store goes.
  ~GlooGroup() override {
    try {
      leave_run(meeting_, place_);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the store went first
    }
    watchdog_.stop();
  }

  std::int64_t rank() const noexcept override { return place_.rank; }
  std::int64_t size() const noexcept override { return place_.size; }

  std::function<void()> begin_sum(const at::Tensor& tensor) override {
    if (!attention::is_in_host_memory(tensor)) {
      guarded([&] { sums_on(tensor.device()).sum(tensor); });
      return [] {};  // LibTorch's stream keeps the order
    }
    std::vector<at::Tensor> tensors = {tensor};
    c10::intrusive_ptr<c10d::Work> work;
    guarded([&] { work = gloo_->allreduce(tensors, c10d::AllreduceOptions()); });
    return [this, work] { guarded([&] { work->wait(); }); };
  }

  // By the host, wherever the tensor is: once a run.
  void copy_from_first(const at::Tensor& tensor) override {
    std::vector<at::Tensor> tensors = {tensor.to(at::kCPU)};
    guarded([&] { gloo_->broadcast(tensors, c10d::BroadcastOptions())->wait(); });
    if (!attention::is_in_host_memory(tensor)) {
      tensor.copy_(tensors.front());
    }
  }

  void announce_failure(const std::string& reason) override {
    if (!failed_together()) {
      watchdog_.announce_failure(reason);
    }
  }

 private:
  NcclSums& sums_on(c10::Device device) {
    if (!nccl_) {
      nccl_ = std::make_unique<NcclSums>(*this, device);
    }
    return *nccl_;
  }

  // Waits for all to come. One that ended before it came cannot be told from one that is late.
  void meet(const c10::intrusive_ptr<c10d::ProcessGroupGloo::Options>& options) {
    try {
      gloo_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store_, static_cast<int>(place_.rank),
                                                          static_cast<int>(place_.size), options);
      gloo_->setTimeout(kCollectiveLimit);
    } catch (const std::exception&) {
      const std::string absent = watchdog_.absent();
      if (!absent.empty()) {
        fail(ErrorKind::kIo, absent, " has not come within ",
             std::chrono::duration_cast<std::chrono::seconds>(place_.patience).count(), " seconds");
      }
      throw;
    }
  }

  // Runs what talks to others. When it fails, the watchdog is asked who is to blame.
  template <typename Talk>
  void guarded(const Talk& talk) {
    try {
      talk();
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      const std::string verdict = watchdog_.wait_for_verdict();
      fail(ErrorKind::kIo, verdict.empty() ? "the processes lost each other: " + first_line_of(error) : verdict);
    }
  }

  ProcessPlace place_;
  Store meeting_;  // as other programs may see it
  Store store_;    // this run's part of it
  Watchdog watchdog_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo_;
  std::unique_ptr<NcclSums> nccl_;  // of tensors on a GPU, from the first one on
};

}  // namespace

std::unique_ptr<ProcessGroup> make_gloo_group(const ProcessPlace& place) {
  const Deadline deadline = Clock::now() + place.patience;
  keep_c10d_quiet();
  if (const auto name = environment("GLOO_SOCKET_IFNAME")) {
    check_interface(*name);
  }
  const Store store = open_store(place, deadline);
  try {
    return std::make_unique<GlooGroup>(place, store, deadline);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    fail(ErrorKind::kIo, "process ", place.rank, " of ", place.size,
         " lost the others while they met: ", first_line_of(error));
  }
}

}  // namespace weft::training
