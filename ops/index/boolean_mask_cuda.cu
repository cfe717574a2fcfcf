// SPDX-License-Identifier: Apache-2.0
#include "ops/axis_split.h"
#include "ops/cuda/fill.h"
#include "ops/families_cuda.h"
#include "ops/index/gather_cuda.h"

// The numbers of the slices that are chosen come first when all are sorted by whether they are. How many these are is written to a
// word of the host's, which then takes the output's memory.
namespace loomix::ops {
namespace {

using namespace cuda;

__global__ void mark_chosen(int64_t count, AnyArray index, uint32_t* left_out, uint32_t* numbers) {
  for (const int64_t i : own_items(count)) {
    left_out[i] = static_cast<float>(index[i]) != 0.0f ? 0 : 1;
    numbers[i] = static_cast<uint32_t>(i);
  }
}

// Only the last of the chosen says how many there are: none, and the word stays zero.
__global__ void count_chosen(int64_t count, const uint32_t* left_out, int64_t* chosen) {
  for (const int64_t i : own_items(count)) {
    if (left_out[i] == 0 && (i + 1 == count || left_out[i + 1] != 0)) *chosen = i + 1;
  }
}

SortSpace<uint32_t> sort_chosen(const TensorView& index, std::span<std::byte> scratch, cudaStream_t stream) {
  const int64_t count = index.size();
  const SortSpace<uint32_t> space(scratch, count);
  launch(mark_chosen, grid_for(count), stream, count, AnyArray(index), space.keys(), space.values());
  space.sort(1, stream);
  return space;
}

size_t mask_scratch(const KernelSpec& spec) { return SortSpace<uint32_t>::bytes(spec.in[1].size()); }
Support mask_support(const KernelSpec& spec) {
  return spec.in[1].size() < kMostSorted ? Support::yes() : Support::no("it has more slices than are sorted");
}

void take_chosen(const MaskParams& p, const KernelArgs& args, int64_t chosen) {
  const TensorView& data = args.in[0];
  const int axis = normalize_axis(p.axis, data.shape.ndim(), "boolean_mask");
  Shape shape = data.shape;
  shape[axis] = chosen;
  const TensorView out = args.deferred->allocate(0, shape);
  if (out.size() == 0) return;
  const SortSpace<uint32_t> space(args.scratch, data.shape[axis]);
  const TensorView numbers{space.sorted_values(), DType::int32, Shape{chosen}};
  const AxisSplit split(data.shape, axis);
  gather(data, out, Indices(numbers, split.size, IndexMode::clip), chosen, split.inner * size_of(data.dtype),
         stream_of(args));
}

void boolean_mask_cuda(const AttrsBase& attrs, const KernelArgs& args, engine::Completion completion) {
  const auto chosen = std::make_shared<HostWord>();
  const TensorView& index = args.in[1];
  if (index.size() > 0) {
    const SortSpace<uint32_t> space = sort_chosen(index, args.scratch, stream_of(args));
    launch(count_chosen, grid_for(index.size()), stream_of(args), index.size(), space.sorted_keys(),
           chosen->on_device());
  }
  go_on_when_done(args, std::move(completion), [&p = attrs.as<MaskParams>(), chosen](const KernelArgs& kept) {
    take_chosen(p, kept, chosen->value());
  });
}

// ---- gradient ------------------------------------------------------------------------------------------------------------

template <class T>
__global__ void put_chosen(int64_t count, Divider inner, Divider chosen, int64_t size,
                           const uint32_t* left_out, const uint32_t* numbers, const T* grad, T* out,
                           int64_t* fault) {
  for (const int64_t i : own_items(count)) {
    const int64_t slice = inner.quotient(i), outer = chosen.quotient(slice);
    const int64_t k = slice - outer * chosen.divisor();
    if (k < size && left_out[k] == 0)
      out[(outer * size + numbers[k]) * inner.divisor() + i - slice * inner.divisor()] = grad[i];
    else report(fault);
  }
}
__global__ void check_count(int64_t count, int64_t expected, const uint32_t* left_out, int64_t* fault) {
  for (const int64_t i : own_items(count)) {
    if ((left_out[i] == 0) != (i < expected)) report(fault);
  }
}

void backward_boolean_mask_cuda(const MaskParams& p, const KernelArgs& args, int64_t* fault) {
  const TensorView& out = args.out[0];
  const TensorView& grad = args.in[0];
  const cudaStream_t stream = stream_of(args);
  fill(out, 0, stream);
  const AxisSplit split(out.shape, p.axis, "boolean_mask");
  const int64_t chosen = grad.shape[normalize_axis(p.axis, out.shape.ndim(), "boolean_mask")];
  const SortSpace<uint32_t> space = sort_chosen(args.in[1], args.scratch, stream);
  launch(check_count, grid_for(split.size), stream, split.size, chosen, space.sorted_keys(), fault);
  dispatch_bits(out.dtype, [&]<class T>(Type<T>) {
    launch(put_chosen<T>, grid_for(grad.size()), stream, grad.size(), Divider(split.inner), Divider(chosen),
           split.size, space.sorted_keys(), space.sorted_values(), static_cast<const T*>(grad.data),
           static_cast<T*>(out.data), fault);
  });
}
void explain_backward(const MaskParams& p, const KernelArgs& args) {
  check_mask_gradient(p, args.in[0].shape, HostCopy(args.in[1]).view());
}

}  // namespace

void kernels_boolean_mask_cuda(KernelList& list) {
  add_async<MaskParams, mask_support, mask_scratch>(list, "_contrib_boolean_mask", "boolean_mask_cuda",
                                                    boolean_mask_cuda);
  add_checked<backward_boolean_mask_cuda, explain_backward, mask_support, mask_scratch>(
      list, "_backward_contrib_boolean_mask", "backward_boolean_mask_cuda");
}

}  // namespace loomix::ops
