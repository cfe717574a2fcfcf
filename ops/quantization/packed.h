// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/conv/convolution.h"
#include "ops/op.h"
#include "ops/pool/pooling.h"
#include "ops/quantization/quantization.h"

// Networks of 8 bits as prediction runs them: ranges are known while the graph is compiled, so that a layer rounds its sums itself,
// and adds and clamps before it does. In packed form an image lies pixel by pixel, (batch, height, width, channels); other
// arrays lie as they are. The pass `pack_whole` makes these operators; users never see them.
namespace loomix::ops {

Shape packed_shape(const Shape& plain);
Shape plain_shape(const Shape& packed);

// A convolution of two axes, or a fully connected layer, with what follows it: scale, + an array, max(x, 0), rounding.
struct PackedProductParams : ConvolutionParams {
  Shape
      image;  // shape of the data, as users have it; of a fully connected layer, whose kernel is the image, too
  bool dense = false;
  DType data_type = DType::uint8;
  DType out_type = DType::uint8;
  std::optional<DType> added_type;
  double added_scale = 0;
  bool relu = false;
  int64_t weight_size = 1;

  // Whether the data may have any shape of so many numbers.
  bool is_flat() const { return dense && image[2] * image[3] == 1; }
  static void fields(FieldList<PackedProductParams>& f) {
    using P = PackedProductParams;
    list_window(f);
    list_others(f, kConvLayouts);
    f("image", &P::image, "Shape of the data.").required("(1, 64, 7, 7)");
    f("dense", &P::dense, "A fully connected layer; the image is flattened.");
    f("data_type", &P::data_type, "Type of the data.").dtypes({DType::int8, DType::uint8});
    f("out_type", &P::out_type, "Type of the output.").dtypes({DType::int8, DType::uint8, DType::float32});
    f("added_type", &P::added_type, "Type of a further input, which is added to the output.")
        .dtypes({DType::int8, DType::uint8});
    f("added_scale", &P::added_scale, "What it is multiplied by.");
    f("relu", &P::relu, "max(x, 0) follows.");
    f("weight_size", &P::weight_size, "Bytes of the weight as the kernel wants it.");
  }
};

struct PackedClosing {
  DType out_type = DType::uint8;
  bool relu = false;
  std::optional<DType> added_type = {};
  double added_scale = 0;
};
struct PackedForm {
  const char *op, *prepare;  // the second brings the weight into the kernel's form
  Ref<const AttrsBase> attrs, prepare_attrs;
  int64_t filters;
};
// Of an operator whose role is `product`, on data of this shape; none: it cannot run exactly, or not faster.
std::optional<PackedForm> packed_product(const AttrsBase& attrs, const Shape& data, DType data_type,
                                         const PackedClosing& closing);
// Whether products run in packed form on this machine, and why not.
Support packs_products();

// The operators of products, to which a library adds kernels. The third brings a weight into their form.
inline constexpr const char *kPackedConvolution = "_packed_convolution", *kPackedDense = "_packed_dense",
                            *kPackedWeight = "_packed_product_weight";
void add_packed_products(OpTable& table);
// The attributes but for `weight_size`, which the library knows; then the form.
PackedProductParams packed_params(const AttrsBase& attrs, const Shape& data, DType data_type,
                                  const PackedClosing& closing);
PackedForm packed_form(PackedProductParams p);

// One factor and one bias for each filter, which bring sums to the output's step.
struct PackedScaleParams {
  int64_t filters = 1;
  double data_step = 0;
  double out_step = 1;
  bool no_bias = false;
  static void fields(FieldList<PackedScaleParams>& f) {
    f("filters", &PackedScaleParams::filters, "Number of outputs.").required("64");
    f("data_step", &PackedScaleParams::data_step, "What 1 stands for in the data.");
    f("out_step", &PackedScaleParams::out_step, "What 1 stands for in the output.");
    f("no_bias", &PackedScaleParams::no_bias, "There is no bias.");
  }
};

// Between real numbers as users have them and packed whole ones.
struct PackedQuantizeParams {
  double step = 1;
  DType out_type = DType::uint8;
  static void fields(FieldList<PackedQuantizeParams>& f) {
    f("step", &PackedQuantizeParams::step, "What 1 stands for.");
    f("out_type", &PackedQuantizeParams::out_type, "Type of the whole numbers.")
        .dtypes({DType::int8, DType::uint8});
  }
};
struct PackedDequantizeParams {
  double step = 1;
  static void fields(FieldList<PackedDequantizeParams>& f) {
    f("step", &PackedDequantizeParams::step, "What 1 stands for.");
  }
};

struct PackedPoolingParams : PoolingParams {};

// Arrays, each times its scale, joined along an axis or added.
struct PackedJoinParams {
  int num_args = 0;
  int dim = 0;
  std::vector<double> scales;
  DType out_type = DType::uint8;
  bool relu = false;
  static void fields(FieldList<PackedJoinParams>& f) {
    using P = PackedJoinParams;
    f("num_args", &P::num_args, "Number of arrays.").required("2").at_least(1).type("int");
    f("dim", &P::dim, "Axis along which they are joined.");
    f("scales", &P::scales, "What each is multiplied by.");
    f("out_type", &P::out_type, "Type of the output.").dtypes({DType::int8, DType::uint8, DType::float32});
    f("relu", &P::relu, "max(x, 0) follows.");
  }
};

}  // namespace loomix::ops
