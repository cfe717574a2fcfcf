// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "ops/elemwise/apply.h"
#include "ops/shape/shape.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// Copies `rows` runs of `bytes`, each at its own distance.
void copy_rows(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t rows, int64_t bytes,
               const KernelArgs& args) {
  if (bytes == 0) return;
  if (to_step == bytes && from_step == bytes) {
    bytes *= rows;
    rows = 1;
  }
  const int64_t bytes_a_core = 4 * loop_grain();
  if (rows == 1) {
    engine::parallel_for(*args.context, bytes, bytes_a_core, [&](int64_t begin, int64_t end) {
      std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
    });
    return;
  }
  engine::parallel_each(*args.context, rows, bytes_a_core / bytes, [&](int64_t row) {
    std::memcpy(to + row * to_step, from + row * from_step, static_cast<size_t>(bytes));
  });
}

// Bytes of one index of `axis` with all that is inside, and how many there are outside.
struct AxisLayout {
  int64_t outer;
  int64_t bytes;
  AxisLayout(const TensorView& whole, int axis)
      : outer(whole.shape.size_between(0, axis)),
        bytes(whole.shape.size_between(axis, whole.shape.ndim()) * size_of(whole.dtype)) {}
};

// Bytes of a part, for each index outside the axis.
int64_t part_bytes(const TensorView& part, int64_t outer) { return outer == 0 ? 0 : part.bytes() / outer; }

// Parts lie one behind the other within each outer index of the whole.
void join(std::span<const TensorView> parts, const TensorView& whole, int axis, const KernelArgs& args) {
  const AxisLayout layout(whole, axis);
  int64_t offset = 0;
  for (const TensorView& part : parts) {
    const int64_t bytes = part_bytes(part, layout.outer);
    copy_rows(static_cast<char*>(whole.data) + offset, layout.bytes, static_cast<const char*>(part.data),
              bytes, layout.outer, bytes, args);
    offset += bytes;
  }
}

void split(const TensorView& whole, std::span<const TensorView> parts, int axis, const KernelArgs& args) {
  const AxisLayout layout(whole, axis);
  int64_t offset = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const int64_t bytes = part_bytes(parts[i], layout.outer);
    if (args.req[i] != Req::null) {
      copy_rows(static_cast<char*>(parts[i].data), bytes, static_cast<const char*>(whole.data) + offset,
                layout.bytes, layout.outer, bytes, args);
    }
    offset += bytes;
  }
}

void concat_cpu(const ConcatParams& p, const KernelArgs& args) {
  join(args.in, args.out[0], normalize_axis(p.dim, args.out[0].shape.ndim(), "Concat"), args);
}

void backward_concat_cpu(const ConcatParams& p, const KernelArgs& args) {
  split(args.in[0], args.out, normalize_axis(p.dim, args.in[0].shape.ndim(), "Concat"), args);
}

void stack_cpu(const StackParams& p, const KernelArgs& args) {
  join(args.in, args.out[0], normalize_axis(p.axis, args.out[0].shape.ndim(), "stack"), args);
}

void split_cpu(const SplitParams& p, const KernelArgs& args) {
  split(args.in[0], args.out, normalize_axis(p.axis, args.in[0].shape.ndim(), "SliceChannel"), args);
}

void split_v2_cpu(const SplitV2Params& p, const KernelArgs& args) {
  const int axis = normalize_axis(p.axis, args.in[0].shape.ndim(), "_split_v2");
  const TensorView& whole = args.in[0];
  const AxisLayout layout(whole, axis);
  const int64_t size = whole.shape[axis];
  if (size == 0) return;
  const int64_t step = layout.bytes / size;
  for (int i = 0; i < static_cast<int>(args.out.size()); ++i) {
    if (args.req[static_cast<size_t>(i)] == Req::null) continue;
    const SliceRange range = split_part(p, i, size);
    copy_rows(static_cast<char*>(args.out[static_cast<size_t>(i)].data), range.count * step,
              static_cast<const char*>(whole.data) + range.begin * step, layout.bytes, layout.outer,
              range.count * step, args);
  }
}

}  // namespace

void kernels_shape_join(OpTable& table) {
  table.kernel<concat_cpu>("Concat", "concat_cpu");
  table.kernel<concat_cpu>("_rnn_param_concat", "concat_cpu");
  table.kernel<stack_cpu>("stack", "concat_cpu");
  table.kernel<split_cpu>("SliceChannel", "split_cpu");
  table.kernel<split_v2_cpu>("_split_v2", "split_cpu");
}

void gradients_shape_join(OpTable& table) {
  table.kernel<backward_concat_cpu>("_backward_concat", "split_cpu");
}

}  // namespace loomix::ops
