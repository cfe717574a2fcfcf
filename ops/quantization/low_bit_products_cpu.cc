// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "engine/parallel_for.h"
#include "ops/isa.h"
#include "ops/quantization/low_bit_loops.h"
#include "ops/quantization/rounded_products.h"
#include "ops/rnn/rnn_pieces.h"
#include "ops/scratch_slots.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

constexpr int64_t kLeftRows = 32;  // that are multiplied at a time
constexpr int64_t kTurned = 16;    // rows that are made out of columns at a time

int64_t padded(int64_t size, int64_t step) { return (size + step - 1) / step * step; }

// What one thread computes with.
struct Room {
  int8_t* whole;              // a row that is rounded
  float* turned;              // rows that were columns
  int16_t *left, *panels;     // both sides
  float *scales, *of_panels;  // of their rows

  Room(ScratchPieces& pieces, int64_t columns, int64_t right_rows, bool turns) {
    const int64_t row = padded(columns, 64), all = padded(right_rows, best_loops<LowBitLoops>().panel_rows);
    whole = pieces.take<int8_t>(row);
    turned = pieces.take<float>(turns ? kTurned * columns : 0);
    left = pieces.take<int16_t>(kLeftRows * row);
    panels = pieces.take<int16_t>(all * padded(columns, 2));
    scales = pieces.take<float>(kLeftRows);
    of_panels = pieces.take<float>(all);
  }
};

// By panels, in the cache of each core.
struct PanelProducts : RoundedProducts {
  Room room(ScratchPieces& pieces) const {
    return {pieces, left.columns, right.rows, left.column_step != 1 || right.column_step != 1};
  }
  [[gnu::noinline]] size_t room_bytes() const {
    ScratchPieces pieces(nullptr);
    room(pieces);
    return pieces.used();
  }

  // Few items are cut for the cores; each cut rounds the right side again.
  int64_t cuts(int cores) const {
    const int64_t wanted = items >= 2 * cores ? 1 : (2 * cores + items - 1) / std::max<int64_t>(1, items);
    return std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, left.rows / kLeftRows));
  }

  // put(row, numbers) for `count` rows from `first` on, rounded in `room.whole`; their scales.
  template <class Put>
  static void round(const SummedRows& from, const float* data, int64_t count, const Room& room, float* scales,
                    Put&& put) {
    const LowBitLoops& loops = best_loops<LowBitLoops>();
    for (int64_t first = 0; first < count; first += kTurned) {
      const int64_t some = std::min(kTurned, count - first);
      const float* row = data + first * from.row_step;
      int64_t row_step = from.row_step;
      if (from.column_step != 1) {
        for (int64_t k = 0; k < from.columns; ++k)
          for (int64_t i = 0; i < some; ++i)
            room.turned[i * from.columns + k] = row[k * from.column_step + i * from.row_step];
        row = room.turned;
        row_step = from.columns;
      }
      for (int64_t i = 0; i < some; ++i) {
        scales[first + i] = loops.round(from.columns, row + i * row_step, room.whole);
        put(first + i);
      }
    }
  }

  void pack_right(int64_t item, const Room& room, int64_t panel_size) const {
    const int64_t panel_rows = best_loops<LowBitLoops>().panel_rows, pairs = padded(right.columns, 2) / 2;
    std::fill_n(room.of_panels, padded(right.rows, panel_rows), 0.0f);
    std::memset(
        room.panels, 0,
        static_cast<size_t>(padded(right.rows, panel_rows) / panel_rows * panel_size) * sizeof(int16_t));
    round(right, right.data + item * right.item_step, right.rows, room, room.of_panels, [&](int64_t row) {
      int16_t* const to = room.panels + row / panel_rows * panel_size + row % panel_rows * 2;
      for (int64_t k = 0; k < pairs; ++k) {
        const int16_t pair[] = {room.whole[2 * k], room.whole[2 * k + 1]};
        std::memcpy(to + 2 * k * panel_rows, pair, sizeof pair);
      }
    });
  }

  // Rows [begin, end) of one item.
  void multiply(int64_t item, int64_t begin, int64_t end, const Room& room) const {
    constexpr int64_t kMostPairs = 1 << 16;
    const LowBitLoops& loops = best_loops<LowBitLoops>();
    const int64_t row = padded(left.columns, 64), pairs = padded(left.columns, 2) / 2;
    const int64_t panel_size = 2 * pairs * loops.panel_rows;
    pack_right(item, room, panel_size);
    for (int64_t m = begin; m < end; m += kLeftRows) {
      const int64_t count = std::min(kLeftRows, end - m);
      round(left, left.data + item * left.item_step + m * left.row_step, count, room, room.scales,
            [&](int64_t i) { loops.widen_row(room.whole, row, room.left + i * row); });
      for (int64_t i = 0; i < count; ++i) room.scales[i] *= scale;
      for (int64_t k = 0; k == 0 || k < pairs; k += kMostPairs) {
        const PanelProduct product{room.left + 2 * k,
                                   row,
                                   count,
                                   room.scales,
                                   room.panels + 2 * k * loops.panel_rows,
                                   panel_size,
                                   right.rows,
                                   room.of_panels,
                                   std::min(kMostPairs, pairs - k),
                                   out + item * out_item + m * out_row,
                                   out_row};
        loops.multiply_panels(product, k > 0);
      }
    }
  }

  [[gnu::noinline]] void run(const KernelArgs& args) const {  // once for all operators
    if (items * left.rows * right.rows == 0) return;
    const size_t bytes = room_bytes();
    ScratchSlots slots(args.scratch, bytes, static_cast<int>(args.scratch.size() / bytes));
    const int64_t parts = cuts(args.context->cores);
    engine::parallel_each(*args.context, items * parts, 1, [&](int64_t i) {
      const ScratchSlots::Use slot(slots);
      ScratchPieces pieces(slot.as<std::byte>());
      const int64_t part = i % parts;
      multiply(i / parts, left.rows * part / parts, left.rows * (part + 1) / parts, room(pieces));
    });
  }
};

template <class P, auto products>
void run(const P& p, const KernelArgs& args) {
  PanelProducts{products(p, args.in, args.out[0])}.run(args);
}

template <class P, auto products>
size_t scratch(const P& p, const KernelSpec& spec) {
  return PanelProducts{products(p, spec.in, spec.out[0])}.room_bytes() *
         static_cast<size_t>(slots_for(spec.cores));
}

}  // namespace

void kernels_low_bit_products(OpTable& table) {
  list_rounded_products([&]<class P, auto products>(const char* name) {
    table.kernel<run<P, products>, scratch<P, products>>(name, "low_bit_product");
  });
}

}  // namespace loomix::ops
