// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/params.h"

namespace loomix {

// What the environment may set. Field `engine_type` is read from LOOMIX_ENGINE_TYPE, and so on; docs/settings.md is
// made from this table.
struct Settings {
  std::string engine_type = "ThreadedEngine";
  int cpu_worker_nthreads = 0;
  std::string worker_places;
  bool inline_execution = true;
  int64_t max_tasks_in_flight = 65536;
  bool enforce_determinism = false;
  int64_t max_bytes_in_flight = -1;
  int64_t host_pool_bytes = -1;
  int64_t max_memory_bytes = 0;
  bool inplace = true;
  bool coshare = true;
  bool fuse = true;
  int bulk_size = 64;
  bool bulk_inference = true;
  bool bulk_train = true;
  int captured_steps = 4096;
  int captured_streams = 4;
  bool eliminate_common_expr = true;
  bool fold_norm = true;
  bool choose_layout = true;
  double held_weights = 6;
  double recompute_share = 0.01;
  bool tune = false;
  std::string cache_dir;
  bool dnnl = true;
  std::string conv_algo = "auto";
  std::string cuda_library;
  bool device_fallback = true;
  bool cuda_pool = true;
  std::string max_cpu_isa = "any";
  std::string cache_sizes;
  std::string explain;
  std::string dump_passes;
  std::string dump_folder;
  bool verify_passes = false;
  bool nan_check = false;
  std::string habits;
  std::string log_level = "warning";
  bool profiler_autostart = false;
  std::string kv_role = "worker";
  std::string kv_scheduler_host = "127.0.0.1";
  int kv_scheduler_port = 0;
  int kv_workers = 1;
  int kv_servers = 1;
  int kv_rank = -1;
  std::string kv_host;
  std::string kv_interface;
  std::string kv_cluster;
  int kv_replicas = 2;
  std::string kv_policy = "fail";
  int kv_staleness = 4;
  double kv_deadline = 60;
  double kv_late_deadline = 1800;
  double kv_dead_after = 5;
  double kv_without_scheduler = 3600;
  std::string kv_snapshot_dir;
  int64_t kv_snapshot_every = 100;
  bool kv_restore = false;
  std::string kv_keys;
  int kv_bucket_kb = 4096;
  bool kv_trusted_network = false;
  bool kv_shared_memory = true;
  bool kv_allow_pickle = false;
  std::string group_host = "127.0.0.1";
  int group_port = 0;
  int group_rank = -1;
  int group_size = 0;
  int group_local_size = 0;
  bool group_port_taken = false;
  int metrics_port = 0;
  std::string metrics_host = "127.0.0.1";
  int custom_op_threads = 16;
  bool cuda_dot_tf32 = false;
  bool cuda_conv_tf32 = true;
  int cuda_conv_workspace_mb = 1024;
  int cuda_conv_tune = 1;

  static void fields(FieldList<Settings>& f);
};

// The process's settings: read from the environment at the first call and never again. A LOOMIX_* variable with a
// value that cannot be used throws ValueError; unknown ones and unusable MXNET_* ones are warned of once.
const Settings& settings();

// Where what is worth keeping between processes lies: the setting cache_dir, or by the XDG Base Directory Specification 0.8. Empty:
// nowhere. It need not exist.
std::string cache_folder();

// The setting eliminate_common_expr, read from the environment at each call: scripts change it between binds, as with MXNet.
bool eliminates_common_expr();

// True if LOOMIX_EXPLAIN names `topic`.
bool explain(std::string_view topic);

// Writes "topic: line" to the standard error, each line once, if LOOMIX_EXPLAIN names the topic. Safe on several threads.
void explain_once(std::string_view topic, const std::string& line);

// True if a list with commas holds `item`, or is "all".
bool is_listed(std::string_view list, std::string_view item);

struct SettingsResult {
  Settings settings;
  std::vector<std::string> warnings;
};
// The same from the given variables; reads nothing else.
SettingsResult read_settings(std::span<const std::pair<std::string, std::string>> environment);

// The text of docs/settings.md.
std::string settings_document();

namespace detail {
// For the log, which must not wait for the warnings that it prints.
const SettingsResult& loaded_settings();
}  // namespace detail

}  // namespace loomix
