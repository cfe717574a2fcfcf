// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kvstore/cluster/shard_group.h"

// Snapshots on disk: a file for each group and round, in a folder that all servers see.
namespace loomix::kvstore {

struct SnapshotOptions {
  std::string folder;    // empty: none are written
  int64_t every = 0;     // rounds
  bool restore = false;  // a new cluster goes on from the newest round that all groups have
};

// What a file is of. Files of a cluster of another shape are refused.
struct SnapshotName {
  size_t groups = 0;
  size_t workers = 0;
  size_t group = 0;
  int64_t epoch = 0;  // of the scheduler: clusters that go on from earlier files have later ones
  int64_t round = 0;
};

std::string snapshot_path(const std::string& folder, const SnapshotName& name);
// Written whole or not at all. Who comes second with a name leaves the first's file as it
// is, and is told so by false.
bool write_snapshot(const std::string& folder, const SnapshotName& name, const ShardGroup::Picture& picture);
// Throws FileError, which names the file, for whatever is not exactly what was written.
GroupCopy read_snapshot(const std::string& folder, const SnapshotName& name);

// The files in a folder: groups by epoch and round.
using SnapshotList = std::map<std::pair<int64_t, int64_t>, std::set<size_t>>;
SnapshotList list_snapshots(const std::string& folder);
// 0 where there are none.
int64_t epoch_after_snapshots(const std::string& folder) noexcept;

// A server's part. All calls come from the endpoint's thread; files are written by tasks, which may outlive this.
class Snapshots {
 public:
  Snapshots(Runtime& runtime, SnapshotOptions options, size_t groups, size_t workers);

  int64_t every() const { return writing_->options.folder.empty() ? 0 : writing_->options.every; }
  // For a place of a cluster's first view: the group's state, or none where the cluster starts anew. Throws FileError.
  std::optional<GroupCopy> first_state(size_t group);
  // Pushes work that writes the file and deletes older ones, but keeps two rounds that all groups have. Where the file before is
  // still being written, this round is left out.
  void write(size_t group, int64_t epoch, int64_t round, ShardGroup::Picture picture);

 private:
  struct Writing {
    SnapshotOptions options;
    size_t groups;
    size_t workers;
    std::vector<std::atomic<bool>> busy;  // by group
  };
  std::optional<SnapshotList::key_type> round_to_restore() const;
  static void drop_older(const Writing& writing, size_t group);

  Runtime& runtime_;
  const std::shared_ptr<Writing> writing_;
};

}  // namespace loomix::kvstore
