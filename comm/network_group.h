// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "comm/endpoint.h"
#include "comm/process_group.h"

// Groups of a job without MPI: ranks that talk by an Endpoint.
namespace loomix::comm {

// Where the ranks of a job meet: all call rank 0, which tells each the addresses of all.
struct Meeting {
  int rank = 0, size = 1;
  std::string address;  // of rank 0
};

// A rank with a transport of its own. Returns when all ranks are there; throws NetworkError, which names those that are not, at the deadline.
std::unique_ptr<ProcessGroup> make_network_group(std::unique_ptr<Transport> transport, const Meeting& meeting,
                                                 const GroupOptions& options = {},
                                                 const EndpointOptions& endpoint = {});

// This process as a rank: the first call meets the others, and further ones make groups of the same ranks. At its end the process
// waits for the others; if its groups broke, its status is not 0.
struct NetworkRank {
  std::unique_ptr<Transport> transport;
  Meeting meeting;
  EndpointOptions endpoint;
};
std::unique_ptr<ProcessGroup> make_network_group(const std::function<NetworkRank()>& who,
                                                 const GroupOptions& options);

}  // namespace loomix::comm
