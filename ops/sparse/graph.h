// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "ndarray/storage.h"
#include "ops/op.h"

// Operators on graphs: csr matrices whose stored values number the edges, one row a vertex.
namespace loomix::ops {

// A csr matrix in the making.
template <class T>
struct EdgeRows {
  std::vector<int64_t> starts{0}, columns;
  std::vector<T> edges;

  void add(int64_t column, T edge) {
    columns.push_back(column);
    edges.push_back(edge);
  }
  void end_row() { starts.push_back(static_cast<int64_t>(columns.size())); }
  // Into `to`: with the edges' numbers here, or those that they came with.
  void store(Storage& to, bool renumbered) const {
    to.resize_sparse(static_cast<int64_t>(columns.size()), sizeof(T), static_cast<int64_t>(starts.size()));
    std::copy(starts.begin(), starts.end(), to.indptr());
    std::copy(columns.begin(), columns.end(), to.indices());
    T* const values = static_cast<T*>(to.data());
    for (size_t k = 0; k < edges.size(); ++k)
      values[k] = renumbered ? static_cast<T>(static_cast<Accum<T>>(k)) : edges[k];
  }
};

// The numbers of vertices in `view`, all below `limit`.
std::vector<int64_t> vertices_of(const TensorView& view, int64_t count, int64_t limit, const char* who);

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
