// SPDX-License-Identifier: Apache-2.0
#include "ops/rnn/rnn_run.h"

#include "base/error.h"

namespace loomix::ops {
void read_lengths(const RnnShape& s, const TensorView* lengths, int64_t* to) {
  if (!lengths) {
    std::fill_n(to, s.batch, s.steps);
    return;
  }
  dispatch_all(lengths->dtype, "RNN", [&]<class T>(Type<T>) {
    const T* from = lengths->as<T>();
    for (int64_t i = 0; i < s.batch; ++i) {
      const double length = static_cast<double>(static_cast<Accum<T>>(from[i]));
      LOOMIX_CHECK(length >= 0 && length <= static_cast<double>(s.steps), ValueError,
                   "[RNN] sequence_length[{}] is {}; expected 0 to {}, the number of steps.", i, length,
                   s.steps);
      to[i] = static_cast<int64_t>(length);
    }
  });
}

RnnBlocks::RnnBlocks(const RnnShape& s, int cores) : batch(s.batch) {
  // Each step of a block reads its whole weight. One that leaves the second cache is read for as many rows as there are
  // for a core.
  constexpr int64_t kTileRows = 6, kCached = 200'000;
  const int64_t tiles = (batch + kTileRows - 1) / kTileRows;
  const int64_t wanted =
      s.gate_columns() * s.outputs <= kCached ? tiles : (cores + s.directions - 1) / s.directions;
  count = std::min(tiles, wanted);
}

}  // namespace loomix::ops
