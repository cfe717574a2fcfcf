// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/nn/autograd.h"

// Parts of arrays by keys, as in Python and with its results.
namespace loomix::nn {

struct None {};
struct All {};
struct NewAxis {};
struct Ellipsis {};
inline constexpr None none;          // an end of a slice that is left out
inline constexpr All all;            // ":"
inline constexpr NewAxis new_axis;   // "None"
inline constexpr Ellipsis ellipsis;  // "..."

// "begin:end:step"
struct Slice {
  struct End {
    End(None) {}                                 // NOLINT: none
    End(int64_t value) : is(true), at(value) {}  // NOLINT: numbers
    End(int value) : End(int64_t{value}) {}      // NOLINT
    bool is = false;
    int64_t at = 0;
  };
  Slice(End from, End to, int64_t by = 1) : begin(from), end(to), step(by) {}
  End begin, end;
  int64_t step;
};

// One key.
struct Index {
  enum class Kind { number, slice, new_axis, ellipsis, array };
  Index(int value) : number(value) {}                             // NOLINT: keys are written as they are
  Index(int64_t value) : number(value) {}                         // NOLINT
  Index(Slice value) : kind(Kind::slice), slice(value) {}         // NOLINT
  Index(All) : kind(Kind::slice) {}                               // NOLINT
  Index(NewAxis) : kind(Kind::new_axis) {}                        // NOLINT
  Index(Ellipsis) : kind(Kind::ellipsis) {}                       // NOLINT
  Index(const Array& value) : kind(Kind::array), array(value) {}  // NOLINT
  Kind kind = Kind::number;
  int64_t number = 0;
  Slice slice{none, none};
  Array array;
};

namespace detail {

// What keys select: a range on each axis, then arrays of positions on some axes.
class Selection {
 public:
  Selection(const Array& array, std::vector<Index> keys) : array_(array), shape_(array.shape()) {
    if (keys.size() == 1 && is_mask(keys[0])) {
      mask_ = keys[0].array;
      return;
    }
    for (const Index& key : expand(std::move(keys))) add(key);
    if (result_.empty() && positions_.empty()) result_ = {1};  // a scalar is an array of one element
  }

