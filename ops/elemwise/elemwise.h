// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "base/params.h"
#include "ops/elemwise/loops.h"
#include "ops/kernel.h"

// Attributes and kernels of the elementwise family. register.cc calls the register_ functions, one a file.
namespace loomix::ops {

class OpTable;

struct UnaryName {
  Unary op;
  const char* name;
};
inline constexpr UnaryName kUnaryNames[] = {
    {Unary::abs, "abs"},
    {Unary::arccos, "arccos"},
    {Unary::arccosh, "arccosh"},
    {Unary::arcsin, "arcsin"},
    {Unary::arcsinh, "arcsinh"},
    {Unary::arctan, "arctan"},
    {Unary::arctanh, "arctanh"},
    {Unary::cbrt, "cbrt"},
    {Unary::ceil, "ceil"},
    {Unary::cos, "cos"},
    {Unary::cosh, "cosh"},
    {Unary::degrees, "degrees"},
    {Unary::digamma, "_digamma"},
    {Unary::erf, "erf"},
    {Unary::erfinv, "erfinv"},
    {Unary::exp, "exp"},
    {Unary::expm1, "expm1"},
    {Unary::fix, "fix"},
    {Unary::fix, "trunc"},
    {Unary::floor, "floor"},
    {Unary::gamma, "gamma"},
    {Unary::gammaln, "gammaln"},
    {Unary::log, "log"},
    {Unary::log10, "log10"},
    {Unary::log1p, "log1p"},
    {Unary::log2, "log2"},
    {Unary::logical_not, "logical_not"},
    {Unary::negative, "negative"},
    {Unary::not_nan, "_not_nan"},
    {Unary::radians, "radians"},
    {Unary::rcbrt, "rcbrt"},
    {Unary::reciprocal, "reciprocal"},
    {Unary::relu, "relu"},
    {Unary::rint, "rint"},
    {Unary::round, "round"},
    {Unary::rsqrt, "rsqrt"},
    {Unary::sigmoid, "sigmoid"},
    {Unary::sign, "sign"},
    {Unary::sin, "sin"},
    {Unary::sinh, "sinh"},
    {Unary::softrelu, "_softrelu"},
    {Unary::softsign, "softsign"},
    {Unary::sqrt, "sqrt"},
    {Unary::square, "square"},
    {Unary::tan, "tan"},
    {Unary::tanh, "tanh"},
    {Unary::trigamma, "_trigamma"},
};

struct BinaryName {
  Binary op;
  const char* name;
};
inline constexpr BinaryName kElemwiseNames[] = {
    {Binary::add, "elemwise_add"},
    {Binary::add, "_grad_add"},
    {Binary::sub, "elemwise_sub"},
    {Binary::mul, "elemwise_mul"},
    {Binary::div, "elemwise_div"},
    {Binary::mod, "_mod"},
    {Binary::power, "_power"},
    {Binary::maximum, "_maximum"},
    {Binary::minimum, "_minimum"},
    {Binary::hypot, "_hypot"},
    {Binary::equal, "_equal"},
    {Binary::not_equal, "_not_equal"},
    {Binary::greater, "_greater"},
    {Binary::greater_equal, "_greater_equal"},
    {Binary::lesser, "_lesser"},
    {Binary::lesser_equal, "_lesser_equal"},
    {Binary::logical_and, "_logical_and"},
    {Binary::logical_or, "_logical_or"},
    {Binary::logical_xor, "_logical_xor"},
    {Binary::backward_relu, "_backward_relu"},
    {Binary::backward_sigmoid, "_backward_sigmoid"},
    {Binary::backward_tanh, "_backward_tanh"},
    {Binary::backward_softsign, "_backward_softsign"},
    {Binary::backward_abs, "_backward_abs"},
    {Binary::backward_square, "_backward_square"},
};
inline constexpr BinaryName kBroadcastNames[] = {
    {Binary::add, "broadcast_add"},
    {Binary::sub, "broadcast_sub"},
    {Binary::mul, "broadcast_mul"},
    {Binary::div, "broadcast_div"},
    {Binary::mod, "broadcast_mod"},
    {Binary::power, "broadcast_power"},
    {Binary::maximum, "broadcast_maximum"},
    {Binary::minimum, "broadcast_minimum"},
    {Binary::hypot, "broadcast_hypot"},
    {Binary::equal, "broadcast_equal"},
    {Binary::not_equal, "broadcast_not_equal"},
    {Binary::greater, "broadcast_greater"},
    {Binary::greater_equal, "broadcast_greater_equal"},
    {Binary::lesser, "broadcast_lesser"},
    {Binary::lesser_equal, "broadcast_lesser_equal"},
    {Binary::logical_and, "broadcast_logical_and"},
    {Binary::logical_or, "broadcast_logical_or"},
    {Binary::logical_xor, "broadcast_logical_xor"},
};

struct ScalarName {
  Binary op;
  Spread side;  // where the number stands
  const char* name;
};
inline constexpr ScalarName kScalarNames[] = {
    {Binary::add, Spread::right, "_plus_scalar"},
    {Binary::sub, Spread::right, "_minus_scalar"},
    {Binary::sub, Spread::left, "_rminus_scalar"},
    {Binary::mul, Spread::right, "_mul_scalar"},
    {Binary::div, Spread::right, "_div_scalar"},
    {Binary::div, Spread::left, "_rdiv_scalar"},
    {Binary::mod, Spread::right, "_mod_scalar"},
    {Binary::mod, Spread::left, "_rmod_scalar"},
    {Binary::power, Spread::right, "_power_scalar"},
    {Binary::power, Spread::left, "_rpower_scalar"},
    {Binary::maximum, Spread::right, "_maximum_scalar"},
    {Binary::minimum, Spread::right, "_minimum_scalar"},
    {Binary::hypot, Spread::right, "_hypot_scalar"},
    {Binary::equal, Spread::right, "_equal_scalar"},
    {Binary::not_equal, Spread::right, "_not_equal_scalar"},
    {Binary::greater, Spread::right, "_greater_scalar"},
    {Binary::greater_equal, Spread::right, "_greater_equal_scalar"},
    {Binary::lesser, Spread::right, "_lesser_scalar"},
    {Binary::lesser_equal, Spread::right, "_lesser_equal_scalar"},
    {Binary::logical_and, Spread::right, "_logical_and_scalar"},
    {Binary::logical_or, Spread::right, "_logical_or_scalar"},
    {Binary::logical_xor, Spread::right, "_logical_xor_scalar"},
};

struct ScalarParams {
  double scalar = 1;
  bool is_int = true;
  static void fields(FieldList<ScalarParams>& f) {
    f("scalar", &ScalarParams::scalar, "The number; converted to the type of data first.");
    f("is_int", &ScalarParams::is_int, "Whether the number was an integer where it was written.");
  }
};

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
    f("a_min", &ClipParams::a_min, "Smaller elements become this.").required();
    f("a_max", &ClipParams::a_max, "Larger elements become this.").required();
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
    f("num_args", &AddNParams::num_args, "Number of inputs.").required().at_least(1).type("int");
  }
};

