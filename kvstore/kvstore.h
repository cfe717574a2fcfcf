// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvstore/compression.h"
#include "kvstore/key.h"
#include "ndarray/ndarray.h"

// The store of parameters that devices and machines share. All of it is work for the engine: calls return at once, and
// a value travels as soon as it is computed.
namespace loomix::kvstore {

// Changes `stored` by the sum of what the devices pushed, by pushing work, which has the priority of the push if it
// names none. Runs on the thread that calls push.
using Updater =
    std::function<void(const Key& key, const NDArray& merged, const NDArray& stored, int priority)>;

// What a pushpull brings for a key.
struct KeyValues {
  Key key;
  std::vector<NDArray> values, outs;
  int priority = 0;
};

// Calls may come from several threads; those of one key take effect in the order of the calls. Larger priorities go
// first among work that is ready. Wrong keys, shapes and types throw at the call.
class KVStore {
 public:
  virtual ~KVStore() = default;
  virtual std::string_view type() const = 0;
  virtual int rank() const { return 0; }
  virtual int num_workers() const { return 1; }

  // Sets the first value, which is copied; once a key.
  virtual void init(const Key& key, const NDArray& value) = 0;
  // Adds up the devices' values in the order given; the sum goes to the updater or, without one, replaces the value.
  virtual void push(const Key& key, std::span<const NDArray> values, int priority) = 0;
  virtual void pull(const Key& key, std::span<const NDArray> outs, int priority) = 0;
  // push and then pull.
  virtual void pushpull(const Key& key, std::span<const NDArray> values, std::span<const NDArray> outs,
                        int priority) {
    push(key, values, priority);
    pull(key, outs, priority);
  }
  // pushpull for each, in any order: stores may bring several keys together. The keys differ.
  virtual void pushpull_all(std::span<const KeyValues> entries) {
    for (const KeyValues& entry : entries) pushpull(entry.key, entry.values, entry.outs, entry.priority);
  }
  // Copies the rows `row_ids[i]` (any order, repeats allowed) of a row_sparse value to `outs[i]`.
  virtual void row_sparse_pull(const Key& key, std::span<const NDArray> outs,
                               std::span<const NDArray> row_ids, int priority) = 0;
  virtual StorageType stype(const Key& key) const = 0;

  virtual void set_updater(Updater updater) = 0;  // null: none
  virtual void set_compression(const CompressionParams& params) = 0;
  virtual void barrier() {}  // waits for all workers
  // Tells the others that this worker ends. With a reason its work is not done: all fail, if there is no other policy, and name it.
  virtual void leave(const std::string& /*why*/) {}
};

// The engine has 256 priorities: those up to 64 from zero are kept, further ones share by eights.
int8_t engine_priority(int priority);

}  // namespace loomix::kvstore
