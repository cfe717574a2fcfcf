// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kvstore/cluster/messages.h"
#include "ndarray/ndarray.h"

namespace loomix::kvstore {

// A group's part in clipping gradients by the norm of all keys: a round is complete here when all of the group's shards have all
// pushes, and its values change when the norm is known.
struct NormLimit {
  // What workers have said; the same in all groups but for `keys`.
  double most = 0;                      // 0: there is no limit
  std::vector<int64_t> shards;          // with a part in it, of each group
  std::map<std::string, int64_t> keys;  // with a part in it, and how many shards of each this group has

  int64_t round = 0;   // the last one whose norm is known; the version of all these shards
  double squares = 0;  // of this group in that round
  // Of those shards that have all pushes of the next round. Nothing is added to their sums any more.
  std::map<std::pair<std::string, int64_t>, NDArray> next;

  bool concerns(const std::string& key) const { return most > 0 && keys.contains(key); }
  // Whether these are all shards of the group.
  bool next_is_there(size_t group) const {
    return most > 0 && group < shards.size() && shards[group] > 0 &&
           static_cast<int64_t>(next.size()) == shards[group];
  }
  bool same(const NormLimit& other) const {
    return most == other.most && shards == other.shards && keys == other.keys;
  }

  void write(messages::NormLimit& message) const;             // what workers have said
  static NormLimit read(const messages::NormLimit& message);  // throws NetworkError
};

}  // namespace loomix::kvstore
