// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "comm/transport.h"

namespace loomix::comm {

// What goes wrong on the way. Decisions of a link depend on the seed, the two addresses and the packet's number on the link
// only.
struct Faults {
  double loss = 0, duplication = 0, reordering = 0;  // probabilities, of packets
  Duration delay_least{}, delay_most{};
};

// Many nodes in one process: packets change hands without a copy. Addresses are "inproc://anything". Everything may be called at
// any time from any thread.
class InprocNetwork {
 public:
  explicit InprocNetwork(uint64_t seed = 0, Faults faults = {});
  ~InprocNetwork();

  // A transport that listens at `address`, in place of an earlier one there.
  std::unique_ptr<Transport> attach(std::string address);

  void set_faults(Faults faults);                                              // between all
  void set_faults(const std::string& a, const std::string& b, Faults faults);  // both ways
  // As SIGKILL does: nothing is sent or received there any more. `reset`: the others' links go down, as a system that
  // lives on tells them; else there is just silence, as when a machine loses power.
  void kill(const std::string& address, bool reset = true);
  // The two cannot reach each other until heal(); nobody tells them.
  void cut(const std::string& a, const std::string& b);
  void heal(const std::string& a, const std::string& b);

  struct State;

 private:
  const std::shared_ptr<State> state_;
};

}  // namespace loomix::comm
