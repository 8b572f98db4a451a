// SPDX-License-Identifier: Apache-2.0
// The first process writes "<processes> <token>", the others read it.
#include "weft/training/processes/handshake.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <random>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"

namespace weft::training {
namespace {

using StorePointer = c10::intrusive_ptr<c10d::Store>;

std::string run_key(const ProcessPlace& place) { return concat("weft/", place.round, "/run"); }

std::string random_token() {
  std::random_device random;
  std::string token;
  for (std::size_t i = 0; i < AnnouncedRun::kTokenDigits; ++i) {
    token += kHexDigits[random() & 15U];
  }
  return token;
}

AnnouncedRun begin_run(const StorePointer& store, const ProcessPlace& place) {
  const AnnouncedRun run{place.size, random_token()};
  store->set(run_key(place), concat(run.size, " ", run.token));
  return run;
}

AnnouncedRun find_run(const StorePointer& store, const ProcessPlace& place) {
  try {
    return announced_run(store->get_to_str(run_key(place)), place);
  } catch (const Error&) {
    throw;
  } catch (const std::exception&) {
    fail(ErrorKind::kIo, "process 0 of ", place.size, " has not come to ", quote(place.address), ", port ", place.port,
         ", within ", std::chrono::duration_cast<std::chrono::seconds>(place.patience).count(), " seconds");
  }
}

}  // namespace

std::string failure_key(std::int64_t rank) { return concat("failed/", rank); }

StorePointer join_run(const StorePointer& store, const ProcessPlace& place) {
  const AnnouncedRun run = place.rank == 0 ? begin_run(store, place) : find_run(store, place);
  StorePointer own = c10::make_intrusive<c10d::PrefixStore>("weft/" + run.token, store);
  if (run.size != place.size) {
    const std::string text = concat("WORLD_SIZE must be the same in all processes: process 0 was told ", run.size,
                                    ", process ", place.rank, " was told ", place.size);
    own->set(failure_key(place.rank), text);
    fail(ErrorKind::kArgument, text);
  }
  if (own->add(concat("came/", place.rank), 1) != 1) {
    throw Error(ErrorKind::kIo,
                concat("process ", place.rank, " of ", place.size, " has come to ", quote(place.address), ", port ",
                       place.port, ", already: this one belongs to another run, or was begun twice"),
                "give each run a MASTER_PORT that no other uses");
  }
  return own;
}

void leave_run(const StorePointer& store, const ProcessPlace& place) {
  if (place.rank == 0) {
    store->deleteKey(run_key(place));
  }
}

}  // namespace weft::training
