// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>

#include "loomix/nn/array.h"
#include "loomix/nn/trace.h"

// How Array does what array.h says.
namespace loomix::nn {

namespace detail {

[[gnu::noinline]] inline void Call::run_arrays(size_t* count, const LoomixArray** outputs) const {
  std::vector<LoomixArray> handles;
  for (const Array& input : inputs_) handles.push_back(input.handle());
  std::vector<const char*> values;
  const LoomixPairs parameters = pairs(values);
  check(LoomixOperatorInvoke(op_, handles.size(), handles.data(), &parameters, count, outputs));
}

[[gnu::noinline]] inline Arrays Call::run_all() {
  Trace* trace = inputs_.empty() ? current_trace() : nullptr;
  for (const Array& input : inputs_) {
    if (input.is_traced()) trace = input.trace();
  }
  if (trace) return run_traced(*trace);
  size_t count = 0;
  const LoomixArray* made = nullptr;
  run_arrays(&count, &made);
  Arrays result;
  for (size_t i = 0; i < count; ++i) result.push_back(Array(made[i]));
  return result;
}

inline void Call::into(const Array& out) {
  const LoomixArray output = out.handle();
  size_t count = 1;
  const LoomixArray* outputs = &output;
  run_arrays(&count, &outputs);
}

[[gnu::noinline, gnu::cold]] inline Arrays Call::run_traced(Trace& trace) const {
  std::vector<LoomixSymbol> handles;
  Arrays kept;
  for (const Array& input : inputs_) {
    kept.push_back(input.is_traced() ? input : trace.constant(input));
    handles.push_back(kept.back().symbol());
  }
  std::vector<const char*> values;
  const LoomixPairs parameters = pairs(values);
  const LoomixSymbolInputs inputs{handles.size(), nullptr, handles.data()};
  LoomixSymbol made = nullptr;
  check(LoomixSymbolCreate(op_, &parameters, &inputs, trace.node_name(op_, name_).c_str(), &made));
  return trace.outputs_of(made);
}

inline Array with_scalar(const char* op, const Array& array, double scalar) {
  check_scalar(array, scalar);
  return Call(op).in(array).set("scalar", scalar).run();
}

inline void change_by_scalar(const char* op, Array& array, double scalar) {
  if (array.is_traced()) {
    array = with_scalar(op, array, scalar);
    return;
  }
  check_scalar(array, scalar);
  Call(op).in(array).set("scalar", scalar).into(array);
}

inline void check_scalar(const Array& array, double scalar) {
  if (array.is_traced() || scalar == std::floor(scalar) || is_floating(array.dtype())) return;
  detail::fail({"[Array] ", scalar, " with an array of ", name_of(array.dtype()),
                " would be cut to a whole number; astype(DType::float32) first."});
}

}  // namespace detail

inline Shape Array::shape() const { return symbol_ ? trace_->shape_of(*this) : detail::from_c(info().shape); }
inline int64_t Array::shape(int axis) const {
  const Shape sizes = shape();
  const int count = static_cast<int>(sizes.ndim());
  if (axis < -count || axis >= count)
    detail::fail({"[Array] axis ", axis, " is out of range for shape ", sizes, "; expected ", -count, " to ",
                  count - 1, "."});
  return sizes[static_cast<size_t>(axis < 0 ? axis + count : axis)];
}
inline DType Array::dtype() const {
  return symbol_ ? trace_->dtype_of(*this) : static_cast<DType>(info().type);
}
inline Device Array::device() const {
  const LoomixDevice device = info().device;
  return {static_cast<cpp::DeviceType>(device.type), device.id};
}

inline double Array::item() const {
  const Shape sizes = shape();
  if (sizes.count() != 1)
    detail::fail({"[Array] item() of an array of shape ", sizes, "; expected one element."});
  const Array one = dtype() == DType::float64 ? *this : astype(DType::float64);
  double value = 0;
  one.copy_to(std::span<double>(&value, 1));
  return value;
}

inline Array Array::operator[](int64_t row) const {
  const Shape sizes = shape();
  const int64_t rows = sizes.empty() ? 0 : sizes[0];
  if (row < -rows || row >= rows)
    detail::fail({"[Array] row ", row, " is out of range for shape ", sizes, "."});
  const int64_t begin = row < 0 ? row + rows : row;
  Shape rest(std::vector<int64_t>(sizes.begin() + 1, sizes.end()));
  if (rest.empty()) rest = {1};
  int recording = 0;
  detail::check(LoomixAutogradSetMode(-1, -1, &recording, nullptr));
  if (recording || is_traced()) {
    return detail::Call("slice_axis")
        .in(*this)
        .set("axis", 0)
        .set("begin", begin)
        .set("end", begin + 1)
        .run()
        .reshape(rest);
  }
  LoomixArray made = nullptr;
  detail::check(LoomixArraySlice(handle(), begin, begin + 1, &made));
  return Array(made).reshape(rest);
}

inline Array Array::reshape(const Shape& shape) const {
  int recording = is_traced();
  if (!recording) detail::check(LoomixAutogradSetMode(-1, -1, &recording, nullptr));
  if (recording) return detail::Call("Reshape").in(*this).set("shape", shape).run();
  const LoomixShape sizes = detail::to_c(shape);
  LoomixArray made = nullptr;
  detail::check(LoomixArrayReshape(handle(), &sizes, &made));
  return Array(made);
}
inline Array Array::astype(DType type) const {
  return detail::Call("Cast").in(*this).set("dtype", type).run();
}
inline Array Array::to(const Device& device) const {
  if (is_traced() || this->device() == device) return *this;
  Array result = make(shape(), {dtype(), device});
  detail::check(LoomixArrayCopy(handle(), result.handle()));
  return result;
}
inline Array Array::copy() const { return detail::Call("identity").in(*this).run(); }
inline Array Array::transpose(const Shape& axes) const {
  return detail::Call("transpose").in(*this).set("axes", axes, Shape()).run();
}
inline Array Array::expand_dims(int axis) const {
  return detail::Call("expand_dims").in(*this).set("axis", axis).run();
}
inline Array Array::squeeze() const { return detail::Call("squeeze").in(*this).run(); }
inline Array Array::flatten() const { return detail::Call("Flatten").in(*this).run(); }
inline Array Array::broadcast_to(const Shape& shape) const {
  Shape own = this->shape();
  const size_t more = shape.ndim() > own.ndim() ? shape.ndim() - own.ndim() : 0;
  own.sizes.insert(own.sizes.begin(), more, 1);
  return detail::Call("broadcast_to").in(more ? reshape(own) : *this).set("shape", shape).run();
}
inline Array Array::reduce(const char* op, const Shape& axis, bool keepdims) const {
  return detail::Call(op).in(*this).set("axis", axis, Shape()).set("keepdims", keepdims, false).run();
}
inline Array Array::arg(const char* op, int axis) const {
  return detail::Call(op).in(*this).set("axis", axis).run();
}

inline Array& Array::operator+=(const Array& other) {
  static const detail::Prepared op("broadcast_add", 2);
  op.change(*this, other);
  return *this;
}
inline Array& Array::operator-=(const Array& other) {
  static const detail::Prepared op("broadcast_sub", 2);
  op.change(*this, other);
  return *this;
}
inline Array& Array::operator*=(const Array& other) {
  static const detail::Prepared op("broadcast_mul", 2);
  op.change(*this, other);
  return *this;
}
inline Array& Array::operator/=(const Array& other) {
  static const detail::Prepared op("broadcast_div", 2);
  op.change(*this, other);
  return *this;
}
inline Array& Array::operator+=(double number) {
  detail::change_by_scalar("_plus_scalar", *this, number);
  return *this;
}
inline Array& Array::operator-=(double number) {
  detail::change_by_scalar("_minus_scalar", *this, number);
  return *this;
}
inline Array& Array::operator*=(double number) {
  detail::change_by_scalar("_mul_scalar", *this, number);
  return *this;
}
inline Array& Array::operator/=(double number) {
  detail::change_by_scalar("_div_scalar", *this, number);
  return *this;
}
inline Array Array::operator-() const { return detail::Call("negative").in(*this).run(); }
inline void Array::fill(double number) {
  detail::check_scalar(*this, number);
  detail::Call("_set_value").set("src", number).into(*this);
}
inline void Array::assign(const Array& values) {
  if (values.shape() == shape()) {
    detail::check(LoomixArrayCopy(values.handle(), handle()));
    return;
  }
  detail::check(LoomixArrayCopy(values.broadcast_to(shape()).handle(), handle()));
}

inline void Array::attach_grad(int request) {
  const Array gradient = make(shape(), {dtype(), device()});
  const LoomixArray of = handle(), to = gradient.handle();
  const int32_t wanted = request;
  detail::check(LoomixAutogradMark(1, &of, &to, &wanted));
}
inline void Array::backward() const { backward(Array()); }
inline void Array::backward(const Array& head_gradient, bool retain_graph) const {
  const LoomixArray of = handle(), from = head_gradient ? head_gradient.handle() : nullptr;
  detail::check(LoomixAutogradBackward(1, &of, from ? &from : nullptr, retain_graph, 1));
}
inline Array Array::detach() const { return detail::Call("BlockGrad").in(*this).run(); }

namespace detail {

inline Call made(const char* op, const Shape& shape, const ArrayOptions& options) {
  Call call(op);
  call.set("shape", shape).set("dtype", options.dtype).set("ctx", options.device);
  return call;
}

// Elements with the brackets of their axes; of long axes the first and last three.
inline void print(std::ostream& out, const Shape& shape, const std::vector<double>& values, size_t axis,
                  int64_t begin) {
  if (axis == shape.ndim()) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.6g", values[static_cast<size_t>(begin)]);
    out << buffer;
    return;
  }
  int64_t stride = 1;
  for (size_t i = axis + 1; i < shape.ndim(); ++i) stride *= shape[i];
  const bool inner = axis + 1 == shape.ndim();
  out << '[';
  for (int64_t i = 0; i < shape[axis]; ++i) {
    if (shape.count() > 1000 && shape[axis] > 6 && i == 3) {
      out << (inner ? ", ..." : ",\n ...");
      i = shape[axis] - 3;
    }
    if (i > 0) out << (inner ? ", " : ",\n" + std::string(axis + 1, ' '));
    print(out, shape, values, axis + 1, begin + i * stride);
  }
  out << ']';
}

}  // namespace detail

