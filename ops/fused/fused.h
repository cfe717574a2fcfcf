// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/op.h"

// Several elementwise operators as one pass over memory: all of them work on one block of the arrays, which stays in the cache,
// before the next block is read. The pass `fuse` makes such nodes. What an operator computes is left to its own kernel, which
// runs on blocks as if they were whole arrays.
namespace loomix::ops {

// What an operand has of the elements of the results: all of them; one row, or one element a row, of their matrix (rows,
// row_size); or one element.
enum class Extent : uint8_t { full, row, column, one };

struct Operand {
  Extent extent = Extent::full;
  int64_t row_size = 0;  // of rows and columns
};
// How an array of this shape spreads over results of another one; nothing: in another way.
std::optional<Operand> spread_over(const Shape& operand, const Shape& result);

// Rows that a fusion takes apart have at most so many elements: two blocks of a row stay in the cache.
inline constexpr int64_t kLongestFusedRow = 8192;
inline constexpr size_t kMostFusedSteps = 32;
inline constexpr size_t kMostFusedInputs = 16;
inline constexpr size_t kMostFusedOutputs = 8;
inline constexpr size_t kMostFusedOperands = 3;  // of a step

struct FusedStep {
  const OpDef* op = nullptr;
  Ref<const AttrsBase> attrs;
  std::vector<int> operands;  // inputs of the fusion, then results of the steps before
  DType dtype = DType::unknown;
};

// The attribute of `_fused`: what is computed of its inputs. Immutable.
class Fusion final : public Opaque {
 public:
  Fusion(Shape shape, int64_t row_size, std::vector<Extent> inputs, std::vector<FusedStep> steps,
         std::vector<int> outputs);

  std::string_view kind() const override { return text_; }  // "relu, elemwise_add": the operators in order
  const Shape& shape() const { return shape_; }             // of all results
  int64_t row_size() const { return row_size_; }            // 0: no input is a row or a column
  const std::vector<Extent>& inputs() const { return inputs_; }
  const std::vector<FusedStep>& steps() const { return steps_; }
  const std::vector<int>& outputs() const { return outputs_; }  // numbers of steps
  double element_ns() const;                                    // arithmetic of all steps on one element

 private:
  Shape shape_;
  int64_t row_size_;
  std::vector<Extent> inputs_;
  std::vector<FusedStep> steps_;
  std::vector<int> outputs_;
  std::string text_;
};

struct FusedParams {
  int num_args = 1;
  Ref<const Opaque> fusion;
  static void fields(FieldList<FusedParams>& f) {
    f("num_args", &FusedParams::num_args, "Number of inputs.").required("1").at_least(1).type("int");
    f("fusion", &FusedParams::fusion, "What is computed of them.");
  }
  // ValueError without one: no text, and so no file, can give it.
  const Fusion& of() const;
};

const OpDef& fused_op(const OpTable& table);  // `_fused`

}  // namespace loomix::ops
