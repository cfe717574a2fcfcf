// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "symbol/graph.h"

namespace loomix {

// In which type an operator runs. `widest`: in the widest that its inputs have. `either`: in whatever they have; if they
// differ where the operator wants them to be the same, in float32.
enum class Precision : uint8_t { either, low, full, widest };

// Which operators run in which type.
class PrecisionRules {
 public:
  // float16 or bfloat16; TypeError for others. `cast` (attribute dtype) converts one value, `multicast` (num_outputs) as
  // many as it has to the widest of their types.
  PrecisionRules(DType low, const ops::OpDef& cast, const ops::OpDef& multicast);

  // Throws ValueError if the operator has another rule already.
  void set(const ops::OpDef& op, Precision precision);
  // Nodes of the operator run in float32 if the attribute has one of the values, as text. ValueError if the operator has no
  // such attribute.
  void set_full_if(const ops::OpDef& op, std::string attribute, std::vector<std::string> values);

  DType low() const { return low_; }
  const ops::OpDef& cast() const { return *cast_; }
  const ops::OpDef& multicast() const { return *multicast_; }
  Precision precision_of(const ops::OpDef& op, const AttrsBase& attrs) const;
  // The type of each output that follows for sure from what is known of the inputs.
  std::vector<DType> output_dtypes(const ops::OpDef& op, const AttrsBase& attrs,
                                   std::span<const DType> inputs) const;

 private:
  struct Condition {
    std::string attribute;
    std::unordered_set<std::string> values;
  };
  DType low_;
  const ops::OpDef* cast_;
  const ops::OpDef* multicast_;
  std::unordered_map<const ops::OpDef*, Precision> rules_;
  std::unordered_map<const ops::OpDef*, std::vector<Condition>> conditions_;
};

// What becomes of the inputs of one node.
struct InputCasts {
  std::vector<DType> to;       // by input: the type that it is cast to; unknown: it stays
  std::vector<int> multicast;  // inputs that get the widest of their types, where that is not known yet
  bool none() const;
};

// `dtypes`: what is known of the inputs' types. An input is cast only if its type follows the types that the operator
// computes in: indices, states that the operator changes and what it wants in float32 stay. No type other than float32 and
// the two shorter ones is ever cast to a shorter one.
InputCasts input_casts(const ops::OpDef& op, const AttrsBase& attrs, std::span<const DType> dtypes,
                       Precision precision, DType low);

// The type of a variable: of `__dtype__`, else float32.
DType dtype_of_variable(const NodeInfo* info);

struct ReducedPrecision {
  Graph graph;
  std::vector<NodeId> origin;  // by node of `graph`: the one that it was; -1 for a cast
};

// Inserts amp_cast and amp_multicast nodes, so that each node runs in the type that the rules say; one cast for each value
// and type. Outputs of a shorter type become float32. Nodes called as in `excluded` run in float32; ValueError for a name that no operator of the graph has.
// `parameters`: variables that may have the lower type themselves; they get it (as `__dtype__`) if they are used in no other.
ReducedPrecision reduce_precision(const Graph& graph, const ops::OpTable& table, const PrecisionRules& rules,
                                  std::span<const std::string> excluded = {},
                                  std::span<const std::string> parameters = {});

}  // namespace loomix
