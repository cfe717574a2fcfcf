// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "kvstore/cluster/head.h"
#include "kvstore/cluster/place.h"
#include "kvstore/cluster/state_copy.h"
#include "kvstore/cluster/successor.h"

namespace loomix::kvstore {

// One server's place in the chain of one group. The head numbers the entries; every place applies them in that order and
// passes them on; an entry is committed at a place when all places behind have it, but one that is new and still gets its
// state. What a worker is told is committed at the head, so it survives as long as one place does that has its state. All calls
// come from the endpoint's thread.
class Replica {
 public:
  // `on_cut` is told that this head has a snapshot of a round; other groups may have no rounds of their own.
  Replica(const ServerParts& server, size_t group, Snapshots& snapshots,
          std::function<void(int64_t round)> on_cut, NormExchange::Ask ask_for_squares);

  void on_view(const View& view);
  void take(Received<messages::Request>&& request);
  void take(Received<messages::InChain>&& message);
  void on_cut_elsewhere(int64_t round) { place_.on_cut_elsewhere(round); }
  void on_asked_for_squares(int64_t round, NormExchange::Answer answer) {
    head_.on_asked_for_squares(round, std::move(answer));
  }
  GroupNumbers numbers() const;
  void tell_who_is_late() {
    if (place_.is_head()) head_.tell_who_is_late();
  }

 private:
  void commit();
  void forget_state();
  void begin_with_snapshot();
  void begin_with_copy();
  void on_append(Received<messages::InChain>&& message);
  void confirm(int64_t index, comm::Responder&& responder);
  void report(const Link& before);

  Place place_;
  Head head_;
  Successor successor_;
  IncomingCopy copy_;
  int64_t since_ = 0;  // with which view this place came
  std::map<int64_t, Received<messages::InChain>>
      ahead_;  // entries that came before their turn; emptied by a new view
  std::vector<Received<messages::Request>> future_requests_;  // of views that are still to come
  std::vector<Received<messages::InChain>> future_messages_;  // likewise
};

}  // namespace loomix::kvstore
