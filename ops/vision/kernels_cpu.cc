// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"
#include "ops/table.h"
#include "ops/vision/vision.h"

namespace loomix::ops {

void kernels_vision_cpu(OpTable& table) {
  constexpr DeviceType cpu = DeviceType::cpu;
  using Up = UpSamplingParams;
  table.kernel<Up, upsampling_nearest_cpu, upsampling_nearest_support>("UpSampling", "upsampling_nearest_cpu",
                                                                       cpu);
  table.prepared_kernel<Up, ConvKernel<Up, ConvDataGemm>, upsampling_gemm_support>("UpSampling",
                                                                                   "upsampling_gemm", cpu);
  table.kernel<Up, upsampling_bilinear_cpu>("UpSampling", "upsampling_bilinear_cpu", cpu);
  table.kernel<Up, upsampling_backward_cpu>("_backward_UpSampling", "upsampling_backward_cpu", cpu);
  using Resize = BilinearResizeParams;
  table.kernel<Resize, bilinear_resize_cpu, nullptr, bilinear_resize_scratch>("_contrib_BilinearResize2D",
                                                                              "bilinear_resize_cpu", cpu);
  table.kernel<Resize, bilinear_resize_backward_cpu, nullptr, bilinear_resize_scratch>(
      "_backward__contrib_BilinearResize2D", "bilinear_resize_backward_cpu", cpu);
  using Pool = AdaptivePoolParams;
  table.kernel<Pool, adaptive_pool_cpu, nullptr, adaptive_pool_scratch>("_contrib_AdaptiveAvgPooling2D",
                                                                        "adaptive_pool_cpu", cpu);
  table.kernel<Pool, adaptive_pool_backward_cpu, nullptr, adaptive_pool_scratch>(
      "_backward__contrib_AdaptiveAvgPooling2D", "adaptive_pool_backward_cpu", cpu);
  using Grid = GridGeneratorParams;
  table.kernel<Grid, grid_generator_cpu>("GridGenerator", "grid_generator_cpu", cpu);
  table.kernel<Grid, grid_generator_backward_cpu>("_backward_GridGenerator", "grid_generator_backward_cpu",
                                                  cpu);
  using Sampler = BilinearSamplerParams;
  table.kernel<Sampler, bilinear_sampler_cpu>("BilinearSampler", "bilinear_sampler_cpu", cpu);
  table.kernel<Sampler, bilinear_sampler_data_cpu, nullptr, bilinear_sampler_data_scratch>(
      "_backward_BilinearSampler_data", "bilinear_sampler_data_cpu", cpu);
  table.kernel<Sampler, bilinear_sampler_grid_cpu>("_backward_BilinearSampler_grid",
                                                   "bilinear_sampler_grid_cpu", cpu);
  table.kernel<SpatialTransformerParams, spatial_transformer_cpu>("SpatialTransformer",
                                                                  "spatial_transformer_cpu", cpu);
  table.kernel<CropParams, crop_cpu>("Crop", "crop_cpu", cpu);
  table.kernel<CropParams, crop_backward_cpu>("_backward_Crop", "crop_backward_cpu", cpu);
  table.kernel<UnfoldParams, im2col_cpu>("im2col", "im2col_cpu", cpu);
  table.kernel<UnfoldParams, im2col_backward_cpu, nullptr, im2col_backward_scratch>(
      "_backward_im2col", "im2col_backward_cpu", cpu);
  table.kernel<FoldParams, col2im_cpu, nullptr, col2im_scratch>("col2im", "col2im_cpu", cpu);
  using Correlation = CorrelationParams;
  table.kernel<Correlation, correlation_cpu, nullptr, correlation_scratch>("Correlation", "correlation_cpu",
                                                                           cpu);
  table.kernel<Correlation, correlation_backward_cpu, nullptr, correlation_backward_scratch>(
      "_backward_Correlation", "correlation_backward_cpu", cpu);
}

}  // namespace loomix::ops
