// SPDX-License-Identifier: Apache-2.0
// Tasks in parts: each part has errors and an entry in the trace as if it were a task.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/device/null_device.h"
#include "engine/task_parts.h"
#include "engine/trace.h"

namespace loomix::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Named : RefCounted {
  explicit Named(std::string text) : name(std::move(text)) {}
  std::string name;
};

const std::string& name_of(const void* context) {
  return static_cast<const Named*>(static_cast<const RefCounted*>(context))->name;
}

struct Part {
  std::vector<Tag> tags;
  std::function<void()> body;
  Describe describe = {};
};

Describe named(const std::string& name) {
  return {[](const void* context) { return "in operator " + name_of(context); },
          [](const void* context) { return name_of(context).c_str(); }, make_ref<Named>(name)};
}

// Naive; queued; inline.
class PartsTest : public testing::TestWithParam<int> {
 protected:
  PartsTest()
      : engine_(GetParam() == 0
                    ? make_naive_engine()
                    : make_threaded_engine({.workers = 2, .inline_cost_ns = GetParam() == 1 ? 0U : 5000U})) {}
  ~PartsTest() override {
    for (bool clean = false; !clean;) {
      try {
        engine_->wait_all();
        clean = true;
      } catch (const Error&) {}
    }
  }
  void push(std::vector<Part> parts) {
    std::vector<Tag> tags;
    for (const Part& part : parts) tags.insert(tags.end(), part.tags.begin(), part.tags.end());
    const auto kept = std::make_shared<std::vector<Part>>(std::move(parts));
    parts_of(*engine_).push_parts({}, tags, [kept](RunContext&, TaskParts& task) {
      for (const Part& part : *kept) {
        if (!task.begin(part.tags)) continue;
        try {
          part.body();
          task.end(part.tags, part.describe);
        } catch (...) {
          task.fail(part.tags, part.describe, std::current_exception());
        }
      }
    });
  }
  std::string error_of(const VarRef& var) {
    try {
      engine_->wait(*var);
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  }

  std::unique_ptr<Engine> engine_;
  int ran_ = 0;
  const std::function<void()> run_ = [this] { ++ran_; };
  const std::function<void()> fail_ = [] { throw ShapeError("[dot] does not fit."); };
};
INSTANTIATE_TEST_SUITE_P(Engines, PartsTest, testing::Values(0, 1, 2));

TEST_P(PartsTest, AnErrorReachesOnlyThePartsThatReadIt) {
  const VarRef a = engine_->new_var(), b = engine_->new_var(), c = engine_->new_var();
  push({{{{a.get(), Access::write}}, fail_, named("dot")},
        {{{a.get(), Access::read}, {b.get(), Access::write}}, run_},
        {{{c.get(), Access::write}}, run_}});
  EXPECT_EQ(error_of(c), "none");
  EXPECT_THAT(error_of(b), AllOf(HasSubstr("does not fit"), HasSubstr("in operator dot")));
  EXPECT_THAT(error_of(a), HasSubstr("in operator dot"));
  EXPECT_EQ(ran_, 1);
  EXPECT_NO_THROW(engine_->wait_all()) << "it was reported";
}

TEST_P(PartsTest, PoisonFromOutsideSkipsOnlyItsReaders) {
  const VarRef in = engine_->new_var(), a = engine_->new_var(), b = engine_->new_var();
  engine_->poison(*in, std::make_exception_ptr(ValueError("[test] broken.")));
  const auto once = [&] {
    push({{{{in.get(), Access::read}, {a.get(), Access::write}}, run_},
          {{{b.get(), Access::write}}, run_},
          {{{b.get(), Access::read}, {b.get(), Access::write}}, run_}});
  };
  once();
  EXPECT_EQ(error_of(b), "none");
  EXPECT_THAT(error_of(a), HasSubstr("broken"));
  EXPECT_EQ(ran_, 2);
  const Tag whole{in.get(), Access::write};
  engine_->push({}, {&whole, 1}, [](RunContext&) {});
  once();
  EXPECT_EQ(error_of(a), "none") << "what is overwritten is whole again";
  EXPECT_EQ(ran_, 5);
}

TEST_P(PartsTest, WaitAllThrowsTheErrorOfEachPart) {
  const VarRef a = engine_->new_var(), b = engine_->new_var();
  push({{{{a.get(), Access::write}}, fail_}, {{{b.get(), Access::write}}, fail_}});
  EXPECT_THROW(engine_->wait_all(), ShapeError);
  EXPECT_THROW(engine_->wait_all(), ShapeError);
  EXPECT_NO_THROW(engine_->wait_all());
}

TEST_P(PartsTest, TheTraceHasTheParts) {
  const VarRef a = engine_->new_var();
  engine_->trace().start();
  push({{{{a.get(), Access::write}}, run_, named("first")},
        {{{a.get(), Access::read}}, run_, named("second")}});
  engine_->wait_all();
  engine_->trace().stop();
  EXPECT_THAT(engine_->trace().to_json(), AllOf(HasSubstr("first"), HasSubstr("second")));
}

TEST_P(PartsTest, OnADeviceTheyAreThroughWhenItsQueueIs) {
  const VarRef first = engine_->new_var(), second = engine_->new_var();
  const Tag tags[] = {{first.get(), Access::write}, {second.get(), Access::write}};
  std::vector<int> order;
  parts_of(*engine_).push_parts({.device = Device::null(0)}, tags, [&](RunContext& context, TaskParts& task) {
    for (int i = 0; i < 2; ++i) {
      const std::span<const Tag> own(&tags[i], 1);
      ASSERT_TRUE(task.begin(own));
      static_cast<NullQueue*>(context.queue)->enqueue([&order, i] {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        order.push_back(i);
      });
      task.end(own, {});
    }
  });
  engine_->wait(*second);
  EXPECT_EQ(order, (std::vector<int>{0, 1}));
}

TEST_P(PartsTest, OnADeviceOneFailsAlone) {
  const VarRef wrong = engine_->new_var(), right = engine_->new_var();
  const Tag tags[] = {{wrong.get(), Access::write}, {right.get(), Access::write}};
  parts_of(*engine_).push_parts({.device = Device::null(0)}, tags, [&](RunContext&, TaskParts& task) {
    EXPECT_TRUE(task.begin({&tags[0], 1}));
    task.fail({&tags[0], 1}, {}, std::make_exception_ptr(ValueError("wrong")));
    EXPECT_TRUE(task.begin({&tags[1], 1}));
    task.end({&tags[1], 1}, {});
    EXPECT_FALSE(task.may_run_together());
  });
  EXPECT_NO_THROW(engine_->wait(*right));
  EXPECT_THROW(engine_->wait(*wrong), ValueError);
}

}  // namespace
}  // namespace loomix::engine
