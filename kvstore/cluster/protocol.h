// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "comm/endpoint.h"
#include "kvstore/key.h"

// The messages of the parameter server. Each is a comm::Message whose numbers are read and written in order.
namespace loomix::kvstore {

inline constexpr int64_t kKVStoreVersion = 8;

enum Channel : uint32_t {
  kToScheduler = 1,
  kToServer = 2,  // from workers
  kChain = 3,     // from the server before in a chain
  kViews = 4,     // from the scheduler, to all
};

enum Command : uint32_t {
  // to the scheduler
  // {version, barriers passed, least epoch, number of workers that said goodbye, {rank, incarnation} of each, the latest view ...},
  // {address}; answered with the view once all are there. The epoch comes after that of all snapshots which the node finds
  kRegister = 1,
  kBarrier,  // {number}; answered when all workers that count have asked for it
  kAskRank,  // {}: from a node with a provisional name; answered with a rank that is free
  kLeaving,  // {}, {why}: the worker ends; `why` is empty if its work is done. A server's `why` fails the cluster
  // {group, since, server before, its since}: the sender's place in a chain counts for that before, and has all it has committed
  kSynchronised,
  // {number, {rank, incarnation} of each}: all servers that the sender, a server, does not reach; the largest number is the latest
  kUnreached,
  // to the head of a group; fields begin with {view, group}. A worker's life is the `since` of its entry in the view
  kJoin,      // {worker, life}: what the group knows of the worker; older lives are refused from now on
  kInit,      // {worker, life, part, dtype, mode, staleness, workers}, {key}: the first value
  kPush,      // {worker, life, part, number, packing ...}, {key}
  kPull,      // {worker, life, part, number}, {key}
  kPullRows,  // {worker, life, part, number, elements in a row}, {key}; with ids (int64)
  // small ones of one worker together (batch.h); answered with the outcome of each, and the values
  kPushes,        // {worker, life, {part, number, packing ..., bytes} of each}, {key of each}
  kPulls,         // {worker, life, {part, number} of each}, {key of each}
  kSetOptimizer,  // {worker, life, number}, {name, setting, value, ...}
  kLeave,         // in the log only: {worker, life}
  // along a chain; fields begin with {view, group}
  kHello,  // answered with {last index, or -1 without state; number of the sender's copy that is coming, pieces of it}
  kAppend,  // {index, command, the entry's fields ...}; answered when the rest of the chain has all up to the index
  kConfirm,  // {index}: likewise
  kPiece,  // {index, number of the copy, piece, pieces, whether its last part goes on}: of the state as of the index
  kCut,  // {round}, from the head of another group: its snapshot of the round is being written
  // from the scheduler
  kView,  // what has changed since an earlier view (view.h); answered with the number of the view that the node has now
  kPassing,  // {number}, to servers: all workers are at this barrier
};

// How consistent the values are that workers see.
enum class Mode : uint8_t {
  sync,   // a pull after n pushes gets the value after n rounds, each the sum of all workers' pushes
  async,  // each push changes the value at once
  ssp,    // the same, but a pull waits until no worker is more than `staleness` pushes behind
};

// Reads a message's numbers and texts in order; throws NetworkError where one is missing.
class Reader {
 public:
  explicit Reader(const comm::Message& message) : message_(message) {}
  int64_t number();
  int64_t number(int64_t least, int64_t most);  // in a range, inclusive
  const std::string& text();
  size_t numbers_left() const { return message_.fields.size() - number_; }

 private:
  const comm::Message& message_;
  size_t number_ = 0;
  size_t text_ = 0;
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
};
void refuse_as_no_head(comm::Responder& responder);

}  // namespace loomix::kvstore
