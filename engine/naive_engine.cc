// SPDX-License-Identifier: Apache-2.0
#include "engine/naive_engine.h"

#include <algorithm>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "engine/blocked.h"
#include "engine/device/device_runtime.h"
#include "engine/var_queue.h"

namespace loomix::engine {

struct NaiveEngine::Entry {
  TaskInfo info;
  DeviceQueue* queue = nullptr;  // null on hosts
  std::vector<std::pair<VarRef, uintptr_t>> accesses;
  Work work;
  AsyncWork async;
  PartsWork parts;
  bool completed = false;  // guarded by completion_mutex_
  std::exception_ptr error;

  std::string text() const {
    return info.describe.text ? info.describe.text(info.describe.context.get()) : "";
  }
  std::string name() const {
    return info.describe.name ? info.describe.name(info.describe.context.get()) : "task";
  }
};

// A thread's turn to run tasks: the one that it runs, and what that one has pushed.
struct NaiveEngine::Turn {
  NaiveEngine* engine;
  std::unique_lock<std::mutex>& lock;
  Turn* outer = std::exchange(t_turn, this);
  Entry* current = nullptr;
  std::deque<std::unique_ptr<Entry>> later = {};
  ~Turn() { t_turn = outer; }
  static thread_local constinit Turn* t_turn;
  static Turn* of(const NaiveEngine* engine) {
    return t_turn != nullptr && t_turn->engine == engine ? t_turn : nullptr;
  }
};
thread_local constinit NaiveEngine::Turn* NaiveEngine::Turn::t_turn = nullptr;

namespace {

thread_local constinit bool t_for_task = false;  // of whichever naive engine the thread works for

}  // namespace

NaiveEngine::NaiveEngine(EngineOptions options)
    : options_(options), devices_(options_, nullptr), side_threads_(options_.side_threads) {}
NaiveEngine::~NaiveEngine() = default;

void NaiveEngine::push(TaskInfo info, std::span<const Tag> tags, Work work) {
  auto entry = make_entry(std::move(info), tags);
  entry->work = std::move(work);
  enqueue(std::move(entry));
}

void NaiveEngine::push_async(TaskInfo info, std::span<const Tag> tags, AsyncWork work) {
  auto entry = make_entry(std::move(info), tags);
  entry->async = std::move(work);
  enqueue(std::move(entry));
}

void NaiveEngine::push_parts(TaskInfo info, std::span<const Tag> tags, PartsWork work) {
  auto entry = make_entry(std::move(info), tags);
  entry->parts = std::move(work);
  enqueue(std::move(entry));
}

std::unique_ptr<NaiveEngine::Entry> NaiveEngine::make_entry(TaskInfo info, std::span<const Tag> tags) {
  LOOMIX_CHECK(!closed_, StateError, "[engine] work was pushed after shutdown().");
  auto entry = std::make_unique<Entry>();
  entry->queue = devices_.get(info.device).queue(info.lane);
  entry->info = std::move(info);
  for (const Tag& tag : tags) {
    LOOMIX_CHECK(tag.var != nullptr, ValueError, "[engine] a tag of a pushed task names no Var.");
    const uintptr_t bits = bits_of(tag.access);
    const auto same = std::find_if(entry->accesses.begin(), entry->accesses.end(),
                                   [&](const auto& access) { return access.first.get() == tag.var; });
    if (same != entry->accesses.end()) {
      same->second |= bits;
    } else {
      entry->accesses.emplace_back(VarRef(tag.var), bits);
    }
  }
  return entry;
}

bool NaiveEngine::exchange_for_task(bool for_task) { return std::exchange(t_for_task, for_task); }

// What is pushed for an asynchronous task runs at once, as its Completion may wait for that.
void NaiveEngine::enqueue(std::unique_ptr<Entry> entry) {
  if (Turn* const turn = Turn::of(this)) {
    turn->later.push_back(std::move(entry));
    return;
  }
  std::unique_lock lock = take(t_for_task ? for_task_turn_ : turn_);
  Turn turn{this, lock};
  turn.current = entry.get();
  run(*entry);
  while (!turn.later.empty()) {
    const auto next = std::move(turn.later.front());
    turn.later.pop_front();
    turn.current = next.get();
    run(*next);
  }
}

void NaiveEngine::run(Entry& entry) {
  ++stats_.pushed;
  ++stats_.ran_inline;
  Ref<Poison> poison;
  for (auto& [var, bits] : entry.accesses) {
    if (bits & kWritesData) var->version_.fetch_add(1, std::memory_order_relaxed);
  }
  if (entry.parts) return run_parts(entry);
  for (auto& [var, bits] : entry.accesses) {
    if ((bits & kReadsData) && var->poison_ && !poison) poison = var->poison_;
  }
  if (!poison) {
    const int64_t begin = Trace::now();
    std::exception_ptr error = invoke(entry);
    if (trace_.enabled())
      trace_.add(entry.info.device.to_string(), entry.name(), "task", begin, Trace::now());
    if (error) {
      poison = make_ref<Poison>(std::move(error), entry.text());
      if (!entry.info.may_be_unused) errors_.add(poison);
    }
  }
  for (auto& [var, bits] : entry.accesses) {
    if (bits & kWritesData) var->set_poison(poison);
  }
}

// Each part as if it were a task.
class NaiveEngine::Parts final : public TaskParts {
 public:
  Parts(NaiveEngine& engine, const Entry& entry) : engine_(engine), entry_(entry) {}

