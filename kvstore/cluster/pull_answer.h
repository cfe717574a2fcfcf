// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "kvstore/cluster/messages.h"
#include "ndarray/ndarray.h"
#include "symbol/executor/runtime.h"

// Answers to pulls. What a pull gets is read from the moment at which the head found it, so it is the version that was asked for, whatever
// comes before that is committed. It is sent when it is both computed and committed. A version that is being read delays
// only the update after the next.
namespace loomix::kvstore {

struct PullAnswer {
  comm::Message message;
  comm::Responder responder;
  std::atomic<int> left{2};
};
using PullAnswerRef = std::shared_ptr<PullAnswer>;

// The array, which is read until the message is gone.
PullAnswerRef answer_of(engine::Engine& engine, const NDArray& array);
// The arrays one after the other (batch.h), copied as soon as they are computed. They have so many bytes together.
PullAnswerRef answer_of_all(engine::Engine& engine, comm::Message head, std::vector<NDArray> arrays,
                            size_t bytes);
// It is committed. Where the value cannot be computed the request fails.
void send_when_there(const PullAnswerRef& answer, comm::Responder&& responder);

// The rows that a pull asks for. Throws NetworkError where there are none such.
NDArray rows_of(Runtime& runtime, const Received<messages::Request>& request, const NDArray& value);

}  // namespace loomix::kvstore
