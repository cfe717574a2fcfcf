// SPDX-License-Identifier: Apache-2.0
#include "ndarray/copy.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "engine/device/device_runtime.h"
#include "engine/parallel_for.h"
#include "ndarray/device_moves.h"
#include "ndarray/sparse.h"

namespace loomix {

namespace {

constexpr int64_t kParallelBytes = 1 << 18;  // smaller pieces are not worth a thread

// Conversion as in C, but that NaN and out-of-range values have the result of the hardware's conversion to int64.
template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return static_cast<float>(value) != 0.0f;
  } else if constexpr (std::is_same_v<To, float16> || std::is_same_v<To, bfloat16>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>) {
    const double wide = static_cast<double>(value);
    if (!(wide >= -0x1p63 && wide < 0x1p63)) return static_cast<To>(std::numeric_limits<int64_t>::min());
    return static_cast<To>(static_cast<int64_t>(wide));
  } else if constexpr (std::is_same_v<From, float16> || std::is_same_v<From, bfloat16>) {
    return static_cast<To>(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

template <class Fn>
void dispatch_pair(DType from, DType to, Fn&& fn) {
  dispatch_all(from, "copy",
               [&](auto source) { dispatch_all(to, "copy", [&](auto target) { fn(source, target); }); });
}

void copy_range(const TensorView& from, const TensorView& to, int64_t begin, int64_t end) {
  convert_elements(static_cast<const std::byte*>(from.data) + begin * size_of(from.dtype), from.dtype,
                   static_cast<std::byte*>(to.data) + begin * size_of(to.dtype), to.dtype, end - begin);
}

void copy_dense(engine::RunContext& context, const TensorView& from, const TensorView& to, bool overlap) {
  const int64_t count = to.size();
  if (!overlap) {
    engine::parallel_for(context, count, kParallelBytes / size_of(to.dtype),
                         [&](int64_t begin, int64_t end) { copy_range(from, to, begin, end); });
    return;
  }
  std::vector<std::byte> held(static_cast<size_t>(from.bytes()));
  std::memcpy(held.data(), from.data, held.size());
  convert_elements(held.data(), from.dtype, to.data, to.dtype, count);
}

engine::TaskInfo copy_task(Device device, int64_t bytes, const char* (*name)(const void*)) {
  engine::TaskInfo info;
  info.device = device;
  info.cost_ns = move_cost_ns(bytes);
  info.max_cores = bytes > 2 * kParallelBytes ? 255 : 1;
  info.describe.name = name;
  return info;
}

// Visits the rows (innermost axis) of two boxes in step.
template <class Fn>
void for_each_row(const Shape& shape, const Strided& a, const Strided& b, Fn&& fn) {
  if (shape.size() == 0) return;
  const int axes = shape.ndim();
  InlineVector<int64_t, 6> index(static_cast<size_t>(std::max(axes - 1, 0)));
  int64_t at_a = a.offset;
  int64_t at_b = b.offset;
  while (true) {
    fn(at_a, at_b);
    int axis = axes - 2;
    for (; axis >= 0; --axis) {
      const auto i = static_cast<size_t>(axis);
      at_a += a.strides[i];
      at_b += b.strides[i];
      if (++index[i] < shape[axis]) break;
      at_a -= a.strides[i] * shape[axis];
      at_b -= b.strides[i] * shape[axis];
      index[i] = 0;
    }
    if (axis < 0) return;
  }
}

void check_box(const NDArray& array, const Strided& box, const Shape& shape, const char* who) {
  LOOMIX_CHECK(array.is_dense(), TypeError, "[{}] the array's storage is {}; expected a dense one.", who,
               name_of(array.stype()));
  LOOMIX_CHECK(static_cast<int>(box.strides.size()) == shape.ndim(), ShapeError,
               "[{}] {} strides were given for the shape {}.", who, box.strides.size(), shape.to_string());
  if (shape.size() == 0) return;
  int64_t low = box.offset;
  int64_t high = box.offset;
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    const int64_t reach = (shape[axis] - 1) * box.strides[static_cast<size_t>(axis)];
    (reach < 0 ? low : high) += reach;
  }
  LOOMIX_CHECK(low >= 0 && high < array.size(), IndexError,
               "[{}] the box reaches from element {} to {}; the array of shape {} has {}.", who, low, high,
               array.shape().to_string(), array.size());
}

bool is_whole(const Strided& box, const Shape& shape, const NDArray& array) {
  return box.offset == 0 && shape.size() == array.size() &&
         std::equal(box.strides.begin(), box.strides.end(), Strided::whole(shape).strides.begin());
}

void move_boxes(const TensorView& source, const Strided& from, const TensorView& destination,
                const Strided& to, const Shape& shape) {
  const auto last = static_cast<size_t>(shape.ndim()) - 1;
  const bool scalar = shape.ndim() == 0;
  const int64_t count = scalar ? 1 : shape[shape.ndim() - 1];
  const int64_t step_from = scalar ? 1 : from.strides[last];
  const int64_t step_to = scalar ? 1 : to.strides[last];
  const auto* const in = static_cast<const std::byte*>(source.data);
  auto* const out = static_cast<std::byte*>(destination.data);
  if (step_from == 1 && step_to == 1) {
    const int64_t in_size = size_of(source.dtype);
    const int64_t out_size = size_of(destination.dtype);
    for_each_row(shape, from, to, [&](int64_t a, int64_t b) {
      convert_elements(in + a * in_size, source.dtype, out + b * out_size, destination.dtype, count);
    });
    return;
  }
  if (source.dtype == destination.dtype) {
    dispatch_bits(source.dtype, [&]<class T>(Type<T>) {
      for_each_row(shape, from, to, [&](int64_t a, int64_t b) {
        for (int64_t i = 0; i < count; ++i) {
          std::memcpy(out + (b + i * step_to) * static_cast<int64_t>(sizeof(T)),
                      in + (a + i * step_from) * static_cast<int64_t>(sizeof(T)), sizeof(T));
        }
      });
    });
    return;
  }
  dispatch_pair(source.dtype, destination.dtype, [&]<class From, class To>(Type<From>, Type<To>) {
    const From* const typed_in = reinterpret_cast<const From*>(in);
    To* const typed_out = reinterpret_cast<To*>(out);
    for_each_row(shape, from, to, [&](int64_t a, int64_t b) {
      for (int64_t i = 0; i < count; ++i)
        typed_out[b + i * step_to] = convert<To>(typed_in[a + i * step_from]);
    });
  });
}

union Scalar {
  std::byte bytes[8];
  uint64_t word = 0;
};

Scalar scalar_of(double value, DType dtype) {
  Scalar scalar;
  convert_elements(&value, DType::float64, scalar.bytes, dtype, 1);
  return scalar;
}

void fill_range(std::byte* data, DType dtype, Scalar scalar, int64_t begin, int64_t end) {
  if (scalar.word == 0) {
    std::memset(data + begin * size_of(dtype), 0, static_cast<size_t>((end - begin) * size_of(dtype)));
    return;
  }
  dispatch_bits(dtype, [&]<class T>(Type<T>) {
    T item;
    std::memcpy(&item, scalar.bytes, sizeof(T));
    T* const to = reinterpret_cast<T*>(data);
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) to[i] = item;
  });
}

const char* name_copy(const void*) { return "copy"; }
const char* name_fill(const void*) { return "fill"; }

}  // namespace

