// SPDX-License-Identifier: Apache-2.0
// Storage with room behind the tokens that count.
#include "weft/attention/state/keys_and_values.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "weft/attention/backends/host_memory.h"
#include "weft/attention/state/state_checks.h"

namespace weft::attention {
namespace {

constexpr std::int64_t kSmallestCapacity = 64;

bool are_of_same_tokens(const at::Tensor& keys, const at::Tensor& values) {
  return keys.dim() == 4 && values.dim() == 4 && keys.sizes().slice(0, 3) == values.sizes().slice(0, 3);
}

void check_fits(const at::Tensor& held, const at::Tensor& added, std::int64_t layer) {
  const bool same_heads =
      held.size(0) == added.size(0) && held.size(1) == added.size(1) && held.size(3) == added.size(3);
  require(same_heads, "decoding state, layer ", layer, ": holds [batch, heads, tokens, head_dim] = ", held.sizes(),
          ", cannot append ", added.sizes());
  require(held.scalar_type() == added.scalar_type() && held.device() == added.device(), "decoding state, layer ", layer,
          ": holds ", held.scalar_type(), " on ", held.device(), ", cannot append ", added.scalar_type(), " on ",
          added.device());
}

/// `held` in new storage of `capacity` tokens that begins with its `kept` tokens from `first` on.
at::Tensor moved(const at::Tensor& held, const at::Tensor& added, std::int64_t first, std::int64_t kept,
                 std::int64_t capacity) {
  at::Tensor grown = at::empty({added.size(0), added.size(1), capacity, added.size(3)}, added.options());
  if (kept > 0) {
    grown.narrow(2, 0, kept).copy_(held.narrow(2, first, kept));
  }
  return grown;
}

/// Rows that are not what they were: row places[i] becomes what row sources[i] was. Nothing where the number of rows
/// changes.
struct Moves {
  at::Tensor places;   // int64 [n]
  at::Tensor sources;  // int64 [n]
};

Moves moves_of(const at::Tensor& rows, std::int64_t held) {
  if (rows.size(0) != held) {
    return {};
  }
  const at::Tensor places = rows.ne(at::arange(rows.size(0), rows.options())).nonzero().squeeze(1);
  return {places, rows.index_select(0, places)};
}

/// Which tokens of a storage are remembered.
struct Range {
  std::int64_t first;
  std::int64_t count;
};

/// A row that becomes another; -1 is a place aside.
struct Copy {
  std::int64_t to;
  std::int64_t from;
};

/// Copies one after the other that come to what `moves` say: a row is written when no other needs what it was. Rows
/// that change places in a circle need the place aside.
std::vector<Copy> copies_in_turn(const Moves& moves, std::int64_t rows) {
  std::vector<std::int64_t> source(static_cast<std::size_t>(rows), -1);
  std::vector<std::int64_t> readers(static_cast<std::size_t>(rows), 0);
  const auto* const places = moves.places.const_data_ptr<std::int64_t>();
  const auto* const sources = moves.sources.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < moves.places.size(0); ++i) {
    source[static_cast<std::size_t>(places[i])] = sources[i];
    ++readers[static_cast<std::size_t>(sources[i])];
  }
  std::vector<Copy> copies;
  const auto follow = [&](std::int64_t row) {  // writes what nobody needs any more
    while (source[static_cast<std::size_t>(row)] >= 0 && readers[static_cast<std::size_t>(row)] == 0) {
      const std::int64_t from = std::exchange(source[static_cast<std::size_t>(row)], -1);
      copies.push_back({row, from});
      --readers[static_cast<std::size_t>(from)];
      row = from;
    }
  };
  for (std::int64_t row = 0; row < rows; ++row) {
    follow(row);
  }
  for (std::int64_t row = 0; row < rows; ++row) {  // circles are left, in which each row has one reader
    if (source[static_cast<std::size_t>(row)] >= 0) {
      copies.push_back({-1, row});
      readers[static_cast<std::size_t>(row)] = 0;
      follow(row);
      copies.back().from = -1;  // the last one needs what this row was
    }
  }
  return copies;
}

/// Copies the tokens of `range`, head by head: a thread has the place aside of a head in its cache.
void move_rows_in_turn(const at::Tensor& held, const std::vector<Copy>& copies, const Range& range) {
  const std::int64_t bytes = range.count * held.size(3) * held.element_size();
  const std::int64_t of_head = held.stride(1) * held.element_size();
  const std::int64_t of_row = held.stride(0) * held.element_size();
  auto* const memory = static_cast<char*>(held.mutable_data_ptr()) + range.first * held.size(3) * held.element_size();
  constexpr std::int64_t kGrain = 1 << 16;  // bytes that are worth a thread
  const std::int64_t of_item = bytes * std::ssize(copies) + 1;
  at::parallel_for(0, held.size(1), kGrain / of_item + 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<char> aside(static_cast<std::size_t>(bytes));
    for (std::int64_t head = begin; head < end; ++head) {
      const auto place = [&](std::int64_t row) {
        return row < 0 ? aside.data() : memory + row * of_row + head * of_head;
      };
      for (const Copy& copy : copies) {
        std::memcpy(place(copy.to), place(copy.from), static_cast<std::size_t>(bytes));
      }
    }
  });
}

