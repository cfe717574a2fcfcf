// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "comm/network_group.h"
#include "tests/cpp/comm/collectives.h"
#include "tests/cpp/comm/fabric.h"

namespace loomix::comm {

// Groups of ranks that are threads of the test, over whatever carries their messages.
class GroupTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (is("tcp") || is("tls") || is("shared_memory")) {
      if (!has_network()) GTEST_SKIP() << "built without the network";
    }
  }
  bool is(const char* kind) const { return GetParam() == std::string(kind); }

  // Each rank ends after `body`.
  void on_all(int size, const std::function<void(WaitingGroup&)>& body,
              const GroupOptions& options = {20s, 40s}) {
    if (is("inproc"))
      return on_threads(size, body,
                        [groups = std::make_shared<Groups>(make_inproc_groups(size, options))](int rank) {
                          return std::move((*groups)[static_cast<size_t>(rank)]);
                        });
    std::unique_ptr<Fabric> fabric;
    if (is("endpoint")) fabric = std::make_unique<InprocFabric>();
    else fabric = std::make_unique<NetworkFabric>(is("shared_memory"), is("tls"));
    std::vector<std::unique_ptr<Transport>> transports;
    for (int rank = 0; rank < size; ++rank)
      transports.push_back(fabric->attach("rank" + std::to_string(rank)));
    const std::string first = transports[0]->address();
    on_threads(size, body, [&](int rank) {
      return make_network_group(std::move(transports[static_cast<size_t>(rank)]), {rank, size, first},
                                options, quick_options());
    });
  }

 private:
  using Groups = std::vector<std::unique_ptr<ProcessGroup>>;
  void on_threads(int size, const std::function<void(WaitingGroup&)>& body,
                  const std::function<std::unique_ptr<ProcessGroup>(int)>& open) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          auto own = open(rank);
          WaitingGroup waiting(*own);
          body(waiting);
        } catch (const std::exception& error) {
          ADD_FAILURE() << "rank " << rank << ": " << error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
};

}  // namespace loomix::comm
