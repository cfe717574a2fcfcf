// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "kvstore/cluster/packing.h"
#include "kvstore/cluster/shard_group.h"

// What workers say to the head of a group, for tests that say it themselves.
namespace loomix::kvstore {

struct Sender {
  int64_t worker = 0;
  int64_t life = 0;
};

inline messages::Request request_of(const Sender& sender) {
  messages::Request request;
  request.set_worker(static_cast<uint32_t>(sender.worker));
  request.set_life(sender.life);
  return request;
}
inline messages::Request join_of(const Sender& sender) {
  messages::Request request = request_of(sender);
  request.mutable_join();
  return request;
}
inline messages::Request leave_of(const Sender& sender) {
  messages::Request request = request_of(sender);
  request.mutable_leave();
  return request;
}
inline messages::Request init_of(const Sender& sender, const std::string& key, DType dtype, Mode mode,
                                 int64_t workers) {
  messages::Request request = request_of(sender);
  messages::Init& init = *request.mutable_init();
  init.set_key(key);
  init.set_dtype(static_cast<int32_t>(dtype));
  init.set_mode(static_cast<uint32_t>(mode));
  init.set_workers(static_cast<uint32_t>(workers));
  return request;
}
inline messages::Request optimizer_of(const Sender& sender, const OptimizerSpec& spec) {
  messages::Request request = request_of(sender);
  request.mutable_optimizer()->set_name(spec.name);
  for (const auto& [name, value] : spec.settings) {
    auto& setting = *request.mutable_optimizer()->add_settings();
    setting.set_name(name);
    setting.set_value(value);
  }
  return request;
}
inline messages::Request push_of(const Sender& sender, const std::string& key, int64_t number,
                                 const Packing& packing = {}) {
  messages::Request request = request_of(sender);
  messages::Push& push = *request.mutable_push();
  push.set_key(key);
  push.set_number(number);
  packing.write(*push.mutable_packing());
  return request;
}
inline messages::Request pull_of(const Sender& sender, const std::string& key, int64_t number) {
  messages::Request request = request_of(sender);
  request.mutable_pull()->set_key(key);
  request.mutable_pull()->set_number(number);
  return request;
}

inline comm::Buffer floats(const std::vector<float>& items) {
  return comm::Buffer::copy_of(std::as_bytes(std::span(items)));
}

// The push must be one that may be applied now.
inline void apply_push(ShardGroup& group, const messages::Request& request, const comm::Buffer& bytes) {
  EXPECT_EQ(group.check(request, {&bytes, 1}).verdict, ShardGroup::Verdict::apply);
  group.push(request, request.push(), bytes);
}
inline NDArray found(const ShardGroup& group, const messages::Request& pull) {
  return group.find(pull, pull.pull()).value();
}

// A picture as it comes from elsewhere.
inline GroupCopy copy_of(const ShardGroup::Picture& picture) {
  GroupCopy copy{picture.state, {}};
  for (const NDArray& array : picture.arrays) {
    array.wait_to_read();
    copy.arrays.push_back(comm::Buffer::copy_of(
        {static_cast<const std::byte*>(array.view().data), static_cast<size_t>(array.bytes())}));
  }
  return copy;
}

}  // namespace loomix::kvstore
