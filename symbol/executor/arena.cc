// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/arena.h"

#include "ndarray/array_origin.h"

namespace loomix {

ArenaBlock::ArenaBlock(engine::Engine& engine, Device device, int64_t bytes)
    : memory_(make_ref<Storage>(engine, bytes, device)) {
  const ArrayOrigin origin("planned values of an executor", "");
  memory_->describe(Shape{bytes}, DType::uint8);
}

NDArray ArenaBlock::place(int64_t offset, const Shape& shape, DType dtype) {
  return NDArray(make_ref<Storage>(memory_, offset, shape.size() * size_of(dtype)), shape, dtype);
}

Ref<ArenaBlock> Arena::block(engine::Engine& engine, Device device, int64_t bytes) {
  Ref<ArenaBlock>& block = blocks_[device];
  if (!block || block->bytes() < bytes) block = make_ref<ArenaBlock>(engine, device, bytes);
  return block;
}

int64_t Arena::bytes() const {
  int64_t sum = 0;
  for (const auto& [device, block] : blocks_) sum += block->bytes();
  return sum;
}

}  // namespace loomix
