// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "symbol/executor/bound_executor.h"
#include "symbol/symbol.h"
#include "tests/cpp/symbol/run_fixture.h"

// Binds symbols with and without fusion, or other parts of the plan, counts calls, and compares what they give.
namespace loomix::testing_fuse {

using Floats = std::vector<float>;
using Shapes = std::vector<std::pair<std::string, Shape>>;

class FuseTest : public testing_run::RunTest {
 protected:
  Symbol op(const std::string& name, std::vector<Symbol> inputs, const TextPairs& attrs = {}) {
    std::vector<NamedSymbol> named;
    for (Symbol& input : inputs) named.push_back({"", std::move(input)});
    return Symbol::create(table(), name, attrs, named, "n" + std::to_string(names_++));
  }
  Symbol scalar(const std::string& name, const Symbol& x, double number) {
    return op(name, {x}, {{"scalar", fmt::format("{}", number)}, {"is_int", "False"}});
  }
  static Symbol variable(const std::string& name) { return Symbol::variable(name); }

  // The same random arrays for the same symbol.
  Ref<BoundExecutor> bind(const Symbol& symbol, const Shapes& shapes, bool fused,
                          ops::Req request = ops::Req::null) {
    PlanOptions plan;
    plan.fuse = fused;
    return bind(symbol, shapes, plan, request);
  }
  Ref<BoundExecutor> bind(const Symbol& symbol, const Shapes& shapes, const PlanOptions& plan,
                          ops::Req request) {
    BindOptions options;
    options.plan = plan;
    options.plan.poison = true;
    SimpleBindRequest wanted;
    wanted.shapes = shapes;
    wanted.requests.assign(symbol.list_arguments().size(), request);
    auto executor = BoundExecutor::simple_bind(runtime_, symbol, Device::cpu(), wanted, options);
    std::mt19937 random(1);
    for (const NDArray& array : executor->arrays().arguments) fill(array, random);
    for (const NDArray& array : executor->arrays().gradients) {
      if (!array.is_none()) fill(array, random);
    }
    return executor;
  }
  static void fill(NDArray array, std::mt19937& random) {
    std::uniform_real_distribution<float> number(0.5f, 1.5f);
    Floats items(static_cast<size_t>(array.size()));
    for (float& item : items) item = number(random);
    array.copy_from_host(items.data(), array.bytes());
  }
  static int count(BoundExecutor& executor, const std::string& op, RunMode mode = RunMode::inference) {
    std::istringstream lines(executor.explain(mode));
    int found = 0;
    for (std::string line, number, name; std::getline(lines, line);) {
      if (std::istringstream(line) >> number >> name && (op.empty() ? line.starts_with("  ") : name == op))
        ++found;
    }
    return found;
  }
  static int calls(BoundExecutor& executor, RunMode mode = RunMode::inference) {
    return count(executor, "", mode);
  }

  static std::vector<Floats> run(BoundExecutor& executor, bool gradients) {
    std::vector<Floats> all;
    for (const NDArray& output : executor.forward(gradients ? RunMode::training : RunMode::inference))
      all.push_back(values(output));
    if (!gradients) return all;
    std::mt19937 random(2);
    std::vector<NDArray> heads;
    for (const NDArray& output : executor.outputs()) {
      heads.push_back(NDArray(output.engine(), output.shape(), output.dtype(), Device::cpu()));
      fill(heads.back(), random);
    }
    executor.backward(heads);
    for (const NDArray& gradient : executor.arrays().gradients) {
      if (!gradient.is_none()) all.push_back(values(gradient));
    }
    return all;
  }
  void expect_same(const Symbol& symbol, const Shapes& shapes, ops::Req request, double tolerance = 1e-6) {
    const auto with = bind(symbol, shapes, true, request), without = bind(symbol, shapes, false, request);
    for (int turn = 0; turn < 2; ++turn) {
      const auto got = run(*with, request != ops::Req::null),
                 expected = run(*without, request != ops::Req::null);
      ASSERT_EQ(got.size(), expected.size());
      for (size_t i = 0; i < got.size(); ++i) {
        double difference = 0, norm = 1e-30;
        for (size_t k = 0; k < got[i].size(); ++k) {
          difference += std::pow(double{got[i][k]} - expected[i][k], 2);
          norm += std::pow(double{expected[i][k]}, 2);
        }
        EXPECT_LE(std::sqrt(difference / norm), tolerance)
            << "array " << i << ", turn " << turn << "\n"
            << with->explain(request == ops::Req::null ? RunMode::inference : RunMode::training);
      }
    }
  }

  int names_ = 0;
};

}  // namespace loomix::testing_fuse
