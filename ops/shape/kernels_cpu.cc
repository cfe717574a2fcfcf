// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/apply.h"
#include "ops/families.h"
#include "ops/shape/shape.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

template <class P>
void view_cpu(const P&, const KernelArgs& args) {
  apply_convert(args.in[0], args.out[0], args);
}

}  // namespace

void kernels_shape_cpu(OpTable& table) {
  constexpr auto cpu = DeviceType::cpu;
  table.kernel<ReshapeParams, view_cpu<ReshapeParams>>("Reshape", "copy_cpu", cpu);
  table.kernel<NoParams, view_cpu<NoParams>>("Flatten", "copy_cpu", cpu);
  table.kernel<ReshapeLikeParams, view_cpu<ReshapeLikeParams>>("reshape_like", "copy_cpu", cpu);
  table.kernel<ExpandDimsParams, view_cpu<ExpandDimsParams>>("expand_dims", "copy_cpu", cpu);
  table.kernel<SqueezeParams, view_cpu<SqueezeParams>>("squeeze", "copy_cpu", cpu);
  table.kernel<SliceParams, slice_cpu>("slice", "slice_cpu", cpu);
  table.kernel<SliceParams, backward_slice_cpu>("_backward_slice", "scatter_cpu", cpu);
  table.kernel<SliceAxisParams, slice_axis_cpu>("slice_axis", "slice_cpu", cpu);
  table.kernel<SliceAxisParams, backward_slice_axis_cpu>("_backward_slice_axis", "scatter_cpu", cpu);
  table.kernel<SliceLikeParams, slice_like_cpu>("slice_like", "slice_cpu", cpu);
  table.kernel<SliceLikeParams, backward_slice_like_cpu>("_backward_slice_like", "scatter_cpu", cpu);
  table.kernel<SliceParams, slice_assign_cpu>("_slice_assign", "slice_assign_cpu", cpu);
  table.kernel<SliceAssignScalarParams, slice_assign_scalar_cpu>("_slice_assign_scalar", "slice_assign_cpu",
                                                                 cpu);
  table.kernel<ConcatParams, concat_cpu>("Concat", "concat_cpu", cpu);
  table.kernel<ConcatParams, concat_cpu>("_rnn_param_concat", "concat_cpu", cpu);
  table.kernel<ConcatParams, backward_concat_cpu>("_backward_concat", "split_cpu", cpu);
  table.kernel<StackParams, stack_cpu>("stack", "concat_cpu", cpu);
  table.kernel<SplitParams, split_cpu>("SliceChannel", "split_cpu", cpu);
  table.kernel<SplitV2Params, split_v2_cpu>("_split_v2", "split_cpu", cpu);
  table.kernel<TransposeParams, transpose_cpu>("transpose", "permute_cpu", cpu);
  table.kernel<SwapAxisParams, swap_axis_cpu>("SwapAxis", "permute_cpu", cpu);
  table.kernel<ReverseParams, reverse_cpu>("reverse", "reverse_cpu", cpu);
  table.kernel<TileParams, tile_cpu>("tile", "tile_cpu", cpu);
  table.kernel<TileParams, backward_tile_cpu, nullptr, backward_tile_scratch>("_backward_tile", "reduce_cpu",
                                                                              cpu);
  table.kernel<RepeatParams, repeat_cpu>("repeat", "repeat_cpu", cpu);
  table.kernel<RepeatParams, backward_repeat_cpu, nullptr, backward_repeat_scratch>("_backward_repeat",
                                                                                    "reduce_cpu", cpu);
  table.kernel<PadParams, pad_cpu>("Pad", "pad_cpu", cpu);
  table.kernel<PadParams, backward_pad_cpu>("_backward_pad", "pad_cpu", cpu);
  table.kernel<BlockParams, depth_to_space_cpu>("depth_to_space", "permute_cpu", cpu);
  table.kernel<BlockParams, space_to_depth_cpu>("space_to_depth", "permute_cpu", cpu);
  table.kernel<DiagParams, diag_cpu>("diag", "diag_cpu", cpu);
  table.kernel<DiagParams, backward_diag_cpu>("_backward_diag", "diag_cpu", cpu);
  table.kernel<NoParams, shape_array_cpu>("shape_array", "shape_array_cpu", cpu);
  table.kernel<NoParams, size_array_cpu>("size_array", "size_array_cpu", cpu);
}

}  // namespace loomix::ops
