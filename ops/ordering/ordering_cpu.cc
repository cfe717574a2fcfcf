// SPDX-License-Identifier: Apache-2.0
#include "ops/ordering/ordering.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/parallel_for.h"
#include "ops/scratch_slots.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// An array seen as (outer, size, inner) around the axis; without an axis, as one lane.
struct Lanes {
  int64_t outer = 1, size = 0, inner = 1;
  int64_t count() const { return outer * inner; }
  int64_t start(int64_t lane, int64_t length) const { return lane / inner * length * inner + lane % inner; }
};

Lanes lanes_of(const Shape& shape, const std::optional<int>& axis, const char* who) {
  if (!axis) return {1, shape.size(), 1};
  const int at = normalize_axis(*axis, shape.ndim(), who);
  return {shape.size_between(0, at), shape[at], shape.size_between(at + 1, shape.ndim())};
}

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
int64_t lane_bytes(const Lanes& lanes) { return (lanes.size * kEntryBytes + 63) / 64 * 64; }
size_t order_scratch(const Lanes& lanes, int cores) {
  const int64_t slots = std::min<int64_t>({cores, lanes.count(), ScratchSlots::kMost});
  return static_cast<size_t>(std::max<int64_t>(slots, 1) * lane_bytes(lanes));
}

// Calls put(lane, rank, index, value) for the first k elements of every lane in order.
template <class T, class Put>
void order_lanes(const KernelArgs& args, const Lanes& lanes, int64_t k, bool ascending, const Put& put) {
  static_assert(sizeof(Entry<T>) <= kEntryBytes);
  const T* const data = args.in[0].as<T>();
  if (lanes.size == 0) return;
  const auto slot_bytes = static_cast<size_t>(lane_bytes(lanes));
  ScratchSlots slots(args.scratch, slot_bytes, static_cast<int>(args.scratch.size() / slot_bytes));
  const int64_t lane_grain = std::max<int64_t>(8192 / std::max<int64_t>(lanes.size, 1), 1);
  engine::parallel_for(*args.context, lanes.count(), lane_grain, [&](int64_t begin, int64_t end) {
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
      for (int64_t rank = 0; rank < k; ++rank) put(number, rank, lane[rank].index, lane[rank].value);
    }
  });
}

// Writes an index in any of the types that indices may have.
class IndexWriter {
 public:
  explicit IndexWriter(const TensorView& view) : data_(view.data), dtype_(view.dtype) {}
  void put(int64_t place, int64_t index) const {
    dispatch_numeric(dtype_, "argsort",
                     [&]<class T>(Type<T>) { static_cast<T*>(data_)[place] = static_cast<T>(index); });
  }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  void* data_;
  DType dtype_;
};

size_t sort_scratch(const SortParams& p, const KernelSpec& spec) {
  return order_scratch(lanes_of(spec.in[0].shape, p.axis, "sort"), spec.cores);
}
size_t argsort_scratch(const ArgsortParams& p, const KernelSpec& spec) {
  return order_scratch(lanes_of(spec.in[0].shape, p.axis, "argsort"), spec.cores);
}
size_t topk_scratch(const TopkParams& p, const KernelSpec& spec) {
  return order_scratch(lanes_of(spec.in[0].shape, p.axis, "topk"), spec.cores);
}

void sort_cpu(const SortParams& p, const KernelArgs& args) {
  const Lanes lanes = lanes_of(args.in[0].shape, p.axis, "sort");
  const IndexWriter indices(args.out[1]);
  dispatch_numeric(args.in[0].dtype, "sort", [&]<class T>(Type<T>) {
    T* const out = args.out[0].mutable_as<T>();
    order_lanes<T>(args, lanes, lanes.size, p.is_ascend,
                   [&](int64_t lane, int64_t rank, int64_t index, T value) {
                     const int64_t place = lanes.start(lane, lanes.size) + rank * lanes.inner;
                     out[place] = value;
                     if (indices) indices.put(place, index);
                   });
  });
}

void argsort_cpu(const ArgsortParams& p, const KernelArgs& args) {
  const Lanes lanes = lanes_of(args.in[0].shape, p.axis, "argsort");
  const IndexWriter indices(args.out[0]);
  dispatch_numeric(args.in[0].dtype, "argsort", [&]<class T>(Type<T>) {
    order_lanes<T>(args, lanes, lanes.size, p.is_ascend, [&](int64_t lane, int64_t rank, int64_t index, T) {
      indices.put(lanes.start(lane, lanes.size) + rank * lanes.inner, index);
    });
  });
}

void topk_cpu(const TopkParams& p, const KernelArgs& args) {
  const Lanes lanes = lanes_of(args.in[0].shape, p.axis, "topk");
  const int64_t k = p.k > 0 ? p.k : lanes.size;
  const TensorView& first = args.out[0];
  if (p.ret_typ == TopkReturn::mask) std::memset(first.data, 0, static_cast<size_t>(first.bytes()));
  const IndexWriter indices(args.out[args.out.size() - 1]);
  dispatch_numeric(args.in[0].dtype, "topk", [&]<class T>(Type<T>) {
    order_lanes<T>(args, lanes, k, p.is_ascend, [&](int64_t lane, int64_t rank, int64_t index, T value) {
      const int64_t place = lanes.start(lane, k) + rank * lanes.inner;
      switch (p.ret_typ) {
        case TopkReturn::mask:
          first.mutable_as<T>()[lanes.start(lane, lanes.size) + index * lanes.inner] = static_cast<T>(1);
          break;
        case TopkReturn::indices: indices.put(place, index); break;
        case TopkReturn::value:
        case TopkReturn::both:
          first.mutable_as<T>()[place] = value;
          if (indices) indices.put(place, index);
          break;
      }
    });
  });
}

void backward_order_cpu(const SortParams& p, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  std::memset(out.data, 0, static_cast<size_t>(out.bytes()));
  const Lanes lanes = lanes_of(out.shape, p.axis, "sort");
  if (lanes.count() == 0) return;
  const int64_t k = args.in[0].size() / lanes.count();
  dispatch_numeric(args.in[1].dtype, "sort", [&]<class I>(Type<I>) {
    const I* const index = args.in[1].as<I>();
    dispatch_bits(out.dtype, [&]<class T>(Type<T>) {
      const T* const grad = static_cast<const T*>(args.in[0].data);
      T* const result = static_cast<T*>(out.data);
      for (int64_t lane = 0; lane < lanes.count(); ++lane) {
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
  table.kernel<backward_order_cpu>("_backward_order", "backward_order_cpu");
}

}  // namespace loomix::ops
