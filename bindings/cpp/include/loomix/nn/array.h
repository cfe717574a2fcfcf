// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>

#include "loomix/nn/base.h"

namespace loomix::nn {

class Array;
class Part;
struct Index;
using Arrays = std::vector<Array>;

namespace detail {
class Trace;
Trace*& current_trace();  // of this thread; see trace.h
}  // namespace detail

// Where and of which type arrays are made.
struct ArrayOptions {
  DType dtype = DType::float32;
  Device device = cpu();
};

// An array. Copies share it. Operators run in the background; reading waits. While a block is traced an array may stand for a
// value of the graph instead: it has a shape and no elements then.
class Array {
 public:
  Array() = default;
  // Once, and no part of every function that has arrays: programs compile sooner.
  [[gnu::noinline]] Array(const Array& other) = default;
  Array(Array&&) noexcept = default;
  Array& operator=(const Array& other) = default;
  Array& operator=(Array&&) noexcept = default;
  [[gnu::noinline]] ~Array() {}
  explicit Array(LoomixArray handle) : array_(handle) {}  // takes the handle over
  // A row of numbers.
  Array(std::initializer_list<float> values)
      : Array(from(std::span<const float>(values.begin(), values.size()))) {}

  // A copy of the elements. Without a shape it has one axis.
  template <class T>
  static Array from(std::span<const T> values, const Shape& shape, Device device = cpu()) {
    Array result = make(shape, {dtype_of<T>(), device});
    result.copy_from(values);
    return result;
  }
  template <class T>
  static Array from(std::span<const T> values) {
    return from(values, Shape(static_cast<int64_t>(values.size())));
  }
  template <class T>
  static Array from(const std::vector<T>& values, const Shape& shape, Device device = cpu()) {
    return from(std::span<const T>(values), shape, device);
  }
  template <class T>
  static Array from(const std::vector<T>& values) {
    return from(std::span<const T>(values));
  }
  // An array over memory of the caller, without a copy. `release` is called with `context` when nothing uses it any more.
  template <class T>
  static Array over(std::span<T> memory, const Shape& shape, void (*release)(void*) = nullptr,
                    void* context = nullptr) {
    const LoomixShape sizes = detail::to_c(shape);
    LoomixArray made = nullptr;
    detail::check(LoomixArrayFromMemory(memory.data(), memory.size_bytes(), &sizes,
                                        static_cast<int>(dtype_of<T>()), release, context, &made));
    return Array(made);
  }
  // From and to other libraries by DLPack (`DLManagedTensor*`), sharing memory.
  static Array from_dlpack(void* tensor) {
    LoomixArray made = nullptr;
    detail::check(LoomixArrayFromDLPack(tensor, &made));
    return Array(made);
  }
  void* to_dlpack() const {
    void* tensor = nullptr;
    detail::check(LoomixArrayToDLPack(handle(), &tensor));
    return tensor;
  }
  // Zeros.
  static Array make(const Shape& shape, const ArrayOptions& options = {}) {
    const LoomixShape sizes = detail::to_c(shape);
    LoomixArray made = nullptr;
    detail::check(
        LoomixArrayCreate(&sizes, static_cast<int>(options.dtype), cpp::detail::to_c(options.device), &made));
    return Array(made);
  }

  explicit operator bool() const { return array_ || symbol_; }
  bool is_traced() const { return static_cast<bool>(symbol_); }
  Shape shape() const;
  int64_t shape(int axis) const;  // negative: from the end
  size_t ndim() const { return shape().ndim(); }
  int64_t size() const { return shape().count(); }
  DType dtype() const;
  Device device() const;

  // The elements themselves, row after row; waits. Not on a GPU. Valid as long as the array is.
  template <class T>
  std::span<T> span() const {
    check_type(dtype_of<T>(), "span");
    return {static_cast<T*>(data()), static_cast<size_t>(size())};
  }
  void* data() const {
    void* memory = nullptr;
    detail::check(LoomixArrayGetData(handle(), &memory));
    return memory;
  }
  // Copies of the elements; these wait.
  template <class T>
  void copy_from(std::span<const T> values) {
    check_type(dtype_of<T>(), "copy_from");
    detail::check(LoomixArrayCopyFromHost(handle(), values.data(), values.size_bytes()));
  }
  template <class T>
  void copy_to(std::span<T> values) const {
    check_type(dtype_of<T>(), "copy_to");
    detail::check(LoomixArrayCopyToHost(handle(), values.data(), values.size_bytes()));
  }
  template <class T = float>
  std::vector<T> to_vector() const {
    std::vector<T> values(static_cast<size_t>(size()));
    copy_to(std::span<T>(values));
    return values;
  }
  // The only element, as a number.
  double item() const;
  void wait() const { detail::check(LoomixArrayWait(handle())); }

