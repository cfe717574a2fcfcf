// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "comm/network/address.h"
#include "comm/transport.h"

namespace loomix::comm {

// Looks up the names of hosts, which may take seconds, in threads of their own. They end by themselves; what they find
// belongs to them, too, so that nobody has to wait for them.
class NameLookup {
 public:
  struct Found {
    LinkId link = 0;
    SocketAddress address;
    std::string fault;  // empty: it was found
  };
  explicit NameLookup(int doorbell);  // an eventfd, written when there is something
  void start(LinkId link, Address address);
  std::vector<Found> take();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace loomix::comm
