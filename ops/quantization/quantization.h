// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"
#include "ops/kernel.h"
#include "ops/norm/batch_norm.h"
#include "ops/whole_role.h"

// Whole numbers of 8 and 32 bits that stand for real ones. A range (two arrays of one number each) goes with each array; the
// larger magnitude of its ends is what the type's largest number stands for, and 0 is 0.
namespace loomix::ops {

enum class QuantizedType { automatic, int8, uint8 };

struct CalibratedRange {
  std::optional<float> min_calib_range;
  std::optional<float> max_calib_range;

  bool is_calibrated() const { return min_calib_range && max_calib_range; }
  std::optional<Range> range() const {
    return is_calibrated() ? std::optional(Range{*min_calib_range, *max_calib_range}) : std::nullopt;
  }
  template <class P>
  static void list_range(FieldList<P>& f) {
    f("min_calib_range", &P::min_calib_range, "Least value that occurs; found in each run without it.");
    f("max_calib_range", &P::max_calib_range, "Greatest value that occurs; found in each run without it.");
  }
};

struct QuantizeParams {
  DType out_type = DType::uint8;
  static void fields(FieldList<QuantizeParams>& f) {
    f("out_type", &QuantizeParams::out_type, "Type of the output.").dtypes({DType::int8, DType::uint8});
  }
};

// Of quantize_v2 and requantize.
struct QuantizeV2Params : CalibratedRange {
  QuantizedType out_type = QuantizedType::int8;

  // `auto` is uint8 where nothing is negative, as far as calibration says.
  DType type() const {
    const bool is_unsigned = out_type == QuantizedType::automatic ? is_calibrated() && *min_calib_range >= 0
                                                                  : out_type == QuantizedType::uint8;
    return is_unsigned ? DType::uint8 : DType::int8;
  }
  static void fields(FieldList<QuantizeV2Params>& f) {
    f("out_type", &QuantizeV2Params::out_type,
      "Type of the output; auto: uint8 if the calibrated range has nothing negative, else int8.")
        .options({{"auto", QuantizedType::automatic},
                  {"int8", QuantizedType::int8},
                  {"uint8", QuantizedType::uint8}});
    list_range(f);
  }
};

struct QuantizeAsymParams : CalibratedRange {
  static void fields(FieldList<QuantizeAsymParams>& f) { list_range(f); }
};

struct DequantizeParams {
  DType out_type = DType::float32;
  static void fields(FieldList<DequantizeParams>& f) {
    f("out_type", &DequantizeParams::out_type, "Type of the output.").dtypes({DType::float32});
  }
};

struct EntropyParams {
  int num_quantized_bins = 255;
  static void fields(FieldList<EntropyParams>& f) {
    f("num_quantized_bins", &EntropyParams::num_quantized_bins, "Steps that there are.")
        .at_least(3)
        .type("int");
  }
};

struct QuantizedActParams {
  std::string act_type;
  static void fields(FieldList<QuantizedActParams>& f) {
    f("act_type", &QuantizedActParams::act_type, "Only relu keeps whole numbers whole.")
        .required("relu")
        .options({"relu", "sigmoid", "softrelu", "softsign", "tanh"});
  }
};

struct QuantizedConcatParams {
  int num_args = 0;
  int dim = 1;
  static void fields(FieldList<QuantizedConcatParams>& f) {
    f("num_args", &QuantizedConcatParams::num_args,
      "Number of arrays; each has a least and a greatest value, too.")
        .required("2")
        .at_least(1)
        .type("int");
    f("dim", &QuantizedConcatParams::dim, "Axis along which they are joined.");
  }
};

struct QuantizedAddParams : CalibratedRange {
  static void fields(FieldList<QuantizedAddParams>& f) { list_range(f); }
};

struct QuantizedMulParams : CalibratedRange {
  bool enable_float_output = false;
  static void fields(FieldList<QuantizedMulParams>& f) {
    list_range(f);
    f("enable_float_output", &QuantizedMulParams::enable_float_output, "Gives float32, and no range.");
  }
};

struct QuantizedEmbeddingParams {
  int64_t input_dim = 0;
  int64_t output_dim = 0;
  DType dtype = DType::float32;
  bool sparse_grad = false;
  static void fields(FieldList<QuantizedEmbeddingParams>& f) {
    using P = QuantizedEmbeddingParams;
    f("input_dim", &P::input_dim, "Number of rows of the weight.").required("2").at_least(1).type("int");
    f("output_dim", &P::output_dim, "Length of a row.").required("3").at_least(1).type("int");
    f("dtype", &P::dtype, "Has no effect: the output has the weight's type.")
        .dtypes({DType::bfloat16, DType::float16, DType::float32, DType::float64, DType::int32, DType::int64,
                 DType::int8, DType::uint8});
    f("sparse_grad", &P::sparse_grad, "Has no effect: there is no gradient.");
  }
};

// ValueError unless both ends are numbers, in order.
Range checked_range(float low, float high, const char* who);
inline Range range_at(const KernelArgs& args, size_t low, const char* who) {
  return checked_range(*args.in[low].as<float>(), *args.in[low + 1].as<float>(), who);
}
// Of `_contrib_quantized_rnn`: throws where the data's scale and shift are no numbers to divide by and take off.
void check_data_scale(float scale, float shift);
// One range for all rows of an array (its first axis), or one for each.
class RowRanges {
 public:
  RowRanges(const KernelArgs& args, size_t low, const char* who)
      : low_(args.in[low].as<float>()), high_(args.in[low + 1].as<float>()), count_(args.in[low].size()) {
    for (int64_t i = 0; i < count_; ++i) checked_range(low_[i], high_[i], who);
  }
  bool is_one() const { return count_ == 1; }
  Range operator[](int64_t row) const { return {low_[is_one() ? 0 : row], high_[is_one() ? 0 : row]}; }

 private:
  const float *low_, *high_;
  int64_t count_;
};
inline void put_range(const KernelArgs& args, Range range) {
  if (float* low = args.wanted<float>(1)) *low = range.low;
  if (float* high = args.wanted<float>(2)) *high = range.high;
}
// Least and greatest of an array; zeros of an empty one.
Range range_of(const TensorView& data, const char* who);

// The nearest whole number, halves to even, within what the type holds. int8 leaves -128 out: what is symmetric stays so.
template <class T>
constexpr T to_whole(float value) {
  static_assert(sizeof(T) == 1);
  constexpr float kMost = std::is_same_v<T, int8_t> ? 127.0f : 255.0f;
  constexpr float kLeast = std::is_same_v<T, int8_t> ? -kMost : 0.0f;
  constexpr float kRounder =
      12582912.0f;  // 1.5 * 2^23: beside it float32 holds whole numbers alone, on every processor
  const float within = value < kLeast ? kLeast : value > kMost ? kMost : value;
  return static_cast<T>(static_cast<int32_t>(within + kRounder - kRounder));
}
inline int32_t to_sum(double value) {
  return static_cast<int32_t>(std::nearbyint(std::clamp(value, -2147483647.0, 2147483647.0)));
}
// 1 / step; 0 where the range is empty, so that everything becomes 0.
constexpr double per_step(double step) { return step > 0 ? 1 / step : 0; }

template <class Fn>
void dispatch_bytes(DType dtype, Fn&& fn) {
  if (dtype == DType::int8) fn(Type<int8_t>{});
  else fn(Type<uint8_t>{});
}

constexpr DTypeSet kByteTypes{DType::int8, DType::uint8};

}  // namespace loomix::ops
