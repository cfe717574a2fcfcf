// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <random>
#include <thread>

#include "loomix/nn/data.h"

namespace loomix::nn {

// Samples that a program makes or reads itself. get() is called from several threads at once.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  virtual Shape shape() const = 0;  // of one sample
  // Writes sample number `index` and returns its label.
  virtual float get(int64_t index, std::span<float> sample) const = 0;
};

// Files of CIFAR-10's binary form: a byte of label (two in CIFAR-100: the second counts) and 3072 bytes of image. Values from 0 to 1.
class CifarDataset : public Dataset {
 public:
  explicit CifarDataset(const std::vector<std::string>& paths, int label_bytes = 1)
      : label_bytes_(label_bytes) {
    for (const std::string& path : paths) {
      FILE* const file = std::fopen(path.c_str(), "rb");
      if (!file) throw Error("[CifarDataset] '" + path + "' cannot be opened.");
      char buffer[1 << 16];
      const size_t before = bytes_.size();
      for (size_t count = 0; (count = std::fread(buffer, 1, sizeof buffer, file)) > 0;)
        bytes_.append(buffer, count);
      std::fclose(file);
      if ((bytes_.size() - before) % record() != 0)
        throw Error("[CifarDataset] '" + path + "' has " + std::to_string(bytes_.size() - before) +
                    " bytes, which are no whole number of " + std::to_string(record()) + ".");
    }
  }
  int64_t size() const override { return static_cast<int64_t>(bytes_.size() / record()); }
  Shape shape() const override { return {3, 32, 32}; }
  float get(int64_t index, std::span<float> sample) const override {
    const auto* const begin =
        reinterpret_cast<const unsigned char*>(bytes_.data()) + static_cast<size_t>(index) * record();
    for (size_t i = 0; i < 3072; ++i)
      sample[i] = static_cast<float>(begin[static_cast<size_t>(label_bytes_) + i]) / 255;
    return begin[label_bytes_ - 1];
  }

 private:
  size_t record() const { return 3072 + static_cast<size_t>(label_bytes_); }
  int label_bytes_;
  std::string bytes_;
};

struct LoaderOptions {
  int64_t batch = 32;
  bool shuffle = false;
  bool drop_last = false;
  int workers = 2;
  int prefetch = 4;  // batches that may be ready ahead
  unsigned seed = 0;
};

// Batches of a data set, made by threads ahead of what is asked for, in order. An error of get() is thrown by next().
//
// `mutex_` guards all that follows it, and the batch's size. Batch number n is made by the worker that takes `taken_` = n, into slot n % prefetch. A worker
// waits on `room_` until n < given_ + prefetch; next() waits on `ready_` for its slot. reset() and the end raise `round_`, which
// makes workers drop what they have.
class DataLoader : public Loader {
 public:
  DataLoader(std::shared_ptr<const Dataset> data, const LoaderOptions& options = {})
      : data_(std::move(data)), options_(options), random_(options.seed) {
    if (options.batch < 1 || options.workers < 1 || options.prefetch < 1)
      throw Error("[DataLoader] batch, workers and prefetch are " + std::to_string(options.batch) + ", " +
                  std::to_string(options.workers) + " and " + std::to_string(options.prefetch) +
                  "; expected 1 or more.");
    const int64_t size = data_->size();
    batches_ = options.drop_last ? size / options.batch : (size + options.batch - 1) / options.batch;
    for (int64_t i = 0; i < size; ++i) order_.push_back(i);
    slots_.resize(static_cast<size_t>(options.prefetch));
    begin_pass();
    for (int i = 0; i < options.workers; ++i) threads_.emplace_back([this] { work(); });
  }
  DataLoader(const DataLoader&) = delete;
  DataLoader& operator=(const DataLoader&) = delete;
  ~DataLoader() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    room_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  int64_t batches() const { return batches_; }
  bool next(Batch& batch) override {
    std::unique_lock lock(mutex_);
    if (given_ >= batches_) return false;
    Slot& slot = slots_[static_cast<size_t>(given_ % options_.prefetch)];
    ready_.wait(lock, [&] { return slot.full; });
    slot.full = false;
    ++given_;
    Slot mine = std::move(slot);
    lock.unlock();
    room_.notify_all();
    if (mine.error) std::rethrow_exception(mine.error);
    Shape shape = data_->shape();
    const auto rows = static_cast<int64_t>(mine.labels.size());
    shape.sizes.insert(shape.sizes.begin(), rows);
    batch = {.data = adopt(std::move(mine.samples), shape),
             .label = adopt(std::move(mine.labels), Shape(rows))};
    return true;
  }
  void set_batch(int64_t size) override {
    if (size < 1) nn::detail::fail({"[DataLoader] batch is ", size, "; expected 1 or more."});
    {
      const std::lock_guard lock(mutex_);
      options_.batch = size;
      const auto samples = static_cast<int64_t>(order_.size());
      batches_ = options_.drop_last ? samples / size : (samples + size - 1) / size;
      begin_pass();
    }
    room_.notify_all();
  }
  void reset() override {
    {
      const std::lock_guard lock(mutex_);
      begin_pass();
    }
    room_.notify_all();
  }

 private:
  struct Slot {
    bool full = false;
    std::vector<float> samples, labels;
    std::exception_ptr error;
  };

  static Array adopt(std::vector<float> values, const Shape& shape) {
    auto* const kept = std::make_unique<std::vector<float>>(std::move(values)).release();
    const auto end = [](void* memory) {
      std::unique_ptr<std::vector<float>>(static_cast<std::vector<float>*>(memory));
    };
    return Array::over(std::span<float>(*kept), shape, end, kept);
  }
  void begin_pass() {
    ++round_;
    taken_ = given_ = 0;
    for (Slot& slot : slots_) slot = {};
    if (!options_.shuffle) return;
    for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random_() % i]);
  }
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      room_.wait(lock,
                 [&] { return stopping_ || (taken_ < batches_ && taken_ < given_ + options_.prefetch); });
      if (stopping_) return;
      const int64_t number = taken_++, round = round_, begin = number * options_.batch;
      const auto size = static_cast<int64_t>(order_.size());
      const int64_t end = begin + options_.batch < size ? begin + options_.batch : size;
      const std::vector<int64_t> indices(order_.begin() + begin, order_.begin() + end);
      lock.unlock();
      Slot made = make(indices);
      lock.lock();
      if (round != round_) continue;
      slots_[static_cast<size_t>(number % options_.prefetch)] = std::move(made);
      ready_.notify_all();
    }
  }
  Slot make(const std::vector<int64_t>& indices) const {
    Slot slot;
    slot.full = true;
    try {
      const auto size = static_cast<size_t>(data_->shape().count());
      slot.samples.resize(size * indices.size());
      for (size_t i = 0; i < indices.size(); ++i)
        slot.labels.push_back(data_->get(indices[i], std::span<float>(slot.samples).subspan(i * size, size)));
    } catch (...) {
      slot.error = std::current_exception();
    }
    return slot;
  }

  const std::shared_ptr<const Dataset> data_;
  LoaderOptions options_;  // of which the batch is guarded
  int64_t batches_ = 0;
  std::mutex mutex_;
  std::condition_variable room_, ready_;
  std::mt19937 random_;
  std::vector<int64_t> order_;
  std::vector<Slot> slots_;
  int64_t taken_ = 0, given_ = 0, round_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace loomix::nn
