// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "ndarray/copy.h"
#include "symbol/autograd/tape.h"
#include "symbol/executor/run_node.h"

namespace loomix::testing_run {

// Parameters of `_test_fail`: an operator whose kernel throws.
struct FailParams {
  int code = 7;
  static void fields(FieldList<FailParams>& f) { f("code", &FailParams::code, "Said in the error."); }
};
inline void fail_kernel(const FailParams& params, const ops::KernelArgs&) {
  detail::throw_error<ValueError>("[_test_fail] code {}.", params.code);
}

// `_test_positive`: the positive elements, so its shape is known when it has run.
inline void positive_kernel(const ops::NoParams&, const ops::KernelArgs& args) {
  const TensorView& in = args.in[0];
  const auto* const items = static_cast<const float*>(in.data);
  const auto positive = [](float item) { return item > 0; };
  const TensorView out = args.deferred->allocate(0, {std::count_if(items, items + in.size(), positive)});
  std::copy_if(items, items + in.size(), static_cast<float*>(out.data), positive);
}

// A runtime for each test: the product's operators and two of its own.
class RunTest : public ::testing::Test {
 protected:
  static const ops::OpTable& table() {
    static const ops::OpTable* const made = [] {
      static ops::OpTable own;
      ops::register_all(own);
      autograd::register_operators(own);
      own.add<FailParams>("_test_fail")
          .doc("Fails.")
          .input("data")
          .output("output")
          .infer_shape([](const FailParams&, ops::ShapeInfer& s) { s.unify_all(); })
          .infer_type([](const FailParams&, ops::TypeInfer& t) { t.unify_all(); })
          .gradient([](const FailParams&, ops::GradBuilder& g) { g.set(0, g.grad_of(0)); });
      own.kernel<fail_kernel>("_test_fail", "fail_cpu");
      own.add<ops::NoParams>("_test_positive")
          .doc("The positive elements.")
          .input("data")
          .output("output")
          .data_dependent()
          .infer_shape([](const ops::NoParams&, ops::ShapeInfer&) {})
          .infer_type([](const ops::NoParams&, ops::TypeInfer& t) { t.unify_all(); });
      own.kernel<positive_kernel>("_test_positive", "positive_cpu");
      own.validate();
      return &own;
    }();
    return *made;
  }

  RunTest() : engine_(engine::make_threaded_engine()), runtime_(*engine_, table()) {}

  NDArray array(const Shape& shape, const std::vector<float>& items, Device device = Device::cpu()) {
    NDArray result(*engine_, shape, DType::float32, device);
    result.copy_from_host(items.data(), static_cast<int64_t>(items.size() * sizeof(float)));
    return result;
  }
  static std::vector<float> values(const NDArray& array) {
    std::vector<float> items(static_cast<size_t>(array.size()));
    array.copy_to_host(items.data(), array.bytes());
    return items;
  }
  NDArray call(std::string_view op, std::initializer_list<NDArray> in, const TextPairs& attrs = {}) {
    return run_node(runtime_, op, in, attrs)[0];
  }
  // Marks the array as a variable; returns its gradient array.
  NDArray attach(NDArray& variable, ops::Req req = ops::Req::write) {
    const NDArray grad = zeros(*engine_, variable.shape(), variable.dtype(), variable.device());
    NDArray* const pointer = &variable;
    autograd::mark_variables({&pointer, 1}, {&grad, 1}, {&req, 1});
    return grad;
  }
  void backward(const NDArray& head, const autograd::BackwardOptions& options = {}) {
    autograd::backward(runtime_, {&head, 1}, {}, options);
  }

  std::unique_ptr<engine::Engine> engine_;
  Runtime runtime_;
};

}  // namespace loomix::testing_run