  Array get() const {
    if (mask_) return masked();
    const Array part = ranged();
    return positions_.empty() ? part.reshape(result_) : gathered(part);
  }
  void set(double value) const {
    if (!is_plain()) return scatter(full(result_shape(), value, {array_.dtype(), array_.device()}));
    check_scalar(array_, value);
    ranges("_slice_assign_scalar").in(array_).set("scalar", value).into(array_);
  }
  void set(const Array& value) const {
    if (!is_plain()) return scatter(value);
    if (count_.count() == 0) return;
    Array fitting = value;
    if (value.shape() != result_) fitting = value.broadcast_to(result_);
    ranges("_slice_assign").in(array_).in(fitting.reshape(count_)).into(array_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    detail::fail({"[Array] ", what, " for an array of shape ", shape_, "."});
  }
  bool is_mask(const Index& key) const {
    if (key.kind != Index::Kind::array) return false;
    const DType type = key.array.dtype();
    if (type == DType::int32 || type == DType::int64 || type == DType::int8) return false;
    const Shape shape = key.array.shape();
    bool fits = shape.ndim() <= shape_.ndim();
    for (size_t i = 0; fits && i < shape.ndim(); ++i) fits = shape[i] == shape_[i];
    if (!fits) fail("a mask of shape " + to_string(shape) + " does not fit");
    return true;
  }
  bool is_plain() const { return !mask_ && positions_.empty(); }

  // One key an axis, and new axes between.
  std::vector<Index> expand(std::vector<Index> keys) const {
    size_t used = 0, dots = keys.size();
    for (size_t i = 0; i < keys.size(); ++i) {
      if (keys[i].kind == Index::Kind::ellipsis) {
        if (dots < keys.size()) fail("there are two ellipses");
        dots = i;
      } else {
        used += keys[i].kind != Index::Kind::new_axis;
      }
    }
    if (used > shape_.ndim()) fail("there are " + std::to_string(used) + " keys, which is too many");
    std::vector<Index> result;
    for (size_t i = 0; i <= keys.size(); ++i) {
      if (i == dots) {
        for (size_t rest = used; rest < shape_.ndim(); ++rest) result.push_back(all);
      }
      if (i < keys.size() && i != dots) result.push_back(keys[i]);
    }
    return result;
  }
  void add(const Index& key) {
    if (key.kind == Index::Kind::new_axis) {
      result_.sizes.push_back(1);
      return;
    }
    const size_t axis = count_.ndim();
    const int64_t size = shape_[axis];
    if (key.kind == Index::Kind::number) return add_number(key.number, static_cast<int>(axis), size);
    int64_t begin = 0, end = size, step = 1;
    if (key.kind == Index::Kind::array) {
      if (positions_.empty()) block_at_ = result_.ndim();
      positions_.push_back({static_cast<int>(axis), key.array});
    } else {
      const auto [from, to, by] = key.slice;
      step = by;
      if (step == 0) fail("a slice has step 0");
      const auto clip = [&](const Slice::End& wanted, int64_t usual) {
        if (!wanted.is) return usual;
        const int64_t at = wanted.at < 0 ? wanted.at + size : wanted.at;
        const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
        return at < low ? low : at > high ? high : at;
      };
      begin = clip(from, step > 0 ? 0 : size - 1);
      end = clip(to, step > 0 ? size : -1);
    }
    const int64_t length = step > 0 ? (end - begin + step - 1) / step : (begin - end - step - 1) / -step;
    add_range(begin, end, step, length > 0 ? length : 0);
    if (key.kind == Index::Kind::slice) result_.sizes.push_back(count_[axis]);
  }
  void add_number(int64_t number, int axis, int64_t size) {
    if (number < -size || number >= size)
      fail("index " + std::to_string(number) + " of axis " + std::to_string(axis) + " is out of range");
    const int64_t begin = number < 0 ? number + size : number;
    add_range(begin, begin + 1, 1, 1);
  }
  void add_range(int64_t begin, int64_t end, int64_t step, int64_t length) {
    whole_ = whole_ && step == 1 && length == shape_[count_.ndim()];
    begins_ += std::to_string(begin) + ",";
    ends_ += (end < 0 ? std::string("None") : std::to_string(end)) + ",";
    steps_ += std::to_string(step) + ",";
    if (step != 1) contiguous_ = false;
    if (length != shape_[count_.ndim()] && outer_ != 1) contiguous_ = false;
    outer_ *= length;
    offset_ = offset_ * shape_[count_.ndim()] + begin;
    count_.sizes.push_back(length);
  }
  Call ranges(const char* op) const {
    Call call(op);
    call.set_text("begin", "(" + begins_ + ")").set_text("end", "(" + ends_ + ")");
    call.set_text("step", "(" + steps_ + ")");
    return call;
  }
  Array ranged() const {
    if (whole_) return array_;
    if (count_.count() == 0) return zeros(count_, {array_.dtype(), array_.device()});
    if (contiguous_ && !array_.is_traced() && !is_recording()) {
      LoomixArray made = nullptr;
      const Array flat = array_.reshape(Shape(-1));
      check(LoomixArraySlice(flat.handle(), offset_, offset_ + count_.count(), &made));
      return Array(made).reshape(count_);
    }
    return ranges("slice").in(array_).run();
  }

  // Index arrays: their axes to the front, one lookup, and the block of their shape to its place.
  Array gathered(const Array& part) const {
    Shape order, block = {1};
    for (const auto& [axis, positions] : positions_) order.sizes.push_back(axis);
    for (size_t axis = 0; axis < count_.ndim(); ++axis) {
      bool indexed = false;
      for (const auto& [other, positions] : positions_) indexed |= other == static_cast<int>(axis);
      if (!indexed) order.sizes.push_back(static_cast<int64_t>(axis));
    }
    const Array indices = stacked(block);
    const Array found = Call("gather_nd").in(part.transpose(order)).in(indices).run();
    const size_t before = block_place(), rest = count_.ndim() - positions_.size();
    if (before == 0 || rest == 0) return found.reshape(with_block(block));
    const auto moved = static_cast<size_t>(positions_[0].first);  // axes of the part before the block
    Shape back;
    for (size_t i = 0; i < moved; ++i) back.sizes.push_back(static_cast<int64_t>(block.ndim() + i));
    for (size_t i = 0; i < block.ndim(); ++i) back.sizes.push_back(static_cast<int64_t>(i));
    for (size_t i = moved; i < rest; ++i) back.sizes.push_back(static_cast<int64_t>(block.ndim() + i));
    return found.transpose(back).reshape(with_block(block));
  }
  // The block takes the axes' place if they are side by side, else it comes first.
  size_t block_place() const {
    for (size_t i = 1; i < positions_.size(); ++i) {
      if (positions_[i].first != positions_[i - 1].first + 1) return 0;
    }
    return block_at_;
  }
  Shape with_block(const Shape& block) const {
    Shape shape = result_;
    const auto place = shape.sizes.begin() + static_cast<int64_t>(block_place());
    shape.sizes.insert(place, block.begin(), block.end());
    return shape;
  }
  Array stacked(Shape& block) const {
    const Pause pause;
    Arrays parts;
    Array sum;
    for (const auto& [axis, positions] : positions_) {
      Array at = positions.astype(DType::int64);
      at = at + (at < 0) * static_cast<double>(count_[static_cast<size_t>(axis)]);
      sum = sum ? sum + at : at;
      parts.push_back(at);
    }
    block = sum.shape();
    for (Array& part : parts) {
      if (part.shape() != block) part = part.broadcast_to(block);
    }
    return Call("stack").in(parts).set("axis", 0).set("num_args", static_cast<int64_t>(parts.size())).run();
  }
  Array masked() const {
    const Shape shape = mask_.shape();
    Shape flat = {-1};
    for (size_t i = shape.ndim(); i < shape_.ndim(); ++i) flat.sizes.push_back(shape_[i]);
    return Call("_contrib_boolean_mask").in(array_.reshape(flat)).in(mask_.reshape(Shape(-1))).run();
  }
  Shape result_shape() const { return mask_ || !positions_.empty() ? places().shape() : result_; }
  // The numbers of the elements that are selected.
  Array places() const {
    const Pause pause;
    const ArrayOptions options{DType::int64, array_.device()};
    Selection same = *this;
    same.array_ = arange(0, static_cast<double>(shape_.count()), 1, options).reshape(shape_);
    return same.get();
  }
  void scatter(const Array& value) const {
    const Array at = places();
    if (at.size() == 0) return;
    const Array fitting = value.shape() == at.shape() ? value : value.broadcast_to(at.shape());
    const Array flat = array_.reshape(Shape(-1));
    Call("_scatter_set_nd")
        .in(flat)
        .in(fitting.reshape(Shape(-1)))
        .in(at.reshape({1, -1}))
        .set("shape", Shape(shape_.count()))
        .into(flat);
  }

  Array array_, mask_;
  Shape shape_, count_, result_;
  std::string begins_, ends_, steps_;
  bool whole_ = true, contiguous_ = true;
  int64_t offset_ = 0, outer_ = 1;
  size_t block_at_ = 0;
  std::vector<std::pair<int, Array>> positions_;
};

}  // namespace detail

// A part of an array: an array where it is read, and the array's own elements where it is assigned to.
class Part {
 public:
  explicit Part(detail::Selection selection) : selection_(std::move(selection)) {}
  operator Array() const { return selection_.get(); }  // NOLINT: reads
  Array get() const { return selection_.get(); }
  Shape shape() const { return get().shape(); }
  double item() const { return get().item(); }
  template <class T = float>
  std::vector<T> to_vector() const {
    return get().to_vector<T>();
  }
  const Part& operator=(double value) const {
    selection_.set(value);
    return *this;
  }
  const Part& operator=(const Array& value) const {
    selection_.set(value);
    return *this;
  }
  const Part& operator=(const Part& value) const { return *this = value.get(); }  // NOLINT: elements
  template <class T>
  const Part& operator+=(const T& value) const {
    return *this = get() + value;
  }
  template <class T>
  const Part& operator-=(const T& value) const {
    return *this = get() - value;
  }
  template <class T>
  const Part& operator*=(const T& value) const {
    return *this = get() * value;
  }
  friend std::ostream& operator<<(std::ostream& out, const Part& part) { return out << part.get(); }

 private:
  detail::Selection selection_;
};

template <class... Keys>
Part Array::operator()(const Keys&... keys) const {
  return Part(detail::Selection(*this, {Index(keys)...}));
}

}  // namespace loomix::nn
