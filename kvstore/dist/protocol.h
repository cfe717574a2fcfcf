// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "comm/message.h"
#include "kvstore/key.h"

// The messages of the parameter server. Each is a comm::Message whose numbers are read and written in order.
namespace loomix::kvstore {

inline constexpr int64_t kKVStoreVersion = 5;

enum Channel : uint32_t {
  kToScheduler = 1,
  kToServer = 2,  // from workers
  kChain = 3,     // from the server before in a chain
  kViews = 4,     // from the scheduler, to all
};

enum Command : uint32_t {
  // to the scheduler
  // {version, barriers passed, number of workers that said goodbye, {rank, incarnation} of each, the latest view ...}, {address};
  // answered with the view once all are there
  kRegister = 1,
  kNewerView,  // {number}; answered when there is a newer one
  kBarrier,    // {number}; answered when all workers that count have asked for it
  kAskRank,    // {}: from a node with a provisional name; answered with a rank that is free
  kLeaving,  // {}, {why}: the worker ends; `why` is empty if its work is done. A server's `why` fails the cluster
  // {group, since, server before, its since}: the sender's place in a chain counts for that before, and has all it has committed
  kSynchronised,
  // to the head of a group; fields begin with {view, group}
  kJoin,  // {worker, incarnation}: what the group knows of the worker; older incarnations are refused from now on
  kInit,      // {worker, incarnation, part, dtype, mode, staleness, workers}, {key}: the first value
  kPush,      // {worker, incarnation, part, number, packing ...}, {key}
  kPull,      // {worker, incarnation, part, number}, {key}
  kPullRows,  // {worker, incarnation, part, number, elements in a row}, {key}; with ids (int64)
  // small ones of one worker together (batch.h); answered with the outcome of each, and the values
  kPushes,        // {worker, incarnation, {part, number, packing ..., bytes} of each}, {key of each}
  kPulls,         // {worker, incarnation, {part, number} of each}, {key of each}
  kSetOptimizer,  // {worker, incarnation, number}, {name, setting, value, ...}
  kLeave,         // in the log only: {worker, incarnation}
  // along a chain; fields begin with {view, group}
  kHello,  // answered with {last index, or -1 without state; number of the sender's copy that is coming, pieces of it}
  kAppend,  // {index, command, the entry's fields ...}; answered when the rest of the chain has all up to the index
  kConfirm,  // {index}: likewise
  kPiece,  // {index, number of the copy, piece, pieces, whether its last part goes on}: of the state as of the index
  kCut,  // {round}, from the head of another group: its snapshot of the round is being written
  // from the scheduler
  kView,
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

// What an answer says that asks the worker to look for the head of the group again.
inline constexpr const char* kNotTheHead = "is not the head of the group";

}  // namespace loomix::kvstore