/// `held` with the tokens of `range` in the order of `rows`. Beams mostly keep their places and a cache has room to
/// spare: what stays is not touched, and what is no token is not copied.
at::Tensor reordered(const at::Tensor& held, const at::Tensor& rows, const Moves& moves, const Range& range) {
  const at::Tensor tokens = held.narrow(2, range.first, range.count);
  if (!moves.places.defined() || held.requires_grad()) {
    at::Tensor other = at::empty({rows.size(0), held.size(1), held.size(2), held.size(3)}, held.options());
    other.narrow(2, range.first, range.count).copy_(tokens.index_select(0, rows));
    return other;
  }
  if (moves.places.size(0) == 0 || range.count == 0) {
    return held;
  }
  if (is_in_host_memory(held) && held.is_contiguous()) {
    move_rows_in_turn(held, copies_in_turn(moves, held.size(0)), range);
  } else {
    tokens.index_copy_(0, moves.places, tokens.index_select(0, moves.sources));
  }
  return held;
}

}  // namespace

void KeysAndValues::append(const at::Tensor& keys, const at::Tensor& values) {
  require(are_of_same_tokens(keys, values), "decoding state, layer ", layer_,
          ": keys and values must be [batch, heads, tokens, columns] of the same tokens, found ", keys.sizes(), " and ",
          values.sizes());
  if (length_ == 0) {
    first_ = 0;
    keys_.reset();  // another batch may follow after truncate(0)
    values_.reset();
  } else {
    check_fits(keys_, keys, layer_);
    check_fits(values_, values, layer_);
  }
  make_room(keys, values);
  const std::int64_t end = first_ + kept_;
  keys_.narrow(2, end, keys.size(2)).copy_(keys);
  values_.narrow(2, end, values.size(2)).copy_(values);
  pending_ = keys.size(2);
}

void KeysAndValues::make_room(const at::Tensor& keys, const at::Tensor& values) {
  const std::int64_t needed = kept_ + keys.size(2);
  if (keys_.defined() && keys_.size(2) >= first_ + needed) {
    return;
  }
  // Twice of what is needed keeps the copies of n appended tokens at O(n) rows in total, with a limit, too.
  const std::int64_t capacity =
      std::max({needed, kSmallestCapacity, keys_.defined() ? 2 * (limit_ > 0 ? needed : keys_.size(2)) : 0});
  keys_ = moved(keys_, keys, first_, kept_, capacity);
  values_ = moved(values_, values, first_, kept_, capacity);
  first_ = 0;
}

void KeysAndValues::advance() {
  length_ += pending_;
  kept_ += pending_;
  pending_ = 0;
  if (limit_ > 0 && kept_ > limit_) {
    first_ += kept_ - limit_;
    kept_ = limit_;
  }
}

void KeysAndValues::limit(std::int64_t tokens) {
  require(tokens > 0, "decoding state, layer ", layer_, ": a limit must be at least 1 token, found ", tokens);
  limit_ = limit_ > 0 ? std::min(limit_, tokens) : tokens;
}

std::unique_ptr<AttentionState> KeysAndValues::fresh() const {
  auto state = std::make_unique<KeysAndValues>(layer_);
  state->limit_ = limit_;
  return state;
}

void KeysAndValues::reorder(const at::Tensor& rows) {
  if (length_ + pending_ > 0) {
    check_rows(rows, keys_, concat("decoding state, layer ", layer_));
    const Moves moves = moves_of(rows, keys_.size(0));
    const Range range{first_, kept_ + pending_};
    keys_ = reordered(keys_, rows, moves, range);
    values_ = reordered(values_, rows, moves, range);
  }
}

void KeysAndValues::truncate(std::int64_t length) {
  require(length >= 0 && length <= length_, "decoding state, layer ", layer_, ": cannot cut ", length_, " tokens to ",
          length);
  if (!keeps_tokens() && length > 0 && length < length_) {
    fail(ErrorKind::kUnsupported, "decoding state, layer ", layer_, ": cannot cut ", length_, " tokens to ", length,
         ", because it remembers the last ", kept_, " only; begin again with the first ", length);
  }
  kept_ = length == length_ ? kept_ : length;
  length_ = length;
  pending_ = 0;
}

void KeysAndValues::detach() {
  if (keys_.defined()) {
    keys_ = keys_.detach();
    values_ = values_.detach();
  }
}

std::size_t KeysAndValues::bytes() const { return keys_.defined() ? keys_.nbytes() + values_.nbytes() : 0; }

NamedTensors KeysAndValues::save() const {
  return length_ == 0 ? NamedTensors()
                      : NamedTensors{{"keys", keys(kept_).clone(at::MemoryFormat::Contiguous)},
                                     {"values", values(kept_).clone(at::MemoryFormat::Contiguous)}};
}

void KeysAndValues::load(const NamedTensors& tensors, std::int64_t length) {
  if (length == 0 && tensors.empty()) {
    truncate(0);
    keys_.reset();
    values_.reset();
    return;
  }
  const std::int64_t kept = limit_ > 0 ? std::min(length, limit_) : length;
  const at::Tensor keys = named(tensors, "keys");
  const at::Tensor values = named(tensors, "values");
  const bool complete = tensors.size() == 2 && keys.defined() && values.defined();
  if (!complete || length <= 0 || !are_of_same_tokens(keys, values) || keys.size(2) != kept) {
    fail(ErrorKind::kFormat, "decoding state, layer ", layer_, ": expected `keys` and `values` of ", kept, " tokens");
  }
  if (!at::isFloatingType(keys.scalar_type()) || keys.scalar_type() != values.scalar_type() ||
      keys.device() != values.device()) {
    fail(ErrorKind::kFormat, "decoding state, layer ", layer_,
         ": expected `keys` and `values` in one floating dtype on one device, found ", keys.scalar_type(), " on ",
         keys.device(), " and ", values.scalar_type(), " on ", values.device());
  }
  at::Tensor held = keys.clone(at::MemoryFormat::Contiguous);
  values_ = values.clone(at::MemoryFormat::Contiguous);
  keys_ = std::move(held);
  length_ = length;
  kept_ = kept;
  first_ = 0;
  pending_ = 0;
}

}  // namespace weft::attention
