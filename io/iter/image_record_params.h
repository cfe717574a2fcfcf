// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/params.h"
#include "io/image/augment.h"
#include "io/iter/batch_device.h"

namespace loomix::io {

// What to do with images and records that cannot be used.
enum class Damaged { raise, skip };

// What all image iterators take: files, batches, threads.
struct RecordFileParams {
  std::string path_imglist;
  std::string path_imgrec;
  std::string path_imgidx;
  Shape data_shape;
  int preprocess_threads = 4;
  bool verbose = true;
  int num_parts = 1;
  int part_index = 0;
  int64_t shuffle_chunk_size = 0;
  int shuffle_chunk_seed = 0;
  bool shuffle = false;
  int seed = 0;
  int64_t batch_size = 0;
  bool round_batch = true;
  int64_t prefetch_buffer = 4;
  std::string ctx = "gpu";
  std::optional<DType> dtype;
  Damaged on_damage = Damaged::raise;

  template <class P>
  static void add_fields(FieldList<P>& f) {
    f("path_imglist", &P::path_imglist, "List file; its labels are taken instead of the records'.");
    f("path_imgrec", &P::path_imgrec, "Record file; several separated by `;`, or a folder of them.");
    f("path_imgidx", &P::path_imgidx,
      "Index of the record file; the order of its lines is that of the records.");
    f("data_shape", &P::data_shape, "Shape of an image: (channels, height, width).").required("(3, 32, 32)");
    f("preprocess_threads", &P::preprocess_threads, "How many threads decode and augment at once.")
        .at_least(1);
    f("verbose", &P::verbose, "Has no effect.");
    f("num_parts", &P::num_parts, "Cuts the data into so many parts.").at_least(1);
    f("part_index", &P::part_index, "The part to read.").at_least(0);
    f("shuffle_chunk_size", &P::shuffle_chunk_size,
      "Megabytes among which records are shuffled where there is no index; 0: 64.")
        .at_least(0);
    f("shuffle_chunk_seed", &P::shuffle_chunk_seed, "Added to the seed of the order.");
    f("shuffle", &P::shuffle, "Whether the order is drawn anew in each pass.");
    f("seed", &P::seed, "Seed of order and augmentation.");
    f("batch_size", &P::batch_size, "Images in a batch.").required("2").at_least(1);
    f("round_batch", &P::round_batch,
      "Whether the last batch is filled up from the beginning, where the next pass then goes on.");
    f("prefetch_buffer", &P::prefetch_buffer, "How many batches are prepared ahead.").at_least(1);
    f("ctx", &P::ctx, kAboutCtx).options({"cpu", "gpu"});
    f("dtype", &P::dtype, "Type of the images' values; float32 by default.");
    f("on_damage", &P::on_damage,
      "What becomes of damaged records and images: an error, or they are left out and counted.")
        .options({{"raise", Damaged::raise}, {"skip", Damaged::skip}});
  }
};

struct NormalizeParams {
  std::string mean_img;
  float mean_r = 0, mean_g = 0, mean_b = 0, mean_a = 0;
  float std_r = 1, std_g = 1, std_b = 1, std_a = 1;
  float scale = 1;

  template <class P>
  static void add_fields(FieldList<P>& f) {
    f("mean_img", &P::mean_img, "File of arrays; its first one, a mean image, is subtracted.");
    f("mean_r", &P::mean_r, "Subtracted from channel R.");
    f("mean_g", &P::mean_g, "Subtracted from channel G.");
    f("mean_b", &P::mean_b, "Subtracted from channel B.");
    f("mean_a", &P::mean_a, "Subtracted from channel A.");
    f("std_r", &P::std_r, "Divides channel R.");
    f("std_g", &P::std_g, "Divides channel G.");
    f("std_b", &P::std_b, "Divides channel B.");
    f("std_a", &P::std_a, "Divides channel A.");
    f("scale", &P::scale, "Multiplies the values.");
  }
};

// Values are ((pixel - mean) * contrast + illumination) * scale / std.
struct ImageRecordParams : RecordFileParams, AugmentParams, NormalizeParams {
  std::string aug_seq = "aug_default";
  int label_width = 1;
  int device_id = 0;
  std::optional<int> seed_aug;
  bool mirror = false;
  bool rand_mirror = false;
  float max_random_contrast = 0;
  float max_random_illumination = 0;

  static void fields(FieldList<ImageRecordParams>& f) {
    using P = ImageRecordParams;
    RecordFileParams::add_fields(f);
    f("aug_seq", &P::aug_seq, "The augmentation; there is one.").options({"aug_default"});
    f("label_width", &P::label_width, "Labels of an image.").at_least(1);
    f("device_id", &P::device_id,
      "Number of the `cpu_pinned` that batches lie in; -1: they lie in plain memory.")
        .at_least(-1);
    f("seed_aug", &P::seed_aug, "Seed of the augmentation; `seed` by default.");
    AugmentParams::add_fields(f);
    f("mirror", &P::mirror, "Whether all images are mirrored.");
    f("rand_mirror", &P::rand_mirror, "Whether half of the images are mirrored.");
    NormalizeParams::add_fields(f);
    f("max_random_contrast", &P::max_random_contrast,
      "Multiplies values by a random factor in [1 - v, 1 + v].");
    f("max_random_illumination", &P::max_random_illumination, "Adds a random value in [-v, v].");
  }
};

}  // namespace loomix::io
