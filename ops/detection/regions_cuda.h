// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/device/cuda/element.h"
#include "ops/cuda/report.h"
#include "ops/detection/roi_geometry.h"

namespace loomix::cuda {

// Elements of a type as numbers to compute with.
template <class T>
struct Elements {
  const T* data;
  __device__ Computed<T> operator[](int64_t i) const { return load(data[i]); }
};

// The rows of `rois`.
template <class T>
struct Regions {
  const T* data;
  int64_t count, numbers, images;
  int64_t* fault;

  Regions(const TensorView& rois, int64_t batch, int64_t* to_report)
      : data(rois.as<T>()), count(rois.shape[0]), numbers(rois.shape[1]), images(batch), fault(to_report) {}
  __device__ Elements<T> operator[](int64_t roi) const { return {data + roi * numbers}; }
  // Whether the region is of an image; reports one that check_rois() refuses.
  __device__ bool check(int64_t roi) const {
    for (int64_t i = 0; i < numbers; ++i) {
      if (ops::is_region_number(static_cast<double>((*this)[roi][i]), i, images)) continue;
      report(fault);
      return false;
    }
    return (*this)[roi][0] >= 0;
  }
};

// Throws what the host's kernel throws of the regions behind input `data`.
inline void explain_regions(const ops::KernelArgs& args, size_t data, const char* who) {
  const Shape& shape = data == 0 ? args.in[0].shape : args.out[0].shape;
  ops::check_rois(HostCopy(args.in[data + 1]).view(), shape[0], who);
}

}  // namespace loomix::cuda
