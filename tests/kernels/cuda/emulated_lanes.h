// SPDX-License-Identifier: Apache-2.0
// The primitives of weft/kernels/cuda/primitives.h made of loops: the threads of a block in lock step. It is stricter
// than a GPU: what is copied shows at the wait and not before, shared memory begins as garbage, and two threads that
// meet in one word between two barriers, of which one writes, are an error, as are addresses that do not fit. Lock step
// needs no fibers, which sanitizers do not follow, and is the same in each run.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "weft/kernels/cuda/format.h"
#include "weft/kernels/cuda/primitives.h"
#include "weft/kernels/storage.h"

namespace weft::test {

[[noreturn]] inline void refuse_access(const std::string& what) { throw std::logic_error("emulated lanes: " + what); }

/// Shared memory of a block, with who touched each word since the last barrier.
class SharedMemory {
 public:
  /// Without `is_checked` it is only memory, which takes a third of the time.
  SharedMemory(int bytes, bool is_checked)
      : bytes_(static_cast<std::size_t>(bytes), 0xFF), words_(is_checked ? static_cast<std::size_t>(bytes / 4) : 0) {}

  void barrier() { ++epoch_; }

  void read(int thread, int offset, int size, void* to) {
    each_word(offset, size, [&](Word& word) {
      if (word.in_flight) {
        refuse_access("thread " + std::to_string(thread) + " reads what is being copied");
      }
      if (word.write_epoch == epoch_ && word.writer != thread) {
        refuse_access("thread " + std::to_string(thread) + " reads what thread " + std::to_string(word.writer) +
                      " wrote since the last barrier");
      }
      word.reader = word.read_epoch == epoch_ && word.reader != thread ? kMany : thread;
      word.read_epoch = epoch_;
    });
    std::memcpy(to, bytes_.data() + offset, static_cast<std::size_t>(size));
  }
  void write(int thread, int offset, int size, const void* from) {
    each_word(offset, size, [&](Word& word) { take(thread, word); });
    std::memcpy(bytes_.data() + offset, from, static_cast<std::size_t>(size));
  }
  void begin_copy(int thread, int offset) {
    each_word(offset, 16, [&](Word& word) {
      take(thread, word);
      word.in_flight = true;
    });
    std::memset(bytes_.data() + offset, 0xFF, 16);
  }
  void end_copy(int thread, int offset, const unsigned char* from) {
    each_word(offset, 16, [&](Word& word) {
      word.in_flight = false;
      word.writer = thread;
      word.write_epoch = epoch_;
    });
    std::memcpy(bytes_.data() + offset, from, 16);
  }

 private:
  static constexpr int kMany = -1;
  struct Word {
    std::int64_t write_epoch = -1;
    std::int64_t read_epoch = -1;
    int writer = 0;
    int reader = 0;
    bool in_flight = false;
  };

  void take(int thread, Word& word) {
    if (word.in_flight) {
      refuse_access("thread " + std::to_string(thread) + " writes where a copy arrives");
    }
    const bool is_read = word.read_epoch == epoch_ && word.reader != thread;
    const bool is_written = word.write_epoch == epoch_ && word.writer != thread;
    if (is_read || is_written) {
      refuse_access("thread " + std::to_string(thread) + " writes what another thread touched since the last barrier");
    }
    word.writer = thread;
    word.write_epoch = epoch_;
  }
  template <typename Work>
  void each_word(int offset, int size, const Work& work) {
    if (words_.empty()) {
      return;
    }
    if (offset < 0 || offset % (size < 16 ? size : 16) != 0 || offset + size > static_cast<int>(bytes_.size())) {
      refuse_access("address " + std::to_string(offset) + " of " + std::to_string(size) + " bytes does not fit");
    }
    for (int word = offset / 4; word * 4 < offset + size; ++word) {
      work(words_[static_cast<std::size_t>(word)]);
    }
  }

  std::vector<unsigned char> bytes_;
  std::vector<Word> words_;
  std::int64_t epoch_ = 0;
};

template <int kThreads>
class EmulatedLanes {
 public:
  template <typename T>
  struct Each {
    T values[kThreads];
    T& operator[](int thread) { return values[thread]; }
    const T& operator[](int thread) const { return values[thread]; }
  };

  explicit EmulatedLanes(int shared_bytes, bool is_checked = true) : memory_(shared_bytes, is_checked) {}

  template <typename Work>
  void run(const Work& work) {
    for (int thread = 0; thread < kThreads; ++thread) {
      work(thread);
    }
  }

  void copy_async(int thread, int to, const void* from, int bytes) {
    if (reinterpret_cast<std::uintptr_t>(from) % 16 != 0 || bytes < 0 || bytes > 16) {
      refuse_access("a copy from an address that is no multiple of 16");
    }
    AsyncCopy copy{thread, to, {}};
    std::memcpy(copy.bytes, from, static_cast<std::size_t>(bytes));
    memory_.begin_copy(thread, to);
    open_.push_back(copy);
  }
  void commit() {
    groups_.push_back(std::move(open_));
    open_.clear();
  }
  template <int kPending>
  void wait() {
    while (groups_.size() > kPending) {
      for (const AsyncCopy& copy : groups_.front()) {
        memory_.end_copy(copy.thread, copy.to, copy.bytes);
      }
      groups_.pop_front();
    }
  }
  void barrier() { memory_.barrier(); }

  template <typename T>
  T load_shared(int thread, int offset) {
    T value;
    memory_.read(thread, offset, sizeof(T), &value);
    return value;
  }
  template <typename T>
  void store_shared(int thread, int offset, const T& value) {
    memory_.write(thread, offset, sizeof(T), &value);
  }

