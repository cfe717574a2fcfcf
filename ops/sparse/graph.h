// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/op.h"

namespace loomix::ops {

class OpTable;

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

void register_graph(OpTable& table);
void kernels_sparse_graph(OpTable& table);

}  // namespace loomix::ops
