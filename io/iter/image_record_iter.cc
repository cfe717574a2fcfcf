// SPDX-License-Identifier: Apache-2.0
#include "io/iter/image_record_iter.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "io/image/augment.h"
#include "io/image/codec.h"
#include "io/image/exif.h"
#include "io/image/jpeg_decoder.h"
#include "io/iter/labels.h"
#include "io/iter/pixel_writer.h"
#include "io/record/image_record.h"

namespace loomix::io {
namespace {

constexpr int kStripRows = 16;

// What all makers of an iterator read.
struct Common {
  ImageRecordParams params;
  LabelList labels;
  std::vector<float> mean_image;
  DType dtype;
};

class ImageMaker final : public SampleMaker {
 public:
  explicit ImageMaker(std::shared_ptr<const Common> common)
      : common_(std::move(common)),
        channels_(static_cast<int>(params().data_shape[0])),
        height_(static_cast<int>(params().data_shape[1])),
        width_(static_cast<int>(params().data_shape[2])),
        augmenter_(params(), height_, width_),
        writer_(params(), params().data_shape, common_->dtype, common_->mean_image) {}

  void make(Bytes record, SampleRandom& random, std::byte* data, float* label) override {
    const ImageRecord parsed = parse_image_record(record);
    common_->labels.labels_of(parsed, labels_);
    LOOMIX_CHECK(labels_.size() == size_t(params().label_width), FileError,
                 "[ImageRecordIter] there are {} labels; expected label_width, which is {}.", labels_.size(),
                 params().label_width);
    std::copy(labels_.begin(), labels_.end(), label);
    const ImageRecordParams& p = params();
    const bool mirror = p.mirror != (p.rand_mirror && random.flip());
    float contrast = 1, illumination = 0;
    if (p.max_random_contrast > 0) {
      contrast = static_cast<float>(1 + random.uniform(-p.max_random_contrast, p.max_random_contrast));
    }
    if (p.max_random_illumination > 0) {
      illumination =
          static_cast<float>(random.uniform(-p.max_random_illumination, p.max_random_illumination));
    }
    writer_.begin(data, mirror, contrast, illumination);
    if (augmenter_.only_crops() && channels_ != 4 && image_format(parsed.content) == ImageFormat::jpeg &&
        jpeg_orientation(parsed.content) == 1) {
      make_from_rows(parsed.content, random);
    } else {
      decode_image(parsed.content, image_, {color_of(channels_)});
      augment(random);
    }
  }

 private:
  const ImageRecordParams& params() const { return common_->params; }

  // Rows go from the decoder into the sample while they are in the cache, and those below the crop are not decoded.
  void make_from_rows(Bytes file, SampleRandom& random) {
    jpeg_.open(file);
    jpeg_.start(color_of(channels_));
    const int height = jpeg_.height(), width = jpeg_.width();
    if (height < height_ || width < width_) {
      image_.reshape(height, width, channels_);
      jpeg_.read(image_.data(), image_.stride(), height);
      jpeg_.finish();
      return augment(random);
    }
    const Augmenter::Place place = augmenter_.crop_place(height, width, random);
    // libjpeg-turbo writes aligned rows past the cache, from where they would have to be fetched again.
    constexpr size_t kLine = 64, kMisaligned = 16;
    const size_t stride = (size_t(width) * size_t(channels_) + kLine - 1) / kLine * kLine;
    strip_.resize(stride * kStripRows + 2 * kLine);
    const size_t beyond = reinterpret_cast<uintptr_t>(strip_.data()) % kLine;
    uint8_t* const strip = strip_.data() + (kLine - beyond) + kMisaligned;
    jpeg_.skip(place.y);
    for (int y = 0; y < height_; y += kStripRows) {
      const int rows = std::min(kStripRows, height_ - y);
      jpeg_.read(strip, stride, rows);
      for (int i = 0; i < rows; ++i)
        writer_.row(y + i, strip + size_t(i) * stride + ptrdiff_t{place.x} * channels_);
    }
  }

