// SPDX-License-Identifier: Apache-2.0
#include "base/settings.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>

#include "base/cpu_caches.h"
#include "base/cpu_level.h"
#include "base/log.h"
#include "base/nearest.h"

namespace loomix {

void Settings::fields(FieldList<Settings>& f) {
  f("engine_type", &Settings::engine_type,
    "Which engine runs operations: a threaded one, or NaiveEngine, which runs each at its call, for "
    "debugging.")
      .options({"NaiveEngine", "ThreadedEngine", "ThreadedEnginePerDevice", "ThreadedEnginePooled"});
  f("cpu_worker_nthreads", &Settings::cpu_worker_nthreads,
    "CPU worker threads of the engine; 0 is one for each core that the process may use (its control groups' "
    "limits "
    "count).")
      .at_least(0)
      .at_most(1024);
  f("worker_places", &Settings::worker_places,
    "CPUs on which the engine's workers stay: numa (each on those of one NUMA node), or lists for equal "
    "shares of the workers, as 0-3;4-7; empty: the system moves them.");
  f("inline_execution", &Settings::inline_execution,
    "Whether tiny operations that need not wait may run on the thread that calls them.");
  f("custom_op_threads", &Settings::custom_op_threads,
    "Operators written in Python that may run at once, not counting those that wait for other operations.")
      .at_least(1)
      .at_most(1024);
  f("max_tasks_in_flight", &Settings::max_tasks_in_flight,
    "Operations pushed and not done, beyond which a push from a user's thread waits.")
      .at_least(1);
  f("max_bytes_in_flight", &Settings::max_bytes_in_flight,
    "Bytes of arrays, on each device, that operations pushed and not done take, beyond which a push from a "
    "user's "
    "thread waits; 0 is no bound, -1 a quarter of the memory that the process may use, at most 4 GiB.")
      .at_least(-1)
      .type("long");
  f("enforce_determinism", &Settings::enforce_determinism,
    "Refuses kernels whose results may differ from run to run.");
  f("host_pool_bytes", &Settings::host_pool_bytes,
    "Freed host memory kept for reuse, in bytes; -1 keeps up to a quarter of the memory that the process may "
    "use. "
    "Blocks of up to 32 KiB are kept beside it.")
      .at_least(-1)
      .type("long");
  f("max_memory_bytes", &Settings::max_memory_bytes,
    "Bytes that the arrays on each device, the host included, may take; beyond it operations wait for "
    "memory, then "
    "fail. 0 is what the device has, on the host what the process may use.")
      .at_least(0)
      .type("long");
  f("inplace", &Settings::inplace, "Whether an output of a bound graph may take the memory of an input.");
  f("coshare", &Settings::coshare,
    "Whether values of a bound graph that cannot be alive together may share memory.");
  f("fuse", &Settings::fuse,
    "Whether bound graphs run elementwise operators that read each other's results as one pass over memory.");
  f("bulk_size", &Settings::bulk_size,
    "Short operators of a bound graph that may be one task of the engine; 1 joins none.")
      .at_least(1)
      .at_most(4096);
  f("bulk_inference", &Settings::bulk_inference,
    "Whether short operators are joined in passes for prediction.");
  f("bulk_train", &Settings::bulk_train, "Whether short operators are joined in training passes.");
  f("captured_steps", &Settings::captured_steps,
    "Operators of a bound graph or hybridized block on a GPU that may be one task, captured as a CUDA graph "
    "at its third run. Fewer let "
    "gradients reach a store earlier, and 1 captures nothing.")
      .at_least(1)
      .at_most(4096);
  f("captured_streams", &Settings::captured_streams,
    "Streams of a GPU on which branches of a captured graph run side by side, where estimates say that this "
    "saves a tenth of "
    "the time; 1: one operator after the other.")
      .at_least(1)
      .at_most(8);
  f("eliminate_common_expr", &Settings::eliminate_common_expr,
    "Whether bound graphs compute once what equal operators compute from the same; read at each bind.");
  f("fold_norm", &Settings::fold_norm,
    "Whether prediction by bound graphs works batch normalisations into the weights before them.");
  f("choose_layout", &Settings::choose_layout,
    "Whether bound graphs keep images in the form that kernels want between operators (blocks of channels; "
    "on GPUs, "
    "channels last), in prediction and in training, and weights, too.");
  f("held_weights", &Settings::held_weights,
    "How many times the memory of a convolution's weight the form may take that its kernel wants, which "
    "prediction holds beside "
    "it. Winograd's method takes 4 times as much, and more where channels are padded; from 1 on the direct "
    "method can run.")
      .at_least(0);
  f("recompute_share", &Settings::recompute_share,
    "How much of the time of a training pass, by the operators' estimates, may go into computing cheap "
    "values "
    "again instead of keeping them for the gradients; 0: all are kept.")
      .at_least(0);
  f("tune", &Settings::tune,
    "Whether bound graphs time the kernels that could run a costly operator, and take the fastest. The "
    "answers are "
    "kept for later processes, which take them without this setting. Not with LOOMIX_ENFORCE_DETERMINISM.");
  f("cache_dir", &Settings::cache_dir,
    "Folder of what is worth keeping between processes; by default loomix in XDG_CACHE_HOME, or in "
    "~/.cache.");
  f("dnnl", &Settings::dnnl, "Whether oneDNN's kernels may run, where it is built in.");
  f("cuda_library", &Settings::cuda_library,
    "File of the CUDA module; by default libloomix_cuda.so beside libloomix.so.");
  f("cuda_pool", &Settings::cuda_pool,
    "Whether freed memory of GPUs is kept for reuse; without, each array is an allocation of just its size, "
    "so that "
    "compute-sanitizer sees where it ends, and what uses it too late.");
  f("device_fallback", &Settings::device_fallback,
    "Whether operators without a kernel for a GPU run on the host, by copies, with one warning for each; "
    "else they "
    "are errors.");
  f("conv_algo", &Settings::conv_algo,
    "The algorithm of convolutions, where it can compute them: sums for each output (direct), "
    "products of "
    "matrices (gemm), or by transforms (winograd, fft); by default what is fastest. The attribute "
    "`algorithm` says so "
    "for one of them.")
      .options({"auto", "direct", "gemm", "winograd", "fft"});
  f("max_cpu_isa", &Settings::max_cpu_isa,
    "The highest level of the processor's instructions that kernels use, oneDNN's included; OpenBLAS, too, "
    "where "
    "`import loomix` "
    "loads it (other programs set OPENBLAS_CORETYPE). A level that the processor lacks is an error.")
      .options({"any", "sse41", "avx2", "avx512", "avx512_bf16"});
  f("cache_sizes", &Settings::cache_sizes,
    "Sizes of the first, second and last cache of a core, as 32K,1M,32M, by which kernels are chosen and "
    "work is cut; by "
    "default what Linux says of the processor.");
  f("cuda_dot_tf32", &Settings::cuda_dot_tf32,
    "Whether matrix products of float32 on GPUs may use TF32, which keeps 10 bits of a factor's mantissa.");
  f("cuda_conv_tf32", &Settings::cuda_conv_tf32, "The same for convolutions.");
  f("cuda_conv_workspace_mb", &Settings::cuda_conv_workspace_mb,
    "The most scratch memory that one convolution on a GPU may take, in megabytes: algorithms that need more "
    "are not "
    "chosen.")
      .at_least(0);
  f("cuda_conv_tune", &Settings::cuda_conv_tune,
    "How cuDNN's algorithm for a convolution on a GPU is found: 0 by cuDNN's estimates, 1 by timing those "
    "that fit "
    "their scratch memory, 2 by timing all, once for each geometry. The answers are kept for later "
    "processes. The "
    "attribute `cudnn_tune` says so for one convolution; with LOOMIX_ENFORCE_DETERMINISM nothing is timed.")
      .at_least(0)
      .at_most(2);
  f("explain", &Settings::explain,
    "Comma-separated topics to explain on the standard error: dispatch (why a kernel was chosen), fuse "
    "(which operators of each bound graph became one, and why others did not), plan (the "
    "calls of each bound graph and their memory), all.");
  f("dump_passes", &Settings::dump_passes,
    "Comma-separated passes after which the graph is written out: prune, gradient, infer, simplify, "
    "recompute, fold_norm, layout, close, fuse, place, plan, all.");
  f("dump_folder", &Settings::dump_folder,
    "Folder for what is written out, one file a pass and graph; without it, it goes to the standard error.");
  f("verify_passes", &Settings::verify_passes,
    "Whether every graph is checked after each pass, as in builds with assertions.");
  f("nan_check", &Settings::nan_check,
    "Whether the first operator that makes NaN or infinity fails, and class numbers out of range do; slow, "
    "for "
    "debugging. The same as mx.debug.nan_check().");
  f("habits", &Settings::habits,
    "What becomes of the warnings of habits of MXNet's that surprise: a comma-separated list of NAME=error, "
    "NAME=off "
    "or NAME=warn, with the NAME that the warning ends in, or all.");
  f("log_level", &Settings::log_level, "The least important messages to print.")
      .options({"debug", "info", "warning", "error", "off"});
  f("profiler_autostart", &Settings::profiler_autostart,
    "Whether the profiler runs from the import on; the profile is written to profile.json at the end of the "
    "process.");
  f("kv_role", &Settings::kv_role,
    "This process's part in a cluster; `import loomix` in a server or scheduler runs it and then ends the "
    "process.")
      .options({"worker", "server", "scheduler"});
  f("kv_scheduler_host", &Settings::kv_scheduler_host, "Where the cluster's scheduler is.");
  f("kv_scheduler_port", &Settings::kv_scheduler_port, "Its port.").at_least(0).at_most(65535);
  f("kv_workers", &Settings::kv_workers, "Workers in the cluster.").at_least(1).at_most(65536);
  f("kv_servers", &Settings::kv_servers, "Servers in the cluster.").at_least(1).at_most(65536);
  f("kv_rank", &Settings::kv_rank,
    "This process's number within its role, from 0; with -1 the scheduler gives one that is free.")
      .at_least(-1);
  f("kv_host", &Settings::kv_host,
    "Name or address by which other nodes reach this one; by default the address that leads to the "
    "scheduler.");
  f("kv_interface", &Settings::kv_interface, "Network interface whose address that is.");
  f("kv_cluster", &Settings::kv_cluster,
    "Name of the cluster; nodes refuse those of another one. Needed beyond one machine, where "
    "`python -m loomix launch` did not choose one.");
  f("kv_replicas", &Settings::kv_replicas, "Scheduler: on how many servers each value lives.").at_least(1);
  f("kv_policy", &Settings::kv_policy,
    "Scheduler: when a worker dies all fail, wait for its return, or continue without it.")
      .options({"fail", "wait", "continue"});
  f("kv_staleness", &Settings::kv_staleness,
    "dist_ssp: how many pushes of a key a worker may be ahead of the slowest.")
      .at_least(0);
  f("kv_deadline", &Settings::kv_deadline,
    "Seconds until a call of the cluster fails that is not answered; also how long the scheduler waits for "
    "missing nodes.")
      .above(0);
  f("kv_late_deadline", &Settings::kv_late_deadline,
    "Seconds that a worker is waited for which is there but late: in a checkpoint, say. A line in the log "
    "names it, "
    "each kv_deadline.")
      .above(0);
  f("kv_dead_after", &Settings::kv_dead_after, "Seconds of silence after which a node counts as dead.")
      .above(0);
  f("kv_without_scheduler", &Settings::kv_without_scheduler,
    "Seconds that a cluster, once complete, goes on without its scheduler. One that is started again under "
    "the same name is "
    "found.")
      .above(0);
  f("kv_snapshot_dir", &Settings::kv_snapshot_dir,
    "Servers: folder, the same for all, to which they write the cluster's state from time to time.");
  f("kv_snapshot_every", &Settings::kv_snapshot_every,
    "Servers: rounds (pushes of each key) between two snapshots.")
      .at_least(1)
      .type("long");
  f("kv_restore", &Settings::kv_restore,
    "Servers: a new cluster goes on from the newest snapshot that is in the folder; without one it begins "
    "anew.");
  f("kv_keys", &Settings::kv_keys,
    "Folder with the keys of this node's role, as `python -m loomix keys` makes it; needed beyond one "
    "machine.");
  f("kv_bucket_kb", &Settings::kv_bucket_kb,
    "Kilobytes up to which gradients that Gluon's Trainer or a Module has on several GPUs travel together, "
    "by a store of type device, nccl or dist_nccl; 0: each alone.")
      .at_least(0)
      .at_most(1 << 20);
  f("kv_trusted_network", &Settings::kv_trusted_network,
    "Everybody on the network is trusted: nodes on several machines may do without keys.");
  f("kv_shared_memory", &Settings::kv_shared_memory,
    "Whether nodes on one machine exchange values through shared memory.");
  f("kv_allow_pickle", &Settings::kv_allow_pickle,
    "Server: runs optimizers that come as pickled Python code. Whoever can reach the server can then run any "
    "code there.");
  f("group_host", &Settings::group_host, "dist_network: host of rank 0, which all other ranks call.");
  f("group_port", &Settings::group_port, "dist_network: port at which rank 0 is called.")
      .at_least(0)
      .at_most(65534);
  f("group_rank", &Settings::group_rank, "dist_network: number of this process in its job, from 0.");
  f("group_size", &Settings::group_size, "dist_network: how many processes the job has.").at_least(0);
  f("group_local_size", &Settings::group_local_size,
    "dist_network: how many of them are on this machine, if that is known. Where that is all of them, they "
    "call each "
    "other at 127.0.0.1.")
      .at_least(0);
  f("group_port_taken", &Settings::group_port_taken,
    "dist_network: whoever started the job listens at group_port, as torchrun does; rank 0 takes the port "
    "behind it.");
  f("metrics_port", &Settings::metrics_port,
    "Port at which a cluster's scheduler serves its numbers for Prometheus and `python -m loomix top`; the "
    "servers take the ports behind it, then the workers. Without servers rank r takes the r-th port behind "
    "it. 0: none.")
      .at_least(0)
      .at_most(65535);
  f("metrics_host", &Settings::metrics_host,
    "Address at which nodes serve their numbers; 0.0.0.0 lets other machines read them.");
}

namespace {

constexpr std::string_view kPrefix = "LOOMIX_";

// MXNet's names that are understood; ours win where both are set.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"MXNET_ENGINE_TYPE", "engine_type"},
    {"MXNET_CPU_WORKER_NTHREADS", "cpu_worker_nthreads"},
    {"MXNET_OMP_MAX_THREADS", "cpu_worker_nthreads"},
    {"OMP_NUM_THREADS", "cpu_worker_nthreads"},
    {"MXNET_PROFILER_AUTOSTART", "profiler_autostart"},
    {"MXNET_CUSTOM_OP_NUM_THREADS", "custom_op_threads"},
    {"MXNET_ENFORCE_DETERMINISM", "enforce_determinism"},
    {"MXNET_MKLDNN_ENABLED", "dnnl"},
    {"MXNET_CUDNN_AUTOTUNE_DEFAULT", "cuda_conv_tune"},
    {"MXNET_ELIMINATE_COMMON_EXPR", "eliminate_common_expr"},
    {"MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN", "bulk_size"},
    {"MXNET_EXEC_BULK_EXEC_INFERENCE", "bulk_inference"},
    {"MXNET_EXEC_BULK_EXEC_TRAIN", "bulk_train"},
    {"DMLC_ROLE", "kv_role"},
    {"DMLC_PS_ROOT_URI", "kv_scheduler_host"},
    {"DMLC_PS_ROOT_PORT", "kv_scheduler_port"},
    {"DMLC_NUM_WORKER", "kv_workers"},
    {"DMLC_NUM_SERVER", "kv_servers"},
    {"DMLC_WORKER_ID", "kv_rank"},
    {"DMLC_SERVER_ID", "kv_rank"},
    {"DMLC_RANK", "kv_rank"},
    {"DMLC_NODE_HOST", "kv_host"},
    {"DMLC_INTERFACE", "kv_interface"},
    // As torchrun, Ray Train and Dask set them.
    {"MASTER_ADDR", "group_host"},
    {"MASTER_PORT", "group_port"},
    {"RANK", "group_rank"},
    {"WORLD_SIZE", "group_size"},
    {"LOCAL_WORLD_SIZE", "group_local_size"},
    {"TORCHELASTIC_USE_AGENT_STORE", "group_port_taken"},
};

std::string variable_of(std::string_view field) {
  std::string name(kPrefix);
  for (char c : field) name += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return name;
}

TextPairs environment_of_process() {
  TextPairs pairs;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos) pairs.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return pairs;
}

}  // namespace

