// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"
#include "base/ref_counted.h"
#include "ops/table.h"

namespace loomix {

class SymbolNode;

struct SymbolOutput {
  Ref<SymbolNode> node;
  int index = 0;
};

// A node that symbols share while they are composed: identity is the pointer, so a variable used twice stays one.
// Changed only under the caller's lock (Python's GIL).
class SymbolNode final : public RefCounted {
 public:
  ~SymbolNode() override;  // not recursive: chains may be long

  bool is_variable() const { return !op && unknown_op.empty(); }
  int num_outputs() const;  // of the schema, hidden ones included
  int num_visible_outputs() const;
  std::string output_name(int i) const;  // "fc1_output"; a variable's own name
  std::string input_name(int i) const;   // "weight"
  bool mutates(int input) const;
  std::string_view op_name() const { return op ? std::string_view(op->name) : std::string_view(unknown_op); }
  // Parses the parameters in `dict` again; call after changing it.
  void parse(const ops::OpTable& table);
  // The same operator with other inputs, and without control dependencies.
  Ref<SymbolNode> with_inputs(std::vector<SymbolOutput> others) const;

  const ops::OpDef* op = nullptr;
  Ref<const AttrsBase> attrs;
  std::string name;
  std::map<std::string, std::string, std::less<>>
      dict;  // everything given as text, parameters of the operator too
  std::vector<SymbolOutput> inputs;
  std::vector<Ref<SymbolNode>> control_deps;

  std::vector<std::vector<SymbolOutput>> subgraphs;  // heads of each

  // Of operators that the table does not know: enough to save them back.
  std::string unknown_op;
  int unknown_outputs = 1;
  std::vector<int> unknown_mutated;  // positions of inputs that it changes
};

// The nodes that the outputs need, inputs first (depth-first, as MXNet lists them).
std::vector<SymbolNode*> depth_first(std::span<const SymbolOutput> outputs);

// Attributes that may be given without their underscores: lr_mult for __lr_mult__.
inline constexpr std::array<std::string_view, 5> kHiddenKeys = {"ctx_group", "lr_mult", "wd_mult",
                                                                "force_mirroring", "mirror_stage"};
bool is_hidden_key(std::string_view key);
// `weight_lr_mult` and the like: once a way to address an input's attribute, never a parameter.
bool ends_in_hidden_key(std::string_view key);
// Text of the initializer that MXNet attaches to an automatic variable for this input; null for most.
const char* first_value(const SymbolNode& node, int input);

}  // namespace loomix
