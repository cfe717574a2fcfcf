// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "kvstore/compression.h"
#include "kvstore/key.h"
#include "kvstore/store_task.h"
#include "ndarray/ndarray.h"

namespace loomix::kvstore {

// Adds up the values that the devices of one machine have for a key, in the order given. Calls of one key must not
// overlap; those of several may.
class Merger {
 public:
  explicit Merger(Runtime& runtime) : runtime_(runtime) {}

  void set_compression(const CompressionParams& params);

  // Pushes `each destination = the sum of the values`. All have the shape and type of destinations[0].
  void merge(const Request& request, const Key& key, std::span<const NDArray> values,
             std::span<const NDArray> destinations);
  // The sum: in memory that the next merge of the key writes again, or where the only value has it.
  NDArray merge(const Request& request, const Key& key, std::span<const NDArray> values, const NDArray& like);
  // The same for dense values on GPUs, in memory of `device` or where the only value has it: the others' are copied there.
  NDArray merge_on(const Request& request, const Key& key, std::span<const NDArray> values, Device device);
  bool compresses(const NDArray& like) const;

 private:
  struct Memory {
    NDArray sum;
    std::vector<NDArray> residuals;  // of the devices, in their order
  };
  Memory& memory_of(const Key& key);
  void note_travel(std::span<const NDArray> values, Device to);

  Runtime& runtime_;
  CompressionParams compression_;
  std::mutex mutex_;  // guards the map; entries stay where they are
  std::unordered_map<Key, Memory> memory_;
};

// The host, for what comes from or goes to this device: page-locked memory for a GPU.
Device host_near(Device device);

// Pushes `each destination = value`, whatever devices, types and storage they have.
void spread(const Request& request, const NDArray& value, std::span<const NDArray> destinations);

}  // namespace loomix::kvstore