  // Parts, as in Python: x(Slice(0, 3), all, -1), x(mask), x(indices). What is read is an array, and what is assigned changes
  // this one. Contiguous parts that are read share memory, unless this thread records.
  template <class... Keys>
  Part operator()(const Keys&... keys) const;
  Array operator[](int64_t row) const;

  Array reshape(const Shape& shape) const;  // one size may be -1
  Array astype(DType type) const;
  Array to(const Device& device) const;
  Array copy() const;
  Array transpose(const Shape& axes = {}) const;
  Array expand_dims(int axis) const;
  Array squeeze() const;
  Array flatten() const;
  Array broadcast_to(const Shape& shape) const;
  // Over some axes, or all of them.
  Array sum(const Shape& axis = {}, bool keepdims = false) const { return reduce("sum", axis, keepdims); }
  Array mean(const Shape& axis = {}, bool keepdims = false) const { return reduce("mean", axis, keepdims); }
  Array max(const Shape& axis = {}, bool keepdims = false) const { return reduce("max", axis, keepdims); }
  Array min(const Shape& axis = {}, bool keepdims = false) const { return reduce("min", axis, keepdims); }
  Array prod(const Shape& axis = {}, bool keepdims = false) const { return reduce("prod", axis, keepdims); }
  Array argmax(int axis) const { return arg("argmax", axis); }
  Array argmin(int axis) const { return arg("argmin", axis); }

  Array& operator+=(const Array& other);
  Array& operator-=(const Array& other);
  Array& operator*=(const Array& other);
  Array& operator/=(const Array& other);
  Array& operator+=(double number);
  Array& operator-=(double number);
  Array& operator*=(double number);
  Array& operator/=(double number);
  Array operator-() const;
  void fill(double number);
  void assign(const Array& values);  // of a shape that can be broadcast to this one

  // Gradients; see autograd.h.
  void attach_grad(int request = LOOMIX_WRITE);
  Array grad() const {
    LoomixArray made = nullptr;
    detail::check(LoomixArrayGetGradient(handle(), &made));
    return Array(made);
  }
  void backward() const;
  void backward(const Array& head_gradient, bool retain_graph = false) const;
  Array detach() const;

  LoomixArray handle() const {
    if (!array_) fail_empty();
    return array_.get();
  }
  LoomixSymbol symbol() const { return symbol_.get(); }
  // A value of a graph; takes the handle over.
  static Array traced(LoomixSymbol symbol, detail::Trace* trace) {
    Array result;
    result.symbol_ = detail::Handle<LoomixSymbol>(symbol);
    result.trace_ = trace;
    return result;
  }
  detail::Trace* trace() const { return trace_; }

 private:
  LoomixArrayInfo info() const {
    LoomixArrayInfo result;
    detail::check(LoomixArrayGetInfo(handle(), &result));
    return result;
  }
  [[noreturn]] void fail_empty() const {
    throw Error(
        symbol_
            ? "[Array] a value of a graph that is traced has no elements; what depends on elements cannot "
              "be hybridized."
            : "[Array] the array is empty: nothing was assigned to it.");
  }
  void check_type(DType wanted, const char* who) const {
    const DType type = dtype();
    if (type != wanted)
      detail::fail({"[Array] ", who, " of ", name_of(wanted), " elements; the array has ", name_of(type),
                    " (astype changes it)."});
  }
  Array reduce(const char* op, const Shape& axis, bool keepdims) const;
  Array arg(const char* op, int axis) const;

