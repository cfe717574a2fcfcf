// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/process_group.h"

namespace loomix::comm {

// How long a message takes between rank 0 and another one, the fastest of some rounds.
struct LinkTime {
  int rank = 0;
  bool same_machine = false;
  size_t bytes = 0;
  double one_way_s = 0;    // half of there and back
  double both_ways_s = 0;  // one each way at the same time
};

// All ranks call it. Rank 0 gets the times, the others none.
std::vector<LinkTime> measure_links(ProcessGroup& group, std::span<const size_t> sizes);

}  // namespace loomix::comm
