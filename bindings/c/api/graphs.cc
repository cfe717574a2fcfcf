// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/api/objects.h"
#include "bindings/c/guard.h"
#include "symbol/executor/cached_graph.h"
#include "symbol/executor/from_settings.h"

using namespace loomix;     // NOLINT: the functions below are outside of all namespaces
using namespace loomix::c;  // NOLINT

namespace {

// A graph this short is recorded operator by operator, as by Python's blocks.
constexpr size_t kInlineLimit = 2;

struct GraphObject final : Object {
  static constexpr const char* kKind = "a graph";
  explicit GraphObject(Ref<CachedGraph> made) : graph(std::move(made)) {}
  const char* kind() const override { return kKind; }
  const Ref<CachedGraph> graph;
};

}  // namespace

int LoomixGraphCreate(LoomixSymbol symbol, const char* name, LoomixGraph* out) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixGraphCreate";
    not_null(out, kWho, "out");
    const auto object = find<SymbolObject>(symbol);
    auto graph = CachedGraph::make(running(), object->symbol, not_null(name, kWho, "name"),
                                   plan_from_settings(), kInlineLimit);
    *out = static_cast<LoomixGraph>(add_object(std::make_shared<GraphObject>(std::move(graph))));
  });
}

int LoomixGraphCall(LoomixGraph graph, size_t inputs, const LoomixArray* arrays, size_t* count,
                    const LoomixArray** outputs) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixGraphCall";
    not_null(count, kWho, "count");
    not_null(outputs, kWho, "outputs");
    const std::vector<NDArray> made = find<GraphObject>(graph)->graph->call(to_arrays(inputs, arrays, kWho));
    *outputs = answer_arrays(made);
    *count = made.size();
  });
}

int LoomixGraphDescribe(LoomixGraph graph, const char** text) {
  return guarded([&] {
    not_null(text, "LoomixGraphDescribe", "text");
    const auto found = find<GraphObject>(graph)->graph->explanation(false);
    LOOMIX_CHECK(found, StateError, "[LoomixGraphDescribe] no call of the graph was compiled yet.");
    answer().text = to_text(found->program);
    *text = answer().text.c_str();
  });
}
