// SPDX-License-Identifier: Apache-2.0
#include "ops/loss/regression_output.h"

#include "ops/loss/loss.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using Params = RegressionOutputParams;

// A label may have any shape with as many rows and elements as the data. Where it is not known, it is shaped like the
// data; for one column it leaves that axis out.
void infer_regression(const Params&, ShapeInfer& s) {
  s.set_out(0, s.in(0));
  s.set_in(0, s.out(0));
  const Shape& data = s.in(0);
  const Shape& label = s.in(1);
  if (!data.ndim_known()) return;
  if (data.is_known() && label.is_known() && data.ndim() > 0 && label.ndim() > 0 && label[0] == data[0] &&
      label.size() == data.size()) {
    return;
  }
  if (data.ndim() == 2 && data[1] == 1 && label.ndim() != 2) {
    s.set_in(1, Shape{data[0]});
    return;
  }
  s.set_in(1, data);
}

void infer_svm(const SvmOutputParams&, ShapeInfer& s) {
  s.set_out(0, s.in(0));
  s.set_in(0, s.out(0));
  if (s.in(0).ndim() >= 1) s.set_in(1, Shape{s.in(0)[0]});
}

template <Regression kind>
void add_regression(OpTable& table, const char* name, const char* doc) {
  const std::string backward = std::string("_backward_") + name;
  static constexpr const char* backward_names[] = {"_backward_LinearRegressionOutput",
                                                   "_backward_LogisticRegressionOutput",
                                                   "_backward_MAERegressionOutput"};
  table.add<Params>(name)
      .aliases({std::string("_sparse_") + name})
      .doc(doc)
      .inputs({"data", "label"})
      .output("output")
      .infer_shape(infer_regression)
      .infer_type(infer_loss_type<Params>)
      .types(kFloatingTypes)
      .input_types(1, kNumericTypes)
      .inplace(0, 0)
      .loss()
      .gradient([](const Params&, GradBuilder& g) {
        const GradValue inputs[] = {g.out(0), g.in(1)};
        if (g.wants(0)) g.set(0, g.call(backward_names[static_cast<int>(kind)], inputs, g.attrs())[0]);
      });
  table.add<Params>(backward)
      .hidden()
      .inputs({"output", "label"})
      .output("output")
      .infer_shape(infer_regression)
      .infer_type(infer_loss_type<Params>)
      .types(kFloatingTypes)
      .input_types(1, kNumericTypes)
      .inplace(0, 0);
}

}  // namespace

void register_regression_output(OpTable& table) {
  add_regression<Regression::linear>(
      table, "LinearRegressionOutput",
      "The data itself, whose gradient is that of half the squared distance to the label.");
  add_regression<Regression::logistic>(
      table, "LogisticRegressionOutput",
      "The sigmoid of the data, whose gradient is that of the cross entropy.");
  add_regression<Regression::mae>(
      table, "MAERegressionOutput",
      "The data itself, whose gradient is that of the absolute distance to the label.");
  using Svm = SvmOutputParams;
  table.add<Svm>("SVMOutput")
      .doc("The data itself, whose gradient is that of the hinge loss, one class against the others.")
      .inputs({"data", "label"})
      .output("output")
      .infer_shape(infer_svm)
      .infer_type(infer_loss_type<Svm>)
      .types(kFloatingTypes)
      .input_types(1, kNumericTypes)
      .inplace(0, 0)
      .loss()
      .gradient([](const Svm&, GradBuilder& g) {
        const GradValue inputs[] = {g.out(0), g.in(1)};
        if (g.wants(0)) g.set(0, g.call("_backward_SVMOutput", inputs, g.attrs())[0]);
      });
  table.add<Svm>("_backward_SVMOutput")
      .hidden()
      .inputs({"output", "label"})
      .output("output")
      .infer_shape(infer_svm)
      .infer_type(infer_loss_type<Svm>)
      .types(kFloatingTypes)
      .input_types(1, kNumericTypes)
      .inplace(0, 0);
}

}  // namespace loomix::ops