inline const std::vector<DType> kArrayDTypes = {DType::bfloat16, DType::float16, DType::float32,
                                                DType::float64,  DType::int32,   DType::int64,
                                                DType::int8,     DType::uint8};
inline const std::vector<DType> kCastDTypes = {DType::bfloat16, DType::boolean, DType::float16,
                                               DType::float32,  DType::float64, DType::int32,
                                               DType::int64,    DType::int8,    DType::uint8};

struct CastParams {
  DType dtype = DType::float32;
  static void fields(FieldList<CastParams>& f) {
    f("dtype", &CastParams::dtype, "Type of the output.").required().dtypes(kCastDTypes);
  }
};

struct AmpCastParams {
  DType dtype = DType::float32;
  static void fields(FieldList<AmpCastParams>& f) {
    f("dtype", &AmpCastParams::dtype, "Type of the output if the input is floating.")
        .required()
        .dtypes(kArrayDTypes);
  }
};

struct AmpMulticastParams {
  int num_outputs = 1;
  bool cast_narrow = false;
  static void fields(FieldList<AmpMulticastParams>& f) {
    f("num_outputs", &AmpMulticastParams::num_outputs, "Number of inputs and outputs.")
        .required()
        .at_least(1)
        .type("int");
    f("cast_narrow", &AmpMulticastParams::cast_narrow,
      "Cast to the narrowest type of the inputs, not the widest.");
  }
};

enum class LossNormalization { null, batch, valid };

struct MakeLossParams {
  float grad_scale = 1;
  float valid_thresh = 0;
  LossNormalization normalization = LossNormalization::null;
  static void fields(FieldList<MakeLossParams>& f) {
    f("grad_scale", &MakeLossParams::grad_scale, "The gradient of every element.");
    f("valid_thresh", &MakeLossParams::valid_thresh, "Elements above it count as valid.");
    f("normalization", &MakeLossParams::normalization,
      "Divides the gradient by nothing, by the batch size, or by the number of valid elements.")
        .options({{"null", LossNormalization::null},
                  {"batch", LossNormalization::batch},
                  {"valid", LossNormalization::valid}});
  }
};

void register_unary(OpTable& table);
void register_binary(OpTable& table);
void register_scalar(OpTable& table);
void register_cast(OpTable& table);
void register_select(OpTable& table);

void clip_cpu(const ClipParams& p, const KernelArgs& args);
void hard_sigmoid_cpu(const HardSigmoidParams& p, const KernelArgs& args);
void smooth_l1_cpu(const SmoothL1Params& p, const KernelArgs& args);
void smooth_l1_slope_cpu(const SmoothL1Params& p, const KernelArgs& args);
void add_n_cpu(const AddNParams& p, const KernelArgs& args);
void backward_make_loss_cpu(const MakeLossParams& p, const KernelArgs& args);
void amp_multicast_cpu(const AmpMulticastParams& p, const KernelArgs& args);

}  // namespace loomix::ops
