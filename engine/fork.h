// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace loomix::engine {

class ThreadedEngine;

// fork() by any thread first drains the host work of every registered engine (up to its deadline); the child's engines
// start threads of their own on first use, and its OpenMP teams have one thread. Spawning by exec is not delayed.
void register_for_fork(ThreadedEngine& engine);
void unregister_for_fork(ThreadedEngine& engine);

}  // namespace loomix::engine
