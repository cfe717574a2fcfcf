// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "engine/engine.h"
#include "ops/table.h"
#include "symbol/executor/generator.h"

namespace loomix {

class Tuner;

// A place in the caller's source; text is made from it only when a task failed. Whoever captures keeps it valid.
struct Origin {
  const void* code = nullptr;
  int64_t offset = 0;
};

struct OriginHook {
  Origin (*capture)() = nullptr;          // of the calling thread; at most 50 ns
  std::string (*text)(Origin) = nullptr;  // "train.py:12, in main"; on any thread
};

// What running operators needs: an engine, the operators, the random generators. One a process, or one a test.
class Runtime {
 public:
  Runtime(engine::Engine& engine, const ops::OpTable& table) : engine_(&engine), table_(&table) {}
  engine::Engine& engine() const noexcept { return *engine_; }
  const ops::OpTable& table() const noexcept { return *table_; }
  Generators& generators() noexcept { return generators_; }

  OriginHook origin;
  const ops::DispatchListener* dispatch_listener = nullptr;  // gets the reasons of kernel choice
  const Tuner* tuner = nullptr;  // chooses kernels of bound graphs by measurements; none: rules do
  // Whether the first operator that makes NaN or infinity fails, and labels out of range do; any thread may change it.
  std::atomic<bool> check_values{false};
  Device default_device = Device::cpu();     // of operators without inputs
  bool device_fallback = true;               // whether operators without a kernel for a GPU run on the host
  std::atomic<bool> has_gpu_kernels{false};  // the table has those of the CUDA module
  // Stores bring gradients of GPUs to other places. Tasks of backward passes then end early, so that these leave meanwhile. Any thread
  // sets it.
  std::atomic<bool> gradients_travel{false};

 private:
  engine::Engine* engine_;
  const ops::OpTable* table_;
  Generators generators_;
};

}  // namespace loomix
