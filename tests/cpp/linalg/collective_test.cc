// SPDX-License-Identifier: Apache-2.0
#include "linalg/collective/collective_ops.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "linalg/collective/boxes.h"
#include "linalg/collective/collective_group.h"
#include "symbol/autograd/tape.h"
#include "symbol/executor/run_node.h"
#include "tests/cpp/linalg/ranks.h"

namespace loomix::linalg {
namespace {

const ops::OpTable& table() {
  static const ops::OpTable* const made = [] {
    auto* own = std::make_unique<ops::OpTable>().release();
    ops::register_all(*own);
    autograd::register_operators(*own);
    register_collectives(*own);
    own->validate();
    return own;
  }();
  return *made;
}

// Ranks that are threads, each with a group "rank r" of all of them.
class Grouped {
 public:
  explicit Grouped(int count) : ranks_(count, std::chrono::seconds(20), table()) {
    for (int rank = 0; rank < count; ++rank)
      add_collective_group(make_ref<CollectiveGroup>(name(rank), ranks_[rank]->engine(), group(rank)));
  }
  ~Grouped() {
    for (int rank = 0; rank < ranks_.size(); ++rank) remove_collective_group(name(rank));
  }
  static std::string name(int rank) { return "rank " + std::to_string(rank); }
  void run(const std::function<void(const JobRef&)>& body) { ranks_.run(body); }

