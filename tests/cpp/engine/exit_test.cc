// SPDX-License-Identifier: Apache-2.0
// drop_computing(): what is left of a queue when the program ends at once.
#include "engine/exit.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/engine.h"

namespace loomix::engine {
namespace {

using namespace std::chrono_literals;

struct Program {
  std::unique_ptr<Engine> engine = make_threaded_engine({.workers = 1, .inline_cost_ns = 0});
  std::atomic<bool> go{false};
  std::atomic<int> computed{0};
  std::atomic<int> written{0};

  // One task that runs until `go`; behind it ten that compute, and one in `lane` that reads `source`.
  void push_all(Var& chain, Var& source, Lane lane) {
    const Tag write{&chain, Access::write};
    engine->push({}, {&write, 1}, [this](RunContext&) {
      while (!go) std::this_thread::sleep_for(1ms);
    });
    const Tag both[] = {{&chain, Access::read}, {&chain, Access::write}};
    for (int i = 0; i < 10; ++i) engine->push({}, both, [this](RunContext&) { ++computed; });
    const Tag read{&source, Access::read};
    engine->push({.lane = lane}, {&read, 1}, [this](RunContext&) { ++written; });
  }
};

TEST(DropComputing, SkipsWhatHasNotStarted) {
  Program program;
  const VarRef chain = program.engine->new_var();
  program.push_all(*chain, *chain, Lane::compute);
  std::this_thread::sleep_for(20ms);
  drop_computing(*program.engine);
  drop_computing(*program.engine);
  program.go = true;
  EXPECT_THROW(program.engine->wait(*chain), StateError);
  program.engine->shutdown();
  EXPECT_EQ(program.computed, 0);
  EXPECT_EQ(program.written, 0);
}

TEST(DropComputing, WritesFilesWhoseDataIsThere) {
  for (const Lane lane : {Lane::io, Lane::communicate}) {
    Program program;
    const VarRef chain = program.engine->new_var();
    const VarRef done = program.engine->new_var();
    program.push_all(*chain, *done, lane);
    drop_computing(*program.engine);
    program.go = true;
    program.engine->shutdown();
    EXPECT_EQ(program.written, 1);
  }
}

TEST(DropComputing, WritesNoFileOfWhatWasDropped) {
  Program program;
  const VarRef chain = program.engine->new_var();
  program.push_all(*chain, *chain, Lane::io);
  std::this_thread::sleep_for(20ms);
  drop_computing(*program.engine);
  program.go = true;
  program.engine->shutdown();
  EXPECT_EQ(program.written, 0);
}

TEST(DropComputing, WhileAnotherThreadShutsDown) {
  Program program;
  const VarRef chain = program.engine->new_var();
  program.push_all(*chain, *chain, Lane::compute);
  std::thread ends([&] { program.engine->shutdown(); });
  std::this_thread::sleep_for(30ms);
  drop_computing(*program.engine);
  program.go = true;
  ends.join();
  EXPECT_EQ(program.computed, 0);
}

TEST(DropComputing, OfANaiveEngineDoesNothing) {
  const auto engine = make_naive_engine();
  drop_computing(*engine);
  const VarRef var = engine->new_var();
  const Tag tag{var.get(), Access::write};
  int value = 0;
  engine->push({}, {&tag, 1}, [&](RunContext&) { value = 3; });
  EXPECT_EQ(value, 3);
}

}  // namespace
}  // namespace loomix::engine
