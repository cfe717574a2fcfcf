// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "kvstore/kvstore.h"
#include "kvstore/store_task.h"

// Small values of GPUs that travel together: on each GPU they are joined to one array, which travels, and is cut up again. All of
// that runs on the stream of communication, so that it overlaps what computes.
namespace loomix::kvstore {

// Keys whose values travel together, and what is brought for them.
using Bucket = std::span<const KeyValues* const>;

// Entries that go together, those of the last ones first: a backward pass computes gradients in that order. Dense values on GPUs of
// one type and one list of devices, of at least so many, go together, up to so many bytes on each GPU; every other entry is alone.
std::vector<std::vector<const KeyValues*>> make_buckets(std::span<const KeyValues> entries,
                                                        int64_t most_bytes, size_t least_devices);

// The arrays of a bucket: what each GPU sends, that on the GPU that adds up, the sums, the stored values, and where these arrive.
struct Joined {
  std::vector<Key> keys;
  std::vector<NDArray> sent, near, sums;
  NDArray stored;
  std::vector<NDArray> landing;
};

// Keeps them between steps.
class BucketMemory {
 public:
  // By the first key. Other keys behind it get memory of their own, as values of keys that are no longer there lie in the old one.
  Joined& of(Bucket bucket);

 private:
  std::mutex mutex_;  // guards the map; entries stay where they are
  std::unordered_map<Key, Joined> joined_;
};
// `array`, or a fresh one in its place if it is not of this size, type and device.
const NDArray& sized(Runtime& runtime, NDArray& array, int64_t size, DType dtype, Device device);
// Of what GPUs do for the keys of a step, whatever the priorities of these. Copies wait on a stream, too, and what comes behind them: so
// all are in the order in which gradients are ready.
inline constexpr int kPriority = 0;
// For errors: the first key, and how many more there are.
Key name_of(Bucket bucket);

// Push work on GPUs: `sent[i]` = all values that the entries have on the i-th one; `sum` = the sum of the arrays.
void join(Runtime& runtime, const Request& request, Bucket bucket, std::vector<NDArray>& sent);
void add(Runtime& runtime, const Request& request, std::span<const NDArray> arrays, const NDArray& sum);
// The parts of `joined` that are the values of the entries. They share its memory.
std::vector<NDArray> views_of(const NDArray& joined, Bucket bucket);
// `array` is this very part of some memory, and not a copy.
bool is_at(const NDArray& array, const NDArray& place);
// Calls the updater for each entry, with parts of both.
void update_parts(const Updater& update, Bucket bucket, const NDArray& sum, const NDArray& stored);

// Pushes work: the outputs that are on the GPU of `joined` = its parts.
void part(Runtime& runtime, const Request& request, const NDArray& joined, Bucket bucket);
// Copies the joined values to the bucket's outputs, by one message to each other GPU, where `landing` is the memory for it.
void spread(Runtime& runtime, const Request& request, const NDArray& joined, Bucket bucket,
            std::vector<NDArray>& landing);

}  // namespace loomix::kvstore
