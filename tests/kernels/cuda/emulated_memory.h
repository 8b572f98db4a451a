// SPDX-License-Identifier: Apache-2.0
// Shared memory of a block on emulated lanes, which refuses what a GPU would do as it happens.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft::test {

[[noreturn]] inline void refuse_access(const std::string& what) { throw std::logic_error("emulated lanes: " + what); }

/// Shared memory of a block, with who touched each word since the last barrier.
class SharedMemory {
 public:
  /// Without `is_checked` it is only memory, which takes a third of the time.
  SharedMemory(int bytes, bool is_checked)
      : bytes_(static_cast<std::size_t>(bytes), 0xFF), words_(is_checked ? static_cast<std::size_t>(bytes / 4) : 0) {}

  void barrier() {
    ++epoch_;
    seen_fences_ = fences_;
  }
  /// What was written until now is for products after the next barrier.
  void publish() { ++fences_; }

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
      word.fence = fences_;
    });
    std::memcpy(bytes_.data() + offset, from, 16);
  }
  /// The two bytes at an offset, for a product; and who writes them is refused until it ended.
  std::uint16_t begin_product(int offset) {
    each_word(offset / 4 * 4, 4, [&](Word& word) {
      if (word.in_flight || word.write_epoch == epoch_) {
        refuse_access("a product reads what was written since the last barrier");
      }
      if (word.fence >= seen_fences_) {
        refuse_access("a product reads what was not published before the last barrier");
      }
      ++word.products;
    });
    std::uint16_t number;
    std::memcpy(&number, bytes_.data() + offset, sizeof number);
    return number;
  }
  void end_product(int offset) {
    each_word(offset / 4 * 4, 4, [&](Word& word) { --word.products; });
  }

 private:
  static constexpr int kMany = -1;
  struct Word {
    std::int64_t write_epoch = -1;
    std::int64_t read_epoch = -1;
    int writer = 0;
    int reader = 0;
    int products = 0;         ///< under way that read it
    std::int64_t fence = -1;  ///< how many there were when it was written
    bool in_flight = false;
  };

  void take(int thread, Word& word) {
    if (word.in_flight) {
      refuse_access("thread " + std::to_string(thread) + " writes where a copy arrives");
    }
    if (word.products > 0) {
      refuse_access("thread " + std::to_string(thread) + " writes what a product reads");
    }
    const bool is_read = word.read_epoch == epoch_ && word.reader != thread;
    const bool is_written = word.write_epoch == epoch_ && word.writer != thread;
    if (is_read || is_written) {
      refuse_access("thread " + std::to_string(thread) + " writes what another thread touched since the last barrier");
    }
    word.writer = thread;
    word.write_epoch = epoch_;
    word.fence = fences_;
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
  std::int64_t fences_ = 0;
  std::int64_t seen_fences_ = 0;
};

}  // namespace weft::test
