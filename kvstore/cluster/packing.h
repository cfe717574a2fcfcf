// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "comm/buffer.h"
#include "kvstore/cluster/messages.h"
#include "kvstore/cluster/protocol.h"
#include "kvstore/compression.h"
#include "kvstore/store_task.h"
#include "ndarray/ndarray.h"

// How gradients travel: as they are, compressed, or as some rows. Chains pass on what came; who applies it unpacks it.
namespace loomix::kvstore {

struct Packing {
  enum class Form : uint8_t {
    plain,
    fp16,
    two_bit,
    top_k,
    rows,  // ids (int64, growing), then the rows
  };
  Form form = Form::plain;
  int64_t detail = 0;  // two_bit: the threshold's bits; rows: elements in a row

  static Packing of(const CompressionParams& params);
  static Packing read(const messages::Packing& message);
  void write(messages::Packing& message) const;
  // Throws NetworkError where the bytes are no gradient of so many elements.
  void check(const comm::Buffer& bytes, int64_t count, DType dtype) const;
};

// The gradient that came as checked `bytes`: a view of them, or filled by a task.
NDArray unpack(const Request& request, engine::Engine& engine, const Packing& packing,
               const comm::Buffer& bytes, int64_t count, DType dtype);

// The rows that came as checked `bytes`, filled by a task: row_sparse, with so many rows in all.
NDArray unpack_rows(const Request& request, engine::Engine& engine, const Packing& packing,
                    const comm::Buffer& bytes, int64_t rows, DType dtype);

// The bytes as an array, which keeps them.
NDArray array_of(engine::Engine& engine, const comm::Buffer& bytes, DType dtype);

// A stretch of a dense gradient and where its compressed form goes.
struct Stretch {
  int64_t begin = 0;  // elements
  int64_t end = 0;
  int64_t to = 0;  // byte
};
// Pushes work that compresses each stretch of `gradient` into `packed`; `residual` changes (none for fp16).
void compress_stretches(const Request& request, const ops::Code& code, const NDArray& gradient,
                        const NDArray& residual, std::vector<Stretch> stretches, const NDArray& packed);

// Pushes `rows = the rows of value with these ids` (int64); an id out of range is an error, stored in `rows`.
void take_rows(const Request& request, const NDArray& value, const comm::Buffer& ids, const NDArray& rows);

// The stored rows `begin` to `end` of a row_sparse array in the form that travels. For tasks that read the array.
comm::Buffer pack_rows(const NDArray& array, int64_t begin, int64_t end);

}  // namespace loomix::kvstore
