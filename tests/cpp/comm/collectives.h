// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "comm/process_group.h"

namespace loomix::comm {

// Calls of a group that wait for their end.
class WaitingGroup {
 public:
  using Done = ProcessGroup::Done;
  explicit WaitingGroup(ProcessGroup& group) : group_(group) {}
  int rank() const { return group_.rank(); }
  int size() const { return group_.size(); }
  ProcessGroup* operator->() { return &group_; }
  void all_reduce(const void* in, void* out, size_t count, DType dtype, Reduction reduction) {
    wait_for_call([&](Done done) { group_.all_reduce(in, out, count, dtype, reduction, std::move(done)); });
  }
  void reduce_scatter(const void* in, void* out, size_t count, DType dtype, Reduction reduction) {
    wait_for_call(
        [&](Done done) { group_.reduce_scatter(in, out, count, dtype, reduction, std::move(done)); });
  }
  void broadcast(void* data, size_t bytes, int root) {
    wait_for_call([&](Done done) { group_.broadcast(data, bytes, root, std::move(done)); });
  }
  void all_gather(const void* in, void* out, size_t bytes) {
    wait_for_call([&](Done done) { group_.all_gather(in, out, bytes, std::move(done)); });
  }
  void send(const void* data, size_t bytes, int to, int tag = 0) {
    wait_for_call([&](Done done) { group_.send(data, bytes, to, tag, std::move(done)); });
  }
  void receive(void* data, size_t bytes, int from, int tag = 0) {
    wait_for_call([&](Done done) { group_.receive(data, bytes, from, tag, std::move(done)); });
  }
  void barrier() {
    wait_for_call([&](Done done) { group_.barrier(std::move(done)); });
  }

 private:
  ProcessGroup& group_;
};

// What every group has to do; called by each rank.
template <class T, class Group>
void check_reductions(Group& group) {
  const int n = group.size(), me = group.rank();
  for (const size_t count : {size_t{0}, size_t{1}, size_t{1000}, size_t{1'000'001}}) {
    if (count > 1000 && sizeof(T) != 4) continue;
    std::vector<T> in(count), out(count);
    for (size_t i = 0; i < count; ++i) in[i] = T(static_cast<float>(static_cast<int>(i % 3) + me + 1));
    for (const Reduction reduction :
         {Reduction::sum, Reduction::product, Reduction::minimum, Reduction::maximum}) {
      if (n > 4 && reduction == Reduction::product) continue;  // does not fit into 8 bits
      group.all_reduce(in.data(), out.data(), count, dtype_of<T>(), reduction);
      for (size_t i = 0; i < count; ++i) {
        double expected = static_cast<double>(i % 3) + 1;
        for (int r = 1; r < n; ++r) {
          const double other = static_cast<double>(i % 3) + r + 1;
          if (reduction == Reduction::sum) expected += other;
          if (reduction == Reduction::product) expected *= other;
          if (reduction == Reduction::maximum) expected = other;
        }
        ASSERT_EQ(static_cast<double>(out[i]), static_cast<double>(T(static_cast<float>(expected))))
            << name_of(reduction) << " of " << name_of(dtype_of<T>()) << " at " << i;
      }
    }
    group.all_reduce(in.data(), in.data(), count, dtype_of<T>(), Reduction::maximum);
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(static_cast<double>(in[i]), static_cast<double>(i % 3) + n);
  }
  std::vector<T> parts(static_cast<size_t>(n) * 7), mine(7);
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = T(static_cast<float>(i / 7));
  group.reduce_scatter(parts.data(), mine.data(), 7, dtype_of<T>(), Reduction::sum);
  for (const T& value : mine) ASSERT_EQ(static_cast<double>(value), static_cast<double>(n) * me);
}

template <class Group>
void check_group(Group& group) {
  const int n = group.size(), me = group.rank();
  check_reductions<float>(group);
  check_reductions<double>(group);
  check_reductions<float16>(group);
  check_reductions<bfloat16>(group);
  check_reductions<int32_t>(group);
  check_reductions<int64_t>(group);
  check_reductions<int8_t>(group);
  check_reductions<uint8_t>(group);
  EXPECT_THROW(group.all_reduce(nullptr, nullptr, 0, DType::boolean, Reduction::sum), TypeError);

  for (int root = 0; root < n; ++root) {
    std::vector<int> data(1000, me == root ? 77 + root : 0);
    group.broadcast(data.data(), data.size() * sizeof(int), root);
    ASSERT_EQ(data, std::vector<int>(1000, 77 + root));
  }
  std::vector<int> own{me, me * me}, all(static_cast<size_t>(n) * 2);
  group.all_gather(own.data(), all.data(), 2 * sizeof(int));
  for (int r = 0; r < n; ++r) {
    ASSERT_EQ(all[static_cast<size_t>(2 * r)], r);
    ASSERT_EQ(all[static_cast<size_t>(2 * r + 1)], r * r);
  }
  // Each passes on what it knows around the ring.
  if (n > 1) {
    int token = 1;
    if (me == 0) {
      group.send(&token, sizeof(token), 1);
      group.receive(&token, sizeof(token), n - 1);
      EXPECT_EQ(token, n);
    } else {
      group.receive(&token, sizeof(token), me - 1);
      ++token;
      group.send(&token, sizeof(token), (me + 1) % n);
    }
  }
  EXPECT_THROW(group.broadcast(nullptr, 0, n), ValueError);
  EXPECT_THROW(group.send(nullptr, 0, -1), ValueError);
  group.barrier();
}

}  // namespace loomix::comm
