// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "comm/message.h"

namespace loomix::kvstore {

// Entries that the next place of a chain has not confirmed, without gaps, and how many bytes they hold. No threads.
class EntryLog {
 public:
  struct Entry {
    int64_t index;
    comm::Message message;
    size_t end;  // bytes of all that were ever added, this one included
  };

  // `index` is the next one.
  void add(int64_t index, comm::Message message) {
    constexpr size_t kOverhead = 128;  // of one without a payload
    total_ += kOverhead + static_cast<size_t>(message.payload_bytes());
    entries_.push_back({index, std::move(message), total_});
  }
  void drop_up_to(int64_t index) {
    for (; !entries_.empty() && entries_.front().index <= index; entries_.pop_front())
      begin_ = entries_.front().end;
  }
  void clear() {
    entries_.clear();
    begin_ = total_;
  }

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  size_t bytes() const { return total_ - begin_; }
  const Entry& front() const { return entries_.front(); }
  // Null: it is not here any more, or not yet.
  const Entry* find(int64_t index) const {
    if (empty() || index < front().index || index > entries_.back().index) return nullptr;
    return &entries_[static_cast<size_t>(index - front().index)];
  }
  // Of the entries up to this one.
  size_t bytes_up_to(int64_t index) const {
    if (empty() || index < front().index) return 0;
    return entries_[static_cast<size_t>(std::min(index, entries_.back().index) - front().index)].end - begin_;
  }

 private:
  std::deque<Entry> entries_;
  size_t total_ = 0;
  size_t begin_ = 0;  // of `total_`, what is gone
};

}  // namespace loomix::kvstore