namespace {

// Throws ValueError for an item of a list with commas that nothing answers to.
void check_items(std::string_view variable, std::string_view list, std::span<const std::string_view> known) {
  std::string names;
  for (std::string_view name : known) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  while (!list.empty()) {
    const size_t comma = list.find(',');
    const std::string_view item = list.substr(0, comma);
    LOOMIX_CHECK(item.empty() || std::find(known.begin(), known.end(), item) != known.end(), ValueError,
                 "[{}] unknown item '{}'.{} Expected some of {}, with commas and without spaces.", variable,
                 item, did_you_mean(item, known), names);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
}

}  // namespace

SettingsResult read_settings(std::span<const std::pair<std::string, std::string>> environment) {
  const ParamSchema& schema = param_schema<Settings>();
  SettingsResult result;
  TextPairs given;
  const auto is_given = [&given](std::string_view field) {
    return std::any_of(given.begin(), given.end(), [field](const auto& pair) { return pair.first == field; });
  };
  for (const FieldInfo& field : schema.fields()) {
    const std::string variable = variable_of(field.name);
    for (const auto& [name, value] : environment) {
      if (name != variable || is_given(field.name)) continue;
      schema.parse(name, TextPairs{{field.name, value}});  // throws with the variable's name
      given.emplace_back(field.name, value);
    }
  }
  for (const auto& [alias, field] : kAliases) {
    for (const auto& [name, value] : environment) {
      if (name != alias || is_given(field)) continue;
      // OpenMP's may be a list, whose first number is for teams that are not nested.
      const std::string text = alias.starts_with("OMP_") ? value.substr(0, value.find(',')) : value;
      try {
        schema.parse(name, TextPairs{{std::string(field), text}});
        given.emplace_back(field, text);
      } catch (const ValueError& error) {
        result.warnings.push_back(fmt::format("{}; the variable is ignored.", error.what()));
      }
    }
  }

  std::vector<std::string> known;
  for (const FieldInfo& field : schema.fields()) known.push_back(variable_of(field.name));
  const std::vector<std::string_view> views(known.begin(), known.end());
  for (const auto& [name, value] : environment) {
    if (!name.starts_with(kPrefix) || std::find(known.begin(), known.end(), name) != known.end()) continue;
    result.warnings.push_back(
        fmt::format("[settings] {} is not a setting of Loomix.{}", name, did_you_mean(name, views)));
  }
  result.settings = schema.parse("settings", given)->as<Settings>();
  static constexpr std::string_view kTopics[] = {"dispatch", "fuse", "plan", "all"};
  check_items("LOOMIX_EXPLAIN", result.settings.explain, kTopics);
  static constexpr std::string_view kPasses[] = {"prune",     "gradient",  "infer",  "simplify",
                                                 "recompute", "fold_norm", "layout", "close",
                                                 "fuse",      "place",     "plan",   "all"};
  check_items("LOOMIX_DUMP_PASSES", result.settings.dump_passes, kPasses);
  return result;
}

const SettingsResult& detail::loaded_settings() {
  static const SettingsResult result = [] {
    SettingsResult read = read_settings(environment_of_process());
    allowed_level(read.settings.max_cpu_isa, processor_level());  // throws for one that is not there
    if (!read.settings.cache_sizes.empty()) parse_cache_sizes(read.settings.cache_sizes);
    return read;
  }();
  return result;
}

const Settings& settings() {
  static std::once_flag warned;
  const SettingsResult& result = detail::loaded_settings();
  std::call_once(warned, [&result] {
    for (const std::string& warning : result.warnings) log(LogLevel::warning, warning);
  });
  return result.settings;
}

std::string cache_folder() {
  if (!settings().cache_dir.empty()) return settings().cache_dir;
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value ? value : "");
  };
  // The specification says that a relative path is to be passed over.
  if (const std::string cache = variable("XDG_CACHE_HOME"); cache.starts_with('/')) return cache + "/loomix";
  const std::string home = variable("HOME");
  return home.starts_with('/') ? home + "/.cache/loomix" : "";
}

