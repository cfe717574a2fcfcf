// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/op.h"
#include "ops/reduce/traits.h"

// Several elementwise operators as one pass over memory: all of them work on one block of the arrays, which stays in the cache,
// before the next block is read. The pass `fuse` makes such nodes. What an operator computes is left to its own kernel, which
// runs on blocks as if they were whole arrays. Reductions of results close a pass: they fold each block when it is made.
namespace loomix::ops {

// What an operand has of the elements of the results: all of them; one row, or one element a row, of their matrix (rows,
// row_size); or one element.
enum class Extent : uint8_t { full, row, column, one };

// The longest rows of the results of which an operand has, by the rules of broadcasting, all elements or one each: a product of
// their last axes. 0: it has all elements of the results, or one. Nothing: it does not spread over them.
std::optional<int64_t> row_size_of(const Shape& operand, const Shape& result);

struct FusedInput {
  Extent extent = Extent::full;
  // By axis of the results before the rows: how far apart the operand's rows, or its elements for each row, lie. They are brought
  // together for each block, as all elements or as a column. Empty: they lie as `extent` says.
  std::vector<int64_t> steps;

  bool is_gathered() const { return !steps.empty(); }
};
// How an operand spreads over results whose rows have this length: at most that of row_size_of().
FusedInput spread_over(const Shape& operand, const Shape& result, int64_t row_size);

// Rows that a fusion takes apart have at most so many elements: two blocks of a row stay in the cache.
inline constexpr int64_t kLongestFusedRow = 8192;
inline constexpr int64_t kShortestGatheredRow = 16;  // shorter ones are not worth bringing together
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

// Adds steps that repeat the operand, so far among `inputs` inputs. The operator itself has attributes for whole arrays, not for
// blocks.
void add_repeat(const OpTable& table, const Repeat& repeat, int operand, DType dtype, int inputs,
                std::vector<FusedStep>& steps);

// A reduction of a step's result.
struct FusedClosing {
  const OpDef* op = nullptr;
  Folding folding;
  int step = 0;
  Shape shape;
  DType dtype = DType::unknown;
};
// Accumulators that each piece of a pass has: those of what lies between two elements of the outermost axis that is kept. A
// reduction that needs more cannot close a pass.
inline constexpr int64_t kMostFusedSums = 16384;
int64_t fused_sums(const Folding& folding, const Shape& shape);

// The attribute of `_fused`: what is computed of its inputs. Immutable.
class Fusion final : public Opaque {
 public:
  Fusion(Shape shape, int64_t row_size, std::vector<FusedInput> inputs, std::vector<FusedStep> steps,
         std::vector<int> outputs, std::vector<FusedClosing> closings = {});

  std::string_view kind() const override { return text_; }  // "relu, elemwise_add": the operators in order
  const Shape& shape() const { return shape_; }             // of all steps' results
  int64_t row_size() const { return row_size_; }            // 0: no input is a row or a column
  const std::vector<FusedInput>& inputs() const { return inputs_; }
  const std::vector<FusedStep>& steps() const { return steps_; }
  const std::vector<int>& outputs() const { return outputs_; }  // numbers of steps
  const std::vector<FusedClosing>& closings() const {
    return closings_;
  }                           // whose results are the outputs after those
  double element_ns() const;  // arithmetic of all steps on one element

 private:
  Shape shape_;
  int64_t row_size_;
  std::vector<FusedInput> inputs_;
  std::vector<FusedStep> steps_;
  std::vector<int> outputs_;
  std::vector<FusedClosing> closings_;
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
