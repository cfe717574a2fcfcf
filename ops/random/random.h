// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/op.h"
#include "ops/random/distributions.h"

// Random arrays. Element i draws from a counter that the push reserved, so a result depends on the seed and the order of
// pushes alone. `_random_x` takes its distribution's parameters as attributes, `_random_x_like` also takes the shape from
// an array, `_sample_x` takes arrays of parameters and draws a block of `shape` for each.
namespace loomix::ops {

// What all `_random_x` share: the output.
struct RandomTarget {
  std::optional<Shape> shape;
  std::string ctx;
  std::optional<DType> dtype;
};

template <class P>
void target_fields(FieldList<P>& f, std::initializer_list<DType> dtypes) {
  f("shape", &P::shape, "Shape of the output; (1,) without it.").type("Shape(tuple)");
  f("ctx", &P::ctx, "Device of the output, as cpu(0); only for imperative calls.");
  f("dtype", &P::dtype, "Type of the output; float32 (randint: int32) without it.").dtypes(dtypes);
}

// Raises unless the value of a parameter (element `i` of an array of them) is one that distribution D has.
template <class D>
void check_parameter(const char* family, double value, const ParameterInfo& info, std::optional<int64_t> i) {
  const bool open = info.limit == Limit::refused || (info.limit == Limit::allowed_in_arrays && !i);
  const bool enough = info.least == kAnyValue || (open ? value > info.least : value >= info.least);
  if (enough && std::isfinite(value)) return;
  const char* const range = info.least == kAnyValue ? "" : open ? " above 0" : " of 0 or more";
  const std::string which = i ? fmt::format("element {} of {}", *i, info.name) : info.name;
  throw ValueError(
      fmt::format("[{}{}] {} is {}; expected a finite number{}.", family, D::name, which, value, range));
}

// Of `_sample_x`: raises unless all values of parameter `k` are ones that distribution D has.
template <class D>
void check_parameters(const TensorView& values, size_t k) {
  dispatch_numeric(values.dtype, "sample", [&]<class T>(Type<T>) {
    for (int64_t i = 0; i < values.size(); ++i)
      check_parameter<D>("_sample_", static_cast<double>(values.as<T>()[i]), D::parameters[k], i);
  });
}

// Of `_shuffle`: the rows, and the order that a stretch of random numbers puts them in.
inline int64_t shuffled_rows(const Shape& data) { return data.ndim() == 0 ? 1 : data[0]; }
void shuffle_order(const RandomStream& random, std::span<int64_t> order);

// The attributes of `_random_x_like`: the parameters of distribution D.
template <class D>
struct LikeParams {
  static constexpr size_t kLast = D::parameters.size() - 1;
  float first = D::parameters[0].initial;
  float second = D::parameters[kLast].initial;

  template <class P>
  static void fields(FieldList<P>& f) {
    f(D::parameters[0].name, &P::first, D::parameters[0].doc);
    if constexpr (kLast == 1) f(D::parameters[1].name, &P::second, D::parameters[1].doc);
  }
  // For kernels: as in MXNet a parameter that is out of range is an error of the array, not of the call.
  void check() const {
    check_parameter<D>("_random_", first, D::parameters[0], {});
    if constexpr (kLast == 1) check_parameter<D>("_random_", second, D::parameters[1], {});
  }
};

// The attributes of `_random_x`.
template <class D>
struct DrawParams : LikeParams<D>, RandomTarget {
  static void fields(FieldList<DrawParams>& f) {
    LikeParams<D>::fields(f);
    target_fields(f, {DType::bfloat16, DType::float16, DType::float32, DType::float64});
  }
};

// The attributes of `_sample_x`.
struct SampleParams {
  Shape shape;
  std::optional<DType> dtype;
  static void fields(FieldList<SampleParams>& f) {
    f("shape", &SampleParams::shape, "Shape of the block drawn for each element of the parameters.");
    f("dtype", &SampleParams::dtype, "Type of the output; that of the parameters without it.")
        .dtypes({DType::bfloat16, DType::float16, DType::float32, DType::float64});
  }
};

struct RandintParams : RandomTarget {
  int64_t low = 0;
  int64_t high = 0;
  static void fields(FieldList<RandintParams>& f) {
    f("low", &RandintParams::low, "Smallest value.").required("0");
    f("high", &RandintParams::high, "One more than the largest value.").required("10");
    target_fields(f, {DType::int32, DType::int64});
  }
};

struct MultinomialParams {
  Shape shape;
  bool get_prob = false;
  DType dtype = DType::int32;
  static void fields(FieldList<MultinomialParams>& f) {
    f("shape", &MultinomialParams::shape, "Shape of the block drawn from each distribution.");
    f("get_prob", &MultinomialParams::get_prob,
      "Also give the logarithm of the probability of what was drawn.");
    f("dtype", &MultinomialParams::dtype, "Type of the output.")
        .dtypes({DType::uint8, DType::int32, DType::float16, DType::float32, DType::float64});
  }
};

struct ZipfianParams {
  int range_max = 1;
  std::optional<Shape> shape;
  static void fields(FieldList<ZipfianParams>& f) {
    f("range_max", &ZipfianParams::range_max, "The number of classes.").required("4").at_least(1).type("int");
    f("shape", &ZipfianParams::shape, "Rows, each of different classes, and their length.")
        .type("Shape(tuple)");
  }
};

}  // namespace loomix::ops
