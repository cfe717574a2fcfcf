// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "kvstore/buckets.h"
#include "kvstore/kvstore.h"
#include "kvstore/merger.h"

namespace loomix::kvstore {

// The store of one machine: `local` or `device`, or one of their older names. On CPUs they do the same, but that only
// `device` compresses, as its values travel between devices. Dense values on GPUs are added up there by `device`, each key on one of
// the GPUs in turn, where its stored value is from then on; else on the host.
class LocalStore final : public KVStore {
 public:
  LocalStore(Runtime& runtime, std::string type)
      : runtime_(runtime), type_(std::move(type)), merger_(runtime), order_(runtime.engine()) {}

  std::string_view type() const override { return type_; }
  void init(const Key& key, const NDArray& value) override;
  void push(const Key& key, std::span<const NDArray> values, int priority) override;
  void pull(const Key& key, std::span<const NDArray> outs, int priority) override;
  void pushpull(const Key& key, std::span<const NDArray> values, std::span<const NDArray> outs,
                int priority) override;
  void pushpull_all(std::span<const KeyValues> entries) override;
  void row_sparse_pull(const Key& key, std::span<const NDArray> outs, std::span<const NDArray> row_ids,
                       int priority) override;
  StorageType stype(const Key& key) const override { return stored(key).stype(); }
  void set_updater(Updater updater) override;
  void set_compression(const CompressionParams& params) override;

 private:
  NDArray stored(const Key& key) const;
  bool is_on_gpus(const NDArray& stored, std::span<const NDArray> values) const;
  // The stored value where the sum of the values will be: on one of their GPUs, or on a host.
  NDArray stored_near(const Key& key, std::span<const NDArray> values);
  void pushpull_bucket(Bucket bucket);
  // What is stored for the bucket's keys becomes parts of `joined`.
  void store_in(const NDArray& joined, Bucket bucket);
  NDArray moved(const Key& key, const NDArray& from, Device device);
  std::shared_ptr<const Updater> updater() const;
  Request request(const char* call, const Key& key, int priority) const {
    Request made(runtime_, call, key, priority);
    made.order = &order_;
    return made;
  }

  Runtime& runtime_;
  const std::string type_;
  Merger merger_;
  BucketMemory buckets_;
  mutable StreamOrder order_;
  std::atomic<size_t> placed_ = 0;  // keys whose value went to a GPU
  mutable std::mutex mutex_;        // guards what follows
  std::unordered_map<Key, NDArray> values_;
  std::shared_ptr<const Updater> updater_;
};

// A store by the name of its type; throws ValueError for others.
std::unique_ptr<KVStore> make_local_store(Runtime& runtime, const std::string& type);

// Checks of what a call brings for a key; they throw, naming it.
void check_values(const Key& key, const NDArray& stored, std::span<const NDArray> values);
void check_outs(const Key& key, const NDArray& stored, std::span<const NDArray> outs);

}  // namespace loomix::kvstore
