// SPDX-License-Identifier: Apache-2.0
#include "kvstore/combine.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/inline_vector.h"
#include "engine/parallel_for.h"
#include "ops/elemwise/binary.h"
#include "ops/stream_copy.h"

namespace loomix::kvstore {
namespace {

constexpr int64_t kBlockBytes = 8192;        // stays in the first-level cache
constexpr int64_t kParallelBytes = 1 << 18;  // smaller pieces are not worth a thread
constexpr int64_t kStreamBytes = 1 << 20;    // larger arrays are written past the caches

using ops::end_streams;
using ops::stream_copy;

bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

using Pointers = InlineVector<std::byte*, 8>;

Pointers pointers_to(std::span<const NDArray> arrays) {
  Pointers pointers;
  for (const NDArray& array : arrays) {
    pointers.push_back(array.is_none() ? nullptr
                                       : static_cast<std::byte*>(array.storage().data()) + array.offset());
  }
  return pointers;
}

class Combination final : public StoreTask {
 public:
  Combination(const Request& request, const ops::Code& code, std::span<const NDArray> sources,
              std::span<const NDArray> residuals, std::span<const NDArray> destinations)
      : StoreTask(request),
        code_(code),
        sources_(sources),
        residuals_(residuals),
        destinations_(destinations) {}

  void run(engine::RunContext& context) const override {
    const NDArray& to_first = destinations_[0];
    const Pointers sources = pointers_to({sources_.data(), sources_.size()});
    const Pointers residuals = pointers_to({residuals_.data(), residuals_.size()});
    const Pointers destinations = pointers_to({destinations_.data(), destinations_.size()});
    const int64_t item = size_of(to_first.dtype());
    const int64_t block = kBlockBytes / item;
    const bool stream = to_first.bytes() >= kStreamBytes;
    engine::parallel_for(context, to_first.size(), kParallelBytes / item, [&](int64_t begin, int64_t end) {
      alignas(64) std::byte scratch[kBlockBytes];
      for (int64_t i = begin; i < end; i += block) {
        const int64_t count = std::min(block, end - i);
        const std::byte* const sum = code_.enabled() ? compressed_sum(sources, residuals, i, count, scratch)
                                                     : plain_sum(sources, i, count, scratch);
        for (std::byte* const destination : destinations) {
          std::byte* const to = destination + i * item;
          if (to == sum) continue;
          if (stream) stream_copy(to, sum, count * item);
          else std::memcpy(to, sum, static_cast<size_t>(count * item));
        }
      }
      if (stream) end_streams();
    });
  }

 private:
  // The sum of one block: in `scratch`, or where the only source has it.
  const std::byte* plain_sum(const Pointers& sources, int64_t begin, int64_t count,
                             std::byte* scratch) const {
    const DType dtype = sources_[0].dtype();
    const int64_t offset = begin * size_of(dtype);
    if (sources.size() == 1 && dtype == destinations_[0].dtype()) return sources[0] + offset;
    if (is_half(destinations_[0].dtype()) || is_half(sources_[sources_.size() - 1].dtype())) {
      half_sum(sources, begin, count, scratch);
      return scratch;
    }
    const std::byte* sum = sources[0] + offset;
    for (size_t k = 1; k < sources.size(); ++k, sum = scratch)
      ops::binary_row(ops::binary_code<ops::fn::Add>, dtype, ops::Spread::none, sum, sources[k] + offset,
                      scratch, count);
    return scratch;
  }

  void half_sum(const Pointers& sources, int64_t begin, int64_t count, std::byte* scratch) const {
    alignas(64) float sum[kBlockBytes / 2];
    alignas(64) float term[kBlockBytes / 2];
    for (size_t k = 0; k < sources.size(); ++k) {
      const DType dtype = sources_[k].dtype();
      ops::convert_row(dtype, sources[k] + begin * size_of(dtype), DType::float32, k == 0 ? sum : term,
                       count);
      if (k > 0)
        ops::binary_row(ops::binary_code<ops::fn::Add>, DType::float32, ops::Spread::none, sum, term, sum,
                        count);
    }
    ops::convert_row(DType::float32, sum, destinations_[0].dtype(), scratch, count);
  }

  const std::byte* compressed_sum(const Pointers& sources, const Pointers& residuals, int64_t begin,
                                  int64_t count, std::byte* scratch) const {
    alignas(64) float term[kBlockBytes / sizeof(float)];
    auto* const sum = reinterpret_cast<float*>(scratch);
    const auto at = [begin](std::byte* array) {
      return array ? reinterpret_cast<float*>(array) + begin : nullptr;
    };
    pass_compressed(code_, at(sources[0]), at(residuals[0]), sum, count);
    for (size_t k = 1; k < sources.size(); ++k) {
      pass_compressed(code_, at(sources[k]), at(residuals[k]), term, count);
      ops::binary_row(ops::binary_code<ops::fn::Add>, DType::float32, ops::Spread::none, sum, term, sum,
                      count);
    }
    return scratch;
  }

  const ops::Code code_;
  const InlineVector<NDArray, 2> sources_;
  const InlineVector<NDArray, 2> residuals_;
  const InlineVector<NDArray, 3> destinations_;
};

void push_combination(const Request& request, const ops::Code& code, std::span<const NDArray> sources,
                      std::span<const NDArray> residuals, std::span<const NDArray> destinations) {
  ArrayTags tags;
  for (const NDArray& source : sources) tags.read(source);
  for (const NDArray& residual : residuals) {
    if (!residual.is_none()) tags.update(residual);
  }
  for (const NDArray& destination : destinations) tags.write(destination);
  const int64_t bytes = destinations[0].bytes();
  push_task(make_ref<Combination>(request, code, sources, residuals, destinations), tags, destinations[0],
            bytes * static_cast<int64_t>(sources.size() + destinations.size()),
            bytes > 2 * kParallelBytes ? 255 : 1);
}

}  // namespace

void combine(const Request& request, std::span<const NDArray> sources,
             std::span<const NDArray> destinations) {
  push_combination(request, {}, sources, {}, destinations);
}

void combine_compressed(const Request& request, const ops::Code& code, std::span<const NDArray> sources,
                        std::span<const NDArray> residuals, std::span<const NDArray> destinations) {
  push_combination(request, code, sources, residuals, destinations);
}

}  // namespace loomix::kvstore
