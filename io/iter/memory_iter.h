// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/engine.h"
#include "io/iter/batch_device.h"
#include "ndarray/ndarray.h"

namespace loomix::io {

// What becomes of the samples at the end that do not fill a batch.
enum class LastBatch {
  leave_out,
  round,  // the batch is filled up from the beginning, where the next pass then goes on
  pad,    // the batch keeps samples of the one before
};

struct MemoryIterOptions {
  int64_t batch_size = 1;
  LastBatch last = LastBatch::leave_out;
  Shape data_shape = {};   // of one sample
  Shape label_shape = {};  // of one sample; () is a number
  DType dtype = DType::float32;
  BatchTarget target = {};
};

// Batches of samples that are in memory as a whole. One thread at a time.
class MemoryIter {
 public:
  // Writes data and label of one sample, in the options' type.
  using ReadSample = std::function<void(int64_t sample, std::byte* data, std::byte* label)>;

  // `order` holds the samples of a pass.
  MemoryIter(engine::Engine& engine, MemoryIterOptions options, std::vector<int64_t> order, ReadSample read);

  bool next();
  void reset();

  // Of the current batch.
  const NDArray& data() const { return data_; }
  const NDArray& label() const { return label_; }
  int64_t pad() const { return pad_; }
  const std::vector<uint64_t>& index() const { return index_; }

 private:
  bool choose();
  int64_t count() const { return static_cast<int64_t>(order_.size()); }

  engine::Engine& engine_;
  const MemoryIterOptions options_;
  const std::vector<int64_t> order_;
  const ReadSample read_;
  int64_t begin_ = 0;
  std::vector<int64_t> places_;  // in the order
  std::vector<uint64_t> index_;
  int64_t pad_ = 0;
  NDArray data_, label_;
};

}  // namespace loomix::io
