// SPDX-License-Identifier: Apache-2.0
//
// What a Var carries beside its order: the device work that it waits for, and the error of its data.
#include <mutex>
#include <utility>
#include <vector>

#include "engine/device/device_runtime.h"
#include "engine/threaded_engine.h"
#include "engine/worker_pool.h"

namespace loomix::engine {

// ---- device work --------------------------------------------------------------------------------------------------

// Makes a granted host task wait for the device work that its Vars still wait for; false if there is none.
bool ThreadedEngine::hold_for_tokens(Task& task) {
  if (!task.device.is_host()) return false;
  std::vector<TokenRef> pending;
  for (AccessNode& node : task.accesses()) {
    const std::lock_guard lock(node.var().lock_);
    if (node.var().tokens_) node.var().tokens_->collect(node.exclusive(), pending);
  }
  if (pending.empty()) return false;
  const auto release = [this, &task] {
    if (task.blockers.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    ReadyList ready;
    ready.append(&task);
    dispatch(ready, admission_.this_thread());
  };
  task.blockers.store(static_cast<uint32_t>(pending.size()) + 1, std::memory_order_relaxed);
  uint32_t done = 1;
  for (const TokenRef& token : pending) {
    if (!token->subscribe(release)) ++done;
  }
  return task.blockers.fetch_sub(done, std::memory_order_acq_rel) != done;
}

// Device work of the task starts after that of its Vars' earlier accesses; no host thread waits. True if that work, which begins now, is for
// the trace; parts of a task see to themselves.
bool ThreadedEngine::begin_on_device(Task& task, DeviceQueue& queue) {
  std::vector<TokenRef> pending;
  for (AccessNode& node : task.accesses()) {
    const std::lock_guard lock(node.var().lock_);
    if (node.var().tokens_) node.var().tokens_->collect(node.exclusive(), pending);
  }
  for (const TokenRef& token : pending) queue.wait_for(*token);
  const bool traced = trace_.enabled() && !(task.flags & kInParts);
  if (traced) queue.begin_timing();
  return traced;
}

// Returns the device's error, if it takes no more work.
std::exception_ptr ThreadedEngine::end_on_device(Task& task, DeviceQueue& queue, bool traced) noexcept {
  try {
    if (traced) queue.end_timing(trace_, stream_of(task), (task.flags & kDescribed) ? task.name() : "task");
    if (task.accesses().empty()) return nullptr;
    const TokenRef token = queue.record();
    for (AccessNode& node : task.accesses()) {
      Var& var = node.var();
      const std::lock_guard lock(var.lock_);
      if (!var.tokens_) var.tokens_ = std::make_unique<TokenSet>();
      node.exclusive() ? var.tokens_->set_writer(token) : var.tokens_->add_reader(token);
    }
    issued_.add(token, (task.flags & kDescribed) ? task.name() : "task");
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

// ---- errors -------------------------------------------------------------------------------------------------------

// True if the task reads poisoned data: then what it writes is poisoned too, and its body is dropped.
bool ThreadedEngine::skip_poisoned(Task& task) {
  Ref<Poison> poison;
  for (AccessNode& node : task.accesses()) {
    if (!node.reads_data()) continue;
    poison = data_poison(node.var());
    if (poison) break;
  }
  if (!poison) return false;
  for (AccessNode& node : task.accesses()) {
    if (node.writes_data() && !(node.reads_data() && node.var().poison_)) node.var().set_poison(poison);
  }
  task.drop_body();
  return true;
}

// True if the program ends without waiting for what computes: then what the task writes has an error.
bool ThreadedEngine::skip_dropped(Task& task) {
  if (!dropping_.load(std::memory_order_acquire)) return false;
  const Lane lane = task.pool->lane();
  if (lane == Lane::io || lane == Lane::communicate) return false;
  for (AccessNode& node : task.accesses()) {
    if (node.writes_data()) node.var().set_poison(dropped_);
  }
  task.drop_body();
  return true;
}

// The error of the data, or of the device work that should have written it. Caller holds the Var's lock.
Ref<Poison> ThreadedEngine::poison_of(const Var& var) const {
  if (var.poison_ || !var.tokens_) return var.poison_;
  const CompletionToken* const token = var.tokens_->failed_writer();
  if (token == nullptr) return {};
  return make_ref<Poison>(token->error(), issued_.suspects(token->queue().device()), poisoned_);
}

// The same for the holder of an access.
Ref<Poison> ThreadedEngine::data_poison(Var& var) const {
  if (!devices_used()) return var.poison_;
  const std::lock_guard lock(var.lock_);
  return poison_of(var);
}

void ThreadedEngine::fail(Task& task, std::exception_ptr error) noexcept {
  std::string text;
  try {
    if (!task.device.is_host()) error = issued_.with_suspects(error, task.device);
    if (task.flags & kDescribed) text = task.text();
  } catch (...) {
    text = "(the task's description failed, too)";
  }
  const Ref<Poison> poison = make_ref<Poison>(std::move(error), std::move(text), poisoned_);
  for (AccessNode& node : task.accesses()) {
    if (node.writes_data()) node.var().set_poison(poison);
  }
  if (!(task.flags & kUnlogged)) errors_.add(poison);
}

// After success: what was overwritten is whole again, and host work has waited for the device work before it.
void ThreadedEngine::heal(Task& task) noexcept {
  const bool clears_tokens = devices_used() && task.device.is_host();
  for (AccessNode& node : task.accesses()) {
    if (node.writes_data() && node.var().poison_) node.var().set_poison({});
    if (clears_tokens && node.exclusive()) {
      const std::lock_guard lock(node.var().lock_);
      if (node.var().tokens_) node.var().tokens_->clear();
    }
  }
}

}  // namespace loomix::engine
