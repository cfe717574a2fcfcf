// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/settings.h"
#include "comm/process_group.h"
#include "kvstore/kvstore.h"
#include "kvstore/merger.h"

namespace loomix::kvstore {

// A store without servers: every process has all values, a push adds up what all processes pushed and updates the own copy. All
// call with the same keys in the same order; so all copies stay the same. Values are dense, on hosts.
class GroupStore final : public KVStore {
 public:
  GroupStore(Runtime& runtime, std::string type, std::unique_ptr<comm::ProcessGroup> group);

  std::string_view type() const override { return type_; }
  int rank() const override { return group_->rank(); }
  int num_workers() const override { return group_->size(); }
  // The first value of rank 0 counts.
  void init(const Key& key, const NDArray& value) override;
  void push(const Key& key, std::span<const NDArray> values, int priority) override;
  void pull(const Key& key, std::span<const NDArray> outs, int priority) override;
  void row_sparse_pull(const Key& key, std::span<const NDArray> outs, std::span<const NDArray> row_ids,
                       int priority) override;
  StorageType stype(const Key& key) const override;
  void set_updater(Updater updater) override;
  void set_compression(const CompressionParams& params) override;
  void barrier() override;
  void leave(const std::string& why) override {
    if (!why.empty()) group_->give_up(why);
  }

 private:
  struct Entry {
    NDArray stored;
    NDArray sum;  // of all processes, for the updater; none without one
  };
  Entry entry(const Key& key) const;
  void all_reduce(const NDArray& from, const NDArray& to, int priority);

  Runtime& runtime_;
  const std::string type_;
  const std::shared_ptr<comm::ProcessGroup> group_;
  const engine::VarRef channel_;  // one call at a time, in the order of pushes
  Merger merger_;
  mutable std::mutex mutex_;  // guards what follows
  std::unordered_map<Key, Entry> entries_;
  std::shared_ptr<const Updater> updater_;
};

comm::GroupOptions group_options(const Settings& settings, engine::Trace* trace = nullptr);

// `dist_network`: the processes of a job by the settings group_*. `dist_mpi` and `dist_nccl`: the processes that mpirun started; `nccl`: the GPUs of this one. Throws NetworkError where MPI is
// missing, NotImplementedError without NCCL, DeviceError without a GPU, and ValueError for other types. `communicator`: an MPI_Comm, whose processes these are.
std::unique_ptr<KVStore> make_group_store(Runtime& runtime, const std::string& type, const Settings& settings,
                                          uintptr_t communicator = 0);

}  // namespace loomix::kvstore
