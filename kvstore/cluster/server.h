// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "kvstore/cluster/membership.h"
#include "kvstore/optimizer.h"
#include "symbol/executor/runtime.h"

namespace loomix::kvstore {

// Holds shards: in its own group as the head, in those of the servers before it as a further place of their chains.
class Server {
 public:
  // `code` makes optimizers that workers send as code; without it they are refused.
  Server(Runtime& runtime, std::unique_ptr<comm::Transport> transport, const NodeOptions& options,
         CodeOptimizerMaker code = {});
  ~Server();
  Standing standing() const;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace loomix::kvstore
