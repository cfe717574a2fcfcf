// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "linalg/wire.h"
#include "ndarray/ndarray.h"

namespace loomix::linalg {

// Which matrix it is: handles of one matrix share it. `kept`: whether ranks have ever kept a copy of the whole, which is the same on all of
// them, as they call the same. `residuals`: of codes that it has travelled by.
struct MatrixIdentity {
  std::atomic<bool> kept{false};
  Residuals residuals;
};

// Copies of whole matrices that this rank has of all ranks' blocks, until one of its own blocks is written. Bounded: the one that was not
// used for longest goes first, and all of them where memory is short. Whether a copy is still good is known on all ranks together
// alone (`Operation::agree`). Any thread.
class KeptCopies {
 public:
  // Of the own blocks: how often they have been written.
  struct Writes {
    explicit Writes(std::span<const NDArray> blocks);
    bool operator==(const Writes& other) const {
      return !exposed && !other.exposed && counts == other.counts;
    }
    std::vector<std::pair<uint64_t, uint32_t>> counts;
    bool exposed = false;  // somebody may be writing a block right now
  };

  // Bytes of all copies; 0: none are kept.
  void set_limit(int64_t bytes);
  bool may_keep(int64_t bytes) const;
  // The copy; none where there is no good one.
  NDArray find(const std::shared_ptr<MatrixIdentity>& matrix, const Writes& writes);
  // `writes`: when what is in the copy was read.
  void put(const std::shared_ptr<MatrixIdentity>& matrix, Writes writes, const NDArray& whole);
  // Before so many bytes are taken: lets go of the copies unless there is room.
  void make_room(engine::Engine& engine, int64_t bytes);

 private:
  struct Copy {
    std::weak_ptr<MatrixIdentity> matrix;
    Writes writes;
    NDArray whole;
    Writes whole_writes;                        // whoever has it may write it
    std::shared_ptr<std::atomic<bool>> failed;  // what filled it had an error
  };
  void cut_down(int64_t bytes);

  mutable std::mutex mutex_;
  int64_t limit_ = int64_t{256} << 20;
  std::list<Copy> copies_;  // the latest first
};

}  // namespace loomix::linalg
