// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "ops/contrib/contrib.h"
#include "ops/cuda/arrays.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/order.h"
#include "ops/cuda/report.h"
#include "ops/cuda/runs.h"
#include "ops/families_cuda.h"

namespace loomix::ops {
namespace {

using namespace cuda;

// Where element i of a row goes; `size` is nowhere.
struct PlaceElements {
  AnyArray hash;
  int64_t size;
  uint32_t *keys, *values;
  int64_t* fault;
  __device__ void operator()(int64_t i) const {
    const int64_t at = hash.whole(i);
    const bool fits = at >= 0 && at < size;
    if (!fits) report(fault);
    keys[i] = static_cast<uint32_t>(fits ? at : size);
    values[i] = static_cast<uint32_t>(i);
  }
};

template <class T>
struct SignedElement {
  const T *data, *sign;
  int64_t size;
  __device__ T operator()(int64_t i, int64_t row) const { return sign[i] * data[row * size + i]; }
};
template <class T>
struct PutSum {
  T* out;
  int64_t size;
  __device__ void operator()(int64_t place, int64_t row, T sum) const { out[row * size + place] = sum; }
};

template <class T>
struct GatherSigned {
  AnyArray hash;
  Divider size;
  int64_t places;
  const T *grad, *sign;
  T* out;
  int64_t* fault;
  __device__ void operator()(int64_t at) const {
    const int64_t row = size.quotient(at), i = at - row * size.divisor(), place = hash.whole(i);
    if (place < 0 || place >= places) return report(fault);
    out[at] = sign[i] * grad[row * places + place];
  }
};

size_t sketch_scratch(const KernelSpec& spec) { return SortSpace<uint32_t>::bytes(spec.in[2].size()); }
Support sketch_support(const CountSketchParams&, const KernelSpec& spec) {
  return spec.in[2].size() < kMostSorted ? Support::yes()
                                         : Support::no("it has more elements than are sorted");
}

// Elements that go to one place are neighbours once they are sorted, so that their sum has an order.
void count_sketch_cuda(const CountSketchParams& p, const KernelArgs& args, int64_t* fault) {
  const int64_t size = args.in[2].size(), rows = args.out[0].size() / p.out_dim;
  const cudaStream_t stream = stream_of(args);
  fill(args.out[0], 0, stream);
  if (size == 0) return;
  const SortSpace<uint32_t> space(args.scratch, size);
  const auto places = static_cast<uint32_t>(p.out_dim);
  launch_each(stream, size,
              PlaceElements{AnyArray(args.in[1]), p.out_dim, space.keys(), space.values(), fault});
  space.sort(std::bit_width(places), stream);
  Runs runs{space.sorted_keys(), space.sorted_values(), size, places, Divider(rows), false};
  runs.runs = Divider(size);
  dispatch_real(args.out[0].dtype, "count_sketch", [&]<class T>(Type<T>) {
    sum_runs<T>(runs, SignedElement<T>{args.in[0].as<T>(), args.in[2].as<T>(), size},
                PutSum<T>{args.out[0].mutable_as<T>(), p.out_dim}, stream);
  });
}

void backward_count_sketch_cuda(const CountSketchParams& p, const KernelArgs& args, int64_t* fault) {
  const TensorView& out = args.out[0];
  if (out.size() == 0) return;
  dispatch_real(out.dtype, "count_sketch", [&]<class T>(Type<T>) {
    launch_each(stream_of(args), out.size(),
                GatherSigned<T>{AnyArray(args.in[1]), Divider(args.in[2].size()), p.out_dim,
                                args.in[0].as<T>(), args.in[2].as<T>(), out.mutable_as<T>(), fault});
  });
}

void explain_sketch(const CountSketchParams& p, const KernelArgs& args) {
  check_sketch_places(p, HostCopy(args.in[1]).view(), args.in[2].size());
}

}  // namespace

void kernels_sketch_cuda(KernelList& list) {
  add_checked<count_sketch_cuda, explain_sketch, sketch_support, sketch_scratch>(
      list, "_contrib_count_sketch", "count_sketch_cuda");
  add_checked<backward_count_sketch_cuda, explain_sketch>(list, "_backward_count_sketch",
                                                          "backward_count_sketch_cuda");
}

}  // namespace loomix::ops