uint32_t move_cost_ns(int64_t bytes) {
  return static_cast<uint32_t>(std::min<int64_t>(20 + bytes / 8, 1'000'000'000));
}

void convert_elements(const void* source, DType from, void* destination, DType to, int64_t count) {
  if (count == 0) return;
  if (from == to) {
    std::memmove(destination, source, static_cast<size_t>(count * size_of(from)));
    return;
  }
  dispatch_pair(from, to, [&]<class From, class To>(Type<From>, Type<To>) {
    const From* const in = static_cast<const From*>(source);
    To* const out = static_cast<To*>(destination);
    for (int64_t i = 0; i < count; ++i) out[i] = convert<To>(in[i]);
  });
}

Strided Strided::whole(const Shape& shape) {
  Strided box;
  box.strides.resize(static_cast<size_t>(shape.ndim()));
  int64_t step = 1;
  for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
    box.strides[static_cast<size_t>(axis)] = step;
    step *= shape[axis];
  }
  return box;
}

namespace {

void push_move(const NDArray& source, const Strided& from, const NDArray& destination, const Strided& to,
               const Shape& shape, std::span<engine::Var* const> order) {
  const DeviceMoves& moves = device_moves(destination.device());
  ArrayTags tags;
  tags.read(source);
  if (is_whole(to, shape, destination)) {
    tags.write(destination);
  } else {
    tags.update(destination);
  }
  for (engine::Var* var : order) tags.use(*var);
  destination.engine().push(
      copy_task(destination.device(), shape.size() * (size_of(source.dtype()) + size_of(destination.dtype())),
                name_copy),
      tags.tags(), [&moves, source, from, destination, to, shape](engine::RunContext& context) {
        DeviceMove move;
        move.ndim = shape.ndim();
        for (int axis = 0; axis < shape.ndim(); ++axis) {
          move.size[axis] = shape[axis];
          move.from_stride[axis] = from.strides[static_cast<size_t>(axis)];
          move.to_stride[axis] = to.strides[static_cast<size_t>(axis)];
        }
        move.from_type = source.dtype();
        move.to_type = destination.dtype();
        move.from = static_cast<const std::byte*>(source.view().data) + from.offset * size_of(move.from_type);
        move.to = static_cast<std::byte*>(destination.view().data) + to.offset * size_of(move.to_type);
        moves.move(move, context.stream);
      });
}

// On the device that the elements are on, or go to: the narrower of both types travels.
void convert_on_device(const NDArray& source, const NDArray& destination,
                       std::span<engine::Var* const> order) {
  if (source.device() == destination.device()) {
    const Strided whole = Strided::whole(source.shape());
    return push_move(source, whole, destination, whole, source.shape(), order);
  }
  const bool convert_first =
      destination.device().is_host() ||
      (!source.device().is_host() && size_of(destination.dtype()) < size_of(source.dtype()));
  const NDArray between(destination.engine(), source.shape(),
                        convert_first ? destination.dtype() : source.dtype(),
                        convert_first ? source.device() : destination.device());
  copy(source, between);
  copy(between, destination, order);
}

}  // namespace

void copy(const NDArray& source, const NDArray& destination, std::span<engine::Var* const> order) {
  LOOMIX_CHECK(!source.is_none() && !destination.is_none(), ValueError, "[copy] an array is empty (none).");
  if (!source.is_dense() || !destination.is_dense()) return copy_sparse(source, destination);
  LOOMIX_CHECK(source.shape() == destination.shape(), ShapeError,
               "[copy] an array of shape {} cannot be copied into one of shape {}; the shapes must be equal.",
               source.shape().to_string(), destination.shape().to_string());
  const bool same_place = source.storage_ref() == destination.storage_ref() &&
                          source.offset() == destination.offset() && source.dtype() == destination.dtype();
  if (same_place) return;
  const Device device = source.device().is_host() ? destination.device() : source.device();
  LOOMIX_CHECK(source.device().is_host() || destination.device().is_host() ||
                   source.device().type == destination.device().type,
               NotImplementedError, "[copy] directly from {} to {}; copy through the host.",
               source.device().to_string(), destination.device().to_string());
  if (!device.is_host()) {
    if (source.overlaps(destination)) return copy(copy_to(source, device), destination, order);
    if (source.dtype() != destination.dtype()) return convert_on_device(source, destination, order);
  }
  engine::TaskInfo info = copy_task(device, source.bytes() + destination.bytes(), name_copy);
  if (source.device() != destination.device()) {
    info.lane = source.device().is_host() ? engine::Lane::copy_in : engine::Lane::copy_out;
  }
  ArrayTags tags;
  tags.read(source);
  tags.write(destination);
  for (engine::Var* var : order) tags.use(*var);
  // The handles are too large to be captured inline; storages and places suffice.
  struct Move {
    Ref<Storage> from;
    Ref<Storage> to;
    int64_t from_offset;
    int64_t to_offset;
    int64_t count;
    DType from_type;
    DType to_type;
    bool overlap;
    void operator()(engine::RunContext& context) const {
      if (context.queue != nullptr) return put_on(*context.queue);
      const TensorView in{static_cast<std::byte*>(from->data()) + from_offset, from_type, Shape{count}};
      const TensorView out{static_cast<std::byte*>(to->data()) + to_offset, to_type, Shape{count}};
      copy_dense(context, in, out, overlap);
    }
    // Memory of hosts is free for others as soon as its last handle is gone, so the copy holds one.
    void put_on(engine::DeviceQueue& queue) const {
      queue.copy(static_cast<std::byte*>(to->data()) + to_offset,
                 static_cast<const std::byte*>(from->data()) + from_offset,
                 static_cast<size_t>(count * size_of(to_type)));
      const Ref<Storage>& on_host = from->device().is_host() ? from : to;
      if (on_host->device().is_host()) queue.record()->subscribe([on_host] {});
    }
  };
  static_assert(sizeof(Move) <= 64);
  destination.engine().push(
      std::move(info), tags.tags(),
      Move{source.storage_ref(), destination.storage_ref(), source.offset(), destination.offset(),
           destination.size(), source.dtype(), destination.dtype(), source.overlaps(destination)});
}

NDArray copy_to(const NDArray& source, Device device) {
  NDArray copied = source.is_dense() ? NDArray(source.engine(), source.shape(), source.dtype(), device)
                                     : NDArray::sparse(source.engine(), source.stype(), source.shape(),
                                                       source.dtype(), device);
  copy(source, copied);
  return copied;
}

NDArray cast(const NDArray& source, DType dtype) {
  NDArray copied = source.is_dense() ? NDArray(source.engine(), source.shape(), dtype, source.device())
                                     : NDArray::sparse(source.engine(), source.stype(), source.shape(), dtype,
                                                       source.device());
  copy(source, copied);
  return copied;
}

void copy_strided(const NDArray& source, const Strided& from, const NDArray& destination, const Strided& to,
                  const Shape& shape) {
  check_box(source, from, shape, "copy_strided");
  check_box(destination, to, shape, "copy_strided");
  LOOMIX_CHECK(source.device() == destination.device(), DeviceError,
               "[copy_strided] the arrays are on {} and {}; expected one device.",
               source.device().to_string(), destination.device().to_string());
  if (!source.device().is_host()) {
    const NDArray held = source.overlaps(destination) ? copy_to(source, source.device()) : source;
    return push_move(held, from, destination, to, shape, {});
  }
  ArrayTags tags;
  tags.read(source);
  if (is_whole(to, shape, destination)) {
    tags.write(destination);
  } else {
    tags.update(destination);
  }
  destination.engine().push(
      copy_task(destination.device(), shape.size() * (size_of(source.dtype()) + size_of(destination.dtype())),
                name_copy),
      tags.tags(), [source, from, destination, to, shape](engine::RunContext&) {
        if (!source.overlaps(destination))
          return move_boxes(source.view(), from, destination.view(), to, shape);
        TensorView held = source.view();
        std::vector<std::byte> bytes(static_cast<size_t>(held.bytes()));
        std::memcpy(bytes.data(), held.data, bytes.size());
        held.data = bytes.data();
        move_boxes(held, from, destination.view(), to, shape);
      });
}

void fill(const NDArray& destination, double value) {
  LOOMIX_CHECK(!destination.is_none(), ValueError, "[fill] the array is empty (none).");
  if (!destination.is_dense()) return fill_sparse(destination, value);
  ArrayTags tags;
  tags.write(destination);
  if (destination.device().type == DeviceType::gpu) {
    const DeviceMoves& moves = device_moves(destination.device());
    destination.engine().push(copy_task(destination.device(), destination.bytes(), name_fill), tags.tags(),
                              [&moves, storage = destination.storage_ref(), offset = destination.offset(),
                               count = destination.size(), dtype = destination.dtype(),
                               scalar = scalar_of(value, destination.dtype())](engine::RunContext& context) {
                                moves.fill(static_cast<std::byte*>(storage->data()) + offset, scalar.word,
                                           static_cast<int>(size_of(dtype)), count, context.stream);
                              });
    return;
  }
  if (!destination.device().is_host()) {
    const NDArray filled(destination.engine(), destination.shape(), destination.dtype(), Device::cpu());
    fill(filled, value);
    return copy(filled, destination);
  }
  destination.engine().push(copy_task(destination.device(), destination.bytes(), name_fill), tags.tags(),
                            [storage = destination.storage_ref(), offset = destination.offset(),
                             count = destination.size(), dtype = destination.dtype(),
                             scalar = scalar_of(value, destination.dtype())](engine::RunContext& context) {
                              std::byte* const data = static_cast<std::byte*>(storage->data()) + offset;
                              engine::parallel_for(context, count, kParallelBytes / size_of(dtype),
                                                   [&](int64_t begin, int64_t end) {
                                                     fill_range(data, dtype, scalar, begin, end);
                                                   });
                            });
}

void fill_strided(const NDArray& destination, const Strided& to, const Shape& shape, double value) {
  check_box(destination, to, shape, "fill_strided");
  const NDArray scalar(destination.engine(), Shape{}, destination.dtype(), destination.device());
  fill(scalar, value);
  Strided from;
  from.strides.resize(static_cast<size_t>(shape.ndim()));
  copy_strided(scalar, from, destination, to, shape);
}

NDArray zeros(engine::Engine& engine, const Shape& shape, DType dtype, Device device) {
  NDArray array(engine, shape, dtype, device);
  fill(array, 0);
  return array;
}

}  // namespace loomix