 private:
  std::shared_ptr<comm::ProcessGroup> group(int rank) {
    const JobRef& job = ranks_[rank];
    return {job, &job->group()};
  }
  Ranks ranks_;
};

NDArray call(const JobRef& job, const char* op, const NDArray& data, TextPairs attrs) {
  attrs.emplace_back("group", Grouped::name(job->rank()));
  return run_node(job->runtime(), op, {data}, attrs)[0];
}

std::vector<double> numbers(int64_t count, int rank) {
  std::vector<double> items(static_cast<size_t>(count));
  std::iota(items.begin(), items.end(), 1000.0 * rank);
  return items;
}

// The elements of a box of an array.
std::vector<double> box_of(const std::vector<double>& all, const Shape& shape, int axis, Part part) {
  Shape box = shape;
  box[axis] = part.size;
  std::vector<double> result(static_cast<size_t>(box.size()));
  copy_box(box, sizeof(double), reinterpret_cast<const std::byte*>(all.data()), shape,
           {.axis = axis, .begin = part.begin}, reinterpret_cast<std::byte*>(result.data()), box, {});
  return result;
}

std::string text(int64_t number) { return std::to_string(number); }

TEST(Boxes, MovesWhatIsInThem) {
  const std::vector<double> all = numbers(24, 0);
  EXPECT_EQ(box_of(all, {2, 3, 4}, 1, {1, 1}), (std::vector<double>{4, 5, 6, 7, 16, 17, 18, 19}));
  EXPECT_EQ(box_of(all, {2, 3, 4}, 2, {3, 1}), (std::vector<double>{3, 7, 11, 15, 19, 23}));
  EXPECT_EQ(box_of(all, {2, 3, 4}, 0, {0, 2}), all);
}

TEST(Collective, PartsAndWholes) {
  const Shape whole{6, 7, 5};
  for (const int count : {1, 2, 3, 4}) {
    Grouped ranks(count);
    ranks.run([&](const JobRef& job) {
      const std::vector<double> all = numbers(whole.size(), 0);
      for (int axis = 0; axis < 3; ++axis) {
        const Part own = part_of(whole[axis], count, job->rank());
        Shape shape = whole;
        shape[axis] = own.size;
        const std::vector<double> part = box_of(all, whole, axis, own);
        const TextPairs attrs{{"axis", text(axis)}, {"whole", text(whole[axis])}};
        const NDArray given = array_of(job->engine(), part, shape);
        const NDArray gathered = call(job, "_parallel_gather", given, attrs);
        EXPECT_EQ(gathered.shape(), whole);
        EXPECT_EQ(values(gathered), all);
        EXPECT_EQ(values(call(job, "_parallel_own", gathered, attrs)), part);

        std::vector<double> sum(all.size());
        for (int rank = 0; rank < count; ++rank) {
          const std::vector<double> summand = numbers(whole.size(), rank);
          for (size_t i = 0; i < sum.size(); ++i) sum[i] += summand[i];
        }
        const NDArray mine = array_of(job->engine(), numbers(whole.size(), job->rank()), whole);
        EXPECT_EQ(values(call(job, "_parallel_reduce_scatter", mine, attrs)), box_of(sum, whole, axis, own));
        EXPECT_EQ(values(call(job, "_parallel_all_reduce", mine, {})), sum);

        const int other = (axis + 1) % 3;
        const NDArray moved = call(job, "_parallel_all_to_all", given,
                                   {{"axis", text(axis)},
                                    {"whole", text(whole[axis])},
                                    {"new_axis", text(other)},
                                    {"new_whole", text(whole[other])}});
        EXPECT_EQ(values(moved), box_of(all, whole, other, part_of(whole[other], count, job->rank())));
      }
    });
  }
}

// The gradient of an operator at `head`, on a rank.
std::vector<double> gradient(const JobRef& job, const char* op, const NDArray& data, const NDArray& head,
                             const TextPairs& attrs) {
  NDArray variable = data;
  NDArray* const variables[] = {&variable};
  const NDArray grads[] = {NDArray(job->engine(), data.shape(), data.dtype(), Device::cpu())};
  const ops::Req req = ops::Req::write;
  autograd::mark_variables(variables, grads, {&req, 1});
  NDArray out;
  {
    const autograd::Scope scope(true, true);
    out = call(job, op, variable, attrs);
  }
  autograd::backward(job->runtime(), {&out, 1}, {&head, 1}, {});
  return values(grads[0]);
}

TEST(Collective, EachIsTheGradientOfAnotherOne) {
  Grouped ranks(2);
  ranks.run([&](const JobRef& job) {
    const Shape part{3, 2}, whole{3, 4};
    const auto array = [&](const Shape& shape, int rank) {
      return array_of(job->engine(), numbers(shape.size(), rank), shape);
    };
    const int rank = job->rank();
    std::vector<double> sum = numbers(whole.size(), 0);
    for (double& item : sum) item = 2 * item + 1000;
    const Part own = part_of(4, 2, rank);
    const TextPairs along{{"axis", "1"}};
    const TextPairs alike{{"partial_gradient", "False"}};
    const TextPairs along_alike{{"axis", "1"}, {"partial_gradient", "False"}};
    const std::vector<double> same = numbers(whole.size(), 0);
    EXPECT_EQ(gradient(job, "_parallel_gather", array(part, rank), array(whole, rank), along),
              box_of(sum, whole, 1, own));
    EXPECT_EQ(gradient(job, "_parallel_gather", array(part, rank), array(whole, 0), along_alike),
              box_of(same, whole, 1, own));
    EXPECT_EQ(gradient(job, "_parallel_own", array(whole, 0),
                       array_of(job->engine(), box_of(same, whole, 1, own), part), along),
              same);
    EXPECT_EQ(gradient(job, "_parallel_reduce_scatter", array(whole, rank),
                       array_of(job->engine(), box_of(same, whole, 1, own), part), along),
              same);
    EXPECT_EQ(gradient(job, "_parallel_all_reduce", array(whole, rank), array(whole, rank), {}), sum);
    EXPECT_EQ(gradient(job, "_parallel_all_reduce", array(whole, rank), array(whole, 0), alike), same);
    EXPECT_EQ(gradient(job, "_parallel_share", array(whole, 0), array(whole, rank), {}), sum);
    const Shape rows{2, 2}, columns{4, 1};
    const std::vector<double> all = numbers(8, 0);
    EXPECT_EQ(gradient(job, "_parallel_all_to_all", array(rows, rank),
                       array_of(job->engine(), box_of(all, {4, 2}, 1, part_of(2, 2, rank)), columns), {}),
              box_of(all, {4, 2}, 0, part_of(4, 2, rank)));
  });
}

TEST(Collective, RunsInTheOrderOfPushes) {
  Grouped ranks(2);
  ranks.run([&](const JobRef& job) {
    // What is needed first is there last on one rank, and first on the other one.
    std::vector<NDArray> results;
    for (int i = 0; i < 50; ++i) {
      NDArray data = array_of(job->engine(), numbers(1000, i), {1000});
      const bool is_late = i % 2 == job->rank();
      for (int k = 0; k < (is_late ? 20 : 0); ++k) data = run_node(job->runtime(), "negative", {data})[0];
      results.push_back(call(job, "_parallel_all_reduce", data, {}));
    }
    for (int i = 0; i < 50; ++i) EXPECT_EQ(values(results[static_cast<size_t>(i)])[7], 2 * (1000.0 * i + 7));
  });
}

TEST(Collective, WhatCannotBeCutIsRefused) {
  Grouped ranks(4);
  ranks.run([&](const JobRef& job) {
    const NDArray data = array_of(job->engine(), numbers(6, 0), {3, 2});
    EXPECT_THROW(call(job, "_parallel_own", data, {{"axis", "0"}, {"whole", "3"}}), ShapeError);
    EXPECT_THROW(call(job, "_parallel_reduce_scatter", data, {{"axis", "2"}}), ShapeError);
    EXPECT_THROW(call(job, "_parallel_gather", data, {{"axis", "0"}, {"whole", "4"}}), ShapeError);
  });
  EXPECT_THROW(table().parse(table().at("_parallel_share"), {{"group", "nobody's"}}), KeyError);
}

TEST(Collective, AnErrorInWhatOneRankReadsReachesTheOthers) {
  Grouped ranks(3);
  ranks.run([&](const JobRef& job) {
    NDArray data = array_of(job->engine(), numbers(4, 0), {4});
    if (job->rank() == 1) {
      ArrayTags tags;
      tags.write(data);
      job->engine().push({}, tags.tags(),
                         [](engine::RunContext&) { throw ValueError("the mistake of rank 1"); });
    }
    const NDArray sum = call(job, "_parallel_all_reduce", data, {});
    try {
      sum.wait_to_read();
      ADD_FAILURE() << "no error on rank " << job->rank();
    } catch (const Error& error) {
      const std::string expected = job->rank() == 1 ? "the mistake of rank 1" : "rank 1";
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
  });
}

}  // namespace
}  // namespace loomix::linalg
