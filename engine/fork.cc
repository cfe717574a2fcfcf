// SPDX-License-Identifier: Apache-2.0
#include "engine/fork.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include "engine/omp_threads.h"
#include "engine/spin_lock.h"
#include "engine/threaded_engine.h"

namespace loomix::engine {
namespace {

// fork() is the process's, so the list of engines has to be, too.
struct Registry {
  std::mutex mutex;  // held from before the fork until after it
  std::vector<ThreadedEngine*> engines;
  std::vector<std::string> late;  // per engine
};

Registry& registry() {
  static Registry* const registry = new Registry;
  return *registry;
}

void before_fork() {
  Registry& all = registry();
  all.mutex.lock();
  all.late.clear();
  for (ThreadedEngine* const engine : all.engines) all.late.push_back(engine->prepare_fork());
  ForkLock::lock_all();
}

void after_fork_in_parent() {
  Registry& all = registry();
  ForkLock::unlock_all();
  for (size_t i = 0; i < all.engines.size(); ++i) {
    all.engines[i]->resume_in_parent();
    if (!all.late[i].empty()) {
      const std::string text = fmt::format(
          "[engine] fork() went on although task '{}' did not end in time; the child cannot use its "
          "arrays.\n",
          all.late[i]);
      [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
    }
  }
  all.mutex.unlock();
}

void after_fork_in_child() {
  Registry& all = registry();
  SpinLock::begin_child();
  ForkLock::unlock_all();
  set_omp_threads(1);  // libgomp hangs in a child whose parent had a team
  for (size_t i = 0; i < all.engines.size(); ++i) all.engines[i]->restart_in_child(all.late[i]);
  all.mutex.unlock();
}

std::atomic<ForkLock*> g_fork_locks{nullptr};
ForkLock* g_taken = nullptr;  // the first of those that lock_all() has locked; later ones stand before it

}  // namespace

void ForkLock::enlist() noexcept {
  listed_ = true;
  next_ = g_fork_locks.load(std::memory_order_relaxed);
  while (!g_fork_locks.compare_exchange_weak(next_, this, std::memory_order_acq_rel)) {}
}

void ForkLock::lock_all() {
  g_taken = g_fork_locks.load(std::memory_order_acquire);
  for (ForkLock* lock = g_taken; lock != nullptr; lock = lock->next_) lock->mutex_.lock();
}

void ForkLock::unlock_all() {
  for (ForkLock* lock = g_taken; lock != nullptr; lock = lock->next_) lock->mutex_.unlock();
}

void register_for_fork(ThreadedEngine& engine) {
  static std::once_flag installed;
  std::call_once(installed, [] { pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); });
  const std::lock_guard lock(registry().mutex);
  registry().engines.push_back(&engine);
}

void quiesce_for_fork(Engine& engine) {
  if (auto* const threaded = dynamic_cast<ThreadedEngine*>(&engine)) threaded->quiesce_for_fork();
}

void unregister_for_fork(ThreadedEngine& engine) {
  const std::lock_guard lock(registry().mutex);
  std::erase(registry().engines, &engine);
}

}  // namespace loomix::engine
