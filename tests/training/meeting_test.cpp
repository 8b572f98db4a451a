// SPDX-License-Identifier: Apache-2.0
// Where processes meet: only at the address that was asked for, only with those of their run, and with plain words for
// whatever does not fit. Waits end with what is waited for; their bounds only stop a test that failed.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/training/processes/gloo_group.h"
#include "weft/training/processes/handshake.h"
#include "weft/training/processes/meeting_point.h"

namespace weft::training {
namespace {

using Clock = std::chrono::steady_clock;

// A port that nothing uses now.
std::uint16_t free_port() {
  ProcessPlace any;
  any.port = 0;
  const ListeningSocket socket = listen_at(any);
  sockaddr_in bound{};
  socklen_t size = sizeof bound;
  ::getsockname(socket.number, reinterpret_cast<sockaddr*>(&bound), &size);
  ::close(socket.number);
  return ntohs(bound.sin_port);
}

ProcessPlace place_of(std::int64_t rank, std::int64_t size, std::uint16_t port = 0) {
  ProcessPlace place;
  place.rank = rank;
  place.size = size;
  place.port = port;
  return place;
}

TEST(MeetingPoint, ListensAtItsAddressOnly) {
  const ProcessPlace place = place_of(0, 2, free_port());
  const ListeningSocket socket = listen_at(place);
  EXPECT_EQ(socket.address, "127.0.0.1");
  EXPECT_EQ(reach(place, Clock::now()), "127.0.0.1");
  ProcessPlace other = place;
  other.address = "127.0.0.2";  // of this machine, too
  test::expect_error(ErrorKind::kIo, {"127.0.0.2", "refused"}, [&] { reach(other, Clock::now()); });
  test::expect_error(ErrorKind::kIo, {"127.0.0.1", "in use"}, [&] { listen_at(place); });
  ::close(socket.number);
}

TEST(MeetingPoint, NamesAnAddressThatIsNone) {
  ProcessPlace place = place_of(1, 2, 29500);
  place.address = "no address \x1b[31m";
  // At once where the system knows, at the deadline where it says that it may know later.
  const auto look = [&] { reach(place, Clock::now()); };
  EXPECT_THROW(look(), Error);
  place.address = "192.0.2.1";  // kept for documentation: no machine has it
  test::expect_error(ErrorKind::kArgument, {"process 0 of 2 cannot listen", "192.0.2.1"}, [&] { listen_at(place); });
}

TEST(MeetingPoint, NamesTheInterfacesThatThereAre) {
  check_interface("lo");
  test::expect_error(ErrorKind::kArgument, {"GLOO_SOCKET_IFNAME", "lo", "found 'wifi9'"},
                     [] { check_interface("wifi9"); });
}

c10::intrusive_ptr<c10d::Store> local_store() { return c10::make_intrusive<c10d::HashStore>(); }

TEST(Handshake, GivesEachRunKeysOfItsOwn) {
  const auto store = local_store();
  const auto first = join_run(store, place_of(0, 2));
  store->set("weft/0/failed/1", std::string("by a stranger"));
  const auto second = join_run(store, place_of(1, 2));
  EXPECT_FALSE(first->check({failure_key(1)}));
  second->set(failure_key(1), std::string("its own reason"));
  EXPECT_EQ(first->get_to_str(failure_key(1)), "its own reason");
  const auto later = local_store();
  EXPECT_NE(join_run(later, place_of(0, 2)), nullptr);
}

TEST(Handshake, SizesThatDifferAreFoundAtOnce) {
  const auto store = local_store();
  const auto first = join_run(store, place_of(0, 3));
  test::expect_error(ErrorKind::kArgument, {"WORLD_SIZE", "process 0 was told 3", "process 1 was told 2"},
                     [&] { join_run(store, place_of(1, 2)); });
  EXPECT_NE(first->get_to_str(failure_key(1)).find("WORLD_SIZE"), std::string::npos) << "the others learn it";
}

TEST(Handshake, AProcessComesOnce) {
  const auto store = local_store();
  join_run(store, place_of(0, 2));
  join_run(store, place_of(1, 2));
  test::expect_error(ErrorKind::kIo, {"process 1 of 2", "already", "another run"},
                     [&] { join_run(store, place_of(1, 2)); });
}

TEST(Handshake, ForeignAnswersAreQuoted) {
  for (const std::string answer : {"\x1b[2Jgone", "2 short", "two 0123456789abcdef0123456789abcdef", ""}) {
    const auto store = local_store();
    store->set("weft/0/run", answer);
    try {
      join_run(store, place_of(1, 2));
      FAIL() << answer;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find('\x1b'), std::string::npos);
    }
  }
}

TEST(Handshake, ARunThatFollowsFindsNothingOld) {
  const auto store = local_store();
  join_run(store, place_of(0, 2));
  leave_run(store, place_of(0, 2));
  EXPECT_FALSE(store->check({"weft/0/run"}));
}

// A group of two in two threads of this process, as two processes would make it.
class TwoTogether : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("GLOO_SOCKET_IFNAME", "lo", 1);
    port_ = free_port();
    std::thread other([this] { second_ = make_gloo_group(place_of(1, 2, port_)); });
    first_ = make_gloo_group(place_of(0, 2, port_));
    other.join();
  }
  void TearDown() override {
    second_.reset();
    first_.reset();
    ::unsetenv("GLOO_SOCKET_IFNAME");
  }
  // Both sums at once; what the first process got.
  double sum(double first, double second) {
    std::thread other([&] { second_->sum(second); });
    const double result = first_->sum(first);
    other.join();
    return result;
  }

  std::uint16_t port_ = 0;
  std::unique_ptr<ProcessGroup> first_;
  std::unique_ptr<ProcessGroup> second_;
};

// The heartbeats so far of both processes, whatever their keys begin with.
std::int64_t least_beats(c10d::Store& store) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::string key : store.listKeys()) {
    if (key.ends_with("/beat/0") || key.ends_with("/beat/1")) {
      key.erase(0, key.starts_with("/") ? 1 : 0);
      least = std::min(least, store.add(key, 0));
    }
  }
  return least;
}

TEST_F(TwoTogether, AStrangerWhoWritesAKeyEndsNothing) {
  EXPECT_EQ(sum(1, 2), 3.0);
  c10d::TCPStoreOptions options;
  options.port = port_;
  const auto connection = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  c10d::Store& stranger = *connection;
  for (const char* key :
       {"failed/0", "failed/1", "weft/failed/1", "weft/0/failed/0", "weft/0/failed/1", "weft/0/run"}) {
    stranger.set(key, std::string("\x1b[31mthe end"));
  }
  // Every process has looked at the store again.
  const std::int64_t before = least_beats(stranger);
  const auto bound = Clock::now() + std::chrono::seconds(60);
  while (least_beats(stranger) < before + 2 && Clock::now() < bound) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_GE(least_beats(stranger), before + 2) << "the processes live";
  EXPECT_EQ(sum(3, 4), 7.0);
}

}  // namespace
}  // namespace weft::training