  detail::Handle<LoomixArray> array_;
  detail::Handle<LoomixSymbol> symbol_;
  detail::Trace* trace_ = nullptr;
};

namespace detail {

// A call of an operator: inputs in order, parameters that are set as text. On arrays it runs, on values of a graph it becomes a
// node.
class Call {
 public:
  explicit Call(const char* op) : op_(op) {}
  [[gnu::noinline]] Call& in(const Array& array) {
    if (array) inputs_.push_back(array);
    return *this;
  }
  Call& in(const Arrays& arrays) {
    for (const Array& array : arrays) inputs_.push_back(array);
    return *this;
  }
  template <class T>
  Call& set(const char* name, const T& value) {
    return set_text(name, text(value));
  }
  // Only if it differs from what the operator has anyway.
  template <class T>
  Call& set(const char* name, const T& value, const T& usual) {
    return value == usual ? *this : set_text(name, text(value));
  }
  template <class T>
  Call& set(const char* name, const std::optional<T>& value) {
    return value ? set_text(name, text(*value)) : *this;
  }
  // Parameters of the functions in ops.h, if they are given.
  Call& give(const char* name, const std::optional<int64_t>& value) { return set(name, value); }
  Call& give(const char* name, const std::optional<double>& value) { return set(name, value); }
  Call& give(const char* name, const std::optional<bool>& value) { return set(name, value); }
  Call& give(const char* name, const char* value) { return value ? set_text(name, value) : *this; }
  Call& give(const char* name, const Shape& value) { return value.empty() ? *this : set(name, value); }
  Call& give(const char* name, const std::vector<double>& value) {
    return value.empty() ? *this : set(name, value);
  }
  [[gnu::noinline]] Call& set_text(const char* name, std::string value) {
    names_.push_back(name);
    values_.push_back(std::move(value));
    return *this;
  }
  Call& named(std::string name) {
    name_ = std::move(name);
    return *this;
  }
  [[gnu::noinline]] Array run() { return run_all()[0]; }
  Arrays run_all();
  // Writes to an array that there is.
  void into(const Array& out);

 private:
  LoomixPairs pairs(std::vector<const char*>& values) const {
    for (const std::string& value : values_) values.push_back(value.c_str());
    return {names_.size(), names_.data(), values.data()};
  }
  void run_arrays(size_t* count, const LoomixArray** outputs) const;
  Arrays run_traced(Trace& trace) const;

  const char* op_;
  std::string name_;
  Arrays inputs_;
  std::vector<const char*> names_;
  std::vector<std::string> values_;
};

// An operator without parameters that runs often.
class Prepared {
 public:
  Prepared(const char* op, size_t inputs) : op_(op) {
    LoomixOperator made = nullptr;
    check(LoomixOperatorPrepare(op, inputs, nullptr, &made));
    handle_ = Handle<LoomixOperator>(made);
  }
  Array operator()(const Array& a, const Array& b) const {
    if (a.is_traced() || b.is_traced()) return Call(op_).in(a).in(b).run();
    const LoomixArray inputs[] = {a.handle(), b.handle()};
    size_t count = 0;
    const LoomixArray* made = nullptr;
    check(LoomixOperatorRun(handle_.get(), 2, inputs, &count, &made));
    return Array(made[0]);
  }
  // `a` becomes the result.
  void change(Array& a, const Array& b) const {
    if (a.is_traced() || b.is_traced()) {
      a = Call(op_).in(a).in(b).run();
      return;
    }
    const LoomixArray inputs[] = {a.handle(), b.handle()}, output = a.handle();
    size_t count = 1;
    const LoomixArray* outputs = &output;
    check(LoomixOperatorRun(handle_.get(), 2, inputs, &count, &outputs));
  }

 private:
  const char* op_;
  Handle<LoomixOperator> handle_;
};

Array with_scalar(const char* op, const Array& array, double scalar);
void change_by_scalar(const char* op, Array& array, double scalar);
void check_scalar(const Array& array, double scalar);  // that the array's type can hold it

}  // namespace detail

// As NumPy prints it; waits.
std::ostream& operator<<(std::ostream& out, const Array& array);

inline Array zeros(const Shape& shape, const ArrayOptions& options = {}) {
  return Array::make(shape, options);
}
Array full(const Shape& shape, double value, const ArrayOptions& options = {});
inline Array ones(const Shape& shape, const ArrayOptions& options = {}) { return full(shape, 1, options); }
Array arange(double begin, double end, double step = 1, const ArrayOptions& options = {});
Array eye(int64_t rows, int64_t columns = 0, const ArrayOptions& options = {});
Array uniform(const Shape& shape, double low = 0, double high = 1, const ArrayOptions& options = {});
Array normal(const Shape& shape, double mean = 0, double deviation = 1, const ArrayOptions& options = {});

}  // namespace loomix::nn

#include "loomix/nn/arithmetic.h"  // IWYU pragma: export
#include "loomix/nn/array_impl.h"  // IWYU pragma: export
