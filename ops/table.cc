// SPDX-License-Identifier: Apache-2.0
#include "ops/table.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"

namespace loomix::ops {
namespace {

// Levenshtein's distance, for suggestions.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replace = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replace, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

std::string nearest_names(std::string_view name, const std::deque<OpDef>& ops) {
  std::vector<std::pair<size_t, std::string_view>> ranked;
  for (const OpDef& op : ops) {
    if (op.hidden) continue;
    ranked.emplace_back(distance(name, op.name), op.name);
    for (const auto& alias : op.aliases) ranked.emplace_back(distance(name, alias), alias);
  }
  const size_t count = std::min<size_t>(3, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<ptrdiff_t>(count), ranked.end());
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) text += ", ";
    text += ranked[i].second;
  }
  return text;
}

// Runs a gradient rule for the names of the operators that it calls; values are placeholders.
class NameChecker final : public GradBuilder {
 public:
  NameChecker(const OpTable& table, const OpDef& op, Ref<const AttrsBase> attrs)
      : table_(table), op_(op), attrs_(std::move(attrs)) {}

  int num_in() const override { return std::max(op_.count_inputs(*attrs_), 1); }
  int num_out() const override { return op_.count_outputs(*attrs_); }
  GradValue in(int i) override { return {this, i}; }
  GradValue out(int i) override { return {this, i}; }
  GradValue saved(int i) override { return {this, i}; }
  GradValue grad_of(int i) override { return {this, i}; }
  bool has_grad_of(int) override { return true; }
  bool wants(int) const override { return true; }
  using GradBuilder::call;
  std::vector<GradValue> call(std::string_view op, std::span<const GradValue>, TextPairs attrs) override {
    const OpDef& callee = known(op);
    callee.params->parse(callee.name, attrs);
    return outputs();
  }
  std::vector<GradValue> call(std::string_view op, std::span<const GradValue>,
                              Ref<const AttrsBase> attrs) override {
    LOOMIX_CHECK(&attrs->schema() == known(op).params, InternalError,
                 "[{}] its gradient calls '{}' with attributes of another operator.", op_.name, op);
    return outputs();
  }
  Ref<const AttrsBase> attrs() const override { return attrs_; }
  void set(int, GradValue) override {}

 private:
  const OpDef& known(std::string_view name) const {
    const OpDef* op = table_.find(name);
    LOOMIX_CHECK(op != nullptr, InternalError, "[{}] its gradient calls '{}', which is no operator.",
                 op_.name, name);
    return *op;
  }
  std::vector<GradValue> outputs() { return std::vector<GradValue>(kMaxOutputs, GradValue{this, 0}); }

  static constexpr int kMaxOutputs = 16;
  const OpTable& table_;
  const OpDef& op_;
  Ref<const AttrsBase> attrs_;
};

void validate_op(const OpTable& table, const OpDef& op) {
  const auto require = [&](bool ok, const char* what) {
    LOOMIX_CHECK(ok, InternalError, "[{}] the operator's definition has {}.", op.name, what);
  };
  require(!op.doc.empty() || op.hidden, "no doc string");
  require(static_cast<bool>(op.infer_shape), "no shape rule");
  require(op.saved_names.empty() || op.infer_saved, "saved values without a rule for them");
  require(!op.data_dependent || (op.saved_names.empty() && op.inplace.empty()),
          "outputs of data-dependent shape and saved or shared memory");
  require(!(op.gradient && op.zero_gradient), "two gradients");
  require(std::any_of(op.kernels.begin(), op.kernels.end(),
                      [](const Kernel& kernel) {
                        return kernel.device == DeviceType::cpu && !kernel.support && !kernel.sparse;
                      }),
          "no CPU kernel that accepts everything");
  if (op.again) {
    const OpDef* const maker = table.find(op.again->op);
    require(maker != nullptr && maker->params == op.params, "outputs that an unknown operator makes again");
  }
  if (op.gradient) {
    NameChecker checker(table, op, table.parse(op, op.params->example()));
    op.gradient(*checker.attrs(), checker);
  }
}

}  // namespace

OpDef& OpTable::create(std::string_view name, const ParamSchema& params) {
  LOOMIX_CHECK(!find(name), InternalError, "[{}] the operator is registered twice.", name);
  OpDef& op = ops_.emplace_back();
  op.name = name;
  op.params = &params;
  by_name_.emplace(op.name, &op);
  for (const auto& [core, place] :
       std::initializer_list<std::pair<std::string_view, const OpDef**>>{{"elemwise_add", &core_.add},
                                                                         {"add_n", &core_.add_many},
                                                                         {"_copy", &core_.copy},
                                                                         {"zeros_like", &core_.zeros_like}}) {
    if (op.name == core) *place = &op;
  }
  return op;
}

OpDef& OpTable::mutable_at(std::string_view name) {
  const auto found = by_name_.find(std::string(name));
  LOOMIX_CHECK(found != by_name_.end(), InternalError, "[{}] a kernel is registered for no operator.", name);
  return *found->second;
}

void OpTable::add_kernel(std::string_view op, const Kernel& kernel) {
  OpDef& def = mutable_at(op);
  // The reference stays last where there are others for dense arrays.
  const bool before_last = kernel.sparse && def.kernels.size() > 1 && !def.kernels.back().sparse;
  def.kernels.insert(def.kernels.end() - (before_last ? 1 : 0), kernel);
  def.note(kernel);
}

void OpTable::add_later(std::span<const std::pair<std::string, Kernel>> kernels) const {
  std::map<OpDef*, std::vector<Kernel>> added;
  for (const auto& [name, kernel] : kernels) {
    added[by_name_.at(at(name).name)].push_back(kernel);
  }
  const std::lock_guard lock(adding_);
  for (auto& [op, list] : added) {
    for (const Kernel& kernel : list) op->note(kernel);
    op->added_.store(new AddedKernels{std::move(list), op->added_kernels()}, std::memory_order_release);
  }
}

const OpDef* OpTable::find(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  return found == by_name_.end() ? nullptr : found->second;
}

const OpDef& OpTable::at(std::string_view name) const {
  const OpDef* op = find(name);
  LOOMIX_CHECK(op != nullptr, KeyError, "[operators] there is no operator '{}'; the nearest names are {}.",
               name, nearest_names(name, ops_));
  return *op;
}

void OpTable::validate() {
  for (OpDef& op : ops_) {
    if (op.output_names.empty() && !op.num_outputs) op.output_names = {"output"};
    for (const std::string& alias : op.aliases) {
      const auto [place, fresh] = by_name_.emplace(alias, &op);
      LOOMIX_CHECK(fresh || place->second == &op, InternalError, "[{}] its alias '{}' already names '{}'.",
                   op.name, alias, place->second->name);
    }
  }
  for (const OpDef& op : ops_) validate_op(*this, op);
}

Ref<const AttrsBase> OpTable::parse(const OpDef& op, const TextPairs& attrs) const {
  Ref<const AttrsBase> parsed = op.params->parse(op.name, attrs);
  return op.complete ? op.complete(*parsed) : parsed;
}

}  // namespace loomix::ops
