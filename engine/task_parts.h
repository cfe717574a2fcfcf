// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <span>

#include "engine/engine.h"
#include "engine/inline_function.h"

// Tasks that do the work of several. Their tags are those of all parts together, and order the task as usual. For errors and the
// trace each part counts as a task of its own.
namespace loomix::engine {

// What the body says of each part: begin(), and then end() or fail() before the next part begins; fail() alone, if there was nothing to
// begin. A part's Vars must be among the task's, or be used by no other task.
class TaskParts {
 public:
  // False: the part reads poisoned data. It must not run; what it writes has been poisoned.
  virtual bool begin(std::span<const Tag> tags) = 0;
  virtual void end(std::span<const Tag> tags, const Describe& describe) noexcept = 0;
  virtual void fail(std::span<const Tag> tags, const Describe& describe,
                    std::exception_ptr error) noexcept = 0;
  // True: begin() would be for all parts, and no Var needs to be healed. So they may run together as one.
  virtual bool may_run_together() const = 0;

 protected:
  ~TaskParts() = default;
};

using PartsWork = InlineFunction<void(RunContext&, TaskParts&), 64>;

// What engines can do beside Engine.
class RunsParts {
 public:
  // Like Engine::push. On a device the parts go to its queue one after the other.
  virtual void push_parts(TaskInfo info, std::span<const Tag> tags, PartsWork work) = 0;

 protected:
  ~RunsParts() = default;
};

// Every engine that the functions of engine.h make.
RunsParts& parts_of(Engine& engine);

}  // namespace loomix::engine
