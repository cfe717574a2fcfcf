// SPDX-License-Identifier: Apache-2.0
// A bound convolution, run again and again, beside the bare primitives of oneDNN: what an executor costs on top. Prints the
// median of rounds that take turns, in microseconds a run.
//   bench_prepared [ROUNDS]
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "engine/omp_threads.h"
#include "ops/table.h"
#include "symbol/executor/bound_executor.h"

namespace loomix {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRuns = 2000;  // in a round

// Data, weight and output in the user's layout; where the primitive wants another one, copies to and fro are part of a run.
class Bare {
 public:
  using Dims = dnnl::memory::dims;
  using Tag = dnnl::memory::format_tag;

  // `any`: the layouts that oneDNN likes best; else the user's own.
  explicit Bare(bool any) : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    const auto desc = [](const Dims& dims, Tag tag) {
      return dnnl::memory::desc(dims, dnnl::memory::data_type::f32, tag);
    };
    const Dims data = {1, 8, 14, 14}, weight = {16, 8, 3, 3}, out = {1, 16, 14, 14};
    const Tag inner = any ? Tag::any : Tag::abcd;
    const Dims ones = {1, 1}, zeros = {0, 0};
    constexpr auto kKind = dnnl::prop_kind::forward_training;
    constexpr auto kHow = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::convolution_forward::primitive_desc d(engine_, kKind, kHow, desc(data, inner),
                                                      desc(weight, inner), desc(out, inner), ones, zeros,
                                                      ones, ones);
#else
    const dnnl::convolution_forward::primitive_desc d(
        {kKind, kHow, desc(data, inner), desc(weight, inner), desc(out, inner), ones, zeros, ones, ones},
        engine_);
#endif
    name = d.impl_info_str();
    const dnnl::memory user_data(desc(data, Tag::abcd), engine_),
        user_weight(desc(weight, Tag::abcd), engine_), user_out(desc(out, Tag::abcd), engine_);
    const dnnl::memory to = copied(user_data, d.src_desc());
    const dnnl::memory w = copied(user_weight, d.weights_desc());
    const dnnl::memory o =
        d.dst_desc() == user_out.get_desc() ? user_out : dnnl::memory(d.dst_desc(), engine_);
    steps_.push_back([this, run = dnnl::convolution_forward(d), to, w, o]() mutable {
      run.execute(stream_, {{DNNL_ARG_SRC, to}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, o}});
    });
    if (!(d.dst_desc() == user_out.get_desc())) copy(o, user_out);
  }
  void run() {
    for (auto& step : steps_) step();
  }
  std::string name;

 private:
  dnnl::memory copied(const dnnl::memory& from, const dnnl::memory::desc& desc) {
    if (desc == from.get_desc()) return from;
    dnnl::memory to(desc, engine_);
    copy(from, to);
    return to;
  }
  void copy(dnnl::memory from, dnnl::memory to) {
    steps_.push_back([this, reorder = dnnl::reorder(from, to), from, to]() mutable {
      reorder.execute(stream_, from, to);
    });
  }
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<std::function<void()>> steps_;
};

double time_us(const std::function<void()>& run, const std::function<void()>& wait) {
  const auto start = Clock::now();
  for (int i = 0; i < kRuns; ++i) run();
  wait();
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count() / kRuns;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void compare(int rounds) {
  engine::EngineOptions options;
  options.workers = 1;
  const auto engine = engine::make_threaded_engine(options);
  Runtime runtime(*engine, ops::builtin_table());
  const NamedSymbol input{"", Symbol::variable("data")};
  const Symbol net = Symbol::create(
      ops::builtin_table(), "Convolution",
      {{"kernel", "(3, 3)"}, {"pad", "(1, 1)"}, {"num_filter", "16"}, {"no_bias", "1"}}, {&input, 1}, "conv");
  SimpleBindRequest wanted;
  wanted.shapes = {{"data", Shape{1, 8, 14, 14}}};
  wanted.requests.assign(2, ops::Req::null);
  const auto executor = BoundExecutor::simple_bind(runtime, net, Device::cpu(), wanted, {});
  engine::set_omp_threads(1);
  Bare best(true), plain(false);
  struct Row {
    std::string name;
    std::function<void()> run, wait;
    std::vector<double> times;
  };
  const auto nothing = [] {};
  std::vector<Row> rows = {
      {"bound executor", [&] { executor->forward(RunMode::inference); }, [&] { engine->wait_all(); }, {}},
      {"oneDNN, its own layouts and copies", [&] { best.run(); }, nothing, {}},
      {"oneDNN, the user's layout", [&] { plain.run(); }, nothing, {}},
  };
  for (Row& row : rows) time_us(row.run, row.wait);
  for (int round = 0; round < rounds; ++round) {
    for (Row& row : rows) row.times.push_back(time_us(row.run, row.wait));
  }
  fmt::print("{}oneDNN's own layouts: {}; the user's: {}\n", executor->explain(RunMode::inference), best.name,
             plain.name);
  for (const Row& row : rows) fmt::print("{:8.2f} us  {}\n", median(row.times), row.name);
}

}  // namespace
}  // namespace loomix

int main(int argc, char** argv) {
  loomix::compare(argc > 1 ? std::atoi(argv[1]) : 15);
  return 0;
}
