// SPDX-License-Identifier: Apache-2.0
// The one file that sees c10d. Gloo's own timeout is long: whether a process still lives is the watchdog's to say.
#include "weft/training/processes/gloo_group.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <chrono>
#include <utility>
#include <vector>

#include "weft/core/environment.h"
#include "weft/core/error.h"
#include "weft/training/processes/watchdog.h"

namespace weft::training {
namespace {

using Store = c10::intrusive_ptr<c10d::Store>;

constexpr std::chrono::minutes kPatience{5};        // for the others to come
constexpr std::chrono::hours kCollectiveLimit{24};  // a process may evaluate or write as long as it lives

std::string first_line_of(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

Store meeting_place(const ProcessPlace& place) {
  c10d::TCPStoreOptions options;
  options.port = place.port;
  options.isServer = place.rank == 0 && !place.launcher_keeps_store;
  options.waitWorkers = false;
  options.timeout = kPatience;
  return c10::make_intrusive<c10d::PrefixStore>("weft/" + place.round,
                                                c10::make_intrusive<c10d::TCPStore>(place.address, options));
}

std::shared_ptr<gloo::transport::Device> network_device() {
  const auto name = environment("GLOO_SOCKET_IFNAME");
  return name ? c10d::ProcessGroupGloo::createDeviceForInterface(*name) : c10d::ProcessGroupGloo::createDefaultDevice();
}

class GlooGroup final : public ProcessGroup {
 public:
  GlooGroup(const ProcessPlace& place, const Store& store)
      : rank_(place.rank), size_(place.size), store_(store), watchdog_(store->clone(), place.rank, place.size) {
    auto options = c10d::ProcessGroupGloo::Options::create(kPatience);
    options->devices = {network_device()};
    guarded([&] { meet(options); });
  }

  // Before the store goes.
  ~GlooGroup() override { watchdog_.stop(); }

  std::int64_t rank() const noexcept override { return rank_; }
  std::int64_t size() const noexcept override { return size_; }

  std::function<void()> begin_sum(const at::Tensor& tensor) override {
    std::vector<at::Tensor> tensors = {tensor};
    c10::intrusive_ptr<c10d::Work> work;
    guarded([&] { work = gloo_->allreduce(tensors, c10d::AllreduceOptions()); });
    return [this, work] { guarded([&] { work->wait(); }); };
  }

  void copy_from_first(const at::Tensor& tensor) override {
    std::vector<at::Tensor> tensors = {tensor};
    guarded([&] { gloo_->broadcast(tensors, c10d::BroadcastOptions())->wait(); });
  }

  void announce_failure(const std::string& reason) override { watchdog_.announce_failure(reason); }

 private:
  // Waits for all to come. One that ended before it came cannot be told from one that is late.
  void meet(const c10::intrusive_ptr<c10d::ProcessGroupGloo::Options>& options) {
    try {
      gloo_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store_, static_cast<int>(rank_), static_cast<int>(size_),
                                                          options);
      gloo_->setTimeout(kCollectiveLimit);
    } catch (const std::exception&) {
      const std::string absent = watchdog_.absent();
      if (!absent.empty()) {
        fail(ErrorKind::kIo, absent, " has not come within ", std::chrono::seconds(kPatience).count(), " seconds");
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

  std::int64_t rank_;
  std::int64_t size_;
  Store store_;
  Watchdog watchdog_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo_;
};

}  // namespace

std::unique_ptr<ProcessGroup> make_gloo_group(const ProcessPlace& place) {
  Store store;
  try {
    store = meeting_place(place);
  } catch (const std::exception& error) {
    fail(ErrorKind::kIo, "process ", place.rank, " of ", place.size, " cannot reach the others at ", place.address, ":",
         place.port, " (MASTER_ADDR, MASTER_PORT): ", first_line_of(error));
  }
  return std::make_unique<GlooGroup>(place, store);
}

}  // namespace weft::training
