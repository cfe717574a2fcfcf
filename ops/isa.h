// SPDX-License-Identifier: Apache-2.0
#pragma once

// Files *_simd.cc are compiled once per instruction set, in namespaces isa_base, isa_v3 and isa_v4. Each defines a
// function that returns its table of loops; one plain file declares the three and picks:
//
//   namespace isa_base { const Loops& loops(); }
//   #if LOOMIX_ISA_LEVELS > 1
//   namespace isa_v3 { const Loops& loops(); }
//   namespace isa_v4 { const Loops& loops(); }
//   #else
//   namespace isa_v3 = isa_base;
//   namespace isa_v4 = isa_base;
//   #endif
//   const Loops& loops() { static const Loops& chosen = pick_isa(isa_base::loops, isa_v3::loops, isa_v4::loops); ... }
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

}  // namespace loomix::ops
