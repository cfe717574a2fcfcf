// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace loomix::kvstore {

inline constexpr size_t kPushWindow = size_t{8} << 20;

// A worker's pushes to one group that are on their way: together no more than a window, or one. The others are held here, and the
// most urgent goes next. So workers send no faster than the chain takes it, and what is urgent waits for a window at most.
// No threads.
template <class Item>
class PushWindow {
 public:
  using Shard = std::pair<std::string, int64_t>;  // key, part

  explicit PushWindow(size_t window = kPushWindow) : window_(window) {}

  // Whether the item may go now; else it is held until leave() gives it. Earlier pushes of the shard that are held become as
  // urgent, because a server takes a shard's pushes in order.
  bool enter(const Item& item, const Shard& shard, int priority, size_t bytes) {
    if (held_.empty() && fits(bytes)) {
      start(item, bytes);
      return true;
    }
    std::vector<Position> earlier;
    for (const auto& [position, held] : held_) {
      if (held.shard == shard && -position.first < priority) earlier.push_back(position);
    }
    for (const Position& position : earlier) {
      auto node = held_.extract(position);
      node.key().first = -priority;
      held_.insert(std::move(node));
    }
    held_.emplace(Position{-priority, ++order_}, Held{item, shard, bytes});
    return false;
  }

  // The item has arrived, or was given up; those that may go instead.
  std::vector<Item> leave(const Item& item) {
    const auto found = under_way_.find(item);
    if (found != under_way_.end()) {
      bytes_ -= found->second;
      under_way_.erase(found);
    } else {
      std::erase_if(held_, [&](const auto& entry) { return entry.second.item == item; });
    }
    std::vector<Item> next;
    while (!held_.empty() && fits(held_.begin()->second.bytes)) {
      const Held held = std::move(held_.begin()->second);
      held_.erase(held_.begin());
      start(held.item, held.bytes);
      next.push_back(held.item);
    }
    return next;
  }

 private:
  using Position = std::pair<int, uint64_t>;  // -priority, order
  struct Held {
    Item item;
    Shard shard;
    size_t bytes;
  };
  bool fits(size_t bytes) const { return under_way_.empty() || bytes_ + bytes <= window_; }
  void start(const Item& item, size_t bytes) {
    under_way_.emplace(item, bytes);
    bytes_ += bytes;
  }

  const size_t window_;
  size_t bytes_ = 0;
  uint64_t order_ = 0;
  std::map<Item, size_t> under_way_;
  std::map<Position, Held> held_;
};

}  // namespace loomix::kvstore