  void augment(SampleRandom& random) {
    LOOMIX_CHECK(image_.channels() == channels_, FileError,
                 "[ImageRecordIter] the image has {} channels; expected {}, as data_shape says.",
                 image_.channels(), channels_);
    const ImageView result = augmenter_.run(image_, random);
    for (int y = 0; y < height_; ++y) writer_.row(y, result.row(y));
  }

  const std::shared_ptr<const Common> common_;
  const int channels_, height_, width_;
  Augmenter augmenter_;
  PixelWriter writer_;
  JpegDecoder jpeg_;
  Image image_;
  std::vector<uint8_t> strip_;
  std::vector<float> labels_;
};

}  // namespace

StreamOptions stream_options(const RecordFileParams& params) {
  StreamOptions options;
  options.records = params.path_imgrec;
  options.index = params.path_imgidx;
  options.shuffle = params.shuffle;
  LOOMIX_CHECK(params.shuffle_chunk_size <= (int64_t{1} << 30), ValueError,
               "[ImageRecordIter] shuffle_chunk_size is {} MB; that is too much.", params.shuffle_chunk_size);
  options.chunk_bytes = params.shuffle_chunk_size << 20;
  options.seed = uint64_t(uint32_t(params.seed)) << 32 | uint32_t(params.shuffle_chunk_seed);
  options.part_index = params.part_index;
  options.num_parts = params.num_parts;
  options.on_damage = params.on_damage == Damaged::skip ? OnDamage::skip : OnDamage::raise;
  return options;
}

PipelineOptions pipeline_options(const RecordFileParams& params, const char* who, const Shape& label_shape) {
  const Shape& shape = params.data_shape;
  constexpr int64_t kMaxSide = 1 << 16;
  const bool good = shape.ndim() == 3 && (shape[0] == 1 || shape[0] == 3 || shape[0] == 4) && shape[1] > 0 &&
                    shape[2] > 0 && shape[1] <= kMaxSide && shape[2] <= kMaxSide;
  LOOMIX_CHECK(good, ValueError, "[{}] data_shape is {}; expected (1, 3 or 4 channels, height, width).", who,
               shape.to_string());
  PipelineOptions options;
  options.who = who;
  options.batch_size = params.batch_size;
  options.round_batch = params.round_batch;
  options.prefetch = params.prefetch_buffer;
  options.threads = params.preprocess_threads;
  options.target.ctx = params.ctx;
  options.seed = uint64_t(uint32_t(params.seed));
  options.data_shape = shape;
  options.label_shape = label_shape;
  options.dtype = params.dtype.value_or(DType::float32);
  options.skip_damaged = params.on_damage == Damaged::skip;
  LOOMIX_CHECK(options.dtype != DType::boolean, TypeError, "[{}] dtype is bool; expected a type of numbers.",
               who);
  return options;
}

std::unique_ptr<BatchPipeline> make_image_record_iter(engine::Engine& engine,
                                                      const ImageRecordParams& params) {
  const Shape label_shape = params.label_width == 1 ? Shape() : Shape({params.label_width});
  PipelineOptions options = pipeline_options(params, "ImageRecordIter", label_shape);
  options.target.device_id = params.device_id;
  if (params.seed_aug) options.seed = uint64_t(uint32_t(*params.seed_aug));
  auto common = std::make_shared<Common>();
  common->params = params;
  common->dtype = options.dtype;
  if (!params.path_imglist.empty()) common->labels = LabelList(params.path_imglist);
  common->mean_image = load_mean_image(engine, params.mean_img, params.data_shape);
  return std::make_unique<BatchPipeline>(engine, std::move(options), open_stream(stream_options(params)),
                                         [&] { return std::make_unique<ImageMaker>(common); });
}

}  // namespace loomix::io
