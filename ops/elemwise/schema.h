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
  std::vector<std::string> names;
  for (const char* name : aliases) {
    if (name != nullptr && *name != 0) names.emplace_back(name);
  }
  builder.doc(doc).aliases(std::move(names));
  if (*doc == 0) builder.hidden();
}

}  // namespace loomix::ops
