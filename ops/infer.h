// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include "base/dtype.h"
#include "base/shape.h"

namespace loomix::ops {

class OpDef;

// Two-way inference over the shapes of one node. A rule reads what is known and writes what follows; writing a shape
// that contradicts what is known throws a ShapeError that names operator, argument, both shapes. A rule may be called
// several times, with ever more known, and with nothing known.
class ShapeInfer {
 public:
  ShapeInfer(const OpDef& op, std::span<Shape> in, std::span<Shape> out) : op_(op), in_(in), out_(out) {}

  int num_in() const { return static_cast<int>(in_.size()); }
  int num_out() const { return static_cast<int>(out_.size()); }
  const Shape& in(int i) const { return in_[i]; }
  const Shape& out(int i) const { return out_[i]; }
  // Merges knowledge: unknown parts are filled from `shape`, known ones must agree.
  void set_in(int i, const Shape& shape) { merge(in_[i], shape, i, true); }
  void set_out(int i, const Shape& shape) { merge(out_[i], shape, i, false); }
  // All inputs and outputs have one shape.
  void unify_all();
  // These inputs and outputs have one shape.
  void tie(std::initializer_list<int> in, std::initializer_list<int> out = {0});
  void tie_inputs(int begin, int end, std::initializer_list<int> out = {0});
  // ShapeError that says what was expected of the shape of input i, unless it is good or unknown.
  void expect(int i, bool good, std::string_view expected) const;
  // Whether input i has a shape yet. It must be one of `count` axes.
  bool has_axes(int i, int count, std::string_view expected) const;
  // "[softmax] ..." for the rule's own messages.
  const char* who() const;
  const OpDef& op() const { return op_; }

 private:
  void merge(Shape& known, const Shape& shape, int i, bool input);
  template <class Inputs, class Outputs>
  void tie_at(const Inputs& in, const Outputs& out);
  const OpDef& op_;
  std::span<Shape> in_;
  std::span<Shape> out_;
};

class TypeInfer {
 public:
  TypeInfer(const OpDef& op, std::span<DType> in, std::span<DType> out) : op_(op), in_(in), out_(out) {}

  int num_in() const { return static_cast<int>(in_.size()); }
  int num_out() const { return static_cast<int>(out_.size()); }
  DType in(int i) const { return in_[i]; }
  DType out(int i) const { return out_[i]; }
  void set_in(int i, DType dtype) { merge(in_[i], dtype, i, true); }
  void set_out(int i, DType dtype) { merge(out_[i], dtype, i, false); }
  // All inputs and outputs have one type; the usual rule.
  void unify_all();
  // These inputs and outputs have one type.
  void tie(std::initializer_list<int> in, std::initializer_list<int> out = {0});
  void tie_inputs(int begin, int end, std::initializer_list<int> out = {0});
  // The type of an input that nothing else says.
  void default_in(int i, DType dtype = DType::float32) {
    if (in_[i] == DType::unknown) in_[i] = dtype;
  }
  const char* who() const;
  const OpDef& op() const { return op_; }

 private:
  void merge(DType& known, DType dtype, int i, bool input);
  template <class Inputs, class Outputs>
  void tie_at(const Inputs& in, const Outputs& out);
  const OpDef& op_;
  std::span<DType> in_;
  std::span<DType> out_;
};

}  // namespace loomix::ops
