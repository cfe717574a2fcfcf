// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"
#include "ops/quantization/packed.h"

namespace loomix::ops {

Support packs_products() { return Support::no("oneDNN is not built in"); }
std::optional<PackedForm> packed_product(const AttrsBase&, const Shape&, DType, const PackedClosing&) {
  return {};
}

void kernels_quantized_dnnl(OpTable&) {}
void register_packed_products(OpTable&) {}

}  // namespace loomix::ops
