// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

#include <utility>

#include "base/error.h"
#include "engine/naive_engine.h"
#include "engine/threaded_engine.h"

namespace loomix::engine {

void Completion::finish(std::exception_ptr error) {
  LOOMIX_CHECK(sink_ != nullptr, StateError,
               "[engine] a Completion was used twice; call done() or fail() once.");
  std::exchange(sink_, nullptr)->complete(task_, std::move(error));
}

void Completion::fail(std::exception_ptr error) {
  if (!error) error = std::make_exception_ptr(InternalError("[engine] a task failed without saying why."));
  finish(std::move(error));
}

void Completion::drop_unused() noexcept {
  std::exchange(sink_, nullptr)
      ->complete(task_,
                 std::make_exception_ptr(InternalError(
                     "[engine] an asynchronous task dropped its Completion without done() or fail().")));
}

void Engine::poison(Var& var, std::exception_ptr error) {
  const Tag tag{&var, Access::write};
  push({.cost_ns = 100}, {&tag, 1},
       [error = std::move(error)](RunContext&) { std::rethrow_exception(error); });
}

RunsParts& parts_of(Engine& engine) {
  auto* const runs = dynamic_cast<RunsParts*>(&engine);
  LOOMIX_INTERNAL_CHECK(runs != nullptr);
  return *runs;
}

VarRef Engine::new_var() { return make_ref<Var>(); }

std::unique_ptr<Engine> make_threaded_engine(EngineOptions options) {
  return std::make_unique<ThreadedEngine>(options);
}

std::unique_ptr<Engine> make_naive_engine(EngineOptions options) {
  return std::make_unique<NaiveEngine>(options);
}

}  // namespace loomix::engine
