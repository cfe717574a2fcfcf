// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "ops/families.h"
#include "ops/loss/regression_output.h"
#include "ops/loss/softmax_output.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

template <Regression kind>
void add_regression(OpTable& table, const std::string& name) {
  using P = RegressionOutputParams;
  table.kernel<P, regression_output_cpu<kind>>(name, "regression_output_cpu", DeviceType::cpu);
  table.kernel<P, regression_output_backward_cpu<kind>>("_backward_" + name, "regression_output_backward_cpu",
                                                        DeviceType::cpu);
}

}  // namespace

void kernels_loss_cpu(OpTable& table) {
  constexpr DeviceType cpu = DeviceType::cpu;
  table.kernel<SoftmaxOutputParams, softmax_output_cpu>("SoftmaxOutput", "softmax_output_cpu", cpu);
  table.kernel<SoftmaxOutputParams, softmax_output_backward_cpu>("_backward_SoftmaxOutput",
                                                                 "softmax_output_backward_cpu", cpu);
  table.kernel<NoParams, softmax_cross_entropy_cpu>("softmax_cross_entropy", "softmax_cross_entropy_cpu",
                                                    cpu);
  table.kernel<NoParams, softmax_cross_entropy_backward_cpu>("_backward_softmax_cross_entropy",
                                                             "softmax_cross_entropy_backward_cpu", cpu);
  add_regression<Regression::linear>(table, "LinearRegressionOutput");
  add_regression<Regression::logistic>(table, "LogisticRegressionOutput");
  add_regression<Regression::mae>(table, "MAERegressionOutput");
  table.kernel<SvmOutputParams, svm_output_cpu>("SVMOutput", "svm_output_cpu", cpu);
  table.kernel<SvmOutputParams, svm_output_backward_cpu>("_backward_SVMOutput", "svm_output_backward_cpu",
                                                         cpu);
}

}  // namespace loomix::ops
