// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/from_settings.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

#include "base/cpu_level.h"
#include "base/log.h"
#include "base/settings.h"
#include "engine/omp_threads.h"
#include "ops/blocked/blocked.h"
#include "symbol/tuning/tuner.h"

namespace loomix {
namespace {

const ops::DispatchListener* dispatch_listener() {
  if (!explain("dispatch")) return nullptr;
  static const auto& listener = *new ops::DispatchListener(  // outlives all threads that push
      [](const std::string& line) { explain_once("dispatch", line); });
  return &listener;
}

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

TunedChoices& choices_of_host() {
  static auto& choices = *new TunedChoices(  // outlives all threads that compile
      TunedChoices::file_in_cache("tuned.json"),
      fmt::format("Loomix {}, {}, {}, instructions {}", LOOMIX_VERSION, ops::convolution_library(),
                  processor(), name_of(cpu_level())));
  return choices;
}

// None if there is nothing to go by.
const Tuner* tuner() {
  if (settings().enforce_determinism) return nullptr;
  TunedChoices& choices = choices_of_host();
  if (!settings().tune && choices.empty()) return nullptr;
  static const auto& made = *new Tuner(choices, settings().tune);  // outlives all threads that compile
  return &made;
}

}  // namespace

std::unique_ptr<engine::Engine> engine_from_settings(engine::EngineOptions options) {
  const Settings& given = settings();
  options.workers = given.cpu_worker_nthreads;
  options.worker_places = given.worker_places;
  options.max_tasks = given.max_tasks_in_flight;
  options.side_threads = given.custom_op_threads;
  options.deterministic = given.enforce_determinism;
  options.max_bytes = given.max_bytes_in_flight;
  options.pool_bytes = given.max_memory_bytes;
  options.host_cache_bytes = given.host_pool_bytes;
  if (!given.inline_execution) options.inline_cost_ns = 0;
  if (const std::string warning = engine::blas_warning(); !warning.empty()) log(LogLevel::warning, warning);
  return given.engine_type == "NaiveEngine" ? engine::make_naive_engine(std::move(options))
                                            : engine::make_threaded_engine(std::move(options));
}

void apply_settings(Runtime& runtime) {
  runtime.dispatch_listener = dispatch_listener();
  runtime.check_values = settings().nan_check;
  runtime.tuner = tuner();
  runtime.device_fallback = settings().device_fallback;
}

PlanOptions plan_from_settings() {
  const Settings& given = settings();
  PlanOptions plan;
  plan.inplace = given.inplace;
  plan.co_share = given.coshare;
  plan.merge_equal = eliminates_common_expr();
  plan.fold_norm = given.fold_norm;
  plan.choose_layout = given.choose_layout;
  plan.fuse = given.fuse;
  plan.bulk_inference = given.bulk_inference ? given.bulk_size : 1;
  plan.bulk_forward = plan.bulk_backward = given.bulk_train ? given.bulk_size : 1;
  plan.captured = given.captured_steps;
  plan.leaving_bytes = std::max(int64_t{given.kv_bucket_kb} * 1024, int64_t{1});
  plan.streams = given.captured_streams;
  plan.recompute_share = given.recompute_share;
  return plan;
}

}  // namespace loomix
