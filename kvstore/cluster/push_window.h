// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace loomix::kvstore {

inline constexpr size_t kPushWindow = size_t{8} << 20;
// Many workers share what a server has to keep for them.
inline constexpr size_t kLeastWindow = size_t{2} << 20;  // a slice of a large value
inline constexpr size_t kWindowOfAll = size_t{16} << 20;
inline size_t push_window(size_t workers) {
  return std::clamp(kWindowOfAll / std::max<size_t>(workers, 1), kLeastWindow, kPushWindow);
}

// A worker's pushes to one group that are on their way: together no more than a window, or one. The others are held here, and the
// most urgent goes next. So workers send no faster than the chain takes it, and what is urgent waits for a window at most. Why
// it does not lock up: a server takes a shard's pushes by their numbers, so one that waits there waits for a smaller number;
// and none is held here while a larger number of its shard is on its way. No threads.
template <class Item>
class PushWindow {
 public:
  using Shard = std::pair<std::string, int64_t>;  // key, part

  explicit PushWindow(size_t window = kPushWindow) : window_(window) {}

  // Whether the item, the shard's push of this number, may go now; else it is held until leave() gives it.
  bool enter(const Item& item, const Shard& shard, int64_t number, int priority, size_t bytes) {
    const auto others = numbers_.find(shard);
    const bool awaited = others != numbers_.end() && *others->second.rbegin() > number;
    const Push push{item, shard, number, bytes};
    if (awaited || (held_.empty() && fits(bytes))) {
      start(push);
      return true;
    }
    held_.emplace(std::pair(-priority, ++order_), push);
    return false;
  }

  // The item has arrived, or was given up; those that may go instead.
  std::vector<Item> leave(const Item& item) {
    const auto found = under_way_.find(item);
    if (found != under_way_.end()) {
      const Push& push = found->second;
      bytes_ -= push.bytes;
      const auto numbers = numbers_.find(push.shard);
      numbers->second.erase(push.number);
      if (numbers->second.empty()) numbers_.erase(numbers);
      under_way_.erase(found);
    } else {
      std::erase_if(held_, [&](const auto& entry) { return entry.second.item == item; });
    }
    std::vector<Item> next;
    while (!held_.empty()) {
      auto first = held_.begin();  // or one of its shard that has to be there before
      for (auto other = held_.begin(); other != held_.end(); ++other) {
        if (other->second.shard == first->second.shard && other->second.number < first->second.number)
          first = other;
      }
      if (!fits(first->second.bytes)) break;
      next.push_back(first->second.item);
      start(first->second);
      held_.erase(first);
    }
    return next;
  }

 private:
  struct Push {
    Item item;
    Shard shard;
    int64_t number;
    size_t bytes;
  };
  bool fits(size_t bytes) const { return under_way_.empty() || bytes_ + bytes <= window_; }
  void start(const Push& push) {
    under_way_.emplace(push.item, push);
    numbers_[push.shard].insert(push.number);
    bytes_ += push.bytes;
  }

  size_t window_;
  size_t bytes_ = 0;
  uint64_t order_ = 0;
  std::map<Item, Push> under_way_;
  std::map<Shard, std::set<int64_t>> numbers_;     // under way
  std::map<std::pair<int, uint64_t>, Push> held_;  // by -priority, order
};

}  // namespace loomix::kvstore
