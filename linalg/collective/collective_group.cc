// SPDX-License-Identifier: Apache-2.0
#include "linalg/collective/collective_group.h"

#include <map>
#include <mutex>
#include <utility>

#include "base/error.h"

namespace loomix::linalg {
namespace {

struct Groups {
  std::mutex mutex;
  std::map<std::string, CollectiveGroupRef> by_name;
};

// Never deleted: operators that Python's teardown forgets may refer to them.
Groups& groups() {
  static Groups& made = *std::make_unique<Groups>().release();
  return made;
}

}  // namespace

CollectiveGroup::CollectiveGroup(std::string name, engine::Engine& engine,
                                 std::shared_ptr<comm::ProcessGroup> group)
    : name_(std::move(name)), engine_(engine), group_(std::move(group)), channel_(engine.new_var()) {}

void add_collective_group(const CollectiveGroupRef& group) {
  Groups& all = groups();
  const std::lock_guard lock(all.mutex);
  LOOMIX_CHECK(all.by_name.emplace(group->name(), group).second, ValueError,
               "[parallel] there is a group '{}' already; expected another name.", group->name());
}

void remove_collective_group(const std::string& name) {
  Groups& all = groups();
  const std::lock_guard lock(all.mutex);
  all.by_name.erase(name);
}

CollectiveGroupRef find_collective_group(const std::string& name) {
  Groups& all = groups();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_name.find(name);
  if (found != all.by_name.end()) return found->second;
  std::string names;
  for (const auto& [known, group] : all.by_name) names += (names.empty() ? "'" : ", '") + known + "'";
  detail::throw_error<KeyError>("[parallel] there is no group '{}' in this process; expected {}.", name,
                                names.empty() ? "one that mx.parallel.Mesh makes" : "one of " + names);
}

}  // namespace loomix::linalg
