// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "io/iter/batch_pipeline.h"
#include "io/iter/image_record_params.h"

namespace loomix::io {

// Batches of images (N, C, H, W) and labels (N,) or (N, label_width) from record files.
std::unique_ptr<BatchPipeline> make_image_record_iter(engine::Engine& engine,
                                                      const ImageRecordParams& params);

// What the image iterators share.
StreamOptions stream_options(const RecordFileParams& params);
PipelineOptions pipeline_options(const RecordFileParams& params, const char* who, const Shape& label_shape);

}  // namespace loomix::io
