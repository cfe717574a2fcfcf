// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/state_pieces.h"

#include <algorithm>
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

std::vector<comm::Buffer> StateBuilder::take() {
  LOOMIX_CHECK(!items_.empty() && cut_.empty(), NetworkError,
               "[KVStore] a copy of a group has {} whole items; expected at least 1, and nothing else.",
               items_.size());
  return std::exchange(items_, {});
}

}  // namespace loomix::kvstore
