// SPDX-License-Identifier: Apache-2.0
// libnccl.so.2 of GPUs that are none: the functions that Weft calls. The processes of a communicator are threads of
// one, and sums are made by the CPU where the memory of the GPUs is open to it.
#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

constexpr int kInvalidArgument = 4;
constexpr int kFloat = 7;
constexpr int kDouble = 8;
constexpr int kSum = 0;

struct UniqueId {
  std::array<char, 128> bytes;
};

/// Threads that wait for each other, and what they bring.
struct Meeting {
  std::mutex mutex;
  std::condition_variable changed;
  int size = 0;
  int here = 0;
  int round = 0;
  std::vector<const void*> brought;

  // `work` runs once, by the last to come.
  template <typename Work>
  void meet(int rank, const void* thing, const Work& work) {
    std::unique_lock lock(mutex);
    const int mine = round;
    brought.at(static_cast<std::size_t>(rank)) = thing;
    if (++here == size) {
      work();
      here = 0;
      ++round;
      changed.notify_all();
    } else {
      changed.wait(lock, [&] { return round != mine; });
    }
  }
};

struct Communicator {
  std::shared_ptr<Meeting> meeting;
  int rank = 0;
};

std::mutex all_mutex;
std::map<std::string, std::shared_ptr<Meeting>> all;

template <typename Number>
void add_up(const std::vector<const void*>& summands, std::size_t count, std::vector<double>& sums) {
  sums.assign(count, 0);
  for (const void* each : summands) {
    for (std::size_t i = 0; i < count; ++i) {
      sums[i] += static_cast<double>(static_cast<const Number*>(each)[i]);
    }
  }
}

template <typename Number>
void put(void* to, const std::vector<double>& sums) {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    static_cast<Number*>(to)[i] = static_cast<Number>(sums[i]);
  }
}

template <typename Number>
void all_reduce(Communicator& communicator, const void* from, void* to, std::size_t count) {
  static std::vector<double> sums;
  Meeting& meeting = *communicator.meeting;
  meeting.meet(communicator.rank, from, [&] { add_up<Number>(meeting.brought, count, sums); });
  put<Number>(to, sums);
  meeting.meet(communicator.rank, from, [] {});  // nobody begins another sum before
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming,readability-function-size): a C interface
extern "C" {

int ncclGetUniqueId(UniqueId* id) {
  const std::scoped_lock lock(all_mutex);
  id->bytes.fill('\0');
  id->bytes.back() = static_cast<char>(1 + all.size());  // a zero in front: an identity is no text
  all.emplace(std::string(id->bytes.data(), id->bytes.size()), std::make_shared<Meeting>());
  return 0;
}

int ncclCommInitRank(void** communicator, int size, UniqueId id, int rank) {
  std::shared_ptr<Meeting> meeting;
  {
    const std::scoped_lock lock(all_mutex);
    const auto found = all.find(std::string(id.bytes.data(), id.bytes.size()));
    if (found == all.end() || rank < 0 || rank >= size) {
      return kInvalidArgument;
    }
    meeting = found->second;
    meeting->size = size;
    meeting->brought.resize(static_cast<std::size_t>(size));
  }
  meeting->meet(rank, nullptr, [] {});
  static std::map<std::pair<Meeting*, int>, std::unique_ptr<Communicator>> kept;
  const std::scoped_lock lock(all_mutex);
  auto& one = kept[{meeting.get(), rank}];
  one = std::make_unique<Communicator>(Communicator{meeting, rank});
  *communicator = one.get();
  return 0;
}

int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int operation, void* communicator,
                  void* /*stream*/) {
  if (operation != kSum || communicator == nullptr) {
    return kInvalidArgument;
  }
  Communicator& mine = *static_cast<Communicator*>(communicator);
  switch (type) {
    case kFloat:
      all_reduce<float>(mine, from, to, count);
      return 0;
    case kDouble:
      all_reduce<double>(mine, from, to, count);
      return 0;
    default:
      return kInvalidArgument;
  }
}

const char* ncclGetErrorString(int status) { return status == kInvalidArgument ? "invalid argument" : "unknown"; }

}  // extern "C"
// NOLINTEND(readability-identifier-naming,readability-function-size)
