// SPDX-License-Identifier: Apache-2.0
// Errors travel with data, the same way in every engine and for inline work.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/engine.h"

namespace loomix::engine {
namespace {

struct Named : RefCounted {
  explicit Named(std::string text) : name(std::move(text)) {}
  std::string name;
};
Describe described(const std::string& name) {
  return {.text =
              [](const void* context) {
                return "in operator " +
                       static_cast<const Named*>(static_cast<const RefCounted*>(context))->name +
                       " (model.py:7)";
              },
          .name =
              [](const void* context) {
                return static_cast<const Named*>(static_cast<const RefCounted*>(context))->name.c_str();
              },
          .context = make_ref<Named>(name)};
}

template <class E>
std::string text_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// Naive; queued; inline.
class ErrorTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    engine_ = GetParam() == 0
                  ? make_naive_engine()
                  : make_threaded_engine({.workers = 2, .inline_cost_ns = GetParam() == 1 ? 0u : 5000u});
  }
  void TearDown() override {
    for (bool clean = false; !clean;) {
      try {
        engine_->wait_all();
        clean = true;
      } catch (const std::exception&) {}
    }
  }
  void push(std::vector<Tag> tags, Work work, TaskInfo info = {}) {
    engine_->push(std::move(info), tags, std::move(work));
  }
  std::unique_ptr<Engine> engine_;
};
INSTANTIATE_TEST_SUITE_P(Engines, ErrorTest, testing::Values(0, 1, 2));

void fail_with_shape(RunContext&) { throw ShapeError("[dot] (2, 3) and (4, 5) do not fit."); }

TEST_P(ErrorTest, PoisonFollowsTheDataAndNothingElse) {
  const VarRef a = engine_->new_var(), b = engine_->new_var(), c = engine_->new_var(),
               other = engine_->new_var();
  std::atomic<int> ran{0};
  push({{a.get(), Access::write}}, fail_with_shape);
  push({{a.get(), Access::read}, {b.get(), Access::write}}, [&](RunContext&) { ran += 1; });
  push({{b.get(), Access::read}, {c.get(), Access::write}}, [&](RunContext&) { ran += 1; });
  push({{other.get(), Access::write}}, [&](RunContext&) { ran += 100; });
  EXPECT_THROW(engine_->wait(*c), ShapeError);
  EXPECT_THROW(engine_->wait(*b), ShapeError);
  EXPECT_THROW(engine_->wait(*a), ShapeError);
  EXPECT_THROW(engine_->wait(*a), ShapeError);  // stays
  EXPECT_NO_THROW(engine_->wait(*other));
  EXPECT_EQ(ran, 100);
  EXPECT_NO_THROW(engine_->wait_all());  // was reported
}

TEST_P(ErrorTest, OverwritingHealsUpdatingDoesNot) {
  const VarRef a = engine_->new_var();
  std::atomic<int> ran{0};
  push({{a.get(), Access::write}}, fail_with_shape);
  push({{a.get(), Access::read}, {a.get(), Access::write}}, [&](RunContext&) { ran += 1; });
  EXPECT_THROW(engine_->wait(*a), ShapeError);
  push({{a.get(), Access::use}}, [&](RunContext&) { ran += 10; });
  EXPECT_THROW(engine_->wait(*a), ShapeError);
  push({{a.get(), Access::write}}, [&](RunContext&) { ran += 100; });
  EXPECT_NO_THROW(engine_->wait(*a));
  EXPECT_EQ(ran, 110);
}

TEST_P(ErrorTest, WaitAllReportsEachErrorOnceInOrder) {
  const VarRef a = engine_->new_var(), b = engine_->new_var();
  push({{a.get(), Access::write}}, fail_with_shape);
  engine_->is_ready(*a);
  EXPECT_THROW(engine_->wait_all(), ShapeError);
  EXPECT_NO_THROW(engine_->wait_all());
  EXPECT_THROW(engine_->wait(*a), ShapeError);  // wait_all forgot the error, not the poison
  push({{b.get(), Access::use}}, [](RunContext&) { throw ValueError("[rng] bad seed."); });
  EXPECT_THROW(engine_->wait_all(), ValueError);
  EXPECT_NO_THROW(engine_->wait(*b));  // `use` carries no error
}

