// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/end_pass.h"

#include <atomic>
#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "base/settings.h"
#include "symbol/verify.h"

namespace loomix {
namespace {

bool is_verified() {
#ifdef NDEBUG
  return settings().verify_passes;
#else
  return true;
#endif
}

std::string values_text(const Graph& graph, const Inference& known, const ValueIndex& index, NodeId id) {
  std::string text;
  for (int i = 0; i < graph[id].num_values(); ++i) {
    const auto value = static_cast<size_t>(index(id, i));
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name_of(known.dtypes[value]),
                        known.shapes[value].to_string());
  }
  return text;
}

}  // namespace

bool is_pass_dumped(std::string_view pass) { return is_listed(settings().dump_passes, pass); }

bool is_explained(std::string_view topic) { return explain(topic); }

void dump_pass(std::string_view pass, const std::string& text) {
  const std::string& folder = settings().dump_folder;
  if (folder.empty()) {
    std::fputs(fmt::format("---- {}\n{}", pass, text).c_str(), stderr);
    return;
  }
  constinit static std::atomic<int> count{0};
  const auto path = std::filesystem::path(folder) / fmt::format("{:04}-{}.txt", count.fetch_add(1), pass);
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  std::FILE* const file = std::fopen(path.c_str(), "w");
  LOOMIX_CHECK(file != nullptr, Error, "[{}] the file {} that LOOMIX_DUMP_FOLDER asks for cannot be written.",
               pass, path.string());
  std::fputs(text.c_str(), file);
  std::fclose(file);
}

void end_pass(const char* pass, const Graph& graph, const Inference* known) {
  if (is_verified()) verify(graph, pass);
  if (!is_pass_dumped(pass)) return;
  if (known == nullptr) return dump_pass(pass, dump(graph));
  const ValueIndex index(graph);
  dump_pass(pass, dump(graph, [&](NodeId id) { return values_text(graph, *known, index, id); }));
}

}  // namespace loomix