  bool may_run_together() const override { return false; }  // it is the oracle
  bool begin(std::span<const Tag> tags) override {
    begin_ = Trace::now();
    for (const Tag& tag : tags) {
      if (tag.access != Access::read || !tag.var->poison_) continue;
      poison_written(tags, tag.var->poison_);
      return false;
    }
    return true;
  }

  void end(std::span<const Tag> tags, const Describe& describe) noexcept override {
    poison_written(tags, {});
    add_to_trace(describe);
  }

  void fail(std::span<const Tag> tags, const Describe& describe, std::exception_ptr error) noexcept override {
    const std::string text = describe.text ? describe.text(describe.context.get()) : "";
    const Ref<Poison> poison = make_ref<Poison>(std::move(error), text);
    if (!entry_.info.may_be_unused) engine_.errors_.add(poison);
    poison_written(tags, poison);
    add_to_trace(describe);
  }

 private:
  static void poison_written(std::span<const Tag> tags, const Ref<Poison>& poison) {
    for (const Tag& tag : tags) {
      if (tag.access == Access::write) tag.var->set_poison(poison);
    }
  }
  void add_to_trace(const Describe& describe) noexcept {
    if (!engine_.trace_.enabled()) return;
    engine_.trace_.add(entry_.info.device.to_string(),
                       describe.name ? describe.name(describe.context.get()) : "task", "task", begin_,
                       Trace::now());
  }

  NaiveEngine& engine_;
  const Entry& entry_;
  int64_t begin_ = 0;
};

namespace {

// Waits for what a task put on its queue; the device's error, or null.
std::exception_ptr finish(DeviceQueue* queue) {
  if (!queue) return nullptr;
  const TokenRef token = queue->record();
  token->wait();
  return token->error();
}

}  // namespace

void NaiveEngine::run_parts(Entry& entry) {
  RunContext context;
  context.device = entry.info.device;
  context.queue = entry.queue;
  context.stream = context.queue ? context.queue->native() : nullptr;
  Parts parts(*this, entry);
  entry.parts(context, parts);
  entry.parts.reset();
  std::exception_ptr error = finish(context.queue);
  if (!error) return;
  const Ref<Poison> poison = make_ref<Poison>(std::move(error), entry.text());
  if (!entry.info.may_be_unused) errors_.add(poison);
  for (auto& [var, bits] : entry.accesses) {
    if (bits & kWritesData) var->set_poison(poison);
  }
}

std::exception_ptr NaiveEngine::invoke(Entry& entry) {
  RunContext context;
  context.device = entry.info.device;
  context.queue = entry.queue;
  context.stream = context.queue ? context.queue->native() : nullptr;
  try {
    if (entry.work) {
      entry.work(context);
      const std::exception_ptr error = finish(context.queue);
      entry.work.reset();
      return error;
    }
    entry.async(context, Completion(*this, &entry));
  } catch (...) {
    return std::current_exception();
  }
  // Threads that work for this task have their turns meanwhile, also if this one works for another task itself.
  std::unique_lock<std::mutex>& turn = Turn::of(this)->lock;
  const bool for_task = turn.mutex() == &for_task_turn_;
  if (for_task) turn.unlock();
  {
    const Blocked blocked(options_.block_hook);
    std::unique_lock lock(completion_mutex_);
    completed_.wait(lock, [&] { return entry.completed; });
  }
  if (for_task) turn = take(for_task_turn_);
  const std::exception_ptr error = finish(context.queue);
  entry.async.reset();
  return entry.error ? entry.error : error;
}

void NaiveEngine::complete(void* task, std::exception_ptr error) noexcept {
  Entry& entry = *static_cast<Entry*>(task);
  const std::lock_guard lock(completion_mutex_);
  entry.error = std::move(error);
  entry.completed = true;
  completed_.notify_all();
}

// Whoever has the turn may need the binding's lock to go on.
std::unique_lock<std::mutex> NaiveEngine::take(std::mutex& turn) const {
  std::unique_lock lock(turn, std::try_to_lock);
  if (!lock) {
    const Blocked blocked(options_.block_hook);
    lock.lock();
  }
  return lock;
}

void NaiveEngine::check_may_wait(const char* what) const {
  const Turn* const turn = Turn::of(this);
  if (turn == nullptr) return;
  throw StateError(
      fmt::format("[engine] {} was called inside the running task '{}'; a task must not wait: name what it "
                  "needs in its tags.\n{}",
                  what, turn->current->name(), turn->current->text()));
}

void NaiveEngine::wait(Var& var) {
  check_may_wait("wait()");
  const std::unique_lock lock = take(t_for_task ? for_task_turn_ : turn_);
  if (var.poison_) var.poison_->rethrow();
}

void NaiveEngine::wait_all() {
  check_may_wait("wait_all()");
  check_no_task_waits_for_itself(t_for_task);
  const std::unique_lock lock = take(turn_);
  errors_.throw_first();
}

}  // namespace loomix::engine
