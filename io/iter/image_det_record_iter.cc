// SPDX-License-Identifier: Apache-2.0
#include "io/iter/image_det_record_iter.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "io/image/codec.h"
#include "io/iter/det_augment.h"
#include "io/iter/image_record_iter.h"
#include "io/iter/labels.h"
#include "io/iter/pixel_writer.h"
#include "io/record/image_record.h"

namespace loomix::io {
namespace {

constexpr size_t kPrefix = 4;  // channels, height, width, how many numbers follow

struct Common {
  ImageDetRecordParams params;
  LabelList labels;
  std::vector<float> mean_image;
  DType dtype;
  size_t label_floats;
};

class DetMaker final : public SampleMaker {
 public:
  explicit DetMaker(std::shared_ptr<const Common> common)
      : common_(std::move(common)),
        channels_(static_cast<int>(params().data_shape[0])),
        height_(static_cast<int>(params().data_shape[1])),
        width_(static_cast<int>(params().data_shape[2])),
        augmenter_(params(), height_, width_),
        writer_(params(), params().data_shape, common_->dtype, common_->mean_image) {}

  void make(Bytes record, SampleRandom& random, std::byte* data, float* label) override {
    const ImageRecord parsed = parse_image_record(record);
    common_->labels.labels_of(parsed, labels_);
    if (params().label_width > 0) {
      LOOMIX_CHECK(labels_.size() == size_t(params().label_width), FileError,
                   "[ImageDetRecordIter] there are {} labels; expected label_width, which is {}.",
                   labels_.size(), params().label_width);
    }
    BoxLabel boxes(labels_);
    decode_image(parsed.content, image_, {color_of(channels_)});
    LOOMIX_CHECK(image_.channels() == channels_, FileError,
                 "[ImageDetRecordIter] the image has {} channels; expected {}, as data_shape says.",
                 image_.channels(), channels_);
    augmenter_.run(image_, boxes, random);
    write_label(boxes, label);
    write_pixels(data);
  }

 private:
  const ImageDetRecordParams& params() const { return common_->params; }

  void write_label(const BoxLabel& boxes, float* label) const {
    const size_t used = boxes.header.size() + boxes.objects.size();
    LOOMIX_CHECK(kPrefix + used <= common_->label_floats, FileError,
                 "[ImageDetRecordIter] a label has {} numbers, more than label_pad_width, which is {}.", used,
                 common_->label_floats - kPrefix);
    label[0] = static_cast<float>(channels_);
    label[1] = static_cast<float>(image_.height());
    label[2] = static_cast<float>(image_.width());
    label[3] = static_cast<float>(used);
    float* end = std::copy(boxes.header.begin(), boxes.header.end(), label + kPrefix);
    end = std::copy(boxes.objects.begin(), boxes.objects.end(), end);
    std::fill(end, label + common_->label_floats, params().label_pad_value);
  }

  // What the image does not reach is 0.
  void write_pixels(std::byte* data) {
    const int64_t item = size_of(common_->dtype), plane = int64_t{height_} * width_;
    std::memset(data, 0, size_t(channels_ * plane * item));
    writer_.begin(data, false);
    row_.resize(size_t(width_) * size_t(channels_));
    for (int y = 0; y < image_.height(); ++y) {
      std::copy_n(image_.row(y), image_.stride(), row_.data());
      writer_.row(y, row_.data());
      for (int c = 0; c < channels_; ++c) {
        const int64_t begin = c * plane + int64_t{y} * width_ + image_.width();
        std::memset(data + begin * item, 0, size_t((width_ - image_.width()) * item));
      }
    }
  }

