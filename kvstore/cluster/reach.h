// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "comm/endpoint.h"
#include "kvstore/cluster/view.h"

namespace loomix::kvstore {

// Tells the scheduler which other servers this one does not reach although the scheduler does: the network between two servers
// may fail alone, and then a chain with both does not go on. All happens on the endpoint's thread.
class Reach {
 public:
  // A server counts as not reached when it has been lost for `patience`: by then the scheduler has lost it, too, if it is dead.
  Reach(comm::Endpoint& endpoint, comm::Duration patience);
  void on_view(const View& view);

 private:
  void on_peer(const comm::PeerEvent& event);
  void look_soon();
  void look();

  comm::Endpoint& endpoint_;
  const comm::Duration patience_;
  View view_;
  std::map<int32_t, uint64_t> reached_;          // incarnations by rank
  std::map<int32_t, comm::TimePoint> lost_;      // servers of the view that are not reached, since when
  std::set<std::pair<int32_t, uint64_t>> told_;  // rank, incarnation
  int64_t told_epoch_ = 0;                       // of the scheduler that was told
  int64_t tellings_ = 0;
  bool looking_ = false;
};

}  // namespace loomix::kvstore
