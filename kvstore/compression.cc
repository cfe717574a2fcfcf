// SPDX-License-Identifier: Apache-2.0
#include "kvstore/compression.h"

namespace loomix::kvstore {

void CompressionParams::fields(FieldList<CompressionParams>& f) {
  f("type", &CompressionParams::type, "How gradients are made smaller.")
      .options({"none", "2bit", "fp16", "topk"});
  f("threshold", &CompressionParams::threshold, "2bit: the size of what is sent for a value that reaches it.")
      .above(0);
  f("ratio", &CompressionParams::ratio, "topk: the part of the values that travels.").above(0).at_most(1);
}

ops::Code CompressionParams::code() const {
  using Kind = ops::Code::Kind;
  const Kind kind = !enabled()  ? Kind::none
                    : two_bit() ? Kind::two_bit
                    : top_k()   ? Kind::top_k
                                : Kind::narrow;
  return {.kind = kind, .narrow = DType::float16, .threshold = threshold, .ratio = ratio};
}

}  // namespace loomix::kvstore
