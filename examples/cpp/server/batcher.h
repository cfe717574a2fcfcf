// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "loomix/nn.h"

// Joins requests of many threads into batches. One thread runs the network: it takes what has come, up to `most` requests, and
// waits at most `patience` for more. A request that comes while a batch runs is in the next one.
class Batcher {
 public:
  using Row = std::vector<float>;

  Batcher(loomix::nn::Block& net, loomix::nn::Shape one, size_t most, std::chrono::microseconds patience)
      : net_(net), one_(one), most_(most), patience_(patience), thread_([this] { run(); }) {}
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;
  ~Batcher() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  // The scores of one input; from any thread.
  std::future<Row> ask(Row input) {
    std::future<Row> answer;
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back({std::move(input), {}});
      answer = waiting_.back().answer.get_future();
    }
    changed_.notify_all();
    return answer;
  }
  // Batches that ran, and requests in them.
  std::pair<size_t, size_t> counts() const {
    const std::lock_guard lock(mutex_);
    return {batches_, requests_};
  }

 private:
  struct Request {
    Row input;
    std::promise<Row> answer;
  };

  void run() {
    for (;;) {
      std::vector<Request> batch;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        changed_.wait_for(lock, patience_, [this] { return ends_ || waiting_.size() >= most_; });
        while (!waiting_.empty() && batch.size() < most_) {
          batch.push_back(std::move(waiting_.front()));
          waiting_.pop_front();
        }
        ++batches_;
        requests_ += batch.size();
      }
      try {
        answer(batch);
      } catch (...) {
        for (Request& request : batch) request.answer.set_exception(std::current_exception());
      }
    }
  }

  // The batch is filled up to a power of two: a network that is hybridized makes a graph for each size.
  void answer(std::vector<Request>& batch) {
    size_t rows = 1;
    while (rows < batch.size()) rows *= 2;
    std::vector<int64_t> sizes = {static_cast<int64_t>(rows)};
    sizes.insert(sizes.end(), one_.begin(), one_.end());
    const size_t width = batch[0].input.size();
    std::vector<float> inputs(rows * width);
    for (size_t i = 0; i < batch.size(); ++i)
      std::ranges::copy(batch[i].input, inputs.begin() + static_cast<std::ptrdiff_t>(i * width));
    const std::vector<float> scores =
        net_(loomix::nn::Array::from(inputs, loomix::nn::Shape(sizes))).to_vector();
    const auto each = static_cast<std::ptrdiff_t>(scores.size() / rows);
    for (size_t i = 0; i < batch.size(); ++i) {
      const auto begin = scores.begin() + static_cast<std::ptrdiff_t>(i) * each;
      batch[i].answer.set_value(Row(begin, begin + each));
    }
  }

  loomix::nn::Block& net_;
  const loomix::nn::Shape one_;
  const size_t most_;
  const std::chrono::microseconds patience_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Request> waiting_;
  bool ends_ = false;
  size_t batches_ = 0, requests_ = 0;
  std::thread thread_;  // last: it uses the others
};
