// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ops/sparse/sparse.h"

// Operators on graphs: csr matrices whose stored values number the edges, one row a vertex.
namespace loomix::ops {

// Stores graph i of `graphs`: in output i with the edges' numbers there, and in output graphs + i, if there is one, with
// those that they came with.
template <class T>
void store_graph(CsrRows<T>& rows, const KernelArgs& args, size_t i, size_t graphs) {
  const auto wanted = [&](size_t out) { return out < args.out.size() && args.req[out] != Req::null; };
  if (wanted(graphs + i)) rows.store(output_storage(args, graphs + i));
  if (!wanted(i)) return;
  for (size_t k = 0; k < rows.values.size(); ++k) rows.values[k] = static_cast<T>(static_cast<Accum<T>>(k));
  rows.store(output_storage(args, i));
}

// The numbers of vertices in `view`, all below `limit`.
std::vector<int64_t> vertices_of(const TensorView& view, int64_t limit, const char* who);

// The first `graphs` inputs are csr, others dense; of the outputs, those from `first` to `last` are csr.
Support takes_graphs(const KernelSpec& spec, size_t graphs, size_t first, size_t last);
// The kernel for graphs that are not csr.
void refuse_dense(const KernelArgs& args);

struct SubgraphParams {
  int num_args = 2;
  bool return_mapping = false;
  static void fields(FieldList<SubgraphParams>& f) {
    f("num_args", &SubgraphParams::num_args, "Number of inputs.").required("2").at_least(2).type("int");
    f("return_mapping", &SubgraphParams::return_mapping,
      "Whether to give the edges' numbers in the graph, too, after the others.")
        .required("False");
  }
};

}  // namespace loomix::ops
