// SPDX-License-Identifier: Apache-2.0
#include "ops/blocked/sliced_reorder_dnnl.h"

#include <vector>

namespace loomix::ops::onednn {
namespace {

constexpr int64_t kMostSlices = 16;

// How a weight lies in memory: for each axis the distance of its elements, or of its blocks, and the blocks' size.
struct Layout {
  std::vector<int64_t> strides, blocks;
};

Layout layout_of(const Desc& desc) {
  const auto dims = dims_of(desc);
  Layout layout;
#if DNNL_VERSION_MAJOR >= 3
  const auto strides = desc.get_strides(), sizes = desc.get_inner_blks(), axes = desc.get_inner_idxs();
  const int count = desc.get_inner_nblks();
#else
  const auto& [strides, count, sizes, axes] = desc.data.format_desc.blocking;
#endif
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    layout.strides.push_back(strides[axis]);
    layout.blocks.push_back(1);
  }
  for (int i = 0; i < count; ++i) layout.blocks[static_cast<size_t>(axes[i])] *= sizes[i];
  return layout;
}

bool has_blocks(const Desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return desc.get_format_kind() == dnnl::memory::format_kind::blocked;
#else
  return desc.data.format_kind == dnnl_blocked && desc.data.extra.flags == 0;
#endif
}

int64_t element_bytes(const Desc& desc) { return type_of(desc) == dnnl::memory::data_type::bf16 ? 2 : 4; }

}  // namespace

SlicedReorder::SlicedReorder(const Desc& plain, const Desc& inner, To to)
    : to_(to), plain_(plain), inner_(inner) {
  inner_step_ = static_cast<int64_t>(inner.get_size());
  if (has_blocks(inner)) {
    const Layout from = layout_of(plain), in = layout_of(inner);
    auto dims = dims_of(plain);
    size_t axis = 0;
    for (size_t i = 1; i < dims.size(); ++i) {
      if (in.strides[i] > in.strides[axis]) axis = i;
    }
    const int64_t block = in.blocks[axis], blocks = dims[axis] % block == 0 ? dims[axis] / block : 1;
    for (int64_t n = 2; n <= kMostSlices; ++n) {
      if (blocks % n == 0) count_ = n;
    }
    if (count_ > 1) {
      dims[axis] /= count_;
      const dnnl::memory::dims origin(dims.size(), 0);
      plain_ = plain.submemory_desc(dims, origin);
      inner_ = inner.submemory_desc(dims, origin);
      plain_step_ = dims[axis] * from.strides[axis] * element_bytes(plain);
      inner_step_ = dims[axis] / block * in.strides[axis] * element_bytes(inner);
    }
  }
  const bool to_inner = to == To::inner;
  const auto d = describe_reorder(to_inner ? plain_ : inner_, to_inner ? inner_ : plain_, attributes());
  reorder_ = dnnl::reorder(d);
  scratchpad_ = d.scratchpad_desc();
  scratch_bytes_ = static_cast<size_t>(floats(scratchpad_)) * sizeof(float);
}

void SlicedReorder::run(int64_t i, Bindings& bound, void* plain, void* inner, void* scratch) const {
  dnnl_memory_t const outside = bound.plain.at(static_cast<std::byte*>(plain) + i * plain_step_);
  dnnl_memory_t const inside = bound.inner.at(static_cast<std::byte*>(inner) + i * inner_step_);
  execute(reorder_, {{DNNL_ARG_FROM, to_ == To::inner ? outside : inside},
                     {DNNL_ARG_TO, to_ == To::inner ? inside : outside},
                     {DNNL_ARG_SCRATCHPAD, bound.scratchpad.at(scratch)}});
}

}  // namespace loomix::ops::onednn
