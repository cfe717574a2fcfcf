// SPDX-License-Identifier: Apache-2.0
//
// Groups of nodes on several devices. The null device runs what it gets late and out of order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/device/null_device.h"
#include "ndarray/copy.h"
#include "symbol/executor/bound_executor.h"
#include "tests/cpp/symbol/run_fixture.h"

namespace loomix {
namespace {

using Floats = std::vector<float>;
using ::testing::HasSubstr;

void later(const ops::KernelArgs& args, float a, float b) {
  const float* const first = args.in[0].as<float>();
  const float* const last = args.in[args.in.size() - 1].as<float>();
  float* const out = args.out[0].mutable_as<float>();
  const int64_t size = args.out[0].size();
  const auto work = [=] {
    for (int64_t i = 0; i < size; ++i) out[i] = a * first[i] + b * last[i];
  };
  if (args.context->queue) static_cast<engine::NullQueue*>(args.context->queue)->enqueue(work);
  else work();
}
void twice_kernel(const ops::NoParams&, const ops::KernelArgs& args) { later(args, 1, 1); }
void sum_kernel(const ops::NoParams&, const ops::KernelArgs& args) { later(args, 1, 1); }

// `_test_twice` and `_test_sum`, with kernels for hosts and the null device.
const ops::OpTable& table() {
  static const ops::OpTable* const made = [] {
    static ops::OpTable own;
    ops::register_all(own);
    const auto shape = [](const ops::NoParams&, ops::ShapeInfer& s) { s.unify_all(); };
    const auto type = [](const ops::NoParams&, ops::TypeInfer& t) { t.unify_all(); };
    own.add<ops::NoParams>("_test_twice")
        .doc("2 a")
        .input("a")
        .output("output")
        .infer_shape(shape)
        .infer_type(type)
        .gradient([](const ops::NoParams&, ops::GradBuilder& g) {
          g.set(0, g.call1("_test_twice", {g.grad_of(0)}));
        });
    own.add<ops::NoParams>("_test_sum")
        .doc("a + b")
        .inputs({"a", "b"})
        .output("output")
        .infer_shape(shape)
        .infer_type(type)
        .gradient([](const ops::NoParams&, ops::GradBuilder& g) {
          g.set(0, g.grad_of(0));
          g.set(1, g.grad_of(0));
        });
    for (const DeviceType device : {DeviceType::cpu, DeviceType::null}) {
      own.kernel<twice_kernel>("_test_twice", "twice", device);
      own.kernel<sum_kernel>("_test_sum", "sum", device);
    }
    own.kernel<sum_kernel>("elemwise_add", "sum", DeviceType::null);  // where gradients meet
    own.validate();
    return &own;
  }();
  return *made;
}

class GroupTest : public ::testing::Test {
 protected:
  GroupTest() {
    engine::EngineOptions options;
    options.workers = 4;
    options.inline_cost_ns = 0;
    engine_ = engine::make_threaded_engine(options);
    runtime_.emplace(*engine_, table());
  }

  static Symbol variable(const char* name, const char* group) {
    return Symbol::variable(name, group ? TextPairs{{"ctx_group", group}} : TextPairs());
  }
  static Symbol op(const char* name, const char* group, std::vector<NamedSymbol> inputs, const char* node) {
    return Symbol::create(table(), name, group ? TextPairs{{"ctx_group", group}} : TextPairs(), inputs, node);
  }
  // 2 (2 x + y) and 2 x, on three devices.
  static Symbol network(const char* of_x = "a") {
    const Symbol twice = op("_test_twice", "a", {{"", variable("x", of_x)}}, "t");
    const Symbol sum = op("_test_sum", "b", {{"", twice}, {"", variable("y", "b")}}, "s");
    const Symbol all[] = {op("_test_twice", "c", {{"", sum}}, "out"), twice};
    return Symbol::group(all);
  }
  static std::map<std::string, Device> groups() {
    return {{"a", Device::null(0)}, {"b", Device::null(1)}, {"c", Device::cpu(1)}};
  }
  Ref<BoundExecutor> bind(const Symbol& symbol, std::map<std::string, Device> places,
                          ops::Req req = ops::Req::write) {
    SimpleBindRequest wanted;
    for (const auto& name : symbol.list_arguments()) wanted.shapes.emplace_back(name, Shape{kSize});
    wanted.requests.assign(wanted.shapes.size(), req);
    BindOptions options;
    options.groups = std::move(places);
    return BoundExecutor::simple_bind(*runtime_, symbol, Device::cpu(), wanted, options);
  }
  NDArray host(float first) {
    Floats items(kSize);
    for (size_t i = 0; i < items.size(); ++i) items[i] = first + static_cast<float>(i);
    NDArray array(*engine_, {kSize}, DType::float32, Device::cpu());
    array.copy_from_host(items.data(), array.bytes());
    return array;
  }
  static Floats values(const NDArray& array) {
    const NDArray here = copy_to(array, Device::cpu());
    Floats items(static_cast<size_t>(here.size()));
    here.copy_to_host(items.data(), here.bytes());
    return items;
  }
  static Floats combine(float a, const NDArray& x, float b, const NDArray& y) {
    Floats first = values(x), second = values(y);
    for (size_t i = 0; i < first.size(); ++i) first[i] = a * first[i] + b * second[i];
    return first;
  }

  static constexpr int64_t kSize = 257;
  std::unique_ptr<engine::Engine> engine_;
  std::optional<Runtime> runtime_;
};

TEST_F(GroupTest, NodesAndVariablesLieWithTheirGroups) {
  const auto executor = bind(network(), groups());
  EXPECT_EQ(executor->arrays().arguments[0].device(), Device::null(0));
  EXPECT_EQ(executor->arrays().gradients[0].device(), Device::null(0));
  EXPECT_EQ(executor->arrays().arguments[1].device(), Device::null(1));
  EXPECT_EQ(executor->outputs()[0].device(), Device::cpu(1));
  EXPECT_EQ(executor->outputs()[1].device(), Device::null(0));
}

TEST_F(GroupTest, PassesOverLateDevicesAreOrdered) {
  for (const char* of_x : {"a", "c"}) {  // in the second case x is brought to its user, and its gradient back
    const auto executor = bind(network(of_x), groups());
    for (int step = 0; step < 30; ++step) {
      const NDArray x = host(static_cast<float>(step)), y = host(3), head = host(1), other = host(2);
      copy(x, executor->arrays().arguments[0]);
      copy(y, executor->arrays().arguments[1]);
      const auto out = executor->forward(RunMode::training);
      const NDArray heads[] = {head, other};
      executor->backward(heads);
      if (step % 3 != 0) continue;  // the others overlap
      ASSERT_EQ(values(out[0]), combine(4, x, 2, y));
      ASSERT_EQ(values(out[1]), combine(2, x, 0, y));
      ASSERT_EQ(values(executor->arrays().gradients[0]), combine(4, head, 2, other));
      ASSERT_EQ(values(executor->arrays().gradients[1]), combine(2, head, 0, other));
    }
    EXPECT_THAT(executor->explain(RunMode::training), HasSubstr("transfer"));
  }
}

TEST_F(GroupTest, AGroupWithoutDeviceIsNamed) {
  try {
    bind(network(), {{"a", Device::null(0)}, {"c", Device::cpu(1)}});
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("ctx_group 'b'"));
    EXPECT_THAT(error.what(), HasSubstr("'y'"));
  }
}

}  // namespace
}  // namespace loomix