TEST_P(ErrorTest, ReadAheadFailsForItsReadersOnly) {
  const VarRef a = engine_->new_var(), b = engine_->new_var();
  push({{a.get(), Access::write}}, fail_with_shape, {.may_be_unused = true});
  push({{a.get(), Access::read}, {b.get(), Access::write}}, [](RunContext&) {});
  EXPECT_NO_THROW(engine_->wait_all());
  EXPECT_THROW(engine_->wait(*a), ShapeError);
  EXPECT_THROW(engine_->wait(*b), ShapeError);
}

TEST_P(ErrorTest, TextSaysWhereAndTypeIsKept) {
  const VarRef a = engine_->new_var();
  push({{a.get(), Access::write}}, fail_with_shape, {.describe = described("dot")});
  const std::string text = text_of<ShapeError>([&] { engine_->wait(*a); });
  EXPECT_EQ(text, "[dot] (2, 3) and (4, 5) do not fit.\nin operator dot (model.py:7)");
  push({{a.get(), Access::write}}, [](RunContext&) { throw std::runtime_error("foreign"); },
       {.describe = described("x")});
  EXPECT_EQ(text_of<std::runtime_error>([&] { engine_->wait(*a); }), "foreign");
  push({{a.get(), Access::write}}, [](RunContext&) { throw std::bad_alloc(); },
       {.describe = described("big")});
  EXPECT_NE(text_of<MemoryError>([&] { engine_->wait(*a); }).find("in operator big"), std::string::npos);
}

TEST_P(ErrorTest, WaitInsideATaskNamesTheTask) {
  const VarRef a = engine_->new_var(), b = engine_->new_var();
  push({{a.get(), Access::write}}, [&](RunContext&) { engine_->wait(*b); }, {.describe = described("rude")});
  const std::string text = text_of<StateError>([&] { engine_->wait(*a); });
  EXPECT_NE(text.find("'rude'"), std::string::npos) << text;
  push({{a.get(), Access::write}}, [&](RunContext&) { engine_->wait_all(); });
  EXPECT_THROW(engine_->wait(*a), StateError);
}

TEST_P(ErrorTest, AsynchronousFailureAndDroppedCompletion) {
  const VarRef a = engine_->new_var(), b = engine_->new_var(), c = engine_->new_var();
  std::thread helper;
  const Tag ta{a.get(), Access::write}, tb{b.get(), Access::write}, tc{c.get(), Access::write};
  engine_->push_async({}, {&ta, 1}, [&](RunContext&, Completion completion) {
    helper = std::thread([completion = std::move(completion)]() mutable {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      completion.fail(std::make_exception_ptr(NetworkError("[kv] server 3 is gone.")));
    });
  });
  engine_->push_async({}, {&tb, 1}, [](RunContext&, Completion) {});
  engine_->push_async({}, {&tc, 1}, [](RunContext&, Completion completion) {
    Completion kept = std::move(completion);
    throw ValueError("[test] body throws.");
  });
  EXPECT_THROW(engine_->wait(*a), NetworkError);
  EXPECT_THROW(engine_->wait(*b), InternalError);
  EXPECT_THROW(engine_->wait(*c), ValueError);
  helper.join();
}

TEST_P(ErrorTest, PoisonFromOutside) {
  const VarRef a = engine_->new_var();
  engine_->poison(*a, std::make_exception_ptr(FileError("[io] cut off.")));
  EXPECT_THROW(engine_->wait(*a), FileError);
}

TEST_P(ErrorTest, MalformedPushThrowsAtOnce) {
  const Tag nothing{nullptr, Access::read};
  EXPECT_THROW(engine_->push({}, {&nothing, 1}, [](RunContext&) {}), ValueError);
  EXPECT_THROW(engine_->push({.device = Device::gpu(7)}, {}, [](RunContext&) {}), DeviceError);
  engine_->wait_all();
  engine_->shutdown();
  EXPECT_THROW(engine_->push({}, {}, [](RunContext&) {}), StateError);
}

TEST_P(ErrorTest, VersionCountsDataWritesAtPush) {
  const VarRef a = engine_->new_var();
  const uint64_t before = a->version();
  push({{a.get(), Access::write}}, [](RunContext&) {});
  push({{a.get(), Access::read}}, [](RunContext&) {});
  push({{a.get(), Access::use}}, [](RunContext&) {});
  push({{a.get(), Access::read}, {a.get(), Access::write}}, [](RunContext&) {});
  EXPECT_EQ(a->version(), before + 2);
}

}  // namespace
}  // namespace loomix::engine
