// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/packing.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"

namespace loomix::kvstore {
namespace {

constexpr int64_t kIdBytes = sizeof(int64_t);

ops::Code code_of(const Packing& packing) {
  using Kind = ops::Code::Kind;
  switch (packing.form) {
    case Packing::Form::fp16: return {.kind = Kind::narrow};
    case Packing::Form::two_bit:
      return {.kind = Kind::two_bit,
              .threshold = std::bit_cast<float>(static_cast<uint32_t>(packing.detail))};
    case Packing::Form::top_k: return {.kind = Kind::top_k};
    default: return {};
  }
}

float* floats_of(const NDArray& array) {
  return reinterpret_cast<float*>(static_cast<std::byte*>(array.storage().data()) + array.offset());
}

int64_t row_bytes(const Packing& packing, DType dtype) { return packing.detail * size_of(dtype); }

int64_t rows_in(const Packing& packing, const comm::Buffer& bytes, DType dtype) {
  return static_cast<int64_t>(bytes.size()) / (kIdBytes + row_bytes(packing, dtype));
}

int64_t id_at(const comm::Buffer& bytes, int64_t row) {
  int64_t id = 0;
  std::memcpy(&id, bytes.data() + row * kIdBytes, kIdBytes);
  return id;
}

class Unpacking final : public StoreTask {
 public:
  Unpacking(const Request& request, const Packing& packing, const comm::Buffer& bytes, const NDArray& to)
      : StoreTask(request), packing_(packing), bytes_(bytes), to_(to) {}

  void run(engine::RunContext&) const override {
    if (!to_.is_dense()) return keep_rows();
    if (packing_.form == Packing::Form::rows) return spread_rows();
    decompress(code_of(packing_), bytes_.bytes(), floats_of(to_), to_.size());
  }

 private:
  void keep_rows() const {
    const int64_t rows = rows_in(packing_, bytes_, to_.dtype());
    Storage& storage = to_.storage();
    storage.resize_sparse(rows, row_bytes(packing_, to_.dtype()), 0);
    if (rows == 0) return;
    std::memcpy(storage.indices(), bytes_.data(), static_cast<size_t>(rows * kIdBytes));
    std::memcpy(storage.data(), bytes_.data() + rows * kIdBytes,
                static_cast<size_t>(rows * row_bytes(packing_, to_.dtype())));
  }
  void spread_rows() const {
    auto* const to = static_cast<std::byte*>(to_.storage().data());
    std::memset(to, 0, static_cast<size_t>(to_.bytes()));
    const int64_t width = row_bytes(packing_, to_.dtype());
    const int64_t rows = rows_in(packing_, bytes_, to_.dtype());
    for (int64_t row = 0; row < rows; ++row) {
      std::memcpy(to + id_at(bytes_, row) * width, bytes_.data() + rows * kIdBytes + row * width,
                  static_cast<size_t>(width));
    }
  }

  const Packing packing_;
  const comm::Buffer bytes_;
  const NDArray to_;
};

class Compressing final : public StoreTask {
 public:
  Compressing(const Request& request, const ops::Code& code, const NDArray& gradient, const NDArray& residual,
              std::vector<Stretch> stretches, const NDArray& packed)
      : StoreTask(request),
        code_(code),
        gradient_(gradient),
        residual_(residual),
        stretches_(std::move(stretches)),
        packed_(packed) {}

  void run(engine::RunContext&) const override {
    float* const residual = residual_.is_none() ? nullptr : floats_of(residual_);
    for (const Stretch& one : stretches_) {
      compress(code_, floats_of(gradient_) + one.begin, residual ? residual + one.begin : nullptr,
               static_cast<std::byte*>(packed_.storage().data()) + one.to, one.end - one.begin);
    }
  }

 private:
  const ops::Code code_;
  const NDArray gradient_, residual_;
  const std::vector<Stretch> stretches_;
  const NDArray packed_;
};

class RowTaking final : public StoreTask {
 public:
  RowTaking(const Request& request, const NDArray& value, const comm::Buffer& ids, const NDArray& rows)
      : StoreTask(request), value_(value), ids_(ids), rows_(rows) {}

  void run(engine::RunContext&) const override {
    const int64_t width = rows_.shape()[1] * size_of(value_.dtype());
    const int64_t last = value_.bytes() / width - 1;
    for (int64_t row = 0; row < rows_.shape()[0]; ++row) {
      const int64_t id = id_at(ids_, row);
      LOOMIX_CHECK(id >= 0 && id <= last, IndexError,
                   "[KVStore] row {} was asked for; the shard has rows 0 to {}.", id, last);
      std::memcpy(static_cast<std::byte*>(rows_.storage().data()) + row * width,
                  static_cast<const std::byte*>(value_.storage().data()) + value_.offset() + id * width,
                  static_cast<size_t>(width));
    }
  }

