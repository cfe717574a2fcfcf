// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/process.h"

#include <malloc.h>

#include <memory>

#include "engine/device/device_runtime.h"
#include "ops/generated_code.h"
#include "symbol/executor/from_settings.h"

namespace loomix::c {
namespace {

// Neither the table nor the engine is ever deleted, and the engine's threads are not ended: a program may exit while other
// threads predict, and at exit what the engine keeps for the main thread is destroyed before any handler runs.
const ops::OpTable& make_table() {
  auto table = std::make_unique<ops::OpTable>();
  register_operators(*table);
  table->validate();
  return *table.release();
}

Runtime& start() {
  const ops::OpTable& table = make_table();
  Runtime& runtime = *std::make_unique<Runtime>(*engine_from_settings().release(), table).release();
  apply_settings(runtime);
  return runtime;
}

}  // namespace

Runtime& runtime() {
  static Runtime& started = start();
  return started;
}

void release_unused() {
  ops::release_generated_code();
  for (engine::MemoryPool* pool : runtime().engine().device(Device::cpu()).pools()) pool->release_cached();
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace loomix::c
