// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

#include "engine/team.h"

// One engine for all predictors: the threads that loops are shared among. A network's operators run one after the other on the thread
// that predicts.
namespace loomix::engine {

// What a kernel knows of where it runs.
struct RunContext {
  int cores = 1;  // how many threads parallel_for may use
  int threads = 1;
  Team* team = nullptr;  // null: only the caller
};

class Engine {
 public:
  RunContext context() { return {Team::machine_cores(), 1, &team_}; }

 private:
  Team team_;
};

// Kernels that may complete later complete before they return.
class Completion {
 public:
  void done() {}
};

}  // namespace loomix::engine
