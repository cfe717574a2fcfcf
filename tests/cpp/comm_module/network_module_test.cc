// SPDX-License-Identifier: Apache-2.0
// The network module comes with its first use, and not before.
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "comm/endpoint.h"
#include "comm/network.h"

namespace loomix::comm {
namespace {

bool mapped(const std::string& library) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(library) != std::string::npos) return true;
  }
  return false;
}

TEST(NetworkModule, IsLoadedOnFirstUse) {
  EXPECT_FALSE(mapped("libssl"));
  EXPECT_FALSE(mapped("libprotobuf"));
  const NodeName one{Role::server, 0}, other{Role::worker, 0};
  Endpoint a(make_network_transport(), {one, new_incarnation()});
  Endpoint b(make_network_transport(), {other, new_incarnation()});
  EXPECT_TRUE(mapped("libssl"));
  a.serve(0, [](Incoming&& incoming) { incoming.responder.reply(std::move(incoming.message)); });
  b.connect(one, a.address());
  Message message;
  message.head = "hello";
  EXPECT_EQ(b.call(one, 0, message).head, message.head);
  EXPECT_EQ(new_keys({{Role::server}, {Role::worker}}).own.size(), 2u);
}

// Errors keep their type on the way out of the module.
TEST(NetworkModule, ItsErrorsAreOurs) {
  NetworkOptions options;
  options.listen = "tcp://0.0.0.0:*";
  EXPECT_THROW(make_network_transport(options), ValueError);
  options.listen = "tcp://no.such.host.anywhere:1";
  options.trusted_network = true;
  EXPECT_THROW(make_network_transport(options), NetworkError);
}

}  // namespace
}  // namespace loomix::comm
