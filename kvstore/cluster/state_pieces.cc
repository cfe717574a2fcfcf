// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/state_pieces.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace loomix::kvstore {

PieceLimits PieceLimits::within(const comm::Limits& limits) {
  PieceLimits pieces;
  pieces.bytes = static_cast<size_t>(std::min<uint64_t>(pieces.bytes, limits.message_bytes));
  pieces.parts = std::min(pieces.parts, limits.frames);
  return pieces;
}

std::vector<PiecePlan> plan_pieces(std::span<const size_t> item_bytes, const PieceLimits& limits) {
  std::vector<PiecePlan> pieces(1);
  size_t bytes = 0;  // of the last piece
  const auto next_piece = [&] {
    pieces.emplace_back();
    bytes = 0;
  };
  for (size_t item = 0; item < item_bytes.size(); ++item) {
    const size_t all = item_bytes[item];
    if (!pieces.back().parts.empty() &&
        (pieces.back().parts.size() >= limits.parts || bytes + all > limits.bytes))
      next_piece();
    size_t begin = 0;
    for (; all - begin > limits.bytes; begin += limits.bytes) {
      pieces.back().parts.push_back({item, begin, begin + limits.bytes});
      pieces.back().goes_on = true;
      next_piece();
    }
    pieces.back().parts.push_back({item, begin, all});
    bytes += all - begin;
  }
  return pieces;
}

void StateBuilder::add(std::vector<comm::Buffer> parts, bool goes_on) {
  for (size_t i = 0; i < parts.size(); ++i) {
    if (goes_on && i + 1 == parts.size()) {
      cut_.push_back(std::move(parts[i]));
    } else if (i == 0 && !cut_.empty()) {
      cut_.push_back(std::move(parts[i]));
      size_t bytes = 0;
      for (const comm::Buffer& part : cut_) bytes += part.size();
      comm::Buffer whole = comm::Buffer::allocate(bytes);
      std::byte* to = whole.writable();
      for (const comm::Buffer& part : cut_) to = std::copy_n(part.data(), part.size(), to);
      cut_.clear();
      items_.push_back(std::move(whole));
    } else {
      items_.push_back(std::move(parts[i]));
    }
  }
}

comm::Message StateBuilder::take() {
  LOOMIX_CHECK(!items_.empty() && cut_.empty(), NetworkError,
               "[KVStore] a copy of a group has {} whole items; expected at least 1, and nothing else.",
               items_.size());
  comm::Message state = unpack_head(items_[0]);
  state.payload.assign(std::make_move_iterator(items_.begin() + 1), std::make_move_iterator(items_.end()));
  items_.clear();
  return state;
}

// Count, numbers; count, {bytes, text}.
comm::Buffer pack_head(const comm::Message& message) {
  constexpr size_t kNumber = sizeof(int64_t);
  size_t bytes = kNumber * (2 + message.fields.size() + message.texts.size());
  for (const std::string& text : message.texts) bytes += text.size();
  comm::Buffer packed = comm::Buffer::allocate(bytes);
  std::byte* to = packed.writable();
  const auto put = [&](const void* from, size_t size) {
    if (size > 0) std::memcpy(to, from, size);
    to += size;
  };
  const auto put_number = [&](size_t value) {
    const auto number = static_cast<int64_t>(value);
    put(&number, kNumber);
  };
  put_number(message.fields.size());
  put(message.fields.data(), kNumber * message.fields.size());
  put_number(message.texts.size());
  for (const std::string& text : message.texts) {
    put_number(text.size());
    put(text.data(), text.size());
  }
  return packed;
}

comm::Message unpack_head(const comm::Buffer& bytes) {
  constexpr size_t kNumber = sizeof(int64_t);
  const std::byte* from = bytes.data();
  size_t left = bytes.size();
  const auto get = [&](void* to, size_t size) {
    if (size > 0) std::memcpy(to, from, size);
    from += size;
    left -= size;
  };
  // As many items of at least so many bytes must follow.
  const auto count = [&](size_t item_bytes) {
    int64_t items = -1;
    if (left >= kNumber) get(&items, kNumber);
    LOOMIX_CHECK(items >= 0 && static_cast<uint64_t>(items) <= left / item_bytes, NetworkError,
                 "[KVStore] {} bytes of numbers and texts end early, or tell of more than they have.",
                 bytes.size());
    return static_cast<size_t>(items);
  };
  comm::Message message;
  message.fields.resize(count(kNumber));
  get(message.fields.data(), kNumber * message.fields.size());
  message.texts.resize(count(kNumber));
  for (std::string& text : message.texts) {
    text.resize(count(1));
    get(text.data(), text.size());
  }
  return message;
}

}  // namespace loomix::kvstore
