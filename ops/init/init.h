// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include "ops/elemwise/elemwise.h"

// Operators that make arrays from their attributes alone.
namespace loomix::ops {

inline constexpr std::initializer_list<DType> kEyeTypes = {
    DType::float32, DType::float64, DType::float16, DType::uint8, DType::int32, DType::int8, DType::int64};

// begin, begin + step, ... as MXNet computes them: for integers both lose their fractions, and float32 is rounded after each
// operation. Products of two float32 are exact in double, so no compiler can fuse them with the sum.
class EvenSteps {
 public:
  EvenSteps(double begin, double step, DType dtype)
      : single_(dtype == DType::float32),
        begin_(is_floating(dtype) ? begin : std::trunc(begin)),
        step_(is_floating(dtype) ? step : std::trunc(step)),
        single_begin_(static_cast<float>(begin)),
        single_step_(static_cast<float>(step)) {}
  constexpr double operator()(int64_t i) const {
    if (!single_) return begin_ + static_cast<double>(i) * step_;
    const double product = static_cast<double>(static_cast<float>(i)) * static_cast<double>(single_step_);
    return static_cast<double>(single_begin_) + static_cast<double>(static_cast<float>(product));
  }

 private:
  bool single_;
  double begin_, step_;
  float single_begin_, single_step_;  // of their own: g++ 12 loses the rounding of doubles in pairs
};

// _zeros and _ones.
struct FillParams {
  Shape shape;
  std::string ctx;
  DType dtype = DType::float32;
  static void fields(FieldList<FillParams>& f) {
    f("shape", &FillParams::shape, "Shape of the output; 0 stands for a size that is to be inferred.");
    f("ctx", &FillParams::ctx, "Device of the output, as cpu(0); only for imperative calls.");
    f("dtype", &FillParams::dtype, "Type of the output.");
  }
};

struct ZerosWithoutDtypeParams {
  std::optional<Shape> shape;
  std::string ctx;
  int dtype = -1;
  static void fields(FieldList<ZerosWithoutDtypeParams>& f) {
    f("shape", &ZerosWithoutDtypeParams::shape, "Shape of the output.").type("Shape(tuple)");
    f("ctx", &ZerosWithoutDtypeParams::ctx, "Device of the output, as cpu(0); only for imperative calls.");
    f("dtype", &ZerosWithoutDtypeParams::dtype, "Type code of the output; -1 leaves it to inference.");
  }
};

struct FullParams {
  std::optional<Shape> shape;
  std::string ctx;
  DType dtype = DType::float32;
  double value = 0;
  static void fields(FieldList<FullParams>& f) {
    f("shape", &FullParams::shape, "Shape of the output; 0 stands for a size that is to be inferred.")
        .type("Shape(tuple)");
    f("ctx", &FullParams::ctx, "Device of the output, as cpu(0); only for imperative calls.");
    f("dtype", &FullParams::dtype, "Type of the output.");
    f("value", &FullParams::value, "Value of every element.").required("1");
  }
};

struct RangeParams {
  double start = 0;
  std::optional<double> stop;
  double step = 1;
  int repeat = 1;
  bool infer_range = false;
  std::string ctx;
  DType dtype = DType::float32;
  static void fields(FieldList<RangeParams>& f) {
    f("start", &RangeParams::start, "First value.").required("0");
    f("stop", &RangeParams::stop,
      "End of the interval, not included; without it, start is the end and 0 the start.");
    f("step", &RangeParams::step, "Distance of two values.");
    f("repeat", &RangeParams::repeat, "How many times each value stands in the output.").at_least(1);
    f("infer_range", &RangeParams::infer_range, "The number of values follows from the consumer's shape.");
    f("ctx", &RangeParams::ctx, "Device of the output, as cpu(0); only for imperative calls.");
    f("dtype", &RangeParams::dtype, "Type of the output.").dtypes(kArrayDTypes);
  }
};

struct LinspaceParams {
  double start = 0;
  double stop = 0;
  int64_t num = 50;
  bool endpoint = true;
  std::string ctx;
  DType dtype = DType::float32;
  static void fields(FieldList<LinspaceParams>& f) {
    f("start", &LinspaceParams::start, "First value.").required("0");
    f("stop", &LinspaceParams::stop, "Last value, or the one after it without `endpoint`.").required("4");
    f("num", &LinspaceParams::num, "Number of values.").required("5").at_least(0);
    f("endpoint", &LinspaceParams::endpoint, "Whether `stop` is the last value.");
    f("ctx", &LinspaceParams::ctx, "Device of the output, as cpu(0); only for imperative calls.");
    f("dtype", &LinspaceParams::dtype, "Type of the output.").dtypes(kArrayDTypes);
  }
};

// Element i of _linspace.
class Linspace {
 public:
  explicit Linspace(const LinspaceParams& p)
      : begin_(p.start),
        span_(p.stop - p.start),
        steps_(static_cast<double>(std::max<int64_t>(p.endpoint ? p.num - 1 : p.num, 1))) {}
  constexpr double operator()(int64_t i) const { return begin_ + span_ * (static_cast<double>(i) / steps_); }

 private:
  double begin_, span_, steps_;
};

struct EyeParams {
  int64_t N = 0;
  int64_t M = 0;
  int64_t k = 0;
  std::string ctx;
  DType dtype = DType::float32;
  static void fields(FieldList<EyeParams>& f) {
    f("N", &EyeParams::N, "Number of rows.").required("3").at_least(0);
    f("M", &EyeParams::M, "Number of columns; 0 means N.").at_least(0);
    f("k", &EyeParams::k, "Which diagonal is ones: positive above the main one, negative below.");
    f("ctx", &EyeParams::ctx, "Device of the output, as cpu(0); only for imperative calls.");
    f("dtype", &EyeParams::dtype, "Type of the output.").dtypes(kEyeTypes);
  }
};

struct ArangeLikeParams {
  double start = 0;
  double step = 1;
  int repeat = 1;
  std::string ctx;
  std::optional<int> axis;
  static void fields(FieldList<ArangeLikeParams>& f) {
    f("start", &ArangeLikeParams::start, "First value.");
    f("step", &ArangeLikeParams::step, "Distance of two values.");
    f("repeat", &ArangeLikeParams::repeat, "How many times each value stands in the output.").at_least(1);
    f("ctx", &ArangeLikeParams::ctx, "Ignored: the output lies where `data` does.");
    f("axis", &ArangeLikeParams::axis,
      "Axis of data that gives the number of values; without it, data's shape is taken.");
  }
};

// _set_value: the array to fill is the one given as `out`.
struct SetValueParams {
  std::optional<float> src;
  static void fields(FieldList<SetValueParams>& f) {
    f("src", &SetValueParams::src, "Value of every element.").type("real_t");
  }
};

}  // namespace loomix::ops