  template <typename Address>
  void load_matrices(Each<kernels::cuda::Matrices>& to, const Address& address) {
    load<false>(to, address);
  }
  template <typename Address>
  void load_matrices_transposed(Each<kernels::cuda::Matrices>& to, const Address& address) {
    load<true>(to, address);
  }

  template <typename Format>
  void round(Each<kernels::cuda::Matrices>& factors) {
    for (int thread = 0; thread < kThreads && !kernels::cuda::kIsHalf<Format>; ++thread) {
      for (std::uint32_t& bits : factors[thread].at) {
        bits = (bits + 0x1000) & 0xFFFFE000;  // to the nearest, ties away from zero
      }
    }
  }

  template <typename Format, int kTiles>
  void multiply(Each<kernels::cuda::Sums<kTiles>>& sums, int tile, const Each<kernels::cuda::Matrices>& left,
                const Each<kernels::cuda::Matrices>& right, int first) {
    constexpr int kHalves = kernels::cuda::kIsHalf<Format> ? 2 : 1;
    constexpr int kDepth = 8 * kHalves;
    for (int warp = 0; warp < kThreads; warp += 32) {
      float a[16][kDepth];
      float b[kDepth][8];
      for (int lane = 0; lane < 32; ++lane) {
        for (int of = 0; of < 4; ++of) {
          for (int half = 0; half < kHalves; ++half) {
            const int step = lane % 4 * kHalves + half;
            a[lane / 4 + of % 2 * 8][step + of / 2 * kDepth / 2] = number<Format>(left[warp + lane].at[of], half);
            if (of < 2) {
              b[step + of * kDepth / 2][lane / 4] = number<Format>(right[warp + lane].at[first + of], half);
            }
          }
        }
      }
      multiply_warp(sums, tile, warp, a, b);
    }
  }

  template <typename Format>
  static std::uint32_t pack(float low, float high) {
    return half_bits<Format>(low) | std::uint32_t{half_bits<Format>(high)} << 16;
  }

  template <typename Format>
  static float unpack(std::uint16_t bits) {
    return number<Format>(bits, 0);
  }

  template <typename Source>
  void shuffle(Each<float>& to, const Each<float>& from, const Source& source) {
    Each<float> found;
    for (int thread = 0; thread < kThreads; ++thread) {
      found[thread] = from[thread / 32 * 32 + source(thread)];
    }
    to = found;
  }

  bool any(const Each<bool>& is_so) {
    memory_.barrier();
    bool result = false;
    for (int thread = 0; thread < kThreads; ++thread) {
      result = result || is_so[thread];
    }
    return result;
  }

  static float multiply_add(float a, float b, float c) { return std::fma(a, b, c); }
  static float exp2(float x) { return std::exp2(x); }
  static float log(float x) { return std::log(x); }

 private:
  struct AsyncCopy {
    int thread;
    int to;
    unsigned char bytes[16];
  };

  template <bool kTransposed, typename Address>
  void load(Each<kernels::cuda::Matrices>& to, const Address& address) {
    for (int warp = 0; warp < kThreads; warp += 32) {
      std::uint16_t rows[32][8];
      for (int lane = 0; lane < 32; ++lane) {
        memory_.read(warp + lane, address(warp + lane), 16, rows[lane]);
      }
      for (int lane = 0; lane < 32; ++lane) {
        for (int of = 0; of < 4; ++of) {
          const int row = lane / 4;
          const int column = lane % 4 * 2;
          const std::uint32_t low = kTransposed ? rows[of * 8 + column][row] : rows[of * 8 + row][column];
          const std::uint32_t high = kTransposed ? rows[of * 8 + column + 1][row] : rows[of * 8 + row][column + 1];
          to[warp + lane].at[of] = low | high << 16;
        }
      }
    }
  }

  template <int kTiles, int kDepth>
  static void multiply_warp(Each<kernels::cuda::Sums<kTiles>>& sums, int tile, int warp, const float (&a)[16][kDepth],
                            const float (&b)[kDepth][8]) {
    float product[16][8] = {};
    for (int row = 0; row < 16; ++row) {
      for (int step = 0; step < kDepth; ++step) {
        for (int column = 0; column < 8; ++column) {
          product[row][column] += a[row][step] * b[step][column];
        }
      }
    }
    for (int lane = 0; lane < 32; ++lane) {
      float* const sum = sums[warp + lane].at[tile];
      for (int entry = 0; entry < 4; ++entry) {
        sum[entry] += product[lane / 4 + entry / 2 * 8][lane % 4 * 2 + entry % 2];
      }
    }
  }

  template <typename Format>
  static float number(std::uint32_t pair, int half) {
    const auto bits = static_cast<std::uint16_t>(pair >> (16 * half));
    if constexpr (!kernels::cuda::kIsHalf<Format>) {
      return std::bit_cast<float>(pair & 0xFFFFE000);  // the lowest 13 bits are not looked at
    } else if constexpr (Format::kIsBFloat16) {
      return kernels::BFloat16Storage::load(&bits);
    } else {
      return static_cast<float>(std::bit_cast<_Float16>(bits));
    }
  }
  template <typename Format>
  static std::uint16_t half_bits(float number) {
    std::uint16_t bits;
    if constexpr (Format::kIsBFloat16) {
      kernels::BFloat16Storage::store(&bits, number);
    } else {
      bits = std::bit_cast<std::uint16_t>(static_cast<_Float16>(number));
    }
    return bits;
  }

  SharedMemory memory_;
  std::vector<AsyncCopy> open_;
  std::deque<std::vector<AsyncCopy>> groups_;
};

}  // namespace weft::test
