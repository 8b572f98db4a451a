// SPDX-License-Identifier: Apache-2.0
// The primitives of weft/kernels/cuda/primitives.h made of loops: the threads of a block in lock step. It is stricter
// than a GPU: what is copied shows at the wait and not before, shared memory begins as garbage, and two threads that
// meet in one word between two barriers, of which one writes, are an error, as are addresses that do not fit. Products
// of slices (wgmma) read what was published, and their results show at the wait. Lock step needs no fibers, which
// sanitizers do not follow, and is the same in each run.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "kernels/cuda/emulated_memory.h"
#include "weft/kernels/cuda/format.h"
#include "weft/kernels/cuda/primitives.h"
#include "weft/kernels/cuda/products.h"
#include "weft/kernels/storage.h"

namespace weft::test {

/// kIsHopper: there are products of slices.
template <int kThreads, bool kIsHopper = false>
class EmulatedLanes {
 public:
  static constexpr bool kHasSliceProducts = kIsHopper && kThreads == 128;

  template <typename T>
  struct Each {
    T values[kThreads];
    bool is_in_product = false;  ///< one is under way that writes it, or reads it

    T& operator[](int thread) {
      check();
      return values[thread];
    }
    const T& operator[](int thread) const {
      check();
      return values[thread];
    }
    void check() const {
      if (is_in_product) {
        refuse_access("registers of a product that is under way");
      }
    }
  };

  explicit EmulatedLanes(int shared_bytes, bool is_checked = true) : memory_(shared_bytes, is_checked) {}

  template <typename Work>
  void run(const Work& work) {
    for (int thread = 0; thread < kThreads; ++thread) {
      work(thread);
    }
  }

