// SPDX-License-Identifier: Apache-2.0
// Cost of small imperative work from C++, in nanoseconds a call: creating arrays, `a + b` on 2 elements with all of
// run_node, the same waited for, recorded, and with its gradient. Prints median and best of repetitions.
//   run_node_bench [repetitions]
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "ndarray/copy.h"
#include "symbol/autograd/tape.h"
#include "symbol/executor/run_node.h"

namespace {

using namespace loomix;
using Clock = std::chrono::steady_clock;
constexpr int kCalls = 200'000;

void measure(const char* name, int repetitions, int calls, const std::function<void(int)>& body) {
  std::vector<double> results;
  for (int i = 0; i < repetitions; ++i) {
    const auto begin = Clock::now();
    body(calls);
    results.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / calls);
  }
  std::sort(results.begin(), results.end());
  fmt::print("{:<40} {:8.1f} ns median {:8.1f} ns best\n", name, results[results.size() / 2], results[0]);
}

}  // namespace

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::atoi(argv[1]) : 15;
  const auto engine = engine::make_threaded_engine();
  ops::OpTable table;
  ops::register_all(table);
  table.validate();
  Runtime runtime(*engine, table);
  const Shape shape{2};
  NDArray a = zeros(*engine, shape, DType::float32, Device::cpu());
  const NDArray b = zeros(*engine, shape, DType::float32, Device::cpu());
  const ops::OpDef& add = table.at("elemwise_add");
  const Ref<const AttrsBase> attrs = table.parse(add, {});
  const NDArray* const in[] = {&a, &b};

  measure("NDArray of 2 elements", repetitions, kCalls, [&](int calls) {
    for (int i = 0; i < calls; ++i) NDArray made(*engine, shape, DType::float32, Device::cpu());
  });
  measure("a + b pushed", repetitions, kCalls, [&](int calls) {
    for (int i = 0; i < calls; ++i) run_node(runtime, add, attrs, in);
    engine->wait_all();
  });
  measure("a + b pushed and waited for", repetitions, kCalls, [&](int calls) {
    for (int i = 0; i < calls; ++i) run_node(runtime, add, attrs, in)[0].wait_to_read();
  });
  const NDArray grad = zeros(*engine, shape, DType::float32, Device::cpu());
  NDArray* const variable = &a;
  const ops::Req write = ops::Req::write;
  autograd::mark_variables({&variable, 1}, {&grad, 1}, {&write, 1});
  measure("a + b recorded", repetitions, kCalls, [&](int calls) {
    const autograd::Scope scope(true, true);
    for (int i = 0; i < calls; ++i) run_node(runtime, add, attrs, in);
  });
  measure("100 additions, forward and backward", repetitions, 500, [&](int calls) {
    for (int i = 0; i < calls; ++i) {
      NDArray head = a;
      {
        const autograd::Scope scope(true, true);
        for (int k = 0; k < 100; ++k) {
          const NDArray* const operands[] = {&head, &b};
          head = run_node(runtime, add, attrs, operands)[0];
        }
      }
      autograd::backward(runtime, {&head, 1}, {}, {});
    }
    engine->wait_all();
  });
  engine->shutdown();
  return 0;
}
