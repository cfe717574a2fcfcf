// SPDX-License-Identifier: Apache-2.0
#include "io/iter/mnist_iter.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "base/error.h"
#include "io/iter/byte_file.h"
#include "ndarray/copy.h"

namespace loomix::io {
namespace {

constexpr const char* kWho = "MNISTIter";

struct IdxFile {
  std::vector<int64_t> sizes;
  std::vector<uint8_t> bytes;
};

// Two zero bytes, type 8, the number of axes, big-endian sizes, then the bytes.
IdxFile read_idx(const std::string& path, size_t axes) {
  const auto file = open_byte_file(path, kWho);
  const std::vector<uint8_t> magic = file->read(4);
  LOOMIX_CHECK(magic.size() == 4 && magic[0] == 0 && magic[1] == 0 && magic[2] == 8 && magic[3] == axes,
               FileError, "[{}] {} is not an idx file of bytes with {} axes.", kWho, path, axes);
  const std::vector<uint8_t> header = file->read(4 * axes);
  LOOMIX_CHECK(header.size() == 4 * axes, FileError, "[{}] {} ends inside its header.", kWho, path);
  IdxFile result;
  uint64_t count = 1;
  constexpr uint64_t kMostBytes = uint64_t{1} << 40;
  for (size_t axis = 0; axis < axes; ++axis) {
    uint64_t size = 0;
    for (size_t i = 0; i < 4; ++i) size = size << 8 | header[4 * axis + i];
    LOOMIX_CHECK(size > 0 && size <= kMostBytes / count, FileError, "[{}] axis {} in {} has size {}.", kWho,
                 axis, path, size);
    count *= size;
    result.sizes.push_back(static_cast<int64_t>(size));
  }
  result.bytes = file->read(count);
  LOOMIX_CHECK(result.bytes.size() == count, FileError,
               "[{}] {} has {} bytes of data, but its header tells of {}.", kWho, path, result.bytes.size(),
               count);
  file->read(1);  // whatever it is: at the end the checksum of a compressed file is looked at
  return result;
}

std::vector<int64_t> order_of(int64_t samples, const MnistParams& params) {
  LOOMIX_CHECK(params.part_index < params.num_parts, ValueError,
               "[{}] part_index {} is not below num_parts {}.", kWho, params.part_index, params.num_parts);
  const int64_t begin = samples * params.part_index / params.num_parts;
  const int64_t end = samples * (params.part_index + 1) / params.num_parts;
  std::vector<int64_t> order(static_cast<size_t>(end - begin));
  std::iota(order.begin(), order.end(), begin);
  if (params.shuffle) {  // by hand: std::shuffle differs between libraries
    std::mt19937_64 random(static_cast<uint64_t>(params.seed));
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  }
  return order;
}

}  // namespace

void MnistParams::fields(FieldList<MnistParams>& f) {
  using P = MnistParams;
  f("image", &P::image, "File of the images.");
  f("label", &P::label, "File of the labels.");
  f("batch_size", &P::batch_size, "Samples in a batch.").at_least(1);
  f("shuffle", &P::shuffle, "Whether the samples are put into a random order, once.");
  f("flat", &P::flat,
    "Whether batches have the shape (batch, pixels) rather than (batch, 1, rows, columns).");
  f("seed", &P::seed, "Seed of the order.");
  f("silent", &P::silent, "Has no effect: nothing is printed.");
  f("num_parts", &P::num_parts, "Cuts the data into so many parts.").at_least(1);
  f("part_index", &P::part_index, "The part to read.").at_least(0);
  f("prefetch_buffer", &P::prefetch_buffer, "Has no effect: all is in memory.");
  f("ctx", &P::ctx, kAboutCtx).options({"cpu", "gpu"});
  f("dtype", &P::dtype, "Type of the batches; float32 by default.");
}

std::unique_ptr<MemoryIter> make_mnist_iter(engine::Engine& engine, const MnistParams& params) {
  auto images = std::make_shared<const IdxFile>(read_idx(params.image, 3));
  auto labels = std::make_shared<const IdxFile>(read_idx(params.label, 1));
  LOOMIX_CHECK(images->sizes[0] == labels->sizes[0], ShapeError, "[{}] there are {} images but {} labels.",
               kWho, images->sizes[0], labels->sizes[0]);
  const int64_t rows = images->sizes[1], columns = images->sizes[2], pixels = rows * columns;
  MemoryIterOptions options;
  options.batch_size = params.batch_size;
  options.dtype = params.dtype.value_or(DType::float32);
  options.target.ctx = params.ctx;
  options.data_shape = params.flat ? Shape{pixels} : Shape{1, rows, columns};
  auto read = [=, dtype = options.dtype](int64_t sample, std::byte* data, std::byte* label) {
    const uint8_t* const bytes = images->bytes.data() + sample * pixels;
    std::vector<float> values(static_cast<size_t>(pixels));
    std::transform(bytes, bytes + pixels, values.begin(), [](uint8_t byte) { return byte * (1.0f / 256); });
    convert_elements(values.data(), DType::float32, data, dtype, pixels);
    convert_elements(&labels->bytes[static_cast<size_t>(sample)], DType::uint8, label, dtype, 1);
  };
  return std::make_unique<MemoryIter>(engine, std::move(options), order_of(images->sizes[0], params), read);
}

}  // namespace loomix::io
