// SPDX-License-Identifier: Apache-2.0
#include "kvstore/optimizer.h"

#include <map>

#include "bindings/c/api/keys.h"
#include "bindings/c/guard.h"
#include "ndarray/copy.h"

using namespace loomix;     // NOLINT: the functions below are outside of all namespaces
using namespace loomix::c;  // NOLINT

namespace {

using Rule = std::shared_ptr<const kvstore::Optimizer>;

Rule make_rule(std::string name, const LoomixPairs* settings, const char* who) {
  return kvstore::make_optimizer(running(), {std::move(name), to_pairs(settings, who)});
}

struct OptimizerObject final : Object {
  static constexpr const char* kKind = "an optimizer";
  explicit OptimizerObject(Rule made) : rule(std::move(made)) {}
  const char* kind() const override { return kKind; }
  std::mutex mutex;  // of what follows
  Rule rule;
  std::map<kvstore::Key, kvstore::OptimizerState> states;
};

}  // namespace

int LoomixOptimizerCreate(const char* name, const LoomixPairs* settings, LoomixOptimizer* out) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixOptimizerCreate";
    not_null(out, kWho, "out");
    auto made = std::make_shared<OptimizerObject>(make_rule(not_null(name, kWho, "name"), settings, kWho));
    *out = static_cast<LoomixOptimizer>(add_object(std::move(made)));
  });
}

int LoomixOptimizerConfigure(LoomixOptimizer optimizer, const LoomixPairs* settings) {
  return guarded([&] {
    const auto object = find<OptimizerObject>(optimizer);
    const std::lock_guard lock(object->mutex);
    object->rule = make_rule(object->rule->spec().name, settings, "LoomixOptimizerConfigure");
  });
}

int LoomixOptimizerUpdate(LoomixOptimizer optimizer, size_t count, const LoomixKey* keys,
                          const LoomixArray* weights, const LoomixArray* gradients) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixOptimizerUpdate";
    const auto object = find<OptimizerObject>(optimizer);
    if (count > 0) not_null(keys, kWho, "keys");
    const auto of = to_arrays(count, weights, kWho), by = to_arrays(count, gradients, kWho);
    const std::lock_guard lock(object->mutex);
    for (size_t i = 0; i < count; ++i) {
      const kvstore::Key key = to_key(&keys[i], kWho);
      LOOMIX_CHECK(of[i].shape() == by[i].shape(), ShapeError,
                   "[{}] the weight of key {} has shape {} and its gradient {}.", kWho, kvstore::to_text(key),
                   of[i].shape().to_string(), by[i].shape().to_string());
      const DType wanted = object->rule->gradient_dtype(of[i].dtype());
      const NDArray gradient = by[i].dtype() == wanted ? by[i] : cast(by[i], wanted);
      object->rule->update(key, of[i], gradient, of[i], object->states[key], 0);
    }
  });
}

int LoomixOptimizerGetState(LoomixOptimizer optimizer, const LoomixKey* key, int64_t* updates, size_t* count,
                            const LoomixArray** arrays) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixOptimizerGetState";
    not_null(updates, kWho, "updates");
    not_null(count, kWho, "count");
    not_null(arrays, kWho, "arrays");
    const auto object = find<OptimizerObject>(optimizer);
    const std::lock_guard lock(object->mutex);
    const auto found = object->states.find(to_key(key, kWho));
    const kvstore::OptimizerState none;
    const kvstore::OptimizerState& state = found == object->states.end() ? none : found->second;
    *arrays = answer_arrays(state.arrays);
    *count = state.arrays.size();
    *updates = state.updates;
  });
}

int LoomixOptimizerSetState(LoomixOptimizer optimizer, const LoomixKey* key, int64_t updates, size_t count,
                            const LoomixArray* arrays) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixOptimizerSetState";
    LOOMIX_CHECK(updates >= 0, ValueError, "[{}] updates is {}; expected 0 or more.", kWho, updates);
    kvstore::OptimizerState state;
    state.arrays = to_arrays(count, arrays, kWho);
    state.updates = updates;
    const auto object = find<OptimizerObject>(optimizer);
    const std::lock_guard lock(object->mutex);
    object->states[to_key(key, kWho)] = std::move(state);
  });
}
