// SPDX-License-Identifier: Apache-2.0
#include "ops/ordering/ordering.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/parallel_for.h"
#include "ops/axis_split.h"
#include "ops/scratch_slots.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

template <class T>
bool less(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return a < b;
  } else {
    const auto x = static_cast<Accum<T>>(a), y = static_cast<Accum<T>>(b);
    return std::isnan(y) ? !std::isnan(x) : x < y;
  }
}

// What is sorted: an element and its place in the lane.
template <class T>
struct Entry {
  T value;
  int64_t index;
};
constexpr int64_t kEntryBytes = 16;  // of any type

// Each thread sorts in a lane of its own.
size_t lane_bytes(const AxisSplit& lanes) { return aligned(static_cast<size_t>(lanes.size * kEntryBytes)); }
size_t order_scratch(const AxisSplit& lanes, int cores) {
  const int64_t lines = std::clamp<int64_t>(lanes.lines(), 1, slots_for(cores));
  return static_cast<size_t>(lines) * lane_bytes(lanes);
}

// Writes an index in any of the types that indices may have.
class IndexWriter {
 public:
  IndexWriter() = default;
  explicit IndexWriter(const TensorView& view) : data_(view.data), dtype_(view.dtype) {}
  void put(int64_t place, int64_t index) const {
    dispatch_numeric(dtype_, "argsort",
                     [&]<class T>(Type<T>) { static_cast<T*>(data_)[place] = static_cast<T>(index); });
  }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  void* data_ = nullptr;
  DType dtype_ = DType::unknown;
};

// Where the first elements of each lane go, in order: their values and places, or ones among zeros. Null: not wanted.
struct Results {
  void* values = nullptr;
  void* mask = nullptr;
  IndexWriter indices;
};

// The first k elements of every lane.
template <class T>
void order_lanes(const KernelArgs& args, const AxisSplit& lanes, int64_t k, bool ascending,
                 const Results& to) {
  static_assert(sizeof(Entry<T>) <= kEntryBytes);
  const T* const data = args.in[0].as<T>();
  if (lanes.size == 0) return;
  const size_t slot_bytes = lane_bytes(lanes);
  ScratchSlots slots(args.scratch, slot_bytes, static_cast<int>(args.scratch.size() / slot_bytes));
  const int64_t lane_grain = 8192 / std::max<int64_t>(lanes.size, 1);
  engine::parallel_for(*args.context, lanes.lines(), lane_grain, [&](int64_t begin, int64_t end) {
    const ScratchSlots::Use slot(slots);
    Entry<T>* const lane = slot.as<Entry<T>>();
    for (int64_t number = begin; number < end; ++number) {
      const int64_t start = lanes.start(number, lanes.size);
      for (int64_t i = 0; i < lanes.size; ++i) lane[i] = {data[start + i * lanes.inner], i};
      const auto before = [ascending](const auto& a, const auto& b) {
        if (less(a.value, b.value)) return ascending;
        if (less(b.value, a.value)) return !ascending;
        return a.index < b.index;  // stable
      };
      if (k < lanes.size) {
        std::partial_sort(lane, lane + k, lane + lanes.size, before);
      } else {
        std::sort(lane, lane + lanes.size, before);
      }
      for (int64_t rank = 0; rank < k; ++rank) {
        const int64_t place = lanes.start(number, k) + rank * lanes.inner;
        if (to.values) static_cast<T*>(to.values)[place] = lane[rank].value;
        if (to.mask) static_cast<T*>(to.mask)[start + lane[rank].index * lanes.inner] = static_cast<T>(1);
        if (to.indices) to.indices.put(place, lane[rank].index);
      }
    }
  });
}

void order(const KernelArgs& args, const AxisSplit& lanes, int64_t k, bool ascending, const Results& to) {
  dispatch_numeric(args.in[0].dtype, "sort",
                   [&]<class T>(Type<T>) { order_lanes<T>(args, lanes, k, ascending, to); });
}

size_t sort_scratch(const SortParams& p, const KernelSpec& spec) {
  return order_scratch(AxisSplit(spec.in[0].shape, p.axis, "sort"), spec.cores);
}
size_t argsort_scratch(const ArgsortParams& p, const KernelSpec& spec) {
  return order_scratch(AxisSplit(spec.in[0].shape, p.axis, "argsort"), spec.cores);
}
size_t topk_scratch(const TopkParams& p, const KernelSpec& spec) {
  return order_scratch(AxisSplit(spec.in[0].shape, p.axis, "topk"), spec.cores);
}

void sort_cpu(const SortParams& p, const KernelArgs& args) {
  const AxisSplit lanes(args.in[0].shape, p.axis, "sort");
  order(args, lanes, lanes.size, p.is_ascend,
        {.values = args.out[0].data, .indices = IndexWriter(args.out[1])});
}

void argsort_cpu(const ArgsortParams& p, const KernelArgs& args) {
  const AxisSplit lanes(args.in[0].shape, p.axis, "argsort");
  order(args, lanes, lanes.size, p.is_ascend, {.indices = IndexWriter(args.out[0])});
}

void topk_cpu(const TopkParams& p, const KernelArgs& args) {
  const AxisSplit lanes(args.in[0].shape, p.axis, "topk");
  const TensorView& first = args.out[0];
  Results to;
  if (p.ret_typ == TopkReturn::mask) {
    to.mask = first.data;
    std::memset(first.data, 0, static_cast<size_t>(first.bytes()));
  } else {
    if (p.ret_typ != TopkReturn::indices) to.values = first.data;
    to.indices = IndexWriter(args.out.back());
  }
  order(args, lanes, p.k > 0 ? p.k : lanes.size, p.is_ascend, to);
}

void backward_order_cpu(const SortParams& p, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  std::memset(out.data, 0, static_cast<size_t>(out.bytes()));
  const AxisSplit lanes(out.shape, p.axis, "sort");
  const int64_t k = args.in[0].size() / lanes.lines();
  dispatch_numeric(args.in[1].dtype, "sort", [&]<class I>(Type<I>) {
    const I* const index = args.in[1].as<I>();
    dispatch_bits(out.dtype, [&]<class T>(Type<T>) {
      const T* const grad = static_cast<const T*>(args.in[0].data);
      T* const result = static_cast<T*>(out.data);
      for (int64_t lane = 0; lane < lanes.lines(); ++lane) {
        for (int64_t rank = 0; rank < k; ++rank) {
          const int64_t from = lanes.start(lane, k) + rank * lanes.inner;
          result[lanes.start(lane, lanes.size) + static_cast<int64_t>(index[from]) * lanes.inner] =
              grad[from];
        }
      }
    });
  });
}

}  // namespace

void kernels_ordering(OpTable& table) {
  table.kernel<sort_cpu, sort_scratch>("sort", "sort_cpu");
  table.kernel<argsort_cpu, argsort_scratch>("argsort", "argsort_cpu");
  table.kernel<topk_cpu, topk_scratch>("topk", "topk_cpu");
}

void gradients_ordering(OpTable& table) {
  table.kernel<backward_order_cpu>("_backward_order", "backward_order_cpu");
}

}  // namespace loomix::ops
