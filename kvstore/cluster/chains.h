// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "kvstore/cluster/view.h"

// Which server has which place in which chain, as the scheduler decides it. No threads.
namespace loomix::kvstore {

// Which servers do not reach each other, as they tell.
class Unreached {
 public:
  // From a server of the view. False: it is older than what is known.
  bool learn(const View& view, const comm::NodeId& from, const messages::Unreached& message);
  // One of the two has said so, and both are there.
  bool are_apart(const View& view, int32_t a, int32_t b) const;
  // How many servers the server is apart from.
  int64_t count(const View& view, int32_t server) const;

 private:
  struct Told {
    uint64_t by = 0;  // incarnation of the teller
    int64_t number = 0;
    std::map<int32_t, uint64_t> others;
  };
  bool says(const View& view, int32_t from, int32_t of) const;
  std::map<int32_t, Told> told_;  // by the tellers' ranks
};

// The chains of a cluster's first view, of so many places.
std::vector<Chain> first_chains(int servers, int length);

// A server that was started again has lost what it had: it gets places at the ends of chains. If nobody else had it, the view fails.
void bring_back(View& view, int32_t server);

// Takes those that are not up out of the chains, but never the last one that has the state: it is waited for.
void drop_dead_places(View& view);

// Of two neighbours in a chain that do not reach each other, the one goes that fewer of the other servers reach; if there are as
// many, the one behind. Either has all that was acknowledged, so nothing is lost. One that still gets its state goes first.
void part_chains(View& view, const Unreached& unreached);

// Fills chains up to so many places: place i of group g is server g + i, else the next one that is there and that the last place
// reaches.
void fill_chains(View& view, int length, const Unreached& unreached);

}  // namespace loomix::kvstore
