// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "comm/device_group.h"
#include "kvstore/buckets.h"
#include "kvstore/kvstore.h"
#include "kvstore/store_task.h"

namespace loomix::kvstore {

using DeviceGroups = std::vector<std::unique_ptr<comm::DeviceGroup>>;

// A store whose values are added up between devices, by the devices: those of this process and, with a group of hosts, those of all
// its processes. A push brings one value for each device, always the same devices in the same order; they connect at the first
// one. Without an updater each device keeps the sum; with one the first device of each process keeps the value. Dense values.
class DeviceGroupStore final : public KVStore {
 public:
  // Makes the groups of this process's devices, in their order. May block; runs as a task.
  using Connect = std::function<DeviceGroups(comm::ProcessGroup* hosts, std::span<const Device> devices)>;

  // `hosts` may be null: then this process is alone. All processes call with the same keys in the same order.
  DeviceGroupStore(Runtime& runtime, std::string type, std::unique_ptr<comm::ProcessGroup> hosts,
                   Connect connect);

  std::string_view type() const override { return type_; }
  int rank() const override { return hosts_ ? hosts_->rank() : 0; }
  int num_workers() const override { return hosts_ ? hosts_->size() : 1; }
  // The first value of rank 0 counts; it may be anywhere.
  void init(const Key& key, const NDArray& value) override;
  void push(const Key& key, std::span<const NDArray> values, int priority) override;
  void pull(const Key& key, std::span<const NDArray> outs, int priority) override;
  // Small values together: all processes have the same settings, so that their buckets are the same.
  void pushpull_all(std::span<const KeyValues> entries) override;
  void row_sparse_pull(const Key& key, std::span<const NDArray> outs, std::span<const NDArray> row_ids,
                       int priority) override;
  StorageType stype(const Key& key) const override;
  void set_updater(Updater updater) override;
  void set_compression(const CompressionParams& params) override;
  void barrier() override;
  void leave(const std::string& why) override {
    if (hosts_ && !why.empty()) hosts_->give_up(why);
  }

 private:
  struct Entry {
    NDArray first;                // on the host, until there are copies
    std::vector<NDArray> copies;  // on the devices, in their order; only the first one with an updater
    std::vector<NDArray> sums;    // for the updater
    const NDArray& value() const { return copies.empty() ? first : copies[0]; }
  };
  // The devices that add up.
  struct Ring {
    std::vector<Device> devices;
    DeviceGroups groups;  // once `ready` is written
    NDArray ready;        // holds the error if they do not connect
  };
  class AllReduce;
  class Verification;

  template <class Entries>
  auto& find(Entries& entries, const Key& key) const;
  std::shared_ptr<const Ring> ring(const Key& key, std::span<const NDArray> values);
  void all_reduce(const Request& request, const std::shared_ptr<const Ring>& ring,
                  std::span<const NDArray> values, std::span<const NDArray> sums);
  void pushpull_bucket(Bucket bucket);
  // What is stored for the bucket's keys becomes parts of `copies`, the first of which keeps its value.
  void store_in(std::span<const NDArray> copies, Bucket bucket);

  Runtime& runtime_;
  const std::string type_;
  const std::shared_ptr<comm::ProcessGroup> hosts_;
  const Connect connect_;
  const engine::VarRef hosts_channel_;
  BucketMemory buckets_;
  StreamOrder order_;         // of calls, too: one at a time for each device
  mutable std::mutex mutex_;  // guards what follows
  std::unordered_map<Key, Entry> entries_;
  std::shared_ptr<const Ring> ring_;
  std::shared_ptr<const Updater> updater_;
};

// The groups of NCCL for this process's GPUs and those of the other processes, which must all call it.
DeviceGroups connect_gpus(comm::ProcessGroup* hosts, std::span<const Device> devices,
                          comm::GroupDeadline deadline);

}  // namespace loomix::kvstore
