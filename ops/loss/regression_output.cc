// SPDX-License-Identifier: Apache-2.0
#include "ops/loss/regression_output.h"

#include "ops/loss/loss.h"

namespace loomix::ops {
namespace {

// A label may have any shape with as many rows and elements as the data. Where it is not known, it is shaped like the
// data; for one column it leaves that axis out.
void infer_regression(const RegressionOutputParams&, ShapeInfer& s) {
  s.tie({0});
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
  s.tie({0});
  if (s.in(0).ndim() >= 1) s.set_in(1, Shape{s.in(0)[0]});
}

}  // namespace

void register_regression_output(OpTable& table) {
  const auto add = [&](const std::string& name, const char* doc) {
    add_loss(table, name, infer_regression).doc(doc).aliases({"_sparse_" + name});
  };
  add("LinearRegressionOutput",
      "The data itself, whose gradient is that of half the squared distance to the label.");
  add("LogisticRegressionOutput", "The sigmoid of the data, whose gradient is that of the cross entropy.");
  add("MAERegressionOutput",
      "The data itself, whose gradient is that of the absolute distance to the label.");
  add_loss(table, "SVMOutput", infer_svm)
      .doc("The data itself, whose gradient is that of the hinge loss, one class against the others.");
}

}  // namespace loomix::ops
