// SPDX-License-Identifier: Apache-2.0
#include "ops/index/index.h"
#include "ops/table.h"

#include <algorithm>
#include <cstring>

#include "engine/parallel_for.h"
#include "ops/axis_split.h"
#include "ops/elemwise/apply.h"
#include "ops/whole_number.h"

namespace loomix::ops {
namespace {

constexpr int64_t kGrainBytes = 65536;

int64_t grain_for(int64_t bytes_an_item) { return kGrainBytes / std::max<int64_t>(bytes_an_item, 1); }

// The indices in the scratch memory.
std::span<const int64_t> scratch_indices(const KernelArgs& args, const TensorView& indices, int64_t size,
                                         IndexMode mode, const char* who) {
  auto* const result = reinterpret_cast<int64_t*>(args.scratch.data());
  read_indices(indices, size, mode, who, result);
  return {result, static_cast<size_t>(indices.size())};
}

// Out[o, i, :] = in[o, index[i], :] over `outer` blocks of `size` slices of `bytes` each.
void gather_slices(engine::RunContext& context, const std::byte* in, std::byte* out,
                   std::span<const int64_t> index, int64_t outer, int64_t size, int64_t bytes) {
  const auto count = static_cast<int64_t>(index.size());
  engine::parallel_each(context, outer * count, grain_for(bytes), [=](int64_t item) {
    const int64_t source = item / count * size + index[static_cast<size_t>(item % count)];
    std::memcpy(out + item * bytes, in + source * bytes, static_cast<size_t>(bytes));
  });
}

// Out[o, index[i], :] += in[o, i, :]. Each thread owns a range of columns of the slices, so that the order of additions
// does not depend on the number of threads.
void scatter_add_slices(const KernelArgs& args, std::span<const int64_t> index, int64_t outer, int64_t size,
                        int64_t inner) {
  const TensorView& out = args.out[0];
  std::memset(out.data, 0, static_cast<size_t>(out.bytes()));
  const auto count = static_cast<int64_t>(index.size());
  dispatch_numeric(out.dtype, "_backward_take", [&]<class T>(Type<T>) {
    const T* const in = args.in[0].as<T>();
    T* const sums = out.mutable_as<T>();
    engine::parallel_for(
        *args.context, inner, grain_for(outer * count * static_cast<int64_t>(sizeof(T))),
        [=](int64_t begin, int64_t end) {
          for (int64_t item = 0; item < outer * count; ++item) {
            const T* const from = in + item * inner;
            T* const to = sums + (item / count * size + index[static_cast<size_t>(item % count)]) * inner;
            for (int64_t i = begin; i < end; ++i) to[i] = static_cast<T>(to[i] + from[i]);
          }
        });
  });
}

// Positions in the scratch memory.
struct Places {
  std::span<const int64_t> position;
  int64_t slice = 1;  // elements a place
};

Places scratch_places(const KernelArgs& args, const TensorView& indices, const Shape& shape,
                      const char* who) {
  auto* const position = reinterpret_cast<int64_t*>(args.scratch.data());
  read_places(indices, shape, who, position);
  const auto count = static_cast<size_t>(indices.shape.size_between(1, indices.shape.ndim()));
  return {{position, count}, shape.size_between(static_cast<int>(indices.shape[0]), shape.ndim())};
}

void scatter_places(const TensorView& from, const TensorView& to, const Places& places) {
  const int64_t bytes = places.slice * size_of(to.dtype);
  const auto* const source = static_cast<const std::byte*>(from.data);
  auto* const target = static_cast<std::byte*>(to.data);
  for (size_t i = 0; i < places.position.size(); ++i) {
    std::memcpy(target + places.position[i] * bytes, source + static_cast<int64_t>(i) * bytes,
                static_cast<size_t>(bytes));
  }
}

}  // namespace

void read_indices(const TensorView& indices, int64_t size, IndexMode mode, const char* who, int64_t* result) {
  const int64_t count = indices.size();
  dispatch_numeric(indices.dtype, who, [&]<class T>(Type<T>) {
    const T* const raw = indices.as<T>();
    for (int64_t i = 0; i < count; ++i) {
      const auto index = whole_number(raw[i]);
      switch (mode) {
        case IndexMode::clip: result[i] = std::clamp<int64_t>(index, 0, size - 1); break;
        case IndexMode::wrap: result[i] = ((index % size) + size) % size; break;
        case IndexMode::raise:
          LOOMIX_CHECK(index >= -size && index < size, IndexError,
                       "[{}] index {} is out of range for size {}; expected {} to {}.", who, index, size,
                       -size, size - 1);
          result[i] = index < 0 ? index + size : index;
          break;
      }
    }
  });
}

void read_places(const TensorView& indices, const Shape& shape, const char* who, int64_t* position) {
  const int64_t axes = indices.shape[0];
  const int64_t count = indices.shape.size_between(1, indices.shape.ndim());
  std::fill_n(position, count, 0);
  dispatch_numeric(indices.dtype, who, [&]<class T>(Type<T>) {
    const T* const raw = indices.as<T>();
    for (int64_t axis = 0; axis < axes; ++axis) {
      const int64_t size = shape[static_cast<int>(axis)];
      for (int64_t i = 0; i < count; ++i) {
        const auto index = whole_number(raw[axis * count + i]);
        LOOMIX_CHECK(index >= -size && index < size, IndexError,
                     "[{}] index {} is out of bounds for axis {} with size {}; expected {} to {}.", who,
                     index, axis, size, -size, size - 1);
        position[i] = position[i] * size + (index < 0 ? index + size : index);
      }
    }
  });
}

void take_cpu(const TakeParams& p, const KernelArgs& args) {
  const TensorView& data = args.in[0];
  const AxisSplit split(data.shape, p.axis, "take");
  LOOMIX_CHECK(split.size > 0, IndexError, "[take] cannot take from axis {} of shape {}, which is empty.",
               p.axis, data.shape.to_string());
  const auto index = scratch_indices(args, args.in[1], split.size, p.mode, "take");
  gather_slices(*args.context, static_cast<const std::byte*>(data.data),
                static_cast<std::byte*>(args.out[0].data), index, split.outer, split.size,
                split.inner * size_of(data.dtype));
}

void backward_take_cpu(const TakeParams& p, const KernelArgs& args) {
  const Shape& shape = args.out[0].shape;
  const AxisSplit split(shape, p.axis, "take");
  const auto index = scratch_indices(args, args.in[1], std::max<int64_t>(split.size, 1), p.mode, "take");
  scatter_add_slices(args, index, split.outer, split.size, split.inner);
}

void embedding_cpu(const EmbeddingParams& p, const KernelArgs& args) {
  const auto index = scratch_indices(args, args.in[0], p.input_dim, IndexMode::clip, "Embedding");
  gather_slices(*args.context, static_cast<const std::byte*>(args.in[1].data),
                static_cast<std::byte*>(args.out[0].data), index, 1, p.input_dim,
                p.output_dim * size_of(args.in[1].dtype));
}

void backward_embedding_cpu(const EmbeddingParams& p, const KernelArgs& args) {
  const auto index = scratch_indices(args, args.in[1], p.input_dim, IndexMode::clip, "Embedding");
  scatter_add_slices(args, index, 1, p.input_dim, p.output_dim);
}

void one_hot_cpu(const OneHotParams& p, const KernelArgs& args) {
  const TensorView& indices = args.in[0];
  auto* const index = reinterpret_cast<int64_t*>(args.scratch.data());
  const int64_t count = indices.size();
  dispatch_numeric(indices.dtype, "one_hot", [&]<class T>(Type<T>) {
    const T* const raw = indices.as<T>();
    for (int64_t i = 0; i < count; ++i) index[i] = whole_number(raw[i]);
  });
  dispatch_numeric(args.out[0].dtype, "one_hot", [&]<class T>(Type<T>) {
    T* const out = args.out[0].mutable_as<T>();
    const int64_t depth = p.depth;
    const T on = static_cast<T>(p.on_value), off = static_cast<T>(p.off_value);
    engine::parallel_for(*args.context, count, grain_for(depth * static_cast<int64_t>(sizeof(T))),
                         [=](int64_t begin, int64_t end) {
#pragma omp simd
                           for (int64_t i = begin * depth; i < end * depth; ++i) out[i] = off;
                           for (int64_t i = begin; i < end; ++i) {
                             if (index[i] >= 0 && index[i] < depth) out[i * depth + index[i]] = on;
                           }
                         });
  });
}

void onehot_encode_cpu(const KernelArgs& args) {
  OneHotParams params;
  params.depth = static_cast<int>(args.out[0].shape[1]);
  one_hot_cpu(params, args);
}

void pick_cpu(const PickParams& p, const KernelArgs& args) {
  const AxisSplit split(args.in[0].shape, p.axis, "pick");
  LOOMIX_CHECK(split.size > 0, IndexError, "[pick] cannot pick from shape {}, whose axis is empty.",
               args.in[0].shape.to_string());
  const auto index = scratch_indices(args, args.in[1], split.size, p.mode, "pick");
  dispatch_bits(args.in[0].dtype, [&]<class T>(Type<T>) {
    const T* const data = static_cast<const T*>(args.in[0].data);
    T* const out = static_cast<T*>(args.out[0].data);
    engine::parallel_each(*args.context, split.lines(), kGrainBytes / 8, [=](int64_t i) {
      out[i] = data[split.start(i, split.size) + index[static_cast<size_t>(i)] * split.inner];
    });
  });
}

void backward_pick_cpu(const PickParams& p, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  std::memset(out.data, 0, static_cast<size_t>(out.bytes()));
  const AxisSplit split(out.shape, p.axis, "pick");
  const auto index = scratch_indices(args, args.in[1], split.size, p.mode, "pick");
  dispatch_bits(out.dtype, [&]<class T>(Type<T>) {
    const T* const grad = static_cast<const T*>(args.in[0].data);
    T* const result = static_cast<T*>(out.data);
    for (int64_t i = 0; i < split.lines(); ++i)
      result[split.start(i, split.size) + index[static_cast<size_t>(i)] * split.inner] = grad[i];
  });
}

void batch_take_cpu(const KernelArgs& args) { pick_cpu({}, args); }
void backward_batch_take_cpu(const KernelArgs& args) { backward_pick_cpu({}, args); }

void gather_nd_cpu(const KernelArgs& args) {
  const TensorView& data = args.in[0];
  const Places places = scratch_places(args, args.in[1], data.shape, "gather_nd");
  gather_slices(*args.context, static_cast<const std::byte*>(data.data),
                static_cast<std::byte*>(args.out[0].data), places.position, 1, 0,
                places.slice * size_of(data.dtype));
}

void backward_gather_nd_cpu(const KernelArgs& args) {
  const Places places = scratch_places(args, args.in[1], args.out[0].shape, "gather_nd");
  scatter_add_slices(args, places.position, 1, 0, places.slice);
}

void scatter_nd_cpu(const ScatterParams& p, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  std::memset(out.data, 0, static_cast<size_t>(out.bytes()));
  scatter_places(args.in[0], out, scratch_places(args, args.in[1], p.shape, "scatter_nd"));
}

void scatter_set_nd_cpu(const ScatterParams& p, const KernelArgs& args) {
  convert_cpu(args);
  scatter_places(args.in[1], args.out[0], scratch_places(args, args.in[2], p.shape, "_scatter_set_nd"));
}

void ravel_multi_index_cpu(const RavelParams& p, const KernelArgs& args) {
  dispatch_numeric(args.out[0].dtype, "ravel_multi_index", [&]<class T>(Type<T>) {
    const T* const rows = args.in[0].as<T>();
    T* const out = args.out[0].mutable_as<T>();
    const int64_t count = args.out[0].size();
    for (int64_t i = 0; i < count; ++i) {
      int64_t position = 0;
      for (int axis = 0; axis < p.shape->ndim(); ++axis) {
        position = position * (*p.shape)[axis] + static_cast<int64_t>(rows[axis * count + i]);
      }
      out[i] = static_cast<T>(position);
    }
  });
}

void unravel_index_cpu(const RavelParams& p, const KernelArgs& args) {
  dispatch_numeric(args.out[0].dtype, "unravel_index", [&]<class T>(Type<T>) {
    const T* const positions = args.in[0].as<T>();
    T* const rows = args.out[0].mutable_as<T>();
    const int64_t count = args.in[0].size();
    for (int64_t i = 0; i < count; ++i) {
      auto rest = whole_number(positions[i]);
      for (int axis = p.shape->ndim() - 1; axis >= 0; --axis) {
        // The first axis takes what is left, so that a position beyond the end stays recognisable.
        const int64_t size =
            axis == 0 ? std::max<int64_t>(rest + 1, 1) : std::max<int64_t>((*p.shape)[axis], 1);
        rows[axis * count + i] = static_cast<T>(rest % size);
        rest /= size;
      }
    }
  });
}

namespace {

// Space for the indices, input kInput, as int64.
template <int kInput>
size_t index_scratch(const KernelSpec& spec) {
  return static_cast<size_t>(spec.in[kInput].size()) * sizeof(int64_t);
}

}  // namespace

void kernels_index(OpTable& table) {
  table.kernel<take_cpu, index_scratch<1>>("take", "take_cpu");
  table.kernel<embedding_cpu, index_scratch<0>>("Embedding", "embedding_cpu");
  table.kernel<one_hot_cpu, index_scratch<0>>("one_hot", "one_hot_cpu");
  table.kernel<onehot_encode_cpu, index_scratch<0>>("_onehot_encode", "one_hot_cpu");
  table.kernel<pick_cpu, index_scratch<1>>("pick", "pick_cpu");
  table.kernel<batch_take_cpu, index_scratch<1>>("batch_take", "batch_take_cpu");
  table.kernel<gather_nd_cpu, index_scratch<1>>("gather_nd", "gather_nd_cpu");
  table.kernel<scatter_nd_cpu, index_scratch<1>>("scatter_nd", "scatter_nd_cpu");
  table.kernel<scatter_set_nd_cpu, index_scratch<2>>("_scatter_set_nd", "scatter_set_nd_cpu");
  table.kernel<ravel_multi_index_cpu>("_ravel_multi_index", "ravel_multi_index_cpu");
  table.kernel<unravel_index_cpu>("_unravel_index", "unravel_index_cpu");
}

void gradients_index(OpTable& table) {
  table.kernel<backward_take_cpu, index_scratch<1>>("_backward_take", "backward_take_cpu");
  table.kernel<backward_embedding_cpu, index_scratch<1>>("_backward_Embedding", "backward_embedding_cpu");
  table.kernel<backward_pick_cpu, index_scratch<1>>("_backward_pick", "backward_pick_cpu");
  table.kernel<backward_batch_take_cpu, index_scratch<1>>("_backward_batch_take", "backward_batch_take_cpu");
  table.kernel<backward_gather_nd_cpu, index_scratch<1>>("_backward_gather_nd", "backward_gather_nd_cpu");
}

}  // namespace loomix::ops
