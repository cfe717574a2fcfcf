// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/op.h"

// Products of multi-head attention on projections that lie interleaved, so that one layer makes them all: of shape
// (length, batch, heads * parts * width), where each head has its query, key and value side by side (self-attention,
// 3 parts), its key and value (2 parts), or its query (1 part). Attention weights are (batch * heads, queries, keys).
namespace loomix::ops {

struct AttentionParams {
  int heads = 1;
  static void fields(FieldList<AttentionParams>& f) {
    f("heads", &AttentionParams::heads, "Number of heads.").required("1").at_least(1).type("int");
  }
};

}  // namespace loomix::ops
