// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/linear/dot.h"
#include "ops/linear/fully_connected.h"
#include "ops/rnn/rnn.h"

// Layers of real numbers whose weights are whole numbers of 8 or 4 bits. A group of neighbours in a row of the weight has one
// scale, which may be negative.
namespace loomix::ops {

// How a weight lies: 8 bits as int8; 4 bits as uint8, which holds two neighbours, the first in its low half, each + 8.
struct LowBitForm {
  int bits = 8;
  int64_t group_size = 0;  // 0: the whole row

  int64_t row_bytes(int64_t columns) const { return (columns * bits + 7) / 8; }
  int64_t groups(int64_t columns) const {
    return group_size == 0 ? 1 : (columns + group_size - 1) / group_size;
  }
  DType dtype() const { return bits == 8 ? DType::int8 : DType::uint8; }

  template <class P>
  static void list_form(FieldList<P>& f) {
    f("bits", &P::bits, "Bits of a number of the weight, 8 or 4.").at_least(4).at_most(8);
    f("group_size", &P::group_size,
      "So many neighbours in a row share a scale: a power of two from 32 on; 0: the whole row.")
        .at_least(0);
  }
};

struct LowBitFullyConnectedParams : FullyConnectedParams, LowBitForm {
  bool dynamic = false;

  static void fields(FieldList<LowBitFullyConnectedParams>& f) {
    using P = LowBitFullyConnectedParams;
    f("num_hidden", &P::num_hidden, "Number of outputs.").required("4").at_least(1);
    f("no_bias", &P::no_bias, "Leaves the bias out.");
    f("flatten", &P::flatten, "Joins all axes of the data but the first; else only the last is used.");
    list_form(f);
    f("dynamic", &P::dynamic,
      "Rounds each row of the data to 8 bits as well, in each run; for weights of 8 bits with a scale a "
      "row.");
  }
};

// Rows of the data, and of the output, by columns times columns by outputs.
struct ProductSizes {
  int64_t rows, columns, hidden;
  template <class Args>  // KernelArgs or KernelSpec
  ProductSizes(const LowBitFullyConnectedParams& p, const Args& args)
      : rows(args.out[0].size() / p.num_hidden),
        columns(rows == 0 ? 0 : args.in[0].size() / rows),
        hidden(p.num_hidden) {}
};

struct LowBitEmbeddingParams : LowBitForm {
  int64_t input_dim = 0;
  int64_t output_dim = 0;

  static void fields(FieldList<LowBitEmbeddingParams>& f) {
    using P = LowBitEmbeddingParams;
    f("input_dim", &P::input_dim, "Number of rows of the weight.").required("2").at_least(1).type("int");
    f("output_dim", &P::output_dim, "Length of a row.").required("3").at_least(1).type("int");
    list_form(f);
  }
};

// RNN in prediction, with weights of 8 bits, a scale a row, and data and states that are rounded in each run. The weight has the
// matrices of RNN's parameter vector, the bias what follows them.
struct LowBitRnnParams : RnnParams {
  static void fields(FieldList<LowBitRnnParams>& f) {
    list_layers(f);
    f("state_outputs", &LowBitRnnParams::state_outputs, "Returns the states after the last step, too.");
  }
};

// batch_dot on rows that are rounded in each run.
struct LowBitDotParams : DotParams {
  static void fields(FieldList<LowBitDotParams>& f) { list_transposes(f); }
};

}  // namespace loomix::ops