  template <typename Work>
  void run_where(const Each<bool>& is_so, const Work& work) {
    for (int warp = 0; warp < kThreads; warp += 32) {
      const bool is_any = std::any_of(is_so.values + warp, is_so.values + warp + 32, [](bool one) { return one; });
      for (int thread = warp; thread < warp + 32 && is_any; ++thread) {
        work(thread);
      }
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

  void publish() { memory_.publish(); }
  template <typename... Values>
  void begin_products(Values&... used) {
    fenced_ = {&used...};
  }
  template <typename Format>
  void multiply_slices(Each<kernels::cuda::Sums<8>>& sums, int own, int other, bool adds) {
    const std::uint64_t left = kernels::cuda::slice_descriptor(static_cast<std::uint32_t>(own));
    const std::uint64_t right = kernels::cuda::slice_descriptor(static_cast<std::uint32_t>(other));
    SliceProduct product = begin_product(sums);
    for (int step = 0; step < 4; ++step) {
      float a[64][16];
      float b[64][16];
      read_rows<Format>(product, left + static_cast<unsigned>(step) * kernels::cuda::kNextColumns, a);
      read_rows<Format>(product, right + static_cast<unsigned>(step) * kernels::cuda::kNextColumns, b);
      add_products(product, step > 0 || adds, a, [&](int at, int column) { return b[column][at]; });
    }
    open_products_.push_back(std::move(product));
  }
  template <typename Format>
  void multiply_weights(Each<kernels::cuda::Sums<8>>& sums, Each<kernels::cuda::PackedWeights>& weights, int slice) {
    const std::uint64_t right = kernels::cuda::slice_descriptor(static_cast<std::uint32_t>(slice));
    SliceProduct product = begin_product(sums);
    expect_fenced(&weights);
    for (int step = 0; step < 4; ++step) {
      float a[64][16];
      for (int thread = 0; thread < kThreads; ++thread) {
        for (int at = 0; at < 8; ++at) {
          const std::uint32_t pair = weights.values[thread].at[step][at / 2];
          a[kernels::cuda::own_row(thread) + at / 2 % 2 * 8][kernels::cuda::own_column(thread) + at / 4 * 8 + at % 2] =
              number<Format>(pair, at % 2);
        }
      }
      float b[16][64];
      read_columns<Format>(product, right + static_cast<unsigned>(step) * kernels::cuda::kNextRows, b);
      add_products(product, true, a, [&](int at, int column) { return b[at][column]; });
    }
    weights.is_in_product = true;
    product.weights = &weights;
    open_products_.push_back(std::move(product));
  }
  void order(const Each<float>& value) {
    for (int thread = 0; thread < kThreads; ++thread) {
      if (value[thread] < 0) {
        refuse_access("a value for order() is negative");
      }
    }
  }
  void commit_products() {
    product_groups_.push_back(std::move(open_products_));
    open_products_.clear();
  }
  template <int kPending, typename... Values>
  void wait_products(Values&... ready) {
    while (product_groups_.size() > kPending) {
      const std::vector<SliceProduct> group = std::move(product_groups_.front());
      product_groups_.pop_front();
      for (const SliceProduct& product : group) {
        end_product(product);
      }
    }
    (ready.check(), ...);
  }

  template <typename Format>
  static std::uint32_t pack(float low, float high) {
    return half_bits<Format>(low) | std::uint32_t{half_bits<Format>(high)} << 16;
  }

  template <typename Format>
  static float unpack(std::uint16_t bits) {
    return number<Format>(bits, 0);
  }

  template <typename T, typename Source>
  void shuffle(Each<T>& to, const Each<T>& from, const Source& source) {
    Each<T> found;
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

  static int forget(int number) { return number; }

  static float multiply_add(float a, float b, float c) { return std::fma(a, b, c); }
  static float greater(float a, float b) { return std::fmax(a, b); }
  static float exp2(float x) { return std::exp2(x); }
  static float log(float x) { return std::log(x); }

 private:
  struct AsyncCopy {
    int thread;
    int to;
    unsigned char bytes[16];
  };

  /// One under way: its results, what they go to, and what it reads.
  struct SliceProduct {
    Each<kernels::cuda::Sums<8>>* sums = nullptr;
    Each<kernels::cuda::PackedWeights>* weights = nullptr;
    std::vector<float> result;
    std::vector<int> offsets;
  };

  void expect_fenced(const void* values) const {
    if (std::find(fenced_.begin(), fenced_.end(), values) == fenced_.end()) {
      refuse_access("a product of registers that begin_products() did not name");
    }
  }
  SliceProduct begin_product(Each<kernels::cuda::Sums<8>>& sums) {
    static_assert(kHasSliceProducts);
    expect_fenced(&sums);
    SliceProduct product;
    product.sums = &sums;
    product.result.resize(64 * 64);
    for (int thread = 0; thread < kThreads; ++thread) {
      for (int at = 0; at < 32; ++at) {
        product.result[result_place(thread, at)] = latest(sums, thread, at);
      }
    }
    sums.is_in_product = true;
    return product;
  }
  static std::size_t result_place_of(int row, int column) {
    return std::size_t{64} * static_cast<std::size_t>(row) + static_cast<std::size_t>(column);
  }
  static std::size_t result_place(int thread, int at) {
    const int row = kernels::cuda::own_row(thread) + at % 4 / 2 * 8;
    const int column = at / 4 * 8 + kernels::cuda::own_column(thread) + at % 2;
    return result_place_of(row, column);
  }
  /// A sum, which may be that of a product under way to the same registers: these go on in their order.
  float latest(const Each<kernels::cuda::Sums<8>>& sums, int thread, int at) const {
    float found = sums.values[thread].at[at / 4][at % 4];
    const auto look = [&](const std::vector<SliceProduct>& group) {
      for (const SliceProduct& product : group) {
        found = product.sums == &sums ? product.result[result_place(thread, at)] : found;
      }
    };
    for (const std::vector<SliceProduct>& group : product_groups_) {
      look(group);
    }
    look(open_products_);
    return found;
  }
  void end_product(const SliceProduct& product) {
    for (int thread = 0; thread < kThreads; ++thread) {
      for (int at = 0; at < 32; ++at) {
        product.sums->values[thread].at[at / 4][at % 4] = product.result[result_place(thread, at)];
      }
    }
    product.sums->is_in_product = is_under_way(product.sums);
    if (product.weights != nullptr) {
      product.weights->is_in_product = false;
    }
    for (const int offset : product.offsets) {
      memory_.end_product(offset);
    }
  }
  /// Whether a later product writes the same registers.
  bool is_under_way(const void* sums) const {
    const auto writes = [&](const SliceProduct& one) { return one.sums == sums; };
    return std::any_of(open_products_.begin(), open_products_.end(), writes) ||
           std::any_of(product_groups_.begin(), product_groups_.end(), [&](const std::vector<SliceProduct>& group) {
             return std::any_of(group.begin(), group.end(), writes);
           });
  }
  /// The sixteen bits that a descriptor gives: eight rows of 128 bytes, the next eight behind its stride, and bits 4 to
  /// 6 of the address turned by bits 7 to 9.
  template <typename Format>
  float read_number(SliceProduct& product, std::uint64_t descriptor, int row, int column) {
    constexpr std::uint64_t kSwizzle128 = 1;
    if (descriptor >> 62 != kSwizzle128 || (descriptor >> 49 & 7) != 0) {
      refuse_access("a descriptor that is not of slices");
    }
    const int stride = static_cast<int>(descriptor >> 32 & 0x3FFF) * 16;
    const int plain = static_cast<int>(descriptor & 0x3FFF) * 16 + row / 8 * stride + row % 8 * 128 + column * 2;
    const int offset = plain ^ (plain >> 7 & 7) << 4;
    product.offsets.push_back(offset);
    return number<Format>(memory_.begin_product(offset), 0);
  }
  template <typename Format>
  void read_rows(SliceProduct& product, std::uint64_t descriptor, float (&to)[64][16]) {
    for (int at = 0; at < 64 * 16; ++at) {
      to[at / 16][at % 16] = read_number<Format>(product, descriptor, at / 16, at % 16);
    }
  }
  template <typename Format>
  void read_columns(SliceProduct& product, std::uint64_t descriptor, float (&to)[16][64]) {
    for (int at = 0; at < 16 * 64; ++at) {
      to[at / 64][at % 64] = read_number<Format>(product, descriptor, at / 64, at % 64);
    }
  }
  template <typename Right>
  static void add_products(SliceProduct& product, bool adds, const float (&left)[64][16], const Right& right) {
    for (int row = 0; row < 64; ++row) {
      for (int column = 0; column < 64; ++column) {
        float sum = 0;
        for (int at = 0; at < 16; ++at) {
          sum += left[row][at] * right(at, column);
        }
        float& result = product.result[result_place_of(row, column)];
        result = adds ? result + sum : sum;
      }
    }
  }

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
  std::vector<const void*> fenced_;
  std::vector<SliceProduct> open_products_;
  std::deque<std::vector<SliceProduct>> product_groups_;
};

}  // namespace weft::test
