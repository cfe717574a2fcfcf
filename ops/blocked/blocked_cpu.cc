// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "engine/parallel_for.h"
#include "ops/blocked/blocked.h"
#include "ops/blocked/blocked_loops.h"
#include "ops/families.h"
#include "ops/isa.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

constexpr int64_t kElementsPerThread = 16384;

// Calls fn(loops, Type<T>) for the element type of the data.
template <class Fn>
void with_loops(const KernelArgs& args, Fn&& fn) {
  const auto& loops = best_loops<BlockedLoops>();
  if (args.in[0].dtype == DType::bfloat16) fn(loops.of_bfloat16, Type<bfloat16>{});
  else fn(loops.of_float32, Type<float>{});
}

// Calls fn(first channel, how many there are, offset of the plain ones, of the blocked ones) for each block of each image.
template <class Fn>
void each_block(const KernelArgs& args, const Shape& plain, const Shape& blocked, Fn&& fn) {
  const int64_t block = blocked[4], blocks = blocked[1], pixels = blocked[2] * blocked[3];
  const int64_t grain = std::max<int64_t>(1, kElementsPerThread / std::max<int64_t>(1, pixels * block));
  engine::parallel_each(*args.context, blocked[0] * blocks, grain, [&](int64_t i) {
    const int64_t first = i % blocks * block;
    fn(std::min(block, plain[1] - first), pixels, (i / blocks * plain[1] + first) * pixels,
       i * pixels * block);
  });
}

void block_channels(const KernelArgs& args) {
  with_loops(args, [&]<class T>(const BlockedLoopsOf<T>& loops, Type<T>) {
    const T* const in = args.in[0].as<T>();
    T* const out = args.out[0].mutable_as<T>();
    const Shape& blocked = args.out[0].shape;
    each_block(args, args.in[0].shape, blocked,
               [&](int64_t channels, int64_t pixels, int64_t plain, int64_t at) {
                 loops.to_pixels(blocked[4], channels, pixels, in + plain, out + at);
               });
  });
}

void unblock_channels(const KernelArgs& args) {
  with_loops(args, [&]<class T>(const BlockedLoopsOf<T>& loops, Type<T>) {
    const T* const in = args.in[0].as<T>();
    T* const out = args.out[0].mutable_as<T>();
    const Shape& blocked = args.in[0].shape;
    each_block(args, args.out[0].shape, blocked,
               [&](int64_t channels, int64_t pixels, int64_t plain, int64_t at) {
                 loops.to_channels(blocked[4], channels, pixels, in + at, out + plain);
               });
  });
}

void pooling(const BlockedPoolingParams& p, const KernelArgs& args) {
  const Shape& in = args.in[0].shape;
  const Shape& out = args.out[0].shape;
  const PoolGeometry g(p, {in[0], in[1] * in[4], in[2], in[3]});
  const auto axis = [&](int i) {
    return BlockedWindows{g.in[i], g.out[i], g.kernel[i], g.stride[i], g.pad[i]};
  };
  const BlockedWindows rows = axis(1), columns = axis(2);
  const int64_t from = in[2] * in[3] * in[4], to = out[2] * out[3] * out[4];
  with_loops(args, [&]<class T>(const BlockedLoopsOf<T>& loops, Type<T>) {
    engine::parallel_each(
        *args.context, in[0] * in[1], std::max<int64_t>(1, kElementsPerThread / from), [&](int64_t i) {
          const T* const data = args.in[0].as<T>() + i * from;
          T* const result = args.out[0].mutable_as<T>() + i * to;
          if (p.pool_type == PoolType::max) loops.max_pool(in[4], rows, columns, data, result);
          else loops.average_pool(in[4], rows, columns, p.count_include_pad.value_or(true), data, result);
        });
  });
}

// Scratch memory: factor and shift of each channel, of whole blocks.
size_t norm_scratch(const BlockedNormParams&, const KernelSpec& spec) {
  return static_cast<size_t>(2 * spec.in[0].shape[1] * spec.in[0].shape[4]) * sizeof(float);
}

void norm(const BlockedNormParams& p, const KernelArgs& args) {
  const Shape& shape = args.in[0].shape;
  const int64_t block = shape[4], padded = shape[1] * block, pixels = shape[2] * shape[3];
  float* const factor = reinterpret_cast<float*>(args.scratch.data());
  float* const shift = factor + padded;
  const float *gamma = args.in[1].as<float>(), *beta = args.in[2].as<float>();
  const float *mean = args.in[3].as<float>(), *var = args.in[4].as<float>();
  const int64_t channels = args.in[2].size();
  const Clamp none;
  const auto low = static_cast<float>(p.low.value_or(none.low)),
             high = static_cast<float>(p.high.value_or(none.high));
  for (int64_t i = 0; i < padded; ++i) {
    factor[i] = shift[i] = 0;
    if (i >= channels) continue;
    factor[i] = (p.fix_gamma ? 1.0f : gamma[i]) / std::sqrt(var[i] + static_cast<float>(p.eps));
    shift[i] = beta[i] - mean[i] * factor[i];
  }
  with_loops(args, [&]<class T>(const BlockedLoopsOf<T>& loops, Type<T>) {
    engine::parallel_each(*args.context, shape[0] * shape[1],
                          std::max<int64_t>(1, kElementsPerThread / (pixels * block)), [&](int64_t i) {
                            const int64_t first = i % shape[1] * block, at = i * pixels * block;
                            loops.scale(block, pixels, factor + first, shift + first, low, high,
                                        args.in[0].as<T>() + at, args.out[0].mutable_as<T>() + at);
                          });
  });
}

}  // namespace

void kernels_blocked(OpTable& table) {
  table.kernel<block_channels>("_block_channels", "block_channels_cpu");
  table.kernel<unblock_channels>("_unblock_channels", "unblock_channels_cpu");
  table.kernel<pooling>("_blocked_pooling", "blocked_pooling_cpu");
  table.kernel<norm, norm_scratch>("_blocked_norm", "blocked_norm_cpu");
}

}  // namespace loomix::ops
