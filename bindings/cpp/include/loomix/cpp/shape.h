// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <istream>
#include <ostream>

#include "loomix/cpp/base.h"

namespace loomix::cpp {
inline namespace names {

// Sizes of axes.
class Shape {
 public:
  Shape() = default;
  explicit Shape(index_t s1) : sizes_{s1} {}
  Shape(index_t s1, index_t s2) : sizes_{s1, s2} {}
  Shape(index_t s1, index_t s2, index_t s3) : sizes_{s1, s2, s3} {}
  Shape(index_t s1, index_t s2, index_t s3, index_t s4) : sizes_{s1, s2, s3, s4} {}
  Shape(index_t s1, index_t s2, index_t s3, index_t s4, index_t s5) : sizes_{s1, s2, s3, s4, s5} {}
  Shape(const std::vector<index_t>& sizes) : sizes_(sizes) {}                       // NOLINT: as MXNet's
  Shape(const std::vector<mx_uint>& sizes) : sizes_(sizes.begin(), sizes.end()) {}  // NOLINT
  template <class Iterator>
  Shape(Iterator begin, Iterator end, typename std::iterator_traits<Iterator>::iterator_category* = nullptr)
      : sizes_(begin, end) {}

  index_t ndim() const { return static_cast<index_t>(sizes_.size()); }
  const index_t* data() const { return sizes_.data(); }
  index_t* data() { return sizes_.data(); }
  index_t& operator[](size_t axis) { return sizes_.at(axis); }
  const index_t& operator[](size_t axis) const { return sizes_.at(axis); }
  const std::vector<index_t>& sizes() const { return sizes_; }
  size_t Size() const {
    size_t count = 1;
    for (const index_t size : sizes_) count *= static_cast<size_t>(size);
    return count;
  }
  friend bool operator==(const Shape& a, const Shape& b) { return a.sizes_ == b.sizes_; }
  friend bool operator!=(const Shape& a, const Shape& b) { return !(a == b); }
  friend std::ostream& operator<<(std::ostream& out, const Shape& shape) {
    out << '(';
    for (size_t i = 0; i < shape.sizes_.size(); ++i) out << (i ? "," : "") << shape.sizes_[i];
    return out << (shape.sizes_.size() == 1 ? ",)" : ")");
  }

 private:
  std::vector<index_t> sizes_;
};

}  // namespace names

namespace detail {

inline LoomixShape to_c(const Shape& from) {
  LoomixShape shape{};
  if (from.ndim() > LOOMIX_MAX_AXES) throw Error("[Shape] there are more than 32 axes.");
  shape.axes = static_cast<int32_t>(from.ndim());
  std::copy(from.data(), from.data() + from.ndim(), shape.sizes);
  return shape;
}

// Unknown sizes are 0, an unknown number of axes is none.
inline std::vector<mx_uint> from_c(const LoomixShape& shape) {
  std::vector<mx_uint> sizes;
  for (int i = 0; i < shape.axes; ++i) {
    if (shape.sizes[i] > UINT32_MAX) throw Error("[Shape] an axis is longer than 4294967295.");
    sizes.push_back(static_cast<mx_uint>(std::max<int64_t>(shape.sizes[i], 0)));
  }
  return sizes;
}

}  // namespace detail
}  // namespace loomix::cpp
