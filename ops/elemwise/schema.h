// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "ops/elemwise/op_list.h"
#include "ops/op.h"

// How the lines of the elementwise lists become schemas.
namespace loomix::ops {

template <class Gradient>
inline constexpr bool is_rule =
    !std::is_same_v<Gradient, ZeroGradient> && !std::is_same_v<Gradient, NoGradient>;

// Operators without doc string are hidden; "" is no alias.
template <class P, class Names>
void describe(OpBuilder<P>& builder, const char* doc, const Names& aliases) {
  builder.doc(doc);
  for (const char* name : aliases) {
    if (name != nullptr && *name != 0) builder.aliases({name});
  }
  if (*doc == 0) builder.hidden();
}

}  // namespace loomix::ops
