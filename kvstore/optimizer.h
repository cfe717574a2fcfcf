// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/params.h"
#include "kvstore/key.h"
#include "ndarray/ndarray.h"
#include "symbol/executor/runtime.h"

namespace loomix::kvstore {

// An update rule as data: a name and settings, both MXNet's ("sgd", {{"learning_rate", "0.1"}, {"momentum", "0.9"}}).
// `lr_mult.KEY` and `wd_mult.KEY` multiply rate and decay of one key.
struct OptimizerSpec {
  std::string name;
  TextPairs settings;
};

// What a rule keeps for one weight.
struct OptimizerState {
  std::vector<NDArray> arrays;
  int64_t updates = 0;
};

// Applies a rule by the update operators of the table.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Pushes `out = weight changed by grad`; `state` is empty at first. `out` may be the weight.
  void update(const Key& key, const NDArray& weight, const NDArray& grad, const NDArray& out,
              OptimizerState& state, int8_t priority) const;
  const OptimizerSpec& spec() const noexcept { return spec_; }

 protected:
  Optimizer(Runtime& runtime, OptimizerSpec spec) : runtime_(runtime), spec_(std::move(spec)) {}
  struct Step {
    const NDArray& weight;
    const NDArray& grad;
    NDArray out;
    OptimizerState& state;
    double rate, decay;
    int8_t priority;
  };
  virtual double rate(int64_t updates) const = 0;
  virtual double decay() const = 0;
  virtual int state_arrays() const = 0;
  virtual void apply(const Step& step) const = 0;
  void run(const char* op, const Step& step, TextPairs attrs) const;
  Runtime& runtime_;

 private:
  double multiplier(const char* what, const Key& key) const;
  const OptimizerSpec spec_;
};

// Throws ValueError for an unknown name or setting, naming those that there are.
std::shared_ptr<const Optimizer> make_optimizer(Runtime& runtime, OptimizerSpec spec);

}  // namespace loomix::kvstore
