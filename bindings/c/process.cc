// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/process.h"

#include <memory>

#include "base/settings.h"
#include "io/image_ops/image_ops.h"
#include "symbol/autograd/tape.h"
#include "symbol/control_flow/control_flow.h"

namespace loomix::c {
namespace {

// Neither the table nor the engine is ever deleted, and the engine's threads are not ended: a program may exit while other
// threads predict, and at exit what the engine keeps for the main thread is destroyed before any handler runs.
const ops::OpTable& make_table() {
  auto table = std::make_unique<ops::OpTable>();
  ops::register_all(*table);
  autograd::register_operators(*table);
  io::register_image_ops(*table);
  control_flow::register_operators(*table);
  table->validate();
  return *table.release();
}

Runtime& start() {
  const Settings& given = settings();
  engine::EngineOptions options;
  options.workers = given.cpu_worker_nthreads;
  options.worker_places = given.worker_places;
  options.max_tasks = given.max_tasks_in_flight;
  options.deterministic = given.enforce_determinism;
  options.max_bytes = given.max_bytes_in_flight;
  options.pool_bytes = given.max_memory_bytes;
  options.host_cache_bytes = given.host_pool_bytes;
  if (!given.inline_execution) options.inline_cost_ns = 0;
  const ops::OpTable& table = make_table();
  const bool naive = given.engine_type == "NaiveEngine";
  engine::Engine* const engine =
      (naive ? engine::make_naive_engine(options) : engine::make_threaded_engine(options)).release();
  Runtime& runtime = *std::make_unique<Runtime>(*engine, table).release();
  runtime.check_values = given.nan_check;
  return runtime;
}

}  // namespace

Runtime& runtime() {
  static Runtime& started = start();
  return started;
}

}  // namespace loomix::c
