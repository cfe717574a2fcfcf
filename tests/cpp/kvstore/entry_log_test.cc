// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/entry_log.h"

#include <gtest/gtest.h>

namespace loomix::kvstore {
namespace {

comm::Message entry(size_t bytes) {
  comm::Message message;
  if (bytes > 0) message.payload = {comm::Buffer::copy_of(std::string(bytes, 'x'))};
  return message;
}

TEST(EntryLog, KnowsWhatItHolds) {
  EntryLog log;
  EXPECT_EQ(log.bytes(), 0u);
  EXPECT_EQ(log.find(0), nullptr);
  EXPECT_EQ(log.bytes_up_to(9), 0u);
  log.add(5, entry(0));
  const size_t overhead = log.bytes();
  log.add(6, entry(1000));
  log.add(7, entry(10));
  EXPECT_EQ(log.size(), 3u);
  EXPECT_EQ(log.bytes(), 3 * overhead + 1010);
  EXPECT_EQ(log.bytes_up_to(4), 0u);
  EXPECT_EQ(log.bytes_up_to(6), 2 * overhead + 1000);
  EXPECT_EQ(log.bytes_up_to(100), log.bytes());
  EXPECT_EQ(log.find(4), nullptr);
  EXPECT_EQ(log.find(6)->message.payload[0].size(), 1000u);
  EXPECT_EQ(log.find(8), nullptr);

  log.drop_up_to(6);
  EXPECT_EQ(log.front().index, 7);
  EXPECT_EQ(log.bytes(), overhead + 10);
  EXPECT_EQ(log.bytes_up_to(7), overhead + 10);
  EXPECT_EQ(log.find(6), nullptr);
  log.drop_up_to(3);
  EXPECT_EQ(log.size(), 1u);
  log.clear();
  EXPECT_TRUE(log.empty());
  EXPECT_EQ(log.bytes(), 0u);
  log.add(20, entry(1));  // where the next copy ends
  EXPECT_EQ(log.find(20)->index, 20);
  EXPECT_EQ(log.bytes(), overhead + 1);
}

}  // namespace
}  // namespace loomix::kvstore