bool eliminates_common_expr() {
  const auto read = [](const char* variable) -> std::optional<bool> {
    const char* const value = std::getenv(variable);
    if (value == nullptr) return {};
    const TextPairs given{{"eliminate_common_expr", value}};
    return param_schema<Settings>().parse(variable, given)->as<Settings>().eliminate_common_expr;
  };
  if (const auto own = read("LOOMIX_ELIMINATE_COMMON_EXPR")) return *own;
  return read("MXNET_ELIMINATE_COMMON_EXPR").value_or(true);
}

bool explain(std::string_view topic) { return is_listed(settings().explain, topic); }

void explain_once(std::string_view topic, const std::string& line) {
  if (!explain(topic)) return;
  struct Seen {
    std::mutex mutex;
    std::set<std::string> lines;
  };
  static auto& seen = *new Seen();  // outlives all threads
  const std::lock_guard lock(seen.mutex);
  std::string text = fmt::format("{}: {}\n", topic, line);
  if (const auto [at, is_new] = seen.lines.insert(std::move(text)); is_new) fmt::print(stderr, "{}", *at);
}

bool is_listed(std::string_view list, std::string_view item) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    const std::string_view first = list.substr(0, comma);
    if (first == item || first == "all") return true;
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return false;
}

std::string settings_document() {
  std::string text =
      "# Settings: environment variables\n\n"
      "<!-- Written by build/tools/settings_doc from base/settings.cc. -->\n\n"
      "Loomix reads these environment variables once, when it is first used. MXNet's names for some of them "
      "work, too.\n"
      "Booleans are 0 or 1. For example: `OMP_NUM_THREADS=2 LOOMIX_LOG_LEVEL=info python train.py`.\n\n"
      "| variable | default | meaning |\n|---|---|---|\n";
  for (const FieldInfo& field : param_schema<Settings>().fields()) {
    std::string alias;
    for (const auto& [name, target] : kAliases) {
      if (target == field.name)
        alias += fmt::format("{}`{}`", alias.empty() ? " Also read from " : ", ", name);
    }
    text += fmt::format("| `{}` | `{}` | {} Type: {}.{}{} |\n", variable_of(field.name),
                        field.default_text.empty() ? "(empty)" : field.default_text, field.doc, field.type,
                        alias, alias.empty() ? "" : ".");
  }
  return text;
}

}  // namespace loomix
