// SPDX-License-Identifier: Apache-2.0
#include "base/settings.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "base/log.h"
#include "base/nearest.h"

namespace loomix {

void Settings::fields(FieldList<Settings>& f) {
  f("engine_type", &Settings::engine_type,
    "Which engine runs operations: a threaded one, or NaiveEngine, which runs each at its call, for "
    "debugging.")
      .options({"NaiveEngine", "ThreadedEngine", "ThreadedEnginePerDevice", "ThreadedEnginePooled"});
  f("cpu_worker_nthreads", &Settings::cpu_worker_nthreads,
    "CPU worker threads of the engine; 0 is one per core.")
      .at_least(0)
      .at_most(1024);
  f("inline_execution", &Settings::inline_execution,
    "Whether tiny operations that need not wait may run on the thread that calls them.");
  f("max_tasks_in_flight", &Settings::max_tasks_in_flight,
    "Operations pushed and not done, beyond which a push from a user's thread waits.")
      .at_least(1);
  f("enforce_determinism", &Settings::enforce_determinism,
    "Refuses kernels whose results may differ from run to run.");
  f("host_pool_bytes", &Settings::host_pool_bytes,
    "Freed host memory kept for reuse, in bytes; -1 keeps a quarter of the machine's memory.")
      .at_least(-1)
      .type("long");
  f("inplace", &Settings::inplace, "Whether an output of a bound graph may take the memory of an input.");
  f("coshare", &Settings::coshare,
    "Whether values of a bound graph that cannot be alive together may share memory.");
  f("dnnl", &Settings::dnnl, "Whether oneDNN's kernels may run, where it is built in.");
  f("explain", &Settings::explain,
    "Comma-separated topics to explain on the standard error: dispatch (why a kernel was chosen), plan, "
    "fuse, all.");
  f("dump_passes", &Settings::dump_passes,
    "Comma-separated passes after which the graph is written out: prune, gradient, infer, simplify, place, "
    "plan, all.");
  f("dump_folder", &Settings::dump_folder,
    "Folder for what is written out, one file a pass and graph; without it, it goes to the standard error.");
  f("verify_passes", &Settings::verify_passes,
    "Whether every graph is checked after each pass, as in builds with assertions.");
  f("log_level", &Settings::log_level, "The least important messages to print.")
      .options({"debug", "info", "warning", "error", "off"});
}

namespace {

constexpr std::string_view kPrefix = "LOOMIX_";

// MXNet's names that are understood; ours win where both are set.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"MXNET_ENGINE_TYPE", "engine_type"},
    {"MXNET_CPU_WORKER_NTHREADS", "cpu_worker_nthreads"},
    {"MXNET_ENFORCE_DETERMINISM", "enforce_determinism"},
    {"MXNET_MKLDNN_ENABLED", "dnnl"},
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
      try {
        schema.parse(name, TextPairs{{std::string(field), value}});
        given.emplace_back(field, value);
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
  return result;
}

const SettingsResult& detail::loaded_settings() {
  static const SettingsResult result = read_settings(environment_of_process());
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

bool explain(std::string_view topic) { return is_listed(settings().explain, topic); }

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
      "# Settings\n\n"
      "Loomix reads these environment variables once, when it is first used. `base/settings.cc` is the table "
      "that this "
      "page is\nmade from: `cmake --build build --target settings_doc && build/tools/settings_doc > "
      "docs/settings.md`."
      "\n\n"
      "| variable | also read from | type | default | meaning |\n|---|---|---|---|---|\n";
  for (const FieldInfo& field : param_schema<Settings>().fields()) {
    std::string alias;
    for (const auto& [name, target] : kAliases) {
      if (target == field.name) alias = fmt::format("`{}`", name);
    }
    text += fmt::format("| `{}` | {} | {} | `{}` | {} |\n", variable_of(field.name), alias, field.type,
                        field.default_text.empty() ? "(empty)" : field.default_text, field.doc);
  }
  return text;
}

}  // namespace loomix
