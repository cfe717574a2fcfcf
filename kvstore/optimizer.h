// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/params.h"
#include "kvstore/key.h"
#include "ndarray/ndarray.h"
#include "symbol/executor/runtime.h"

namespace loomix::kvstore {

// An update rule as data: a name and settings, both MXNet's ("sgd", {{"learning_rate", "0.1"}, {"momentum", "0.9"}}).
// `lr_mult.KEY` and `wd_mult.KEY` multiply rate and decay of one key, `plain_rate.KEY` spares it the layer's factor of lars. `lazy_update` (sgd, adam; on by default) leaves rows alone
// that a row_sparse gradient does not have.
struct OptimizerSpec {
  std::string name;
  TextPairs settings;
};

// What a rule keeps for one weight.
struct OptimizerState {
  std::vector<NDArray> arrays;
  int64_t updates = 0;
  std::string failure;  // why there is no value any more; empty: there is one
};

// Applies a rule.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Whether a row_sparse gradient is taken, and changes only its own rows of a weight that is meant to be row_sparse, too.
  virtual bool by_rows(DType /*weight*/) const { return false; }
  // Whether it needs the norm of a whole weight, which must not be cut over servers then.
  virtual bool by_layer() const { return false; }
  // Of the gradients of such a weight.
  virtual DType gradient_dtype(DType weight) const { return weight; }
  // Pushes `out = weight changed by grad`; `state` is empty at first. `out` may be the weight.
  virtual void update(const Key& key, const NDArray& weight, const NDArray& grad, const NDArray& out,
                      OptimizerState& state, int8_t priority) const = 0;
  const OptimizerSpec& spec() const noexcept { return spec_; }

 protected:
  explicit Optimizer(OptimizerSpec spec) : spec_(std::move(spec)) {}

 private:
  const OptimizerSpec spec_;
};

inline constexpr const char* kPlainRate = "plain_rate.";  // and a key

// A rule that is code, as a text: the setting `code`. A server that may run it has a maker; others refuse all specs of
// this name.
inline constexpr const char* kCodeOptimizer = "code";
using CodeOptimizerMaker = std::function<std::shared_ptr<const Optimizer>(OptimizerSpec spec)>;

// A rule of the table's update operators, or code where there is a maker. Throws ValueError for an unknown name or setting,
// naming those that there are.
std::shared_ptr<const Optimizer> make_optimizer(Runtime& runtime, OptimizerSpec spec,
                                                const CodeOptimizerMaker& code = {});

}  // namespace loomix::kvstore
