// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kvstore/kvstore.h"
#include "kvstore/store_task.h"

// Small values of GPUs that travel together: on each GPU they are joined to one array, which travels, and is cut up again. All of
// that runs on the stream of communication, so that it overlaps what computes.
namespace loomix::kvstore {

// Entries that go together, those of the last ones first: a backward pass computes gradients in that order. Dense values on GPUs of
// one type and one list of devices go together, up to so many bytes on each GPU; every other entry is alone.
std::vector<std::vector<const KeyValues*>> make_buckets(std::span<const KeyValues> entries,
                                                        int64_t most_bytes);
// `array`, or a fresh one in its place if it is not of this size, type and device.
const NDArray& sized(Runtime& runtime, NDArray& array, int64_t size, DType dtype, Device device);
// The largest of an entry's.
int priority_of(std::span<const KeyValues* const> bucket);
// How many elements the values of all entries have on one device.
int64_t size_of(std::span<const KeyValues* const> bucket);
// For errors: the first key, and how many more there are.
Key name_of(std::span<const KeyValues* const> bucket);

// Push work on one GPU: `joined` = all elements of the arrays in their order; the arrays = its parts; `sum` = the sum of the arrays.
void join(Runtime& runtime, const Request& request, std::span<const NDArray> arrays, const NDArray& joined);
void part(Runtime& runtime, const Request& request, const NDArray& joined, std::span<const NDArray> arrays);
void add(Runtime& runtime, const Request& request, std::span<const NDArray> arrays, const NDArray& sum);
// The part of `joined` that is a value of this shape, from that element on. It shares its memory.
NDArray view_of(const NDArray& joined, int64_t begin, const Shape& shape);

// Copies the joined values to the bucket's outputs, by one message to each other GPU, where `landing` is the memory for it.
void spread(Runtime& runtime, const Request& request, const NDArray& joined,
            std::span<const KeyValues* const> bucket, std::vector<NDArray>& landing);

}  // namespace loomix::kvstore