  const std::shared_ptr<const Common> common_;
  const int channels_, height_, width_;
  DetAugmenter augmenter_;
  PixelWriter writer_;
  Image image_;
  std::vector<float> labels_;
  std::vector<uint8_t> row_;
};

// The longest label of the data set.
size_t longest_label(StreamOptions options, const LabelList& list) {
  options.shuffle = false;
  size_t longest = 0;
  std::vector<float> labels;
  const auto stream = open_stream(options);
  while (const auto record = stream->next()) {
    try {
      list.labels_of(parse_image_record(record->bytes), labels);
      longest = std::max(longest, labels.size());
    } catch (Error& error) {
      if (options.on_damage == OnDamage::skip) continue;
      error.add_context(fmt::format("in {}, record at offset {}", *record->file, record->offset));
      throw;
    }
  }
  return longest;
}

}  // namespace

void ImageDetRecordParams::fields(FieldList<ImageDetRecordParams>& f) {
  using P = ImageDetRecordParams;
  RecordFileParams::add_fields(f);
  f("aug_seq", &P::aug_seq, "The augmentation; there is one.").options({"det_aug_default"});
  f("label_width", &P::label_width, "Numbers in each label; -1: any.");
  f("label_pad_width", &P::label_pad_width,
    "Numbers that labels are filled up to; 0 or -1: the longest label's.");
  f("label_pad_value", &P::label_pad_value, "What labels are filled up with.");
  f("resize", &P::resize, "Length that the shorter edge is resized to before anything else; -1: not at all.");
  f("rand_crop_prob", &P::rand_crop_prob, "Probability of a random crop.");
  f("min_crop_scales", &P::min_crop_scales, "Least scale of crops.");
  f("max_crop_scales", &P::max_crop_scales, "Largest scale of crops.");
  f("min_crop_aspect_ratios", &P::min_crop_aspect_ratios, "Least ratio of width to height of crops.");
  f("max_crop_aspect_ratios", &P::max_crop_aspect_ratios, "Largest ratio of width to height of crops.");
  f("min_crop_overlaps", &P::min_crop_overlaps, "Least intersection over union of crop and an object.");
  f("max_crop_overlaps", &P::max_crop_overlaps, "Largest intersection over union of crop and an object.");
  f("min_crop_sample_coverages", &P::min_crop_sample_coverages,
    "Least share of the crop that an object takes.");
  f("max_crop_sample_coverages", &P::max_crop_sample_coverages,
    "Largest share of the crop that an object takes.");
  f("min_crop_object_coverages", &P::min_crop_object_coverages, "Least share of an object in the crop.");
  f("max_crop_object_coverages", &P::max_crop_object_coverages, "Largest share of an object in the crop.");
  f("num_crop_sampler", &P::num_crop_sampler, "How many sets of these conditions there are; one is drawn.")
      .at_least(1);
  f("crop_emit_mode", &P::crop_emit_mode,
    "Which objects are left out: those whose centre is outside the crop, or those of which too little is "
    "inside.")
      .options({{"center", CropEmit::center}, {"overlap", CropEmit::overlap}});
  f("emit_overlap_thresh", &P::emit_overlap_thresh, "Least share of an object inside, in the mode overlap.");
  f("max_crop_trials", &P::max_crop_trials, "After so many trials the image is not cropped.");
  f("rand_pad_prob", &P::rand_pad_prob, "Probability of a random margin.");
  f("max_pad_scale", &P::max_pad_scale, "Largest scale of an image with margin.").at_least(1).at_most(100);
  f("max_random_hue", &P::max_random_hue,
    "Adds a random value in [-v, v] to the hue, which goes from 0 to 180.")
      .at_least(0);
  f("random_hue_prob", &P::random_hue_prob, "Probability of it.");
  f("max_random_saturation", &P::max_random_saturation, "Adds a random value in [-v, v] to the saturation.")
      .at_least(0);
  f("random_saturation_prob", &P::random_saturation_prob, "Probability of it.");
  f("max_random_illumination", &P::max_random_illumination,
    "Adds a random value in [-v, v] to the lightness.")
      .at_least(0);
  f("random_illumination_prob", &P::random_illumination_prob, "Probability of it.");
  f("max_random_contrast", &P::max_random_contrast, "Multiplies by a random factor in [1 - v, 1 + v].")
      .at_least(0);
  f("random_contrast_prob", &P::random_contrast_prob, "Probability of it.");
  f("rand_mirror_prob", &P::rand_mirror_prob, "Probability of mirroring.");
  f("fill_value", &P::fill_value, "Value of pixels from outside the image.").at_least(0).at_most(255);
  f("inter_method", &P::inter_method,
    "Interpolation: 0 nearest, 1 bilinear, 2 bicubic, 3 area, 4 lanczos, 9 by size, 10 random.")
      .at_least(0)
      .at_most(10);
  f("resize_mode", &P::resize_mode,
    "force: to data_shape; fit: into it, with its ratio; shrink: the same, but small images stay as they "
    "are.")
      .options({{"fit", ResizeMode::fit}, {"force", ResizeMode::force}, {"shrink", ResizeMode::shrink}});
  NormalizeParams::add_fields(f);
}

std::unique_ptr<BatchPipeline> make_image_det_record_iter(engine::Engine& engine,
                                                          const ImageDetRecordParams& params) {
  auto common = std::make_shared<Common>();
  common->params = params;
  common->dtype = params.dtype.value_or(DType::float32);
  const StreamOptions stream = stream_options(params);
  if (!params.path_imglist.empty()) common->labels = LabelList(params.path_imglist);
  size_t width = params.label_pad_width > 0 ? size_t(params.label_pad_width)
                 : params.label_width > 0   ? size_t(params.label_width)
                                            : longest_label(stream, common->labels);
  LOOMIX_CHECK(width > 0, FileError, "[ImageDetRecordIter] there are no records to read.");
  common->label_floats = kPrefix + width;
  PipelineOptions options =
      pipeline_options(params, "ImageDetRecordIter", Shape({static_cast<int64_t>(common->label_floats)}));
  common->mean_image = load_mean_image(engine, params.mean_img, params.data_shape);
  return std::make_unique<BatchPipeline>(engine, std::move(options), open_stream(stream),
                                         [&] { return std::make_unique<DetMaker>(common); });
}

}  // namespace loomix::io
