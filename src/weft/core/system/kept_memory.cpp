// SPDX-License-Identifier: Apache-2.0
// Pieces are made by mmap(2). Their sizes repeat from step to step, so that most are found by their size.
#include "weft/core/system/kept_memory.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <new>

#include <sys/mman.h>

namespace weft {
namespace {

constexpr std::size_t kSmallPage = 4096;
constexpr std::size_t kLargePage = std::size_t{2} << 20;
constexpr std::size_t kMostKept = std::size_t{1} << 46;  // beyond what processors address
// A kept piece may be larger than what is asked for by this part of it.
constexpr std::size_t kSpare = 16;

std::size_t in_small_pages(std::size_t bytes) {
  return (std::max<std::size_t>(bytes, 1) + kSmallPage - 1) / kSmallPage * kSmallPage;
}

std::size_t large_part(std::size_t bytes) { return bytes / kLargePage * kLargePage; }

char* map_memory(std::size_t bytes) {
  void* const address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    throw std::bad_alloc();
  }
  return static_cast<char*>(address);
}

}  // namespace

KeptMemory::~KeptMemory() {
  release();
  for (const auto& [address, bytes] : held_) {
    ::munmap(const_cast<void*>(address), bytes);
  }
}

void* KeptMemory::take(std::size_t bytes) {
  if (bytes > kMostKept) {
    throw std::bad_alloc();
  }
  const std::size_t needed = in_small_pages(bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  char* address = kept_piece(needed);
  if (address == nullptr) {
    address = new_piece(needed);
    held_.emplace(address, needed);
    figures_.held += needed;
  }
  figures_.handed += needed;
  most_of_this_ = std::max(most_of_this_, figures_.held);
  most_ = std::max(most_, figures_.held);
  shrink_to(most_ - figures_.held);
  return address;
}

// The smallest that is large enough and not much larger.
char* KeptMemory::kept_piece(std::size_t bytes) {
  const auto found = by_size_.lower_bound(bytes);
  if (found == by_size_.end() || found->first > bytes + bytes / kSpare) {
    return nullptr;
  }
  const Piece piece = *found->second;
  held_.emplace(piece.address, piece.bytes);
  figures_.held += piece.bytes;
  forget(found->second);
  return piece.address;
}

// Pages of other pieces where there may be no more, those that waited longest first.
char* KeptMemory::new_piece(std::size_t bytes) {
  char* const address = mapped(bytes);
  const std::size_t large = large_part(bytes);
  const std::size_t room = most_ > figures_.held + figures_.kept ? most_ - figures_.held - figures_.kept : 0;
  const std::size_t wanted = bytes > room ? bytes - room : 0;
  figures_.fresh += bytes;
  if (wanted > 0 && large > 0) {
    try {
      fill(address, std::min(large, (wanted + kLargePage - 1) / kLargePage * kLargePage));
    } catch (...) {
      ::munmap(address, bytes);
      throw;
    }
  }
  return address;
}

// Memory that nobody has touched.
char* KeptMemory::mapped(std::size_t bytes) const {
  if (bytes < kLargePage) {
    return map_memory(bytes);
  }
  char* const begin = map_memory(bytes + kLargePage);
  const std::size_t before = (kLargePage - reinterpret_cast<std::uintptr_t>(begin) % kLargePage) % kLargePage;
  char* const address = begin + before;
  if (before > 0) {
    ::munmap(begin, before);
  }
  ::munmap(address + bytes, kLargePage - before);
  if (large_pages_) {
    ::madvise(address, bytes, MADV_HUGEPAGE);
  }
  return address;
}

// `bytes` is whole large pages, as what is moved: a large page stays one.
void KeptMemory::fill(char* address, std::size_t bytes) {
  for (auto piece = kept_.begin(); piece != kept_.end() && bytes > 0;) {
    const auto next = std::next(piece);
    Piece rest = *piece;
    if (rest.bytes >= kLargePage) {
      forget(piece);
      const std::size_t large = large_part(rest.bytes);
      if (large < rest.bytes) {
        ::munmap(rest.address + large, rest.bytes - large);
      }
      rest.bytes = large;
      for (; rest.bytes > 0 && bytes > 0; bytes -= kLargePage) {
        rest.bytes -= kLargePage;
        move(rest.address + rest.bytes, address + bytes - kLargePage, kLargePage);
      }
      if (rest.bytes > 0) {
        keep_or_drop(rest, next);
      }
    }
    piece = next;
  }
}

void KeptMemory::move(char* from, char* to, std::size_t bytes) {
  if (::mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED) {
    figures_.moved += bytes;
    figures_.fresh -= bytes;
    return;
  }
  // Too many mappings, or no memory for their tables: a failed move may leave a hole.
  ::munmap(from, bytes);
  if (::mmap(to, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
    throw std::bad_alloc();
  }
}

bool KeptMemory::owns(const void* address) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return held_.contains(address);
}

void KeptMemory::give_back(void* address) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = held_.find(address);
  if (found == held_.end()) {
    return;
  }
  const std::size_t bytes = found->second;
  held_.erase(found);
  figures_.held -= bytes;
  keep_or_drop({static_cast<char*>(address), bytes, period_}, kept_.end());
}

void KeptMemory::keep_or_drop(const Piece& piece, Pieces::iterator before) noexcept {
  try {
    keep(piece, before);
  } catch (const std::bad_alloc&) {  // of the lists
    ::munmap(piece.address, piece.bytes);
  }
}

void KeptMemory::keep(const Piece& piece, Pieces::iterator before) {
  const auto place = kept_.insert(before, piece);
  try {
    by_size_.emplace(piece.bytes, place);
  } catch (...) {
    kept_.erase(place);
    throw;
  }
  figures_.kept += piece.bytes;
}

void KeptMemory::end_period() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  while (!kept_.empty() && kept_.front().period < period_ - 1) {
    const Piece piece = kept_.front();
    forget(kept_.begin());
    ::munmap(piece.address, piece.bytes);
  }
  ++period_;
  most_ = std::max(most_of_this_, figures_.held);
  most_of_this_ = figures_.held;
  shrink_to(most_ - figures_.held);
}

void KeptMemory::release() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  shrink_to(0);
}

// Those that waited longest first; of a larger one as many large pages as must go.
void KeptMemory::shrink_to(std::size_t most) noexcept {
  while (figures_.kept > most) {
    Piece piece = kept_.front();
    forget(kept_.begin());
    const std::size_t kept_without = figures_.kept;
    const std::size_t stays = kept_without < most ? std::min(large_part(most - kept_without), piece.bytes) : 0;
    ::munmap(piece.address + stays, piece.bytes - stays);
    piece.bytes = stays;
    if (stays > 0) {
      keep_or_drop(piece, kept_.begin());
    }
  }
}

void KeptMemory::forget(Pieces::iterator piece) noexcept {
  auto [place, end] = by_size_.equal_range(piece->bytes);
  place = std::find_if(place, end, [&](const auto& entry) { return entry.second == piece; });
  by_size_.erase(place);
  figures_.kept -= piece->bytes;
  kept_.erase(piece);
}

KeptMemory::Figures KeptMemory::figures() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return figures_;
}

}  // namespace weft
