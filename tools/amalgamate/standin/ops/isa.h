// SPDX-License-Identifier: Apache-2.0
#pragma once

#define LOOMIX_ISA_NAMESPACE isa_base

// There is one instruction set: the compiler's.
namespace loomix::ops {

enum class Isa { base, v3, v4 };

inline Isa machine_isa() {
#if defined(__AVX512F__)
  return Isa::v4;
#elif defined(__AVX2__)
  return Isa::v3;
#else
  return Isa::base;
#endif
}

namespace isa_base {
template <class Table>
const Table& compiled_loops();
}

template <class Table>
const Table& best_loops() {
  return isa_base::compiled_loops<Table>();
}

}  // namespace loomix::ops
