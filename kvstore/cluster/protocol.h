// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "comm/endpoint.h"
#include "kvstore/key.h"

// What goes with the messages of messages.proto.
namespace loomix::kvstore {

// Nodes of other versions are refused. It grows with changes of messages that others cannot ignore.
inline constexpr uint32_t kKVStoreVersion = 9;

inline constexpr comm::NodeName kScheduler{comm::Role::scheduler, 0};

enum Channel : uint32_t {
  kToScheduler = 1,  // ToScheduler
  kToServer = 2,     // Request, from workers
  kChain = 3,        // InChain, from the server before in a chain
  kViews = 4,        // FromScheduler, to all
};

// How consistent the values are that workers see.
enum class Mode : uint8_t {
  sync,   // a pull after n pushes gets the value after n rounds, each the sum of all workers' pushes
  async,  // each push changes the value at once
  ssp,    // the same, but a pull waits until no worker is more than `staleness` pushes behind
};

// A key as a text that says its kind: i3, sweight.
std::string wire_key(const Key& key);
Key key_of_wire(const std::string& text);

// Why a request failed, where the asker does something about it.
enum Refusal : uint32_t {
  kOther = 0,
  kNotTheHead = 1,  // of the group; another server is, or will be
  kLeftOut = 2,     // the others went on without the worker: it has to join again
  kReplaced = 3,    // the node was started again since: this process is none of the cluster any more
  kUnlike = 4,      // the key has another shape or type at another worker
};
// How many times within a deadline who waits is told for whom.
inline constexpr int kTellsInDeadline = 4;
void refuse_as_no_head(comm::Responder& responder);

// What the error of a reply says.
Refusal refusal_of(const std::exception_ptr& error);
bool is_lost(const std::exception_ptr& error);  // the peer
std::string text_of(const std::exception_ptr& error);

}  // namespace loomix::kvstore
