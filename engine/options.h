// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace loomix::engine {

// Called around every stretch in which a push or wait may block, so that a binding can let go of its global lock.
// `enter` returns a state for `leave`. Neither is called where nothing blocks. `interrupted` is asked every 50 ms in
// between; true makes the push or wait throw Interrupted. The work that was waited for goes on.
struct BlockHook {
  void* (*enter)() = nullptr;
  void (*leave)(void* state) = nullptr;
  bool (*interrupted)(void* state) = nullptr;
};

// What an engine is built with; the settings table of `base/` fills it at the top.
struct EngineOptions {
  int workers = 0;           // host compute threads; 0: one for each core that the process may use
  int io_workers = 2;        // threads of the io lane, and of the communicate lane
  int64_t max_tasks = 4096;  // tasks in flight before a user's push waits; 0: no bound
  // TaskInfo::bytes in flight per device before a user's push waits; 0: no bound; -1: a quarter of the memory that the
  // process may use, at most 4 GiB.
  int64_t max_bytes = -1;
  uint32_t inline_cost_ns = 5000;  // costlier tasks never run on the pushing thread; 0: none do
  bool help_while_waiting = true;  // a waiting thread runs ready host tasks
  bool deterministic = false;      // kernels that are not bit-reproducible must throw
  int fork_deadline_ms = 10000;    // how long fork() waits for host work
  int exit_deadline_ms = 10000;    // how long shutdown() waits for work in flight
  int64_t pool_bytes = 0;          // all that each device's memory pool may hold; 0: what the device has
  int64_t host_cache_bytes =
      -1;  // freed host memory kept for reuse; -1: a quarter of what the process may use
  std::string worker_places = {};  // CPUs where compute threads stay: see parse_places
  BlockHook block_hook = {};
  int side_threads = 16;  // jobs of SideThreads that may run at once, but for those that wait for the engine
};

}  // namespace loomix::engine
