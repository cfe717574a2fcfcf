// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace loomix {

inline constexpr int64_t kUnknownDim = -1;

// The sizes of an array's axes, row-major. Sizes may be zero; during inference a size, or even the number
// of axes, may be unknown. Up to kInlineDims axes need no allocation.
class Shape {
 public:
  static constexpr int kInlineDims = 6;
  static constexpr int kMaxDims = 32;

  Shape() noexcept = default;  // no axes: a scalar
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims) {
    resize(static_cast<int>(dims.size()));
    std::copy(dims.begin(), dims.end(), data());
  }
  static Shape unknown() noexcept {
    Shape shape;
    shape.ndim_ = -1;
    return shape;
  }
  static Shape filled(int ndim, int64_t size) {
    Shape shape;
    shape.resize(ndim);
    std::fill_n(shape.data(), ndim, size);
    return shape;
  }

  Shape(const Shape& other) { assign(other); }
  Shape(Shape&& other) noexcept { take(other); }
  Shape& operator=(const Shape& other) {
    if (this != &other) assign(other);
    return *this;
  }
  Shape& operator=(Shape&& other) noexcept {
    if (this != &other) take(other);
    return *this;
  }
  ~Shape() = default;

  // Number of axes; -1 when unknown.
  int ndim() const noexcept { return ndim_; }
  bool ndim_known() const noexcept { return ndim_ >= 0; }
  // True when the number of axes and every size are known.
  bool is_known() const noexcept {
    return ndim_known() && std::none_of(begin(), end(), [](int64_t size) { return size < 0; });
  }
  // Number of elements; 1 for a scalar. Only for known shapes.
  int64_t size() const noexcept {
    int64_t count = 1;
    for (int64_t dim : *this) count *= dim;
    return count;
  }
  // Product of the sizes of axes [first, last).
  int64_t size_between(int first, int last) const noexcept {
    int64_t count = 1;
    for (int axis = first; axis < last; ++axis) count *= data()[axis];
    return count;
  }

  int64_t operator[](int axis) const noexcept { return data()[axis]; }
  int64_t& operator[](int axis) noexcept { return data()[axis]; }
  const int64_t* data() const noexcept { return heap_ ? heap_.get() : inline_; }
  int64_t* data() noexcept { return heap_ ? heap_.get() : inline_; }
  const int64_t* begin() const noexcept { return data(); }
  const int64_t* end() const noexcept { return data() + std::max(ndim_, 0); }
  int64_t* begin() noexcept { return data(); }
  int64_t* end() noexcept { return data() + std::max(ndim_, 0); }
  std::span<const int64_t> dims() const noexcept { return {begin(), end()}; }

  void push_back(int64_t size) {
    resize(std::max(ndim_, 0) + 1);
    data()[ndim_ - 1] = size;
  }
  // Keeps the leading sizes; new ones are zero. Throws ShapeError beyond kMaxDims.
  void resize(int ndim);

  friend bool operator==(const Shape& a, const Shape& b) noexcept {
    return a.ndim_ == b.ndim_ && std::equal(a.begin(), a.end(), b.begin());
  }

  // Python's notation: "()", "(3,)", "(2, 3)"; an unknown size is "?", an unknown shape "None".
  std::string to_string() const;

 private:
  void assign(const Shape& other) {
    if (other.ndim_ > kInlineDims || heap_) resize(std::max(other.ndim_, 0));
    ndim_ = other.ndim_;
    std::copy(other.begin(), other.end(), data());
  }

  void take(Shape& other) noexcept {  // leaves a scalar behind
    ndim_ = std::exchange(other.ndim_, 0);
    std::copy_n(other.inline_, kInlineDims, inline_);
    heap_ = std::move(other.heap_);
  }

  int32_t ndim_ = 0;
  int64_t inline_[kInlineDims] = {};
  // Used, with room for kMaxDims, once there were more than kInlineDims axes.
  std::unique_ptr<int64_t[]> heap_;
};

// True if the two shapes could be the same; unknown parts match anything.
bool compatible(const Shape& a, const Shape& b) noexcept;

// The shape that NumPy's broadcasting gives; throws ShapeError naming `who` when there is none.
Shape broadcast(const Shape& a, const Shape& b, const char* who);

// Maps an axis in [-ndim, ndim) to [0, ndim); throws ValueError naming `who` outside.
int normalize_axis(int64_t axis, int ndim, const char* who);

}  // namespace loomix
