// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/run_node.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "engine/device/device_runtime.h"
#include "ndarray/sparse.h"
#include "symbol/executor/op_call.h"
#include "tests/cpp/symbol/run_fixture.h"

namespace loomix {
namespace {

using RunNodeTest = testing_run::RunTest;
using Floats = std::vector<float>;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST_F(RunNodeTest, RunsAnOperator) {
  const NDArray sum = call("elemwise_add", {array({2}, {1, 2}), array({2}, {10, 20})});
  EXPECT_EQ(values(sum), (Floats{11, 22}));
}

TEST_F(RunNodeTest, WritesToGivenArraysAndAdds) {
  const NDArray a = array({2}, {1, 2});
  NDArray out = array({2}, {100, 200});
  NDArray* const pointer = &out;
  RunOptions options;
  options.out = {&pointer, 1};
  const ops::Req add = ops::Req::add;
  options.req = {&add, 1};
  run_node(runtime_, "elemwise_mul", {a, a}, {}, options);
  EXPECT_EQ(values(out), (Floats{101, 204}));
  options.req = {};
  run_node(runtime_, "elemwise_add", {out, a}, {}, options);
  EXPECT_EQ(values(out), (Floats{102, 206}));
}

TEST_F(RunNodeTest, OutputsThatShareMemoryGoThroughATemporary) {
  const NDArray whole = array({5}, {1, 2, 3, 4, 5});
  NDArray shifted = whole.slice(1, 5);
  NDArray* pointer = &shifted;
  RunOptions options;
  options.out = {&pointer, 1};
  run_node(runtime_, "elemwise_add", {whole.slice(0, 4), whole.slice(0, 4)}, {}, options);
  EXPECT_EQ(values(whole), (Floats{1, 2, 4, 6, 8}));

  const NDArray square = array({2, 2}, {1, 2, 3, 4});
  NDArray target = square;
  pointer = &target;
  run_node(runtime_, "transpose", {square}, {}, options);
  EXPECT_EQ(values(square), (Floats{1, 3, 2, 4}));
}

TEST_F(RunNodeTest, RefusesAtTheCall) {
  const NDArray a = array({2}, {1, 2});
  EXPECT_THROW(call("elemwise_add", {a, array({3}, {1, 2, 3})}), ShapeError);
  EXPECT_THROW(call("elemwise_add", {a, cast(a, DType::int32)}), TypeError);
  EXPECT_THROW(call("elemwise_add", {a}), ValueError);
  EXPECT_THROW(call("elemwise_add", {a, NDArray()}), ValueError);
  EXPECT_THROW(call("no_such_operator", {a}), KeyError);
  const std::string mixed = message_of([&] {
    call("elemwise_add", {a, array({2}, {1, 2}, Device::cpu(1))});
  });
  EXPECT_NE(mixed.find("'lhs' is on cpu(0) and 'rhs' on cpu(1)"), std::string::npos) << mixed;
}

TEST_F(RunNodeTest, FailuresSayWhatFailedAndWhere) {
  runtime_.origin.capture = [] { return Origin{"code", 12}; };
  runtime_.origin.text = [](Origin origin) { return fmt::format("train.py:{}", origin.offset); };
  RunOptions options;
  options.node_name = "boom";
  const NDArray bad = run_node(runtime_, "_test_fail", {array({2, 1}, {1, 2})}, {{"code", "3"}}, options)[0];
  const NDArray after = call("elemwise_add", {bad, bad});
  const std::string text = message_of([&] { after.wait_to_read(); });
  for (const char* part :
       {"code 3", "_test_fail", "'boom'", "float32 (2, 1)", "cpu(0)", "code=3", "train.py:12"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  }
  EXPECT_THROW(bad.wait_to_read(), ValueError);
  EXPECT_THROW(after.at(0).wait_to_read(), ValueError) << "views share the error";
}

TEST_F(RunNodeTest, SparseInputsAreMadeDenseWhereNoKernelTakesThem) {
  const NDArray rows = cast_storage(array({3, 1}, {0, 2, 0}), StorageType::row_sparse);
  EXPECT_EQ(values(call("elemwise_div", {rows, array({3, 1}, {1, 2, 4})})), (Floats{0, 1, 0}));
}

TEST_F(RunNodeTest, SparseKernelsSayHowTheirOutputsAreStored) {
  const NDArray rows = cast_storage(array({3, 1}, {0, 2, 0}), StorageType::row_sparse);
  const NDArray sum = call("elemwise_add", {rows, rows});
  EXPECT_EQ(sum.stype(), StorageType::row_sparse);
  EXPECT_EQ(sum.stored_count(), 1);
  EXPECT_EQ(values(cast_storage(sum, StorageType::dense)), (Floats{0, 4, 0}));
  EXPECT_EQ(call("elemwise_add", {rows, array({3, 1}, {1, 2, 3})}).stype(), StorageType::dense);
  // What is given is tried first, and converted to where no kernel stores it so.
  NDArray out =
      NDArray::sparse(*engine_, StorageType::row_sparse, Shape{3, 1}, DType::float32, Device::cpu());
  NDArray* const pointer = &out;
  RunOptions options;
  options.out = {&pointer, 1};
  run_node(runtime_, "elemwise_add", {rows, array({3, 1}, {0, -2, 3})}, {}, options);
  EXPECT_EQ(out.stored_count(), 1);
  EXPECT_EQ(values(cast_storage(out, StorageType::dense)), (Floats{0, 0, 3}));
}

TEST_F(RunNodeTest, ShapesThatDependOnDataAreWaitedFor) {
  const NDArray some = call("_test_positive", {call("negative", {array({4}, {1, -2, 3, -4})})});
  EXPECT_EQ(some.shape(), (Shape{2}));
  EXPECT_EQ(values(some), (Floats{2, 4}));
  const NDArray none = call("_test_positive", {call("negative", {array({2}, {1, 2})})});
  EXPECT_EQ(values(call("elemwise_add", {none, none})), Floats{});
  EXPECT_EQ(values(call("elemwise_add", {some.slice(1, 2), some.slice(0, 1)})), (Floats{6}));

  NDArray out = array({2}, {0, 0});
  NDArray* const pointer = &out;
  RunOptions options;
  options.out = {&pointer, 1};
  run_node(runtime_, "_test_positive", {array({3}, {5, -5, 7})}, {}, options);
  EXPECT_EQ(values(out), (Floats{5, 7}));
  EXPECT_THROW(run_node(runtime_, "_test_positive", {array({3}, {5, 6, 7})}, {}, options), ShapeError);
  const ops::Req add = ops::Req::add;
  options.req = {&add, 1};
  EXPECT_THROW(run_node(runtime_, "_test_positive", {out}, {}, options), NotImplementedError);

  const NDArray failed = call("_test_positive", {call("_test_fail", {out})});
  EXPECT_THROW(static_cast<void>(failed.shape()), ValueError);
}

TEST_F(RunNodeTest, RandomNumbersFollowPushOrder) {
  const TextPairs attrs = {{"shape", "(4,)"}};
  runtime_.generators().seed_all(5);
  const Floats first = values(call("_random_uniform", {}, attrs));
  const ops::RandomStream state = runtime_.generators().state(Device::cpu());
  const Floats second = values(call("_random_uniform", {}, attrs));
  EXPECT_NE(first, second);
  runtime_.generators().set_state(Device::cpu(), state);
  EXPECT_EQ(values(call("_random_uniform", {}, attrs)), second);
  runtime_.generators().seed(5, Device::cpu());
  EXPECT_EQ(values(call("_random_uniform", {}, attrs)), first);
  EXPECT_NE(runtime_.generators().state(Device::cpu(1)).seed, 5u) << "devices draw different numbers";
}

// While the first operator cannot run, the pushes behind it wait once their outputs take as much as is allowed.
TEST_F(RunNodeTest, MemoryOfOperatorsThatHaveNotRunIsBounded) {
  constexpr int64_t kMega = 1 << 20;
  engine_ = engine::make_threaded_engine({.workers = 1, .max_bytes = 8 * kMega, .inline_cost_ns = 0});
  Runtime runtime(*engine_, table());
  const NDArray x(*engine_, Shape{kMega / 4}, DType::float32, Device::cpu());
  std::atomic<bool> go{false};
  const engine::Tag tag{&x.var(), engine::Access::write};
  engine_->push({}, {&tag, 1}, [&](engine::RunContext&) {
    while (!go) std::this_thread::yield();
  });
  std::atomic<int> pushed{0};
  std::thread pusher([&] {
    for (; pushed < 100; ++pushed) run_node(runtime, "elemwise_add", {x, x});
  });
  const engine::MemoryPool& pool = engine_->device(Device::cpu()).memory(MemoryKind::host);
  while (pushed < 8) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(pushed, 8);
  EXPECT_LE(pool.stats().in_use, (1 + 8 + 1) * kMega + kMega / 2);  // x, those pushed, the one that waits
  go = true;
  pusher.join();
  engine_->wait_all();
}

TEST_F(RunNodeTest, PreparedCallsRunAgainAndAgain) {
  const NDArray a = array({2}, {1, 2});
  const NDArray out = array({2}, {0, 0});
  const ops::OpDef& op = table().at("elemwise_add");
  const Ref<const AttrsBase> attrs = table().parse(op, {});
  const NDArray* const in[] = {&a, &out};
  const ops::Req req = ops::Req::write;
  const Ref<OpCall> prepared = OpCall::make(runtime_, {.op = op,
                                                       .attrs = attrs,
                                                       .in = in,
                                                       .out = {&out, 1},
                                                       .saved = {},
                                                       .req = {&req, 1},
                                                       .device = a.device()});
  for (int i = 0; i < 100; ++i) prepared->push(runtime_);
  EXPECT_EQ(values(out), (Floats{100, 200}));
}

}  // namespace
}  // namespace loomix
