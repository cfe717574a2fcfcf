// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"
#include "ops/sparse/graph.h"
#include "ops/sparse/graph_sample.h"
#include "ops/sparse/sparse.h"

namespace loomix::ops {

void kernels_sparse_cpu(OpTable& table) {
  kernels_sparse_storage(table);
  kernels_sparse_unary(table);
  kernels_sparse_binary(table);
  kernels_sparse_dot(table);
  kernels_sparse_embedding(table);
  kernels_sparse_reduce(table);
  kernels_sparse_rows(table);
  kernels_sparse_graph(table);
  kernels_graph_sample(table);
}

}  // namespace loomix::ops
