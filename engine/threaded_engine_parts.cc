// SPDX-License-Identifier: Apache-2.0
//
// Tasks in parts: what a task's run does about errors and the trace, done for each part.
#include <algorithm>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "engine/device/device_runtime.h"
#include "engine/threaded_engine.h"

namespace loomix::engine {

class ThreadedEngine::Parts final : public TaskParts {
 public:
  Parts(ThreadedEngine& engine, Task& task, const ThreadState& state, DeviceQueue* queue)
      : engine_(engine), task_(task), state_(state), queue_(queue), traced_(engine.trace_.enabled()) {}

  bool begin(std::span<const Tag> tags) override {
    if (traced_) begin_ = Trace::now();
    if (traced_ && queue_) queue_->begin_timing();
    return !engine_.looks_for_errors() || !skip(tags);
  }

  bool may_run_together() const override {
    if (engine_.poisoned_->vars.load(std::memory_order_relaxed) > 0 ||
        engine_.dropping_.load(std::memory_order_relaxed))
      return false;
    return std::ranges::none_of(task_.accesses(), [&](const AccessNode& node) {
      return node.reads_data() && engine_.data_poison(node.var());
    });
  }

  void end(std::span<const Tag> tags, const Describe& describe) noexcept override {
    if (engine_.looks_for_errors()) heal(tags);
    if (traced_) add_to_trace(describe);
  }

  void fail(std::span<const Tag> tags, const Describe& describe, std::exception_ptr error) noexcept override {
    std::string text;
    try {
      if (describe.text) text = describe.text(describe.context.get());
    } catch (...) {
      text = "(the task's description failed, too)";
    }
    const Ref<Poison> poison = make_ref<Poison>(std::move(error), std::move(text), engine_.poisoned_);
    poison_written(tags, poison);
    if (!(task_.flags & kUnlogged)) engine_.errors_.add(poison);
    if (traced_) add_to_trace(describe);
  }

 private:
  static bool reads(std::span<const Tag> tags, const Var* var) {
    for (const Tag& tag : tags) {
      if (tag.var == var && tag.access == Access::read) return true;
    }
    return false;
  }

  static void poison_written(std::span<const Tag> tags, const Ref<Poison>& poison) {
    for (const Tag& tag : tags) {
      if (tag.access == Access::write) tag.var->set_poison(poison);
    }
  }

  bool skip(std::span<const Tag> tags) {
    Ref<Poison> poison;
    for (const Tag& tag : tags) {
      if (tag.access != Access::read) continue;
      poison = engine_.data_poison(*tag.var);
      if (poison) break;
    }
    if (!poison) return false;
    for (const Tag& tag : tags) {
      if (tag.access == Access::write && !(tag.var->poison_ && reads(tags, tag.var)))
        tag.var->set_poison(poison);
    }
    return true;
  }

  void heal(std::span<const Tag> tags) {
    const bool clears_tokens = engine_.devices_used() && task_.device.is_host();
    for (const Tag& tag : tags) {
      if (tag.access == Access::write && tag.var->poison_) tag.var->set_poison({});
      if (clears_tokens && tag.access != Access::read) {
        const std::lock_guard lock(tag.var->lock_);
        if (tag.var->tokens_) tag.var->tokens_->clear();
      }
    }
  }

  void add_to_trace(const Describe& describe) noexcept {
    try {
      const char* const name = describe.name ? describe.name(describe.context.get()) : "task";
      engine_.trace_.add(track_of(task_, state_), name, queue_ ? "issue" : "task", begin_, Trace::now());
      if (queue_) queue_->end_timing(engine_.trace_, stream_of(task_), name);
    } catch (const std::bad_alloc&) {}  // the trace has one event less
  }

  ThreadedEngine& engine_;
  Task& task_;
  const ThreadState& state_;
  DeviceQueue* const queue_;  // null: the host
  const bool traced_;
  int64_t begin_ = traced_ ? Trace::now() : 0;  // of a part that fails before it begins
};

void ThreadedEngine::push_parts(TaskInfo info, std::span<const Tag> tags, PartsWork work) {
  ThreadState& state = admission_.this_thread();
  Task* const task = prepare(state, info, tags);
  ::new (&task->parts) PartsWork(std::move(work));
  task->flags |= kInParts;
  launch(task, state, may_inline(info));
}

void ThreadedEngine::run_parts(Task& task, const ThreadState& state, RunContext& context) {
  Parts parts(*this, task, state, context.queue);
  task.parts(context, parts);
}

}  // namespace loomix::engine