inline std::ostream& operator<<(std::ostream& out, const Array& array) {
  if (!array) return out << "Array()";
  const Shape shape = array.shape();
  if (array.is_traced()) return out << "<value of a graph, shape " << to_string(shape) << '>';
  const Array numbers = array.dtype() == DType::float64 ? array : array.astype(DType::float64);
  detail::print(out, shape, numbers.to_vector<double>(), 0, 0);
  return out << "\n<Array " << to_string(shape) << ' ' << name_of(array.dtype()) << " @"
             << detail::text(array.device()) << '>';
}

inline Array full(const Shape& shape, double value, const ArrayOptions& options) {
  return detail::made("_full", shape, options).set("value", value).run();
}
inline Array arange(double begin, double end, double step, const ArrayOptions& options) {
  return detail::Call("_arange")
      .set("start", begin)
      .set("stop", end)
      .set("step", step)
      .set("dtype", options.dtype)
      .set("ctx", options.device)
      .run();
}
inline Array eye(int64_t rows, int64_t columns, const ArrayOptions& options) {
  return detail::Call("_eye")
      .set("N", rows)
      .set("M", columns)
      .set("dtype", options.dtype)
      .set("ctx", options.device)
      .run();
}
inline Array uniform(const Shape& shape, double low, double high, const ArrayOptions& options) {
  return detail::made("_random_uniform", shape, options).set("low", low).set("high", high).run();
}
inline Array normal(const Shape& shape, double mean, double deviation, const ArrayOptions& options) {
  return detail::made("_random_normal", shape, options).set("loc", mean).set("scale", deviation).run();
}

}  // namespace loomix::nn
