// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/params.h"
#include "ops/kernel.h"

// Attributes and kernels of the elementwise family. register.cc calls the register_ functions, one a file.
namespace loomix::ops {

class TypeInfer;

struct ScalarParams {
  double scalar = 1;
  bool is_int = true;
  static void fields(FieldList<ScalarParams>& f) {
    f("scalar", &ScalarParams::scalar, "The number; converted to the type of data first.");
    f("is_int", &ScalarParams::is_int, "Whether the number was an integer where it was written.");
  }
};

// Booleans and a number give int64, whole numbers and one that is said to be a fraction float64, as in MXNet. Other arrays
// keep their type.
void type_with_number(const ScalarParams& p, TypeInfer& t);

struct SmoothL1Params {
  float scalar = 1;
  static void fields(FieldList<SmoothL1Params>& f) {
    f("scalar", &SmoothL1Params::scalar, "Sigma: quadratic within 1 / sigma^2 of zero.");
  }
};

struct ClipParams {
  float a_min = 0;
  float a_max = 0;
  static void fields(FieldList<ClipParams>& f) {
    f("a_min", &ClipParams::a_min, "Smaller elements become this.").required("0");
    f("a_max", &ClipParams::a_max, "Larger elements become this.").required("1");
  }
};

struct HardSigmoidParams {
  float alpha = 0.2f;
  float beta = 0.5f;
  static void fields(FieldList<HardSigmoidParams>& f) {
    f("alpha", &HardSigmoidParams::alpha, "Slope.");
    f("beta", &HardSigmoidParams::beta, "Value at zero.");
  }
};

struct AddNParams {
  int num_args = 1;
  static void fields(FieldList<AddNParams>& f) {
    f("num_args", &AddNParams::num_args, "Number of inputs.").required("2").at_least(1).type("int");
  }
};

inline constexpr std::initializer_list<DType> kArrayDTypes = {DType::bfloat16, DType::float16, DType::float32,
                                                              DType::float64,  DType::int32,   DType::int64,
                                                              DType::int8,     DType::uint8};

struct CastParams {
  DType dtype = DType::float32;
  static void fields(FieldList<CastParams>& f) {
    f("dtype", &CastParams::dtype, "Type of the output.").required("float32");
  }
};

struct AmpCastParams {
  DType dtype = DType::float32;
  static void fields(FieldList<AmpCastParams>& f) {
    f("dtype", &AmpCastParams::dtype, "Type of the output if the input is floating.")
        .required("float32")
        .dtypes(kArrayDTypes);
  }
};

struct AmpMulticastParams {
  int num_outputs = 1;
  bool cast_narrow = false;
  static void fields(FieldList<AmpMulticastParams>& f) {
    using P = AmpMulticastParams;
    f("num_outputs", &P::num_outputs, "Number of inputs and outputs.").required("2").at_least(1).type("int");
    f("cast_narrow", &P::cast_narrow, "Cast to the narrowest type of the inputs, not the widest.");
  }
};

enum class MakeLossNormalization { null, batch, valid };

struct MakeLossParams {
  float grad_scale = 1;
  float valid_thresh = 0;
  MakeLossNormalization normalization = MakeLossNormalization::null;
  static void fields(FieldList<MakeLossParams>& f) {
    f("grad_scale", &MakeLossParams::grad_scale, "The gradient of every element.");
    f("valid_thresh", &MakeLossParams::valid_thresh, "Elements above it count as valid.");
    f("normalization", &MakeLossParams::normalization,
      "Divides the gradient by nothing, by the batch size, or by the number of valid elements.")
        .options({{"null", MakeLossNormalization::null},
                  {"batch", MakeLossNormalization::batch},
                  {"valid", MakeLossNormalization::valid}});
  }
};

// The bound as an element of an integer type, where it may lie outside of the type's range.
double clip_bound(double bound, DType dtype);
void clip_cpu(const ClipParams& p, const KernelArgs& args);
void hard_sigmoid_cpu(const HardSigmoidParams& p, const KernelArgs& args);
void add_n_cpu(const AddNParams& p, const KernelArgs& args);
void backward_make_loss_cpu(const MakeLossParams& p, const KernelArgs& args);
void amp_multicast_cpu(const AmpMulticastParams& p, const KernelArgs& args);

}  // namespace loomix::ops
