// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace loomix::ops {

enum class Isa { base, v3, v4 };

// The best instruction set of this machine.
Isa machine_isa();

// The variant that runs best here.
template <class Table>
const Table& pick_isa(const Table& (*base)(), const Table& (*v3)(), const Table& (*v4)()) {
  const Isa isa = machine_isa();
  return isa == Isa::v4 ? v4() : isa == Isa::v3 ? v3() : base();
}

// Files *_simd.cc are compiled once per instruction set, in these namespaces. Each specialises compiled_loops for its
// table of loops.
namespace isa_base {
template <class Table>
const Table& compiled_loops();
}
#if LOOMIX_ISA_LEVELS > 1
namespace isa_v3 {
template <class Table>
const Table& compiled_loops();
}
namespace isa_v4 {
template <class Table>
const Table& compiled_loops();
}
#else
namespace isa_v3 = isa_base;
namespace isa_v4 = isa_base;
#endif

// The loops that run best here.
template <class Table>
const Table& best_loops() {
  static const Table& chosen =
      pick_isa(isa_base::compiled_loops<Table>, isa_v3::compiled_loops<Table>, isa_v4::compiled_loops<Table>);
  return chosen;
}

}  // namespace loomix::ops
