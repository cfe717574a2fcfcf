// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/loops.h"

#include "ops/isa.h"

namespace loomix::ops {

namespace isa_base {
const UnaryLoops& unary_loops();
const BinaryLoops& binary_loops();
const ConvertLoops& convert_loops();
}  // namespace isa_base
#if LOOMIX_ISA_LEVELS > 1
namespace isa_v3 {
const UnaryLoops& unary_loops();
const BinaryLoops& binary_loops();
const ConvertLoops& convert_loops();
}  // namespace isa_v3
namespace isa_v4 {
const UnaryLoops& unary_loops();
const BinaryLoops& binary_loops();
const ConvertLoops& convert_loops();
}  // namespace isa_v4
#else
namespace isa_v3 = isa_base;
namespace isa_v4 = isa_base;
#endif

const UnaryLoops& unary_loops() {
  static const UnaryLoops& chosen = pick_isa(isa_base::unary_loops, isa_v3::unary_loops, isa_v4::unary_loops);
  return chosen;
}

const BinaryLoops& binary_loops() {
  static const BinaryLoops& chosen =
      pick_isa(isa_base::binary_loops, isa_v3::binary_loops, isa_v4::binary_loops);
  return chosen;
}

const ConvertLoops& convert_loops() {
  static const ConvertLoops& chosen =
      pick_isa(isa_base::convert_loops, isa_v3::convert_loops, isa_v4::convert_loops);
  return chosen;
}

}  // namespace loomix::ops
