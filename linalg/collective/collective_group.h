// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/ref_counted.h"
#include "comm/process_group.h"
#include "engine/engine.h"

namespace loomix::linalg {

// A group whose ranks the collective operators work on. Its operators run one after the other, in the order of pushes: so their order
// is the program's, or a graph's, and with that the same on all ranks.
class CollectiveGroup final : public RefCounted {
 public:
  CollectiveGroup(std::string name, engine::Engine& engine, std::shared_ptr<comm::ProcessGroup> group);
  const std::string& name() const { return name_; }
  int rank() const { return group_->rank(); }
  int size() const { return group_->size(); }
  comm::ProcessGroup& group() const { return *group_; }
  engine::Engine& engine() const { return engine_; }
  engine::Var& channel() const { return *channel_; }

 private:
  const std::string name_;
  engine::Engine& engine_;
  const std::shared_ptr<comm::ProcessGroup> group_;
  const engine::VarRef channel_;
};
using CollectiveGroupRef = Ref<const CollectiveGroup>;

// The groups of this process, by name: attributes of operators are text, as they are written to files. A group outlives the
// operators that have found it.
void add_collective_group(const CollectiveGroupRef& group);  // ValueError for a name that is taken
void remove_collective_group(const std::string& name);
CollectiveGroupRef find_collective_group(const std::string& name);  // KeyError lists the names

}  // namespace loomix::linalg
