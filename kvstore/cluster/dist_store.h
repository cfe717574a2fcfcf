// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "kvstore/cluster/cluster_client.h"
#include "kvstore/cluster/shards.h"
#include "kvstore/cluster_store.h"
#include "kvstore/merger.h"
#include "kvstore/optimizer.h"

namespace loomix::kvstore {

// Counts what has begun and not ended.
class Underway : public std::enable_shared_from_this<Underway> {
 public:
  // Ends when the last share of what is returned is gone.
  std::shared_ptr<const void> begin();
  void wait_for_all();

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  int64_t count_ = 0;
};

class DistStore final : public ClusterStore {
 public:
  // `type`: dist_sync, dist_device_sync, dist_async or dist_ssp. Waits for the cluster to be complete.
  DistStore(Runtime& runtime, std::string type, int64_t staleness, std::unique_ptr<comm::Transport> transport,
            const NodeOptions& options);

  std::string_view type() const override { return type_; }
  int rank() const override { return client_->rank(); }
  int num_workers() const override { return client_->workers(); }
  // The first value is that of worker 0; the others' say shape and type. What worker 0 sets is there when it returns.
  void init(const Key& key, const NDArray& value) override;
  void push(const Key& key, std::span<const NDArray> values, int priority) override;
  void pull(const Key& key, std::span<const NDArray> outs, int priority) override;
  void row_sparse_pull(const Key& key, std::span<const NDArray> outs, std::span<const NDArray> row_ids,
                       int priority) override;
  StorageType stype(const Key& key) const override { return entry(key).like.stype(); }
  void set_updater(Updater updater) override;
  void set_compression(const CompressionParams& params) override;
  // What was pushed before it has arrived: whoever pulls after it finds all workers' pushes in the value.
  void barrier() override;
  void barrier(int64_t position) override;
  void set_optimizer(const OptimizerSpec& spec) override;
  void limit_norm(double most, std::span<const Key> keys) override;
  std::weak_ptr<const int> life() const noexcept override { return client_->life(); }
  void leave(const std::string& why) override { client_->leave(why); }
  int64_t pushes(const Key& key) override;
  // Bytes that this worker has sent to the cluster, and got from it.
  comm::EndpointStats traffic() const { return client_->traffic(); }

 private:
  struct Entry {
    NDArray like;  // a value of the key's shape and type: the last sum of this machine
    std::string wire;
    std::vector<Shard> shards;  // of rows, if the key is row_sparse
    int64_t pushes = 0;
    NDArray residual, packed;  // where gradients are compressed
    // Whether the cluster has the key as it is here, of which it is told until it answers.
    std::shared_ptr<std::atomic<bool>> agreed = std::make_shared<std::atomic<bool>>(false);
    int64_t unit() const;  // bytes of what shards count
  };
  const Entry& entry(const Key& key) const;
  static int64_t pushes_before(const Entry& entry, const ClusterClient::KnownShards& known);
  void catch_up();
  void pull_rows(const Entry& now, const NDArray& row_ids, const NDArray& target, int priority);
  Entry count_push(const Key& key, CompressionParams& compression);

  Runtime& runtime_;
  const std::string type_;
  const Mode mode_;
  const int64_t staleness_;
  const std::shared_ptr<ClusterClient> client_;  // shared with tasks that have not run
  const std::shared_ptr<Underway> pushing_ = std::make_shared<Underway>();
  Merger merger_;
  mutable std::mutex mutex_;  // guards what follows; entries stay where they are
  CompressionParams compression_;
  bool keeps_whole_ = false;  // new keys, for an optimizer that needs the norms of whole weights
  std::unordered_map<Key, Entry> entries_;
  std::shared_ptr<const ClusterClient::KnownShards> known_;  // as of the newest push
};

}  // namespace loomix::kvstore
