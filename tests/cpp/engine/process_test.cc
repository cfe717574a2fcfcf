// SPDX-License-Identifier: Apache-2.0
// Fork with a busy engine, exit with work in flight, and the trace.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "engine/device/device_runtime.h"
#include "engine/engine.h"
#include "engine/trace.h"
#include "tests/cpp/engine/child.h"

namespace loomix::engine {
namespace {

using namespace std::chrono_literals;

void push(Engine& engine, std::vector<Tag> tags, Work work, TaskInfo info = {}) {
  engine.push(std::move(info), tags, std::move(work));
}

struct Name : RefCounted {
  const char* name = "slow_copy";
};
Describe named() {
  return {.name =
              [](const void* context) {
                return static_cast<const Name*>(static_cast<const RefCounted*>(context))->name;
              },
          .context = make_ref<Name>()};
}

TEST(Fork, ChildHasCompleteDataAndAnEngineOfItsOwn) {
  const auto engine = make_threaded_engine({.workers = 2, .inline_cost_ns = 0});
  const VarRef a = engine->new_var();
  int64_t value = 0;
  std::atomic<bool> stop{false};
  const VarRef other = engine->new_var();
  std::thread noise([&] {  // pushes all the time
    while (!stop) push(*engine, {{other.get(), Access::write}}, [](RunContext&) {});
  });
  for (int round = 1; round <= 5; ++round) {
    for (int i = 0; i < 200; ++i) {
      push(*engine, {{a.get(), Access::write}}, [&](RunContext&) {
        if (value % 50 == 0) std::this_thread::sleep_for(100us);
        ++value;
      });
    }
    const int64_t expected = 200 * round;
    const int status = in_child([&] {
      if (value != expected) return 1;
      if (kThreadSanitizer) return 0;
      push(*engine, {{a.get(), Access::write}}, [&](RunContext&) { value = -1; });
      engine->wait(*a);
      engine->wait_all();
      return value == -1 ? 0 : 2;
    });
    EXPECT_EQ(status, 0);
  }
  stop = true;
  noise.join();
  engine->wait_all();
  EXPECT_EQ(value, 1000);
}

TEST(Fork, LateTaskIsNamedInTheChild) {
  const auto engine = make_threaded_engine({.workers = 1, .inline_cost_ns = 0, .fork_deadline_ms = 50});
  std::atomic<bool> go{false};
  push(*engine, {},
       [&](RunContext&) {
         while (!go) std::this_thread::sleep_for(1ms);
       },
       {.describe = named()});
  const int status = in_child([&] {
    try {
      push(*engine, {}, [](RunContext&) {});
    } catch (const StateError& error) {
      return std::string(error.what()).find("'slow_copy'") != std::string::npos ? 0 : 1;
    }
    return 2;
  });
  EXPECT_EQ(status, 0);
  go = true;
  engine->wait_all();
}

TEST(Fork, DevicesStayWithTheParent) {
  const auto engine = make_threaded_engine({.workers = 1});
  const VarRef a = engine->new_var();
  push(*engine, {{a.get(), Access::write}}, [](RunContext&) {}, {.device = Device::null()});
  engine->wait(*a);
  const int status = in_child([&] {
    try {
      push(*engine, {{a.get(), Access::write}}, [](RunContext&) {}, {.device = Device::null()});
    } catch (const DeviceError&) {
      return 0;
    }
    return 1;
  });
  EXPECT_EQ(status, 0);
  push(*engine, {{a.get(), Access::write}}, [](RunContext&) {}, {.device = Device::null()});
  engine->wait(*a);
}

TEST(Exit, DestructionFinishesWorkInFlight) {
  std::atomic<int> ran{0};
  {
    const auto engine = make_threaded_engine({.workers = 2, .inline_cost_ns = 0});
    const VarRef a = engine->new_var();
    for (int i = 0; i < 100; ++i) {
      push(*engine, {{a.get(), Access::write}}, [&](RunContext&) {
        std::this_thread::sleep_for(50us);
        ++ran;
      });
    }
  }
  EXPECT_EQ(ran, 100);
}

TEST(Exit, ProcessEndsWithATaskThatNeverDoes) {
  if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer does not support threads in a forked child.";
  const int status = in_child([] {
    auto engine = make_threaded_engine({.workers = 2, .inline_cost_ns = 0, .exit_deadline_ms = 50});
    push(*engine, {}, [](RunContext&) {
      while (true) std::this_thread::sleep_for(1ms);
    });
    engine.reset();
    return 7;
  });
  EXPECT_EQ(status, 7);
}

TEST(Trace, NamesTasksAndIsJson) {
  const auto engine = make_threaded_engine({.workers = 2, .inline_cost_ns = 0});
  push(*engine, {}, [](RunContext&) {}, {.describe = named()});
  engine->wait_all();
  engine->trace().start();
  for (int i = 0; i < 3; ++i) push(*engine, {}, [](RunContext&) {}, {.describe = named()});
  engine->wait_all();
  engine->trace().stop();
  push(*engine, {}, [](RunContext&) {}, {.describe = named()});
  engine->wait_all();
  engine->trace().add("a \"quoted\" track\n", "x\\y", "task", Trace::now(), Trace::now());
  const std::string path = testing::TempDir() + "loomix_trace_" + std::to_string(getpid()) + ".json";
  engine->trace().write(path);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::remove(path.c_str());
  const std::string json = text.str();
  size_t count = 0;
  for (size_t at = json.find("\"slow_copy\""); at != std::string::npos;
       at = json.find("\"slow_copy\"", at + 1))
    ++count;
  EXPECT_EQ(count, 3u) << json;
  EXPECT_NE(json.find("cpu(0) compute"), std::string::npos);
  EXPECT_NE(json.find("a \\\"quoted\\\" track\\u000a"), std::string::npos);
  EXPECT_EQ(std::count(json.begin(), json.end(), '{'), std::count(json.begin(), json.end(), '}'));
  EXPECT_THROW(engine->trace().write("/nonexistent/folder/trace.json"), FileError);
}

}  // namespace
}  // namespace loomix::engine