 private:
  const NDArray value_;
  const comm::Buffer ids_;
  const NDArray rows_;
};

}  // namespace

Packing Packing::of(const CompressionParams& params) {
  if (params.two_bit()) return {Form::two_bit, std::bit_cast<uint32_t>(params.threshold)};
  if (params.top_k()) return {Form::top_k, 0};
  return {params.enabled() ? Form::fp16 : Form::plain, 0};
}

Packing Packing::read(const messages::Packing& message) {
  const int64_t form = in_range("Packing.form", message.form(), 0, static_cast<int64_t>(Form::rows));
  return {static_cast<Form>(form), message.detail()};
}

void Packing::write(messages::Packing& message) const {
  message.set_form(static_cast<uint32_t>(form));
  message.set_detail(detail);
}

void Packing::check(const comm::Buffer& bytes, int64_t count, DType dtype) const {
  const auto size = static_cast<int64_t>(bytes.size());
  const auto expect = [&](bool good, const char* what) {
    LOOMIX_CHECK(good, NetworkError, "{} bytes came, {}; expected a gradient of {} elements of {}.", size,
                 what, count, name_of(dtype));
  };
  if (form == Form::plain) return expect(size == count * size_of(dtype), "as they are");
  if (form == Form::rows) {
    expect(detail > 0 && detail <= count && count % detail == 0 &&
               size % (kIdBytes + row_bytes(*this, dtype)) == 0,
           "as rows of another length");
    int64_t last = -1;
    for (int64_t row = 0; row < rows_in(*this, bytes, dtype); ++row) {
      const int64_t id = id_at(bytes, row);
      expect(id > last && id < count / detail, "with row ids that do not grow or are out of range");
      last = id;
    }
    return;
  }
  expect(dtype == DType::float32, "compressed");
  if (form != Form::top_k) return expect(size == compressed_bytes(code_of(*this), count), "compressed");
  expect(size % 8 == 0 && size / 8 <= count, "as some elements");
  for (int64_t i = 0; i < size / 8; ++i) {
    uint32_t place = 0;
    std::memcpy(&place, bytes.data() + 4 * i, 4);
    expect(place < count, "with an element out of range");
  }
}

NDArray array_of(engine::Engine& engine, const comm::Buffer& bytes, DType dtype) {
  const auto count = static_cast<int64_t>(bytes.size()) / size_of(dtype);
  return NDArray::from_external(engine, const_cast<std::byte*>(bytes.data()), Shape{count}, dtype,
                                [keep = bytes] { static_cast<void>(keep); });
}

NDArray unpack(const Request& request, engine::Engine& engine, const Packing& packing,
               const comm::Buffer& bytes, int64_t count, DType dtype) {
  if (packing.form == Packing::Form::plain) return array_of(engine, bytes, dtype);
  const NDArray to(engine, Shape{count}, dtype, Device::cpu());
  ArrayTags tags;
  tags.write(to);
  push_task(make_ref<Unpacking>(request, packing, bytes, to), tags, to, to.bytes(), 1);
  return to;
}

NDArray unpack_rows(const Request& request, engine::Engine& engine, const Packing& packing,
                    const comm::Buffer& bytes, int64_t rows, DType dtype) {
  const NDArray to =
      NDArray::sparse(engine, StorageType::row_sparse, Shape{rows, packing.detail}, dtype, Device::cpu());
  ArrayTags tags;
  tags.write(to);
  push_task(make_ref<Unpacking>(request, packing, bytes, to), tags, to, static_cast<int64_t>(bytes.size()),
            1);
  return to;
}

void compress_stretches(const Request& request, const ops::Code& code, const NDArray& gradient,
                        const NDArray& residual, std::vector<Stretch> stretches, const NDArray& packed) {
  ArrayTags tags;
  tags.read(gradient);
  if (!residual.is_none()) tags.update(residual);
  tags.write(packed);
  push_task(make_ref<Compressing>(request, code, gradient, residual, std::move(stretches), packed), tags,
            packed, 2 * gradient.bytes(), 1);
}

void take_rows(const Request& request, const NDArray& value, const comm::Buffer& ids, const NDArray& rows) {
  ArrayTags tags;
  tags.read(value);
  tags.write(rows);
  push_task(make_ref<RowTaking>(request, value, ids, rows), tags, rows, rows.bytes(), 1);
}

comm::Buffer pack_rows(const NDArray& array, int64_t begin, int64_t end) {
  const Storage& storage = array.storage();
  const std::span<const int64_t> ids{storage.indices(), static_cast<size_t>(storage.count())};
  const auto first = std::lower_bound(ids.begin(), ids.end(), begin) - ids.begin();
  const auto last = std::lower_bound(ids.begin(), ids.end(), end) - ids.begin();
  const int64_t rows = last - first;
  const int64_t width = array.shape().size_between(1, array.shape().ndim()) * size_of(array.dtype());
  if (rows == 0) return {};
  comm::Buffer packed = comm::Buffer::allocate(static_cast<size_t>(rows * (kIdBytes + width)));
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t id = ids[static_cast<size_t>(first + row)] - begin;
    std::memcpy(packed.writable() + row * kIdBytes, &id, kIdBytes);
  }
  std::memcpy(packed.writable() + rows * kIdBytes,
              static_cast<const std::byte*>(storage.data()) + first * width,
              static_cast<size_t>(rows * width));
  return packed;
}

}  // namespace loomix::kvstore
