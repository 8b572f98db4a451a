// SPDX-License-Identifier: Apache-2.0
// Memory that is given back and asked for again, many times a second: the system would clear each page anew. What is
// given back is kept for the next who asks, and a process never has more than it once held at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <unordered_map>

namespace weft {

/// Large pieces of memory that are used again. Held and kept pieces together are at most what was held at once since
/// the period before this one, so that keeping costs no memory where memory is scarcest. A kept piece serves who asks
/// for as much; where none does, its pages are moved (mremap(2)) to the piece that is made, uncleared. Safe from
/// several threads.
class KeptMemory {
 public:
  /// With `large_pages` the system is asked for pages of 2 MiB where they are filled.
  explicit KeptMemory(bool large_pages) : large_pages_(large_pages) {}
  /// Gives back everything, held pieces too.
  ~KeptMemory();
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;

  /// At least `bytes`, which may be 0, with any content, on a 4 KiB boundary; from 2 MiB on, on a 2 MiB boundary.
  /// Errors: std::bad_alloc where the system has no memory.
  void* take(std::size_t bytes);
  /// Whether take() gave `address`, and nobody has given it back.
  bool owns(const void* address) const;
  /// Takes back what take() gave; other addresses are left alone.
  void give_back(void* address) noexcept;
  /// A period ends, such as a step of training: what nobody took in it or the one before it goes to the system.
  void end_period() noexcept;
  /// All that is kept goes to the system.
  void release() noexcept;

  struct Figures {
    std::size_t held = 0;    ///< bytes that are given out
    std::size_t kept = 0;    ///< bytes that wait to be used again
    std::size_t fresh = 0;   ///< bytes that the system was asked for, since the beginning
    std::size_t moved = 0;   ///< bytes that were moved into another piece, since the beginning
    std::size_t handed = 0;  ///< bytes that were given out, since the beginning
  };
  Figures figures() const;

 private:
  /// `address` is null for none.
  struct Piece {
    char* address = nullptr;
    std::size_t bytes = 0;
    std::int64_t period = 0;  // in which it was given back
  };
  using Pieces = std::list<Piece>;

  char* kept_piece(std::size_t bytes);
  char* new_piece(std::size_t bytes);
  char* mapped(std::size_t bytes) const;
  void fill(char* address, std::size_t bytes);
  void move(char* from, char* to, std::size_t bytes);
  void shrink_to(std::size_t most) noexcept;
  void keep(const Piece& piece, Pieces::iterator before);
  void keep_or_drop(const Piece& piece, Pieces::iterator before) noexcept;
  void forget(Pieces::iterator piece) noexcept;

  const bool large_pages_;
  mutable std::mutex mutex_;
  Pieces kept_;                                           // the one that waited longest first
  std::multimap<std::size_t, Pieces::iterator> by_size_;  // of kept_
  std::unordered_map<const void*, std::size_t> held_;     // bytes of an address
  std::int64_t period_ = 0;
  std::size_t most_ = 0;          // held at once in this period or the one before
  std::size_t most_of_this_ = 0;  // in this one
  Figures figures_;
};

}  // namespace weft
