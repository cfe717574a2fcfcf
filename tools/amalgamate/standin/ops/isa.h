// SPDX-License-Identifier: Apache-2.0
#pragma once

#define LOOMIX_ISA_NAMESPACE isa_base

// There is one instruction set: the compiler's.
namespace loomix::ops {

namespace isa_base {
template <class Table>
const Table& compiled_loops();
}

template <class Table>
const Table& best_loops() {
  return isa_base::compiled_loops<Table>();
}

}  // namespace loomix::ops
