// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/params.h"

namespace loomix::ops {

class OpDef;

// A value in the graph that is being built: output `index` of some node. Empty means "no such value" or "zero".
struct GradValue {
  void* node = nullptr;
  int index = 0;
  explicit operator bool() const { return node != nullptr; }
};

// What a gradient rule builds with; implemented in symbol/. Rules only describe: they run no computation. Gradients
// that nobody needs are not asked for (`wants`), and what a rule builds but nobody uses is pruned.
class GradBuilder {
 public:
  virtual ~GradBuilder() = default;

  virtual int num_in() const = 0;
  virtual int num_out() const = 0;
  virtual GradValue in(int i) = 0;       // the node's input
  virtual GradValue out(int i) = 0;      // the node's output; keeps it alive until the backward pass
  virtual GradValue saved(int i) = 0;    // what the kernel saved
  virtual GradValue grad_of(int i) = 0;  // gradient of the loss to output i; zeros where nothing flows back
  virtual bool has_grad_of(int i) = 0;   // false: grad_of(i) would be zeros
  virtual bool wants(int i) const = 0;   // is the gradient to input i needed?

  // Adds a node; returns its outputs. Attributes as text, or shared with the forward node.
  virtual std::vector<GradValue> call(std::string_view op, std::span<const GradValue> inputs,
                                      TextPairs attrs) = 0;
  virtual std::vector<GradValue> call(std::string_view op, std::span<const GradValue> inputs,
                                      Ref<const AttrsBase> attrs) = 0;
  GradValue call1(std::string_view op, std::initializer_list<GradValue> inputs,
                  std::initializer_list<std::pair<std::string_view, std::string_view>> attrs = {});
  GradValue call1(std::string_view op, std::initializer_list<GradValue> inputs, TextPairs attrs);
  GradValue call1(std::string_view op, std::initializer_list<GradValue> inputs, Ref<const AttrsBase> attrs);
  // The attributes of the node whose gradient is built.
  virtual Ref<const AttrsBase> attrs() const = 0;

  // Declares the gradient to input i. Inputs never set have gradient zero.
  virtual void set(int i, GradValue grad) = 0;
};

// The rule of an operator that passes its gradient on as it is.
inline void pass_gradient(const AttrsBase&, GradBuilder& g) { g.set(0, g.grad_of(0)); }

// One operand of a gradient's operator: a value of the forward node, by its role and place there.
struct GradOperand {
  GradValue (GradBuilder::*value)(int i);
  int i;
  bool optional = false;  // left out where the node has no such input
};
constexpr GradOperand head(int output) { return {&GradBuilder::grad_of, output}; }
constexpr GradOperand input(int i) { return {&GradBuilder::in, i}; }
constexpr GradOperand input_if_any(int i) { return {&GradBuilder::in, i, true}; }
constexpr GradOperand output(int i) { return {&GradBuilder::out, i}; }
constexpr GradOperand saved(int i) { return {&GradBuilder::saved, i}; }

}  // namespace loomix::ops
