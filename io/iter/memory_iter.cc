// SPDX-License-Identifier: Apache-2.0
#include "io/iter/memory_iter.h"

#include <algorithm>
#include <utility>

namespace loomix::io {
namespace {

Shape batch_of(int64_t size, const Shape& sample) {
  Shape shape{size};
  for (const int64_t dim : sample) shape.push_back(dim);
  return shape;
}

}  // namespace

MemoryIter::MemoryIter(engine::Engine& engine, MemoryIterOptions options, std::vector<int64_t> order,
                       ReadSample read)
    : engine_(engine), options_(std::move(options)), order_(std::move(order)), read_(std::move(read)) {
  places_.resize(static_cast<size_t>(options_.batch_size));
  index_.resize(places_.size());
}

// The places of the next batch; false at the end of the pass.
bool MemoryIter::choose() {
  const int64_t end = begin_ + options_.batch_size;
  if (begin_ >= count() || (options_.last == LastBatch::leave_out && end > count())) return false;
  pad_ = std::max<int64_t>(end - count(), 0);
  for (size_t i = 0; i < places_.size(); ++i) {
    const int64_t place = begin_ + static_cast<int64_t>(i);
    if (place < count()) places_[i] = place;
    else if (options_.last == LastBatch::round) places_[i] = place % count();
  }
  begin_ = end;
  return true;
}

bool MemoryIter::next() {
  if (!choose()) return false;
  const Shape data_shape = batch_of(options_.batch_size, options_.data_shape);
  const Shape label_shape = batch_of(options_.batch_size, options_.label_shape);
  const int64_t data_bytes = options_.data_shape.size() * size_of(options_.dtype);
  const int64_t label_bytes = options_.label_shape.size() * size_of(options_.dtype);
  std::vector<std::byte> data(static_cast<size_t>(data_bytes * options_.batch_size));
  std::vector<std::byte> label(static_cast<size_t>(label_bytes * options_.batch_size));
  for (size_t i = 0; i < places_.size(); ++i) {
    const int64_t sample = order_[static_cast<size_t>(places_[i])];
    const auto place = static_cast<int64_t>(i);
    read_(sample, data.data() + place * data_bytes, label.data() + place * label_bytes);
    index_[i] = static_cast<uint64_t>(sample);
  }
  const Device device = batch_device(options_.target);
  data_ = NDArray(engine_, data_shape, options_.dtype, device);
  label_ = NDArray(engine_, label_shape, options_.dtype, device);
  data_.copy_from_host(data.data(), data_.bytes());
  label_.copy_from_host(label.data(), label_.bytes());
  return true;
}

void MemoryIter::reset() {
  const bool goes_on = options_.last == LastBatch::round;
  begin_ = goes_on ? std::max<int64_t>(begin_ - count(), 0) : 0;
}

}  // namespace loomix::io
