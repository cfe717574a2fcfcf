// SPDX-License-Identifier: Apache-2.0
// Written by tools/generate_ops.py from the operator table.
// clang-format off
#pragma once

#include <limits>

#include "loomix/cpp/composed.h"

namespace loomix::cpp {
inline namespace names {

enum class ActivationActType { kRelu, kSigmoid, kSoftrelu, kSoftsign, kTanh };
inline const char* to_text(ActivationActType value) {
  static constexpr const char* kTexts[] = {"relu", "sigmoid", "softrelu", "softsign", "tanh"};
  return kTexts[static_cast<int>(value)];
}
enum class CTCLossBlankLabel { kFirst, kLast };
inline const char* to_text(CTCLossBlankLabel value) {
  static constexpr const char* kTexts[] = {"first", "last"};
  return kTexts[static_cast<int>(value)];
}
enum class CastDtype { kBfloat16, kBool, kFloat16, kFloat32, kFloat64, kInt32, kInt64, kInt8, kUint8 };
inline const char* to_text(CastDtype value) {
  static constexpr const char* kTexts[] = {"bfloat16", "bool", "float16", "float32", "float64", "int32", "int64", "int8", "uint8"};
  return kTexts[static_cast<int>(value)];
}
enum class ConvolutionCudnnTune { kNone, kFastest, kLimited_workspace, kOff };
inline const char* to_text(ConvolutionCudnnTune value) {
  static constexpr const char* kTexts[] = {"None", "fastest", "limited_workspace", "off"};
  return kTexts[static_cast<int>(value)];
}
enum class ConvolutionLayout { kNone, kNCDHW, kNCHW, kNCW, kNDHWC, kNHWC };
inline const char* to_text(ConvolutionLayout value) {
  static constexpr const char* kTexts[] = {"None", "NCDHW", "NCHW", "NCW", "NDHWC", "NHWC"};
  return kTexts[static_cast<int>(value)];
}
enum class ConvolutionAlgorithm { kNone, kDirect, kFft, kGemm, kWinograd };
inline const char* to_text(ConvolutionAlgorithm value) {
  static constexpr const char* kTexts[] = {"None", "direct", "fft", "gemm", "winograd"};
  return kTexts[static_cast<int>(value)];
}
enum class ConvolutionV1CudnnTune { kNone, kFastest, kLimited_workspace, kOff };
inline const char* to_text(ConvolutionV1CudnnTune value) {
  static constexpr const char* kTexts[] = {"None", "fastest", "limited_workspace", "off"};
  return kTexts[static_cast<int>(value)];
}
enum class ConvolutionV1Layout { kNone, kNCDHW, kNCHW, kNDHWC, kNHWC };
inline const char* to_text(ConvolutionV1Layout value) {
  static constexpr const char* kTexts[] = {"None", "NCDHW", "NCHW", "NDHWC", "NHWC"};
  return kTexts[static_cast<int>(value)];
}
enum class ConvolutionV1Algorithm { kNone, kDirect, kFft, kGemm, kWinograd };
inline const char* to_text(ConvolutionV1Algorithm value) {
  static constexpr const char* kTexts[] = {"None", "direct", "fft", "gemm", "winograd"};
  return kTexts[static_cast<int>(value)];
}
enum class DeconvolutionCudnnTune { kNone, kFastest, kLimited_workspace, kOff };
inline const char* to_text(DeconvolutionCudnnTune value) {
  static constexpr const char* kTexts[] = {"None", "fastest", "limited_workspace", "off"};
  return kTexts[static_cast<int>(value)];
}
enum class DeconvolutionLayout { kNone, kNCDHW, kNCHW, kNCW, kNDHWC, kNHWC };
inline const char* to_text(DeconvolutionLayout value) {
  static constexpr const char* kTexts[] = {"None", "NCDHW", "NCHW", "NCW", "NDHWC", "NHWC"};
  return kTexts[static_cast<int>(value)];
}
enum class DeconvolutionAlgorithm { kNone, kDirect, kFft, kGemm, kWinograd };
inline const char* to_text(DeconvolutionAlgorithm value) {
  static constexpr const char* kTexts[] = {"None", "direct", "fft", "gemm", "winograd"};
  return kTexts[static_cast<int>(value)];
}
enum class DropoutMode { kAlways, kTraining };
inline const char* to_text(DropoutMode value) {
  static constexpr const char* kTexts[] = {"always", "training"};
  return kTexts[static_cast<int>(value)];
}
enum class EmbeddingDtype { kBfloat16, kFloat16, kFloat32, kFloat64, kInt32, kInt64, kInt8, kUint8 };
inline const char* to_text(EmbeddingDtype value) {
  static constexpr const char* kTexts[] = {"bfloat16", "float16", "float32", "float64", "int32", "int64", "int8", "uint8"};
  return kTexts[static_cast<int>(value)];
}
enum class GridGeneratorTransformType { kAffine, kWarp };
inline const char* to_text(GridGeneratorTransformType value) {
  static constexpr const char* kTexts[] = {"affine", "warp"};
  return kTexts[static_cast<int>(value)];
}
enum class L2NormalizationMode { kChannel, kInstance, kSpatial };
inline const char* to_text(L2NormalizationMode value) {
  static constexpr const char* kTexts[] = {"channel", "instance", "spatial"};
  return kTexts[static_cast<int>(value)];
}
enum class LeakyReLUActType { kElu, kGelu, kLeaky, kPrelu, kRrelu, kSelu };
inline const char* to_text(LeakyReLUActType value) {
  static constexpr const char* kTexts[] = {"elu", "gelu", "leaky", "prelu", "rrelu", "selu"};
  return kTexts[static_cast<int>(value)];
}
enum class MakeLossNormalization { kBatch, kNull, kValid };
inline const char* to_text(MakeLossNormalization value) {
  static constexpr const char* kTexts[] = {"batch", "null", "valid"};
  return kTexts[static_cast<int>(value)];
}
enum class PadMode { kConstant, kEdge, kReflect };
inline const char* to_text(PadMode value) {
  static constexpr const char* kTexts[] = {"constant", "edge", "reflect"};
  return kTexts[static_cast<int>(value)];
}
enum class PoolingPoolType { kAvg, kLp, kMax, kSum };
inline const char* to_text(PoolingPoolType value) {
  static constexpr const char* kTexts[] = {"avg", "lp", "max", "sum"};
  return kTexts[static_cast<int>(value)];
}
enum class PoolingPoolingConvention { kFull, kSame, kValid };
inline const char* to_text(PoolingPoolingConvention value) {
  static constexpr const char* kTexts[] = {"full", "same", "valid"};
  return kTexts[static_cast<int>(value)];
}
enum class PoolingLayout { kNone, kNCDHW, kNCHW, kNCW, kNDHWC, kNHWC, kNWC };
inline const char* to_text(PoolingLayout value) {
  static constexpr const char* kTexts[] = {"None", "NCDHW", "NCHW", "NCW", "NDHWC", "NHWC", "NWC"};
  return kTexts[static_cast<int>(value)];
}
enum class PoolingV1PoolType { kAvg, kMax, kSum };
inline const char* to_text(PoolingV1PoolType value) {
  static constexpr const char* kTexts[] = {"avg", "max", "sum"};
  return kTexts[static_cast<int>(value)];
}
enum class PoolingV1PoolingConvention { kFull, kValid };
inline const char* to_text(PoolingV1PoolingConvention value) {
  static constexpr const char* kTexts[] = {"full", "valid"};
  return kTexts[static_cast<int>(value)];
}
enum class RNNMode { kGru, kLstm, kRnn_relu, kRnn_tanh };
inline const char* to_text(RNNMode value) {
  static constexpr const char* kTexts[] = {"gru", "lstm", "rnn_relu", "rnn_tanh"};
  return kTexts[static_cast<int>(value)];
}
enum class SoftmaxActivationMode { kChannel, kInstance };
inline const char* to_text(SoftmaxActivationMode value) {
  static constexpr const char* kTexts[] = {"channel", "instance"};
  return kTexts[static_cast<int>(value)];
}
enum class SoftmaxOutputNormalization { kBatch, kNull, kValid };
inline const char* to_text(SoftmaxOutputNormalization value) {
  static constexpr const char* kTexts[] = {"batch", "null", "valid"};
  return kTexts[static_cast<int>(value)];
}
enum class SpatialTransformerTransformType { kAffine };
inline const char* to_text(SpatialTransformerTransformType value) {
  static constexpr const char* kTexts[] = {"affine"};
  return kTexts[static_cast<int>(value)];
}
enum class SpatialTransformerSamplerType { kBilinear };
inline const char* to_text(SpatialTransformerSamplerType value) {
  static constexpr const char* kTexts[] = {"bilinear"};
  return kTexts[static_cast<int>(value)];
}
enum class UpSamplingSampleType { kBilinear, kNearest };
inline const char* to_text(UpSamplingSampleType value) {
  static constexpr const char* kTexts[] = {"bilinear", "nearest"};
  return kTexts[static_cast<int>(value)];
}
enum class UpSamplingMultiInputMode { kConcat, kSum };
inline const char* to_text(UpSamplingMultiInputMode value) {
  static constexpr const char* kTexts[] = {"concat", "sum"};
  return kTexts[static_cast<int>(value)];
}
enum class ContribBilinearResize2DMode { kLike, kOdd_scale, kSize, kTo_even_down, kTo_even_up, kTo_odd_down, kTo_odd_up };
inline const char* to_text(ContribBilinearResize2DMode value) {
  static constexpr const char* kTexts[] = {"like", "odd_scale", "size", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up"};
  return kTexts[static_cast<int>(value)];
}
enum class ContribDeformableConvolutionLayout { kNone, kNCDHW, kNCHW, kNCW };
inline const char* to_text(ContribDeformableConvolutionLayout value) {
  static constexpr const char* kTexts[] = {"None", "NCDHW", "NCHW", "NCW"};
  return kTexts[static_cast<int>(value)];
}
enum class ContribModulatedDeformableConvolutionLayout { kNone, kNCDHW, kNCHW, kNCW };
inline const char* to_text(ContribModulatedDeformableConvolutionLayout value) {
  static constexpr const char* kTexts[] = {"None", "NCDHW", "NCHW", "NCW"};
  return kTexts[static_cast<int>(value)];
}
enum class ContribSparseEmbeddingDtype { kBfloat16, kFloat16, kFloat32, kFloat64, kInt32, kInt64, kInt8, kUint8 };
inline const char* to_text(ContribSparseEmbeddingDtype value) {
  static constexpr const char* kTexts[] = {"bfloat16", "float16", "float32", "float64", "int32", "int64", "int8", "uint8"};
  return kTexts[static_cast<int>(value)];
}
enum class ContribBoxDecodeFormat { kCenter, kCorner };
inline const char* to_text(ContribBoxDecodeFormat value) {
  static constexpr const char* kTexts[] = {"center", "corner"};
  return kTexts[static_cast<int>(value)];
}
enum class ContribBoxIouFormat { kCenter, kCorner };
inline const char* to_text(ContribBoxIouFormat value) {
  static constexpr const char* kTexts[] = {"center", "corner"};
  return kTexts[static_cast<int>(value)];
}
enum class ContribBoxNmsInFormat { kCenter, kCorner };
inline const char* to_text(ContribBoxNmsInFormat value) {
  static constexpr const char* kTexts[] = {"center", "corner"};
  return kTexts[static_cast<int>(value)];
}
enum class ContribBoxNmsOutFormat { kCenter, kCorner };
inline const char* to_text(ContribBoxNmsOutFormat value) {
  static constexpr const char* kTexts[] = {"center", "corner"};
  return kTexts[static_cast<int>(value)];
}
enum class ContribDequantizeOutType { kFloat32 };
inline const char* to_text(ContribDequantizeOutType value) {
  static constexpr const char* kTexts[] = {"float32"};
  return kTexts[static_cast<int>(value)];
}
enum class ContribLowBitRnnMode { kGru, kLstm, kRnn_relu, kRnn_tanh };
inline const char* to_text(ContribLowBitRnnMode value) {
  static constexpr const char* kTexts[] = {"gru", "lstm", "rnn_relu", "rnn_tanh"};
  return kTexts[static_cast<int>(value)];
}
enum class ContribQuantizeOutType { kInt8, kUint8 };
inline const char* to_text(ContribQuantizeOutType value) {
  static constexpr const char* kTexts[] = {"int8", "uint8"};
  return kTexts[static_cast<int>(value)];
}
enum class ContribQuantizeV2OutType { kAuto, kInt8, kUint8 };
inline const char* to_text(ContribQuantizeV2OutType value) {
  static constexpr const char* kTexts[] = {"auto", "int8", "uint8"};
  return kTexts[static_cast<int>(value)];
}
enum class ContribQuantizedActActType { kRelu, kSigmoid, kSoftrelu, kSoftsign, kTanh };
inline const char* to_text(ContribQuantizedActActType value) {
  static constexpr const char* kTexts[] = {"relu", "sigmoid", "softrelu", "softsign", "tanh"};
  return kTexts[static_cast<int>(value)];
}
enum class ContribQuantizedConvCudnnTune { kNone, kFastest, kLimited_workspace, kOff };
inline const char* to_text(ContribQuantizedConvCudnnTune value) {
  static constexpr const char* kTexts[] = {"None", "fastest", "limited_workspace", "off"};
  return kTexts[static_cast<int>(value)];
}
enum class ContribQuantizedConvLayout { kNone, kNCDHW, kNCHW, kNCW, kNDHWC, kNHWC };
inline const char* to_text(ContribQuantizedConvLayout value) {
  static constexpr const char* kTexts[] = {"None", "NCDHW", "NCHW", "NCW", "NDHWC", "NHWC"};
  return kTexts[static_cast<int>(value)];
}
enum class ContribQuantizedConvAlgorithm { kNone, kDirect, kFft, kGemm, kWinograd };
inline const char* to_text(ContribQuantizedConvAlgorithm value) {
  static constexpr const char* kTexts[] = {"None", "direct", "fft", "gemm", "winograd"};
  return kTexts[static_cast<int>(value)];
}
enum class ContribQuantizedEmbeddingDtype { kBfloat16, kFloat16, kFloat32, kFloat64, kInt32, kInt64, kInt8, kUint8 };
inline const char* to_text(ContribQuantizedEmbeddingDtype value) {
  static constexpr const char* kTexts[] = {"bfloat16", "float16", "float32", "float64", "int32", "int64", "int8", "uint8"};
  return kTexts[static_cast<int>(value)];
}
enum class ContribQuantizedPoolingPoolType { kAvg, kLp, kMax, kSum };
inline const char* to_text(ContribQuantizedPoolingPoolType value) {
  static constexpr const char* kTexts[] = {"avg", "lp", "max", "sum"};
  return kTexts[static_cast<int>(value)];
}
enum class ContribQuantizedPoolingPoolingConvention { kFull, kSame, kValid };
inline const char* to_text(ContribQuantizedPoolingPoolingConvention value) {
  static constexpr const char* kTexts[] = {"full", "same", "valid"};
  return kTexts[static_cast<int>(value)];
}
enum class ContribQuantizedPoolingLayout { kNone, kNCDHW, kNCHW, kNCW, kNDHWC, kNHWC, kNWC };
inline const char* to_text(ContribQuantizedPoolingLayout value) {
  static constexpr const char* kTexts[] = {"None", "NCDHW", "NCHW", "NCW", "NDHWC", "NHWC", "NWC"};
  return kTexts[static_cast<int>(value)];
}
enum class ContribQuantizedRnnMode { kGru, kLstm, kRnn_relu, kRnn_tanh };
inline const char* to_text(ContribQuantizedRnnMode value) {
  static constexpr const char* kTexts[] = {"gru", "lstm", "rnn_relu", "rnn_tanh"};
  return kTexts[static_cast<int>(value)];
}
enum class ContribRequantizeOutType { kAuto, kInt8, kUint8 };
inline const char* to_text(ContribRequantizeOutType value) {
  static constexpr const char* kTexts[] = {"auto", "int8", "uint8"};
  return kTexts[static_cast<int>(value)];
}
enum class NpCumsumDtype { kNone, kFloat16, kFloat32, kFloat64, kInt32, kInt64, kInt8 };
inline const char* to_text(NpCumsumDtype value) {
  static constexpr const char* kTexts[] = {"None", "float16", "float32", "float64", "int32", "int64", "int8"};
  return kTexts[static_cast<int>(value)];
}
enum class RandomExponentialDtype { kNone, kBfloat16, kFloat16, kFloat32, kFloat64 };
inline const char* to_text(RandomExponentialDtype value) {
  static constexpr const char* kTexts[] = {"None", "bfloat16", "float16", "float32", "float64"};
  return kTexts[static_cast<int>(value)];
}
enum class RandomGammaDtype { kNone, kBfloat16, kFloat16, kFloat32, kFloat64 };
inline const char* to_text(RandomGammaDtype value) {
  static constexpr const char* kTexts[] = {"None", "bfloat16", "float16", "float32", "float64"};
  return kTexts[static_cast<int>(value)];
}
enum class RandomGeneralizedNegativeBinomialDtype { kNone, kBfloat16, kFloat16, kFloat32, kFloat64 };
inline const char* to_text(RandomGeneralizedNegativeBinomialDtype value) {
  static constexpr const char* kTexts[] = {"None", "bfloat16", "float16", "float32", "float64"};
  return kTexts[static_cast<int>(value)];
}
enum class RandomNegativeBinomialDtype { kNone, kBfloat16, kFloat16, kFloat32, kFloat64 };
inline const char* to_text(RandomNegativeBinomialDtype value) {
  static constexpr const char* kTexts[] = {"None", "bfloat16", "float16", "float32", "float64"};
  return kTexts[static_cast<int>(value)];
}
enum class RandomNormalDtype { kNone, kBfloat16, kFloat16, kFloat32, kFloat64 };
inline const char* to_text(RandomNormalDtype value) {
  static constexpr const char* kTexts[] = {"None", "bfloat16", "float16", "float32", "float64"};
  return kTexts[static_cast<int>(value)];
}
enum class RandomPoissonDtype { kNone, kBfloat16, kFloat16, kFloat32, kFloat64 };
inline const char* to_text(RandomPoissonDtype value) {
  static constexpr const char* kTexts[] = {"None", "bfloat16", "float16", "float32", "float64"};
  return kTexts[static_cast<int>(value)];
}
enum class RandomRandintDtype { kNone, kInt32, kInt64 };
inline const char* to_text(RandomRandintDtype value) {
  static constexpr const char* kTexts[] = {"None", "int32", "int64"};
  return kTexts[static_cast<int>(value)];
}
enum class RandomUniformDtype { kNone, kBfloat16, kFloat16, kFloat32, kFloat64 };
inline const char* to_text(RandomUniformDtype value) {
  static constexpr const char* kTexts[] = {"None", "bfloat16", "float16", "float32", "float64"};
  return kTexts[static_cast<int>(value)];
}
enum class SampleExponentialDtype { kNone, kBfloat16, kFloat16, kFloat32, kFloat64 };
inline const char* to_text(SampleExponentialDtype value) {
  static constexpr const char* kTexts[] = {"None", "bfloat16", "float16", "float32", "float64"};
  return kTexts[static_cast<int>(value)];
}
enum class SampleGammaDtype { kNone, kBfloat16, kFloat16, kFloat32, kFloat64 };
inline const char* to_text(SampleGammaDtype value) {
  static constexpr const char* kTexts[] = {"None", "bfloat16", "float16", "float32", "float64"};
  return kTexts[static_cast<int>(value)];
}
enum class SampleGeneralizedNegativeBinomialDtype { kNone, kBfloat16, kFloat16, kFloat32, kFloat64 };
inline const char* to_text(SampleGeneralizedNegativeBinomialDtype value) {
  static constexpr const char* kTexts[] = {"None", "bfloat16", "float16", "float32", "float64"};
  return kTexts[static_cast<int>(value)];
}
enum class SampleMultinomialDtype { kFloat16, kFloat32, kFloat64, kInt32, kUint8 };
inline const char* to_text(SampleMultinomialDtype value) {
  static constexpr const char* kTexts[] = {"float16", "float32", "float64", "int32", "uint8"};
  return kTexts[static_cast<int>(value)];
}
enum class SampleNegativeBinomialDtype { kNone, kBfloat16, kFloat16, kFloat32, kFloat64 };
inline const char* to_text(SampleNegativeBinomialDtype value) {
  static constexpr const char* kTexts[] = {"None", "bfloat16", "float16", "float32", "float64"};
  return kTexts[static_cast<int>(value)];
}
enum class SampleNormalDtype { kNone, kBfloat16, kFloat16, kFloat32, kFloat64 };
inline const char* to_text(SampleNormalDtype value) {
  static constexpr const char* kTexts[] = {"None", "bfloat16", "float16", "float32", "float64"};
  return kTexts[static_cast<int>(value)];
}
enum class SamplePoissonDtype { kNone, kBfloat16, kFloat16, kFloat32, kFloat64 };
inline const char* to_text(SamplePoissonDtype value) {
  static constexpr const char* kTexts[] = {"None", "bfloat16", "float16", "float32", "float64"};
  return kTexts[static_cast<int>(value)];
}
enum class SampleUniformDtype { kNone, kBfloat16, kFloat16, kFloat32, kFloat64 };
inline const char* to_text(SampleUniformDtype value) {
  static constexpr const char* kTexts[] = {"None", "bfloat16", "float16", "float32", "float64"};
  return kTexts[static_cast<int>(value)];
}
enum class AmpCastDtype { kBfloat16, kFloat16, kFloat32, kFloat64, kInt32, kInt64, kInt8, kUint8 };
inline const char* to_text(AmpCastDtype value) {
  static constexpr const char* kTexts[] = {"bfloat16", "float16", "float32", "float64", "int32", "int64", "int8", "uint8"};
  return kTexts[static_cast<int>(value)];
}
enum class ArgsortDtype { kFloat16, kFloat32, kFloat64, kInt32, kInt64, kUint8 };
inline const char* to_text(ArgsortDtype value) {
  static constexpr const char* kTexts[] = {"float16", "float32", "float64", "int32", "int64", "uint8"};
  return kTexts[static_cast<int>(value)];
}
enum class BatchDotForwardStype { kNone, kCsr, kDefault, kRow_sparse };
inline const char* to_text(BatchDotForwardStype value) {
  static constexpr const char* kTexts[] = {"None", "csr", "default", "row_sparse"};
  return kTexts[static_cast<int>(value)];
}
enum class CastStorageStype { kCsr, kDefault, kRow_sparse };
inline const char* to_text(CastStorageStype value) {
  static constexpr const char* kTexts[] = {"csr", "default", "row_sparse"};
  return kTexts[static_cast<int>(value)];
}
enum class DotForwardStype { kNone, kCsr, kDefault, kRow_sparse };
inline const char* to_text(DotForwardStype value) {
  static constexpr const char* kTexts[] = {"None", "csr", "default", "row_sparse"};
  return kTexts[static_cast<int>(value)];
}
enum class LogSoftmaxDtype { kNone, kFloat16, kFloat32, kFloat64 };
inline const char* to_text(LogSoftmaxDtype value) {
  static constexpr const char* kTexts[] = {"None", "float16", "float32", "float64"};
  return kTexts[static_cast<int>(value)];
}
enum class NormOutDtype { kNone, kFloat16, kFloat32, kFloat64, kInt32, kInt64, kInt8 };
inline const char* to_text(NormOutDtype value) {
  static constexpr const char* kTexts[] = {"None", "float16", "float32", "float64", "int32", "int64", "int8"};
  return kTexts[static_cast<int>(value)];
}
enum class OneHotDtype { kBfloat16, kFloat16, kFloat32, kFloat64, kInt32, kInt64, kInt8, kUint8 };
inline const char* to_text(OneHotDtype value) {
  static constexpr const char* kTexts[] = {"bfloat16", "float16", "float32", "float64", "int32", "int64", "int8", "uint8"};
  return kTexts[static_cast<int>(value)];
}
enum class PickMode { kClip, kWrap };
inline const char* to_text(PickMode value) {
  static constexpr const char* kTexts[] = {"clip", "wrap"};
  return kTexts[static_cast<int>(value)];
}
enum class SoftmaxDtype { kNone, kFloat16, kFloat32, kFloat64 };
inline const char* to_text(SoftmaxDtype value) {
  static constexpr const char* kTexts[] = {"None", "float16", "float32", "float64"};
  return kTexts[static_cast<int>(value)];
}
enum class SoftminDtype { kNone, kFloat16, kFloat32, kFloat64 };
inline const char* to_text(SoftminDtype value) {
  static constexpr const char* kTexts[] = {"None", "float16", "float32", "float64"};
  return kTexts[static_cast<int>(value)];
}
enum class TakeMode { kClip, kRaise, kWrap };
inline const char* to_text(TakeMode value) {
  static constexpr const char* kTexts[] = {"clip", "raise", "wrap"};
  return kTexts[static_cast<int>(value)];
}
enum class TopkRetTyp { kBoth, kIndices, kMask, kValue };
inline const char* to_text(TopkRetTyp value) {
  static constexpr const char* kTexts[] = {"both", "indices", "mask", "value"};
  return kTexts[static_cast<int>(value)];
}
enum class TopkDtype { kFloat16, kFloat32, kFloat64, kInt32, kInt64, kUint8 };
inline const char* to_text(TopkDtype value) {
  static constexpr const char* kTexts[] = {"float16", "float32", "float64", "int32", "int64", "uint8"};
  return kTexts[static_cast<int>(value)];
}

// Applies an activation function to each element.
inline Symbol Activation(const std::string& symbol_name, const Symbol& data, ActivationActType act_type) {
  return detail::Composed("Activation").input("data", data).set("act_type", act_type).make(symbol_name);
}
inline Symbol Activation(const Symbol& data, ActivationActType act_type) {
  return Activation(std::string(), data, act_type);
}
// Normalises each channel over the batch, then scales by gamma and adds beta.
inline Symbol BatchNorm(const std::string& symbol_name, const Symbol& data, const Symbol& gamma, const Symbol& beta, const Symbol& moving_mean, const Symbol& moving_var, double eps = 0.0010000000474974513, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int axis = 1, bool cudnn_off = false, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return detail::Composed("BatchNorm").input("data", data).input("gamma", gamma).input("beta", beta).input("moving_mean", moving_mean).input("moving_var", moving_var).set("eps", eps, 0.0010000000474974513).set("momentum", momentum, 0.9f).set("fix_gamma", fix_gamma, true).set("use_global_stats", use_global_stats, false).set("output_mean_var", output_mean_var, false).set("axis", axis, 1).set("cudnn_off", cudnn_off, false).set("min_calib_range", min_calib_range).set("max_calib_range", max_calib_range).make(symbol_name);
}
inline Symbol BatchNorm(const Symbol& data, const Symbol& gamma, const Symbol& beta, const Symbol& moving_mean, const Symbol& moving_var, double eps = 0.0010000000474974513, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int axis = 1, bool cudnn_off = false, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return BatchNorm(std::string(), data, gamma, beta, moving_mean, moving_var, eps, momentum, fix_gamma, use_global_stats, output_mean_var, axis, cudnn_off, min_calib_range, max_calib_range);
}
inline Symbol BatchNorm(const std::string& symbol_name, const Symbol& data, const Symbol& gamma, const Symbol& beta, const Symbol& moving_mean, double eps = 0.0010000000474974513, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int axis = 1, bool cudnn_off = false, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return detail::Composed("BatchNorm").input("data", data).input("gamma", gamma).input("beta", beta).input("moving_mean", moving_mean).set("eps", eps, 0.0010000000474974513).set("momentum", momentum, 0.9f).set("fix_gamma", fix_gamma, true).set("use_global_stats", use_global_stats, false).set("output_mean_var", output_mean_var, false).set("axis", axis, 1).set("cudnn_off", cudnn_off, false).set("min_calib_range", min_calib_range).set("max_calib_range", max_calib_range).make(symbol_name);
}
inline Symbol BatchNorm(const Symbol& data, const Symbol& gamma, const Symbol& beta, const Symbol& moving_mean, double eps = 0.0010000000474974513, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int axis = 1, bool cudnn_off = false, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return BatchNorm(std::string(), data, gamma, beta, moving_mean, eps, momentum, fix_gamma, use_global_stats, output_mean_var, axis, cudnn_off, min_calib_range, max_calib_range);
}
inline Symbol BatchNorm(const std::string& symbol_name, const Symbol& data, const Symbol& gamma, const Symbol& beta, double eps = 0.0010000000474974513, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int axis = 1, bool cudnn_off = false, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return detail::Composed("BatchNorm").input("data", data).input("gamma", gamma).input("beta", beta).set("eps", eps, 0.0010000000474974513).set("momentum", momentum, 0.9f).set("fix_gamma", fix_gamma, true).set("use_global_stats", use_global_stats, false).set("output_mean_var", output_mean_var, false).set("axis", axis, 1).set("cudnn_off", cudnn_off, false).set("min_calib_range", min_calib_range).set("max_calib_range", max_calib_range).make(symbol_name);
}
inline Symbol BatchNorm(const Symbol& data, const Symbol& gamma, const Symbol& beta, double eps = 0.0010000000474974513, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int axis = 1, bool cudnn_off = false, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return BatchNorm(std::string(), data, gamma, beta, eps, momentum, fix_gamma, use_global_stats, output_mean_var, axis, cudnn_off, min_calib_range, max_calib_range);
}
inline Symbol BatchNorm(const std::string& symbol_name, const Symbol& data, const Symbol& gamma, double eps = 0.0010000000474974513, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int axis = 1, bool cudnn_off = false, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return detail::Composed("BatchNorm").input("data", data).input("gamma", gamma).set("eps", eps, 0.0010000000474974513).set("momentum", momentum, 0.9f).set("fix_gamma", fix_gamma, true).set("use_global_stats", use_global_stats, false).set("output_mean_var", output_mean_var, false).set("axis", axis, 1).set("cudnn_off", cudnn_off, false).set("min_calib_range", min_calib_range).set("max_calib_range", max_calib_range).make(symbol_name);
}
inline Symbol BatchNorm(const Symbol& data, const Symbol& gamma, double eps = 0.0010000000474974513, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int axis = 1, bool cudnn_off = false, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return BatchNorm(std::string(), data, gamma, eps, momentum, fix_gamma, use_global_stats, output_mean_var, axis, cudnn_off, min_calib_range, max_calib_range);
}
inline Symbol BatchNorm(const std::string& symbol_name, const Symbol& data, double eps = 0.0010000000474974513, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int axis = 1, bool cudnn_off = false, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return detail::Composed("BatchNorm").input("data", data).set("eps", eps, 0.0010000000474974513).set("momentum", momentum, 0.9f).set("fix_gamma", fix_gamma, true).set("use_global_stats", use_global_stats, false).set("output_mean_var", output_mean_var, false).set("axis", axis, 1).set("cudnn_off", cudnn_off, false).set("min_calib_range", min_calib_range).set("max_calib_range", max_calib_range).make(symbol_name);
}
inline Symbol BatchNorm(const Symbol& data, double eps = 0.0010000000474974513, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int axis = 1, bool cudnn_off = false, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return BatchNorm(std::string(), data, eps, momentum, fix_gamma, use_global_stats, output_mean_var, axis, cudnn_off, min_calib_range, max_calib_range);
}
// BatchNorm over axis 1, for old files.
inline Symbol BatchNorm_v1(const std::string& symbol_name, const Symbol& data, const Symbol& gamma, const Symbol& beta, const Symbol& moving_mean, const Symbol& moving_var, mx_float eps = 0.001f, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false) {
  return detail::Composed("BatchNorm_v1").input("data", data).input("gamma", gamma).input("beta", beta).input("moving_mean", moving_mean).input("moving_var", moving_var).set("eps", eps, 0.001f).set("momentum", momentum, 0.9f).set("fix_gamma", fix_gamma, true).set("use_global_stats", use_global_stats, false).set("output_mean_var", output_mean_var, false).make(symbol_name);
}
inline Symbol BatchNorm_v1(const Symbol& data, const Symbol& gamma, const Symbol& beta, const Symbol& moving_mean, const Symbol& moving_var, mx_float eps = 0.001f, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false) {
  return BatchNorm_v1(std::string(), data, gamma, beta, moving_mean, moving_var, eps, momentum, fix_gamma, use_global_stats, output_mean_var);
}
inline Symbol BatchNorm_v1(const std::string& symbol_name, const Symbol& data, const Symbol& gamma, const Symbol& beta, const Symbol& moving_mean, mx_float eps = 0.001f, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false) {
  return detail::Composed("BatchNorm_v1").input("data", data).input("gamma", gamma).input("beta", beta).input("moving_mean", moving_mean).set("eps", eps, 0.001f).set("momentum", momentum, 0.9f).set("fix_gamma", fix_gamma, true).set("use_global_stats", use_global_stats, false).set("output_mean_var", output_mean_var, false).make(symbol_name);
}
inline Symbol BatchNorm_v1(const Symbol& data, const Symbol& gamma, const Symbol& beta, const Symbol& moving_mean, mx_float eps = 0.001f, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false) {
  return BatchNorm_v1(std::string(), data, gamma, beta, moving_mean, eps, momentum, fix_gamma, use_global_stats, output_mean_var);
}
inline Symbol BatchNorm_v1(const std::string& symbol_name, const Symbol& data, const Symbol& gamma, const Symbol& beta, mx_float eps = 0.001f, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false) {
  return detail::Composed("BatchNorm_v1").input("data", data).input("gamma", gamma).input("beta", beta).set("eps", eps, 0.001f).set("momentum", momentum, 0.9f).set("fix_gamma", fix_gamma, true).set("use_global_stats", use_global_stats, false).set("output_mean_var", output_mean_var, false).make(symbol_name);
}
inline Symbol BatchNorm_v1(const Symbol& data, const Symbol& gamma, const Symbol& beta, mx_float eps = 0.001f, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false) {
  return BatchNorm_v1(std::string(), data, gamma, beta, eps, momentum, fix_gamma, use_global_stats, output_mean_var);
}
inline Symbol BatchNorm_v1(const std::string& symbol_name, const Symbol& data, const Symbol& gamma, mx_float eps = 0.001f, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false) {
  return detail::Composed("BatchNorm_v1").input("data", data).input("gamma", gamma).set("eps", eps, 0.001f).set("momentum", momentum, 0.9f).set("fix_gamma", fix_gamma, true).set("use_global_stats", use_global_stats, false).set("output_mean_var", output_mean_var, false).make(symbol_name);
}
inline Symbol BatchNorm_v1(const Symbol& data, const Symbol& gamma, mx_float eps = 0.001f, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false) {
  return BatchNorm_v1(std::string(), data, gamma, eps, momentum, fix_gamma, use_global_stats, output_mean_var);
}
inline Symbol BatchNorm_v1(const std::string& symbol_name, const Symbol& data, mx_float eps = 0.001f, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false) {
  return detail::Composed("BatchNorm_v1").input("data", data).set("eps", eps, 0.001f).set("momentum", momentum, 0.9f).set("fix_gamma", fix_gamma, true).set("use_global_stats", use_global_stats, false).set("output_mean_var", output_mean_var, false).make(symbol_name);
}
inline Symbol BatchNorm_v1(const Symbol& data, mx_float eps = 0.001f, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false) {
  return BatchNorm_v1(std::string(), data, eps, momentum, fix_gamma, use_global_stats, output_mean_var);
}
// Reads data where a grid says, as weighted means of the four elements around; outside of it there are zeros.
inline Symbol BilinearSampler(const std::string& symbol_name, const Symbol& data, const Symbol& grid, const std::optional<bool>& cudnn_off = std::nullopt) {
  return detail::Composed("BilinearSampler").input("data", data).input("grid", grid).set("cudnn_off", cudnn_off).make(symbol_name);
}
inline Symbol BilinearSampler(const Symbol& data, const Symbol& grid, const std::optional<bool>& cudnn_off = std::nullopt) {
  return BilinearSampler(std::string(), data, grid, cudnn_off);
}
// data, through which no gradient flows.
inline Symbol BlockGrad(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("BlockGrad").input("data", data).make(symbol_name);
}
inline Symbol BlockGrad(const Symbol& data) {
  return BlockGrad(std::string(), data);
}
// The connectionist temporal classification loss: the negative logarithm of the probability of all ways to spread a label over time.
inline Symbol CTCLoss(const std::string& symbol_name, const Symbol& data, const Symbol& label, const Symbol& data_lengths, const Symbol& label_lengths, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return detail::Composed("CTCLoss").input("data", data).input("label", label).input("data_lengths", data_lengths).input("label_lengths", label_lengths).set("use_data_lengths", use_data_lengths, false).set("use_label_lengths", use_label_lengths, false).set("blank_label", blank_label, CTCLossBlankLabel::kFirst).make(symbol_name);
}
inline Symbol CTCLoss(const Symbol& data, const Symbol& label, const Symbol& data_lengths, const Symbol& label_lengths, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return CTCLoss(std::string(), data, label, data_lengths, label_lengths, use_data_lengths, use_label_lengths, blank_label);
}
inline Symbol CTCLoss(const std::string& symbol_name, const Symbol& data, const Symbol& label, const Symbol& data_lengths, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return detail::Composed("CTCLoss").input("data", data).input("label", label).input("data_lengths", data_lengths).set("use_data_lengths", use_data_lengths, false).set("use_label_lengths", use_label_lengths, false).set("blank_label", blank_label, CTCLossBlankLabel::kFirst).make(symbol_name);
}
inline Symbol CTCLoss(const Symbol& data, const Symbol& label, const Symbol& data_lengths, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return CTCLoss(std::string(), data, label, data_lengths, use_data_lengths, use_label_lengths, blank_label);
}
inline Symbol CTCLoss(const std::string& symbol_name, const Symbol& data, const Symbol& label, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return detail::Composed("CTCLoss").input("data", data).input("label", label).set("use_data_lengths", use_data_lengths, false).set("use_label_lengths", use_label_lengths, false).set("blank_label", blank_label, CTCLossBlankLabel::kFirst).make(symbol_name);
}
inline Symbol CTCLoss(const Symbol& data, const Symbol& label, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return CTCLoss(std::string(), data, label, use_data_lengths, use_label_lengths, blank_label);
}
inline Symbol CTCLoss(const std::string& symbol_name, const Symbol& data, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return detail::Composed("CTCLoss").input("data", data).set("use_data_lengths", use_data_lengths, false).set("use_label_lengths", use_label_lengths, false).set("blank_label", blank_label, CTCLossBlankLabel::kFirst).make(symbol_name);
}
inline Symbol CTCLoss(const Symbol& data, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return CTCLoss(std::string(), data, use_data_lengths, use_label_lengths, blank_label);
}
// Converts the elements to another type.
inline Symbol Cast(const std::string& symbol_name, const Symbol& data, CastDtype dtype) {
  return detail::Composed("Cast").input("data", data).set("dtype", dtype).make(symbol_name);
}
inline Symbol Cast(const Symbol& data, CastDtype dtype) {
  return Cast(std::string(), data, dtype);
}
// Joins arrays along an axis.
inline Symbol Concat(const std::string& symbol_name, const std::vector<Symbol>& data, int num_args, int dim = 1) {
  return detail::Composed("Concat").inputs(data).set("num_args", num_args).set("dim", dim, 1).make(symbol_name);
}
inline Symbol Concat(const std::vector<Symbol>& data, int num_args, int dim = 1) {
  return Concat(std::string(), data, num_args, dim);
}
// Slides filters over one to three axes of the data.
inline Symbol Convolution(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& bias, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ConvolutionCudnnTune cudnn_tune = ConvolutionCudnnTune::kNone, bool cudnn_off = false, ConvolutionLayout layout = ConvolutionLayout::kNone, ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::kNone) {
  return detail::Composed("Convolution").input("data", data).input("weight", weight).input("bias", bias).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("num_group", num_group, 1).set("workspace", workspace, 1024).set("no_bias", no_bias, false).set("cudnn_tune", cudnn_tune, ConvolutionCudnnTune::kNone).set("cudnn_off", cudnn_off, false).set("layout", layout, ConvolutionLayout::kNone).set("algorithm", algorithm, ConvolutionAlgorithm::kNone).make(symbol_name);
}
inline Symbol Convolution(const Symbol& data, const Symbol& weight, const Symbol& bias, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ConvolutionCudnnTune cudnn_tune = ConvolutionCudnnTune::kNone, bool cudnn_off = false, ConvolutionLayout layout = ConvolutionLayout::kNone, ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::kNone) {
  return Convolution(std::string(), data, weight, bias, kernel, num_filter, stride, dilate, pad, num_group, workspace, no_bias, cudnn_tune, cudnn_off, layout, algorithm);
}
inline Symbol Convolution(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ConvolutionCudnnTune cudnn_tune = ConvolutionCudnnTune::kNone, bool cudnn_off = false, ConvolutionLayout layout = ConvolutionLayout::kNone, ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::kNone) {
  return detail::Composed("Convolution").input("data", data).input("weight", weight).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("num_group", num_group, 1).set("workspace", workspace, 1024).set("no_bias", no_bias, false).set("cudnn_tune", cudnn_tune, ConvolutionCudnnTune::kNone).set("cudnn_off", cudnn_off, false).set("layout", layout, ConvolutionLayout::kNone).set("algorithm", algorithm, ConvolutionAlgorithm::kNone).make(symbol_name);
}
inline Symbol Convolution(const Symbol& data, const Symbol& weight, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ConvolutionCudnnTune cudnn_tune = ConvolutionCudnnTune::kNone, bool cudnn_off = false, ConvolutionLayout layout = ConvolutionLayout::kNone, ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::kNone) {
  return Convolution(std::string(), data, weight, kernel, num_filter, stride, dilate, pad, num_group, workspace, no_bias, cudnn_tune, cudnn_off, layout, algorithm);
}
inline Symbol Convolution(const std::string& symbol_name, const Symbol& data, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ConvolutionCudnnTune cudnn_tune = ConvolutionCudnnTune::kNone, bool cudnn_off = false, ConvolutionLayout layout = ConvolutionLayout::kNone, ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::kNone) {
  return detail::Composed("Convolution").input("data", data).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("num_group", num_group, 1).set("workspace", workspace, 1024).set("no_bias", no_bias, false).set("cudnn_tune", cudnn_tune, ConvolutionCudnnTune::kNone).set("cudnn_off", cudnn_off, false).set("layout", layout, ConvolutionLayout::kNone).set("algorithm", algorithm, ConvolutionAlgorithm::kNone).make(symbol_name);
}
inline Symbol Convolution(const Symbol& data, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ConvolutionCudnnTune cudnn_tune = ConvolutionCudnnTune::kNone, bool cudnn_off = false, ConvolutionLayout layout = ConvolutionLayout::kNone, ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::kNone) {
  return Convolution(std::string(), data, kernel, num_filter, stride, dilate, pad, num_group, workspace, no_bias, cudnn_tune, cudnn_off, layout, algorithm);
}
// Convolution by another name, for old files.
inline Symbol Convolution_v1(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& bias, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ConvolutionV1CudnnTune cudnn_tune = ConvolutionV1CudnnTune::kNone, bool cudnn_off = false, ConvolutionV1Layout layout = ConvolutionV1Layout::kNone, ConvolutionV1Algorithm algorithm = ConvolutionV1Algorithm::kNone) {
  return detail::Composed("Convolution_v1").input("data", data).input("weight", weight).input("bias", bias).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("num_group", num_group, 1).set("workspace", workspace, 1024).set("no_bias", no_bias, false).set("cudnn_tune", cudnn_tune, ConvolutionV1CudnnTune::kNone).set("cudnn_off", cudnn_off, false).set("layout", layout, ConvolutionV1Layout::kNone).set("algorithm", algorithm, ConvolutionV1Algorithm::kNone).make(symbol_name);
}
inline Symbol Convolution_v1(const Symbol& data, const Symbol& weight, const Symbol& bias, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ConvolutionV1CudnnTune cudnn_tune = ConvolutionV1CudnnTune::kNone, bool cudnn_off = false, ConvolutionV1Layout layout = ConvolutionV1Layout::kNone, ConvolutionV1Algorithm algorithm = ConvolutionV1Algorithm::kNone) {
  return Convolution_v1(std::string(), data, weight, bias, kernel, num_filter, stride, dilate, pad, num_group, workspace, no_bias, cudnn_tune, cudnn_off, layout, algorithm);
}
inline Symbol Convolution_v1(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ConvolutionV1CudnnTune cudnn_tune = ConvolutionV1CudnnTune::kNone, bool cudnn_off = false, ConvolutionV1Layout layout = ConvolutionV1Layout::kNone, ConvolutionV1Algorithm algorithm = ConvolutionV1Algorithm::kNone) {
  return detail::Composed("Convolution_v1").input("data", data).input("weight", weight).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("num_group", num_group, 1).set("workspace", workspace, 1024).set("no_bias", no_bias, false).set("cudnn_tune", cudnn_tune, ConvolutionV1CudnnTune::kNone).set("cudnn_off", cudnn_off, false).set("layout", layout, ConvolutionV1Layout::kNone).set("algorithm", algorithm, ConvolutionV1Algorithm::kNone).make(symbol_name);
}
inline Symbol Convolution_v1(const Symbol& data, const Symbol& weight, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ConvolutionV1CudnnTune cudnn_tune = ConvolutionV1CudnnTune::kNone, bool cudnn_off = false, ConvolutionV1Layout layout = ConvolutionV1Layout::kNone, ConvolutionV1Algorithm algorithm = ConvolutionV1Algorithm::kNone) {
  return Convolution_v1(std::string(), data, weight, kernel, num_filter, stride, dilate, pad, num_group, workspace, no_bias, cudnn_tune, cudnn_off, layout, algorithm);
}
inline Symbol Convolution_v1(const std::string& symbol_name, const Symbol& data, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ConvolutionV1CudnnTune cudnn_tune = ConvolutionV1CudnnTune::kNone, bool cudnn_off = false, ConvolutionV1Layout layout = ConvolutionV1Layout::kNone, ConvolutionV1Algorithm algorithm = ConvolutionV1Algorithm::kNone) {
  return detail::Composed("Convolution_v1").input("data", data).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("num_group", num_group, 1).set("workspace", workspace, 1024).set("no_bias", no_bias, false).set("cudnn_tune", cudnn_tune, ConvolutionV1CudnnTune::kNone).set("cudnn_off", cudnn_off, false).set("layout", layout, ConvolutionV1Layout::kNone).set("algorithm", algorithm, ConvolutionV1Algorithm::kNone).make(symbol_name);
}
inline Symbol Convolution_v1(const Symbol& data, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ConvolutionV1CudnnTune cudnn_tune = ConvolutionV1CudnnTune::kNone, bool cudnn_off = false, ConvolutionV1Layout layout = ConvolutionV1Layout::kNone, ConvolutionV1Algorithm algorithm = ConvolutionV1Algorithm::kNone) {
  return Convolution_v1(std::string(), data, kernel, num_filter, stride, dilate, pad, num_group, workspace, no_bias, cudnn_tune, cudnn_off, layout, algorithm);
}
// Compares squares of one image with displaced squares of another: a channel for each displacement.
inline Symbol Correlation(const std::string& symbol_name, const Symbol& data1, const Symbol& data2, int kernel_size = 1, int max_displacement = 1, int stride1 = 1, int stride2 = 1, int pad_size = 0, bool is_multiply = true) {
  return detail::Composed("Correlation").input("data1", data1).input("data2", data2).set("kernel_size", kernel_size, 1).set("max_displacement", max_displacement, 1).set("stride1", stride1, 1).set("stride2", stride2, 1).set("pad_size", pad_size, 0).set("is_multiply", is_multiply, true).make(symbol_name);
}
inline Symbol Correlation(const Symbol& data1, const Symbol& data2, int kernel_size = 1, int max_displacement = 1, int stride1 = 1, int stride2 = 1, int pad_size = 0, bool is_multiply = true) {
  return Correlation(std::string(), data1, data2, kernel_size, max_displacement, stride1, stride2, pad_size, is_multiply);
}
// Keeps a part of each image.
inline Symbol Crop(const std::string& symbol_name, const std::vector<Symbol>& data, int num_args, const Shape& offset = Shape(0, 0), const Shape& h_w = Shape(0, 0), bool center_crop = false) {
  return detail::Composed("Crop").inputs(data).set("num_args", num_args).set("offset", offset, Shape(0, 0)).set("h_w", h_w, Shape(0, 0)).set("center_crop", center_crop, false).make(symbol_name);
}
inline Symbol Crop(const std::vector<Symbol>& data, int num_args, const Shape& offset = Shape(0, 0), const Shape& h_w = Shape(0, 0), bool center_crop = false) {
  return Crop(std::string(), data, num_args, offset, h_w, center_crop);
}
// Spreads each element of the data over the output by a filter: the transpose of Convolution.
inline Symbol Deconvolution(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& bias, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), const Shape& adj = Shape(), const Shape& target_shape = Shape(), int num_group = 1, int64_t workspace = 512, bool no_bias = true, DeconvolutionCudnnTune cudnn_tune = DeconvolutionCudnnTune::kNone, bool cudnn_off = false, DeconvolutionLayout layout = DeconvolutionLayout::kNone, DeconvolutionAlgorithm algorithm = DeconvolutionAlgorithm::kNone) {
  return detail::Composed("Deconvolution").input("data", data).input("weight", weight).input("bias", bias).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("adj", adj, Shape()).set("target_shape", target_shape, Shape()).set("num_group", num_group, 1).set("workspace", workspace, 512).set("no_bias", no_bias, true).set("cudnn_tune", cudnn_tune, DeconvolutionCudnnTune::kNone).set("cudnn_off", cudnn_off, false).set("layout", layout, DeconvolutionLayout::kNone).set("algorithm", algorithm, DeconvolutionAlgorithm::kNone).make(symbol_name);
}
inline Symbol Deconvolution(const Symbol& data, const Symbol& weight, const Symbol& bias, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), const Shape& adj = Shape(), const Shape& target_shape = Shape(), int num_group = 1, int64_t workspace = 512, bool no_bias = true, DeconvolutionCudnnTune cudnn_tune = DeconvolutionCudnnTune::kNone, bool cudnn_off = false, DeconvolutionLayout layout = DeconvolutionLayout::kNone, DeconvolutionAlgorithm algorithm = DeconvolutionAlgorithm::kNone) {
  return Deconvolution(std::string(), data, weight, bias, kernel, num_filter, stride, dilate, pad, adj, target_shape, num_group, workspace, no_bias, cudnn_tune, cudnn_off, layout, algorithm);
}
inline Symbol Deconvolution(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), const Shape& adj = Shape(), const Shape& target_shape = Shape(), int num_group = 1, int64_t workspace = 512, bool no_bias = true, DeconvolutionCudnnTune cudnn_tune = DeconvolutionCudnnTune::kNone, bool cudnn_off = false, DeconvolutionLayout layout = DeconvolutionLayout::kNone, DeconvolutionAlgorithm algorithm = DeconvolutionAlgorithm::kNone) {
  return detail::Composed("Deconvolution").input("data", data).input("weight", weight).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("adj", adj, Shape()).set("target_shape", target_shape, Shape()).set("num_group", num_group, 1).set("workspace", workspace, 512).set("no_bias", no_bias, true).set("cudnn_tune", cudnn_tune, DeconvolutionCudnnTune::kNone).set("cudnn_off", cudnn_off, false).set("layout", layout, DeconvolutionLayout::kNone).set("algorithm", algorithm, DeconvolutionAlgorithm::kNone).make(symbol_name);
}
inline Symbol Deconvolution(const Symbol& data, const Symbol& weight, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), const Shape& adj = Shape(), const Shape& target_shape = Shape(), int num_group = 1, int64_t workspace = 512, bool no_bias = true, DeconvolutionCudnnTune cudnn_tune = DeconvolutionCudnnTune::kNone, bool cudnn_off = false, DeconvolutionLayout layout = DeconvolutionLayout::kNone, DeconvolutionAlgorithm algorithm = DeconvolutionAlgorithm::kNone) {
  return Deconvolution(std::string(), data, weight, kernel, num_filter, stride, dilate, pad, adj, target_shape, num_group, workspace, no_bias, cudnn_tune, cudnn_off, layout, algorithm);
}
inline Symbol Deconvolution(const std::string& symbol_name, const Symbol& data, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), const Shape& adj = Shape(), const Shape& target_shape = Shape(), int num_group = 1, int64_t workspace = 512, bool no_bias = true, DeconvolutionCudnnTune cudnn_tune = DeconvolutionCudnnTune::kNone, bool cudnn_off = false, DeconvolutionLayout layout = DeconvolutionLayout::kNone, DeconvolutionAlgorithm algorithm = DeconvolutionAlgorithm::kNone) {
  return detail::Composed("Deconvolution").input("data", data).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("adj", adj, Shape()).set("target_shape", target_shape, Shape()).set("num_group", num_group, 1).set("workspace", workspace, 512).set("no_bias", no_bias, true).set("cudnn_tune", cudnn_tune, DeconvolutionCudnnTune::kNone).set("cudnn_off", cudnn_off, false).set("layout", layout, DeconvolutionLayout::kNone).set("algorithm", algorithm, DeconvolutionAlgorithm::kNone).make(symbol_name);
}
inline Symbol Deconvolution(const Symbol& data, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), const Shape& adj = Shape(), const Shape& target_shape = Shape(), int num_group = 1, int64_t workspace = 512, bool no_bias = true, DeconvolutionCudnnTune cudnn_tune = DeconvolutionCudnnTune::kNone, bool cudnn_off = false, DeconvolutionLayout layout = DeconvolutionLayout::kNone, DeconvolutionAlgorithm algorithm = DeconvolutionAlgorithm::kNone) {
  return Deconvolution(std::string(), data, kernel, num_filter, stride, dilate, pad, adj, target_shape, num_group, workspace, no_bias, cudnn_tune, cudnn_off, layout, algorithm);
}
// Sets random elements to zero while training, and scales the others so that the mean stays.
inline Symbol Dropout(const std::string& symbol_name, const Symbol& data, mx_float p = 0.5f, DropoutMode mode = DropoutMode::kTraining, const Shape& axes = Shape(), const std::optional<bool>& cudnn_off = false) {
  return detail::Composed("Dropout").input("data", data).set("p", p, 0.5f).set("mode", mode, DropoutMode::kTraining).set("axes", axes, Shape()).set("cudnn_off", cudnn_off, false).make(symbol_name);
}
inline Symbol Dropout(const Symbol& data, mx_float p = 0.5f, DropoutMode mode = DropoutMode::kTraining, const Shape& axes = Shape(), const std::optional<bool>& cudnn_off = false) {
  return Dropout(std::string(), data, p, mode, axes, cudnn_off);
}
// Sum of all inputs.
inline Symbol ElementWiseSum(const std::string& symbol_name, const std::vector<Symbol>& args, int num_args) {
  return detail::Composed("add_n").inputs(args).set("num_args", num_args).make(symbol_name);
}
inline Symbol ElementWiseSum(const std::vector<Symbol>& args, int num_args) {
  return ElementWiseSum(std::string(), args, num_args);
}
// Looks up rows of `weight`; indices outside are moved to the nearest row.
inline Symbol Embedding(const std::string& symbol_name, const Symbol& data, const Symbol& weight, int input_dim, int output_dim, EmbeddingDtype dtype = EmbeddingDtype::kFloat32, bool sparse_grad = false, bool deterministic = false) {
  return detail::Composed("Embedding").input("data", data).input("weight", weight).set("input_dim", input_dim).set("output_dim", output_dim).set("dtype", dtype, EmbeddingDtype::kFloat32).set("sparse_grad", sparse_grad, false).set("deterministic", deterministic, false).make(symbol_name);
}
inline Symbol Embedding(const Symbol& data, const Symbol& weight, int input_dim, int output_dim, EmbeddingDtype dtype = EmbeddingDtype::kFloat32, bool sparse_grad = false, bool deterministic = false) {
  return Embedding(std::string(), data, weight, input_dim, output_dim, dtype, sparse_grad, deterministic);
}
inline Symbol Embedding(const std::string& symbol_name, const Symbol& data, int input_dim, int output_dim, EmbeddingDtype dtype = EmbeddingDtype::kFloat32, bool sparse_grad = false, bool deterministic = false) {
  return detail::Composed("Embedding").input("data", data).set("input_dim", input_dim).set("output_dim", output_dim).set("dtype", dtype, EmbeddingDtype::kFloat32).set("sparse_grad", sparse_grad, false).set("deterministic", deterministic, false).make(symbol_name);
}
inline Symbol Embedding(const Symbol& data, int input_dim, int output_dim, EmbeddingDtype dtype = EmbeddingDtype::kFloat32, bool sparse_grad = false, bool deterministic = false) {
  return Embedding(std::string(), data, input_dim, output_dim, dtype, sparse_grad, deterministic);
}
// Joins all axes but the first.
inline Symbol Flatten(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("Flatten").input("data", data).make(symbol_name);
}
inline Symbol Flatten(const Symbol& data) {
  return Flatten(std::string(), data);
}
// Multiplies the data by the transposed weight and adds the bias.
inline Symbol FullyConnected(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& bias, int num_hidden, bool no_bias = false, bool flatten = true) {
  return detail::Composed("FullyConnected").input("data", data).input("weight", weight).input("bias", bias).set("num_hidden", num_hidden).set("no_bias", no_bias, false).set("flatten", flatten, true).make(symbol_name);
}
inline Symbol FullyConnected(const Symbol& data, const Symbol& weight, const Symbol& bias, int num_hidden, bool no_bias = false, bool flatten = true) {
  return FullyConnected(std::string(), data, weight, bias, num_hidden, no_bias, flatten);
}
inline Symbol FullyConnected(const std::string& symbol_name, const Symbol& data, const Symbol& weight, int num_hidden, bool no_bias = false, bool flatten = true) {
  return detail::Composed("FullyConnected").input("data", data).input("weight", weight).set("num_hidden", num_hidden).set("no_bias", no_bias, false).set("flatten", flatten, true).make(symbol_name);
}
inline Symbol FullyConnected(const Symbol& data, const Symbol& weight, int num_hidden, bool no_bias = false, bool flatten = true) {
  return FullyConnected(std::string(), data, weight, num_hidden, no_bias, flatten);
}
inline Symbol FullyConnected(const std::string& symbol_name, const Symbol& data, int num_hidden, bool no_bias = false, bool flatten = true) {
  return detail::Composed("FullyConnected").input("data", data).set("num_hidden", num_hidden).set("no_bias", no_bias, false).set("flatten", flatten, true).make(symbol_name);
}
inline Symbol FullyConnected(const Symbol& data, int num_hidden, bool no_bias = false, bool flatten = true) {
  return FullyConnected(std::string(), data, num_hidden, no_bias, flatten);
}
// Makes a grid for BilinearSampler from an affine transformation or a flow.
inline Symbol GridGenerator(const std::string& symbol_name, const Symbol& data, GridGeneratorTransformType transform_type, const Shape& target_shape = Shape(0, 0)) {
  return detail::Composed("GridGenerator").input("data", data).set("transform_type", transform_type).set("target_shape", target_shape, Shape(0, 0)).make(symbol_name);
}
inline Symbol GridGenerator(const Symbol& data, GridGeneratorTransformType transform_type, const Shape& target_shape = Shape(0, 0)) {
  return GridGenerator(std::string(), data, transform_type, target_shape);
}
// Normalises each group of channels of each item; one gamma and one beta a group.
inline Symbol GroupNorm(const std::string& symbol_name, const Symbol& data, const Symbol& gamma, const Symbol& beta, int num_groups = 1, mx_float eps = 1e-05f, bool output_mean_var = false) {
  return detail::Composed("GroupNorm").input("data", data).input("gamma", gamma).input("beta", beta).set("num_groups", num_groups, 1).set("eps", eps, 1e-05f).set("output_mean_var", output_mean_var, false).make(symbol_name);
}
inline Symbol GroupNorm(const Symbol& data, const Symbol& gamma, const Symbol& beta, int num_groups = 1, mx_float eps = 1e-05f, bool output_mean_var = false) {
  return GroupNorm(std::string(), data, gamma, beta, num_groups, eps, output_mean_var);
}
inline Symbol GroupNorm(const std::string& symbol_name, const Symbol& data, const Symbol& gamma, int num_groups = 1, mx_float eps = 1e-05f, bool output_mean_var = false) {
  return detail::Composed("GroupNorm").input("data", data).input("gamma", gamma).set("num_groups", num_groups, 1).set("eps", eps, 1e-05f).set("output_mean_var", output_mean_var, false).make(symbol_name);
}
inline Symbol GroupNorm(const Symbol& data, const Symbol& gamma, int num_groups = 1, mx_float eps = 1e-05f, bool output_mean_var = false) {
  return GroupNorm(std::string(), data, gamma, num_groups, eps, output_mean_var);
}
inline Symbol GroupNorm(const std::string& symbol_name, const Symbol& data, int num_groups = 1, mx_float eps = 1e-05f, bool output_mean_var = false) {
  return detail::Composed("GroupNorm").input("data", data).set("num_groups", num_groups, 1).set("eps", eps, 1e-05f).set("output_mean_var", output_mean_var, false).make(symbol_name);
}
inline Symbol GroupNorm(const Symbol& data, int num_groups = 1, mx_float eps = 1e-05f, bool output_mean_var = false) {
  return GroupNorm(std::string(), data, num_groups, eps, output_mean_var);
}
// The data as they are; their gradient gets that of a penalty on mean activations that differ from `sparseness_target`.
inline Symbol IdentityAttachKLSparseReg(const std::string& symbol_name, const Symbol& data, const Symbol& moving_avg, mx_float sparseness_target = 0.1f, mx_float penalty = 0.001f, mx_float momentum = 0.9f) {
  return detail::Composed("IdentityAttachKLSparseReg").input("data", data).input("moving_avg", moving_avg).set("sparseness_target", sparseness_target, 0.1f).set("penalty", penalty, 0.001f).set("momentum", momentum, 0.9f).make(symbol_name);
}
inline Symbol IdentityAttachKLSparseReg(const Symbol& data, const Symbol& moving_avg, mx_float sparseness_target = 0.1f, mx_float penalty = 0.001f, mx_float momentum = 0.9f) {
  return IdentityAttachKLSparseReg(std::string(), data, moving_avg, sparseness_target, penalty, momentum);
}
// Normalises each channel of each item, then scales by gamma and adds beta.
inline Symbol InstanceNorm(const std::string& symbol_name, const Symbol& data, const Symbol& gamma, const Symbol& beta, mx_float eps = 0.001f) {
  return detail::Composed("InstanceNorm").input("data", data).input("gamma", gamma).input("beta", beta).set("eps", eps, 0.001f).make(symbol_name);
}
inline Symbol InstanceNorm(const Symbol& data, const Symbol& gamma, const Symbol& beta, mx_float eps = 0.001f) {
  return InstanceNorm(std::string(), data, gamma, beta, eps);
}
inline Symbol InstanceNorm(const std::string& symbol_name, const Symbol& data, const Symbol& gamma, mx_float eps = 0.001f) {
  return detail::Composed("InstanceNorm").input("data", data).input("gamma", gamma).set("eps", eps, 0.001f).make(symbol_name);
}
inline Symbol InstanceNorm(const Symbol& data, const Symbol& gamma, mx_float eps = 0.001f) {
  return InstanceNorm(std::string(), data, gamma, eps);
}
inline Symbol InstanceNorm(const std::string& symbol_name, const Symbol& data, mx_float eps = 0.001f) {
  return detail::Composed("InstanceNorm").input("data", data).set("eps", eps, 0.001f).make(symbol_name);
}
inline Symbol InstanceNorm(const Symbol& data, mx_float eps = 0.001f) {
  return InstanceNorm(std::string(), data, eps);
}
// Divides data by its Euclidean norm.
inline Symbol L2Normalization(const std::string& symbol_name, const Symbol& data, mx_float eps = 1e-10f, L2NormalizationMode mode = L2NormalizationMode::kInstance) {
  return detail::Composed("L2Normalization").input("data", data).set("eps", eps, 1e-10f).set("mode", mode, L2NormalizationMode::kInstance).make(symbol_name);
}
inline Symbol L2Normalization(const Symbol& data, mx_float eps = 1e-10f, L2NormalizationMode mode = L2NormalizationMode::kInstance) {
  return L2Normalization(std::string(), data, eps, mode);
}
// Divides each element by a power of the mean square of the channels around it.
inline Symbol LRN(const std::string& symbol_name, const Symbol& data, int nsize, mx_float alpha = 0.0001f, mx_float beta = 0.75f, mx_float knorm = 2.0f) {
  return detail::Composed("LRN").input("data", data).set("nsize", nsize).set("alpha", alpha, 0.0001f).set("beta", beta, 0.75f).set("knorm", knorm, 2.0f).make(symbol_name);
}
inline Symbol LRN(const Symbol& data, int nsize, mx_float alpha = 0.0001f, mx_float beta = 0.75f, mx_float knorm = 2.0f) {
  return LRN(std::string(), data, nsize, alpha, beta, knorm);
}
// Normalises along one axis, then scales by gamma and adds beta.
inline Symbol LayerNorm(const std::string& symbol_name, const Symbol& data, const Symbol& gamma, const Symbol& beta, int axis = -1, mx_float eps = 1e-05f, bool output_mean_var = false) {
  return detail::Composed("LayerNorm").input("data", data).input("gamma", gamma).input("beta", beta).set("axis", axis, -1).set("eps", eps, 1e-05f).set("output_mean_var", output_mean_var, false).make(symbol_name);
}
inline Symbol LayerNorm(const Symbol& data, const Symbol& gamma, const Symbol& beta, int axis = -1, mx_float eps = 1e-05f, bool output_mean_var = false) {
  return LayerNorm(std::string(), data, gamma, beta, axis, eps, output_mean_var);
}
inline Symbol LayerNorm(const std::string& symbol_name, const Symbol& data, const Symbol& gamma, int axis = -1, mx_float eps = 1e-05f, bool output_mean_var = false) {
  return detail::Composed("LayerNorm").input("data", data).input("gamma", gamma).set("axis", axis, -1).set("eps", eps, 1e-05f).set("output_mean_var", output_mean_var, false).make(symbol_name);
}
inline Symbol LayerNorm(const Symbol& data, const Symbol& gamma, int axis = -1, mx_float eps = 1e-05f, bool output_mean_var = false) {
  return LayerNorm(std::string(), data, gamma, axis, eps, output_mean_var);
}
inline Symbol LayerNorm(const std::string& symbol_name, const Symbol& data, int axis = -1, mx_float eps = 1e-05f, bool output_mean_var = false) {
  return detail::Composed("LayerNorm").input("data", data).set("axis", axis, -1).set("eps", eps, 1e-05f).set("output_mean_var", output_mean_var, false).make(symbol_name);
}
inline Symbol LayerNorm(const Symbol& data, int axis = -1, mx_float eps = 1e-05f, bool output_mean_var = false) {
  return LayerNorm(std::string(), data, axis, eps, output_mean_var);
}
// Rectifiers whose negative side is not zero: leaky, prelu, rrelu, elu, selu, gelu.
inline Symbol LeakyReLU(const std::string& symbol_name, const Symbol& data, const Symbol& gamma, LeakyReLUActType act_type = LeakyReLUActType::kLeaky, mx_float slope = 0.25f, mx_float lower_bound = 0.125f, mx_float upper_bound = 0.334f) {
  return detail::Composed("LeakyReLU").input("data", data).input("gamma", gamma).set("act_type", act_type, LeakyReLUActType::kLeaky).set("slope", slope, 0.25f).set("lower_bound", lower_bound, 0.125f).set("upper_bound", upper_bound, 0.334f).make(symbol_name);
}
inline Symbol LeakyReLU(const Symbol& data, const Symbol& gamma, LeakyReLUActType act_type = LeakyReLUActType::kLeaky, mx_float slope = 0.25f, mx_float lower_bound = 0.125f, mx_float upper_bound = 0.334f) {
  return LeakyReLU(std::string(), data, gamma, act_type, slope, lower_bound, upper_bound);
}
inline Symbol LeakyReLU(const std::string& symbol_name, const Symbol& data, LeakyReLUActType act_type = LeakyReLUActType::kLeaky, mx_float slope = 0.25f, mx_float lower_bound = 0.125f, mx_float upper_bound = 0.334f) {
  return detail::Composed("LeakyReLU").input("data", data).set("act_type", act_type, LeakyReLUActType::kLeaky).set("slope", slope, 0.25f).set("lower_bound", lower_bound, 0.125f).set("upper_bound", upper_bound, 0.334f).make(symbol_name);
}
inline Symbol LeakyReLU(const Symbol& data, LeakyReLUActType act_type = LeakyReLUActType::kLeaky, mx_float slope = 0.25f, mx_float lower_bound = 0.125f, mx_float upper_bound = 0.334f) {
  return LeakyReLU(std::string(), data, act_type, slope, lower_bound, upper_bound);
}
// The data itself, whose gradient is that of half the squared distance to the label.
inline Symbol LinearRegressionOutput(const std::string& symbol_name, const Symbol& data, const Symbol& label, mx_float grad_scale = 1.0f) {
  return detail::Composed("LinearRegressionOutput").input("data", data).input("label", label).set("grad_scale", grad_scale, 1.0f).make(symbol_name);
}
inline Symbol LinearRegressionOutput(const Symbol& data, const Symbol& label, mx_float grad_scale = 1.0f) {
  return LinearRegressionOutput(std::string(), data, label, grad_scale);
}
inline Symbol LinearRegressionOutput(const std::string& symbol_name, const Symbol& data, mx_float grad_scale = 1.0f) {
  return detail::Composed("LinearRegressionOutput").input("data", data).set("grad_scale", grad_scale, 1.0f).make(symbol_name);
}
inline Symbol LinearRegressionOutput(const Symbol& data, mx_float grad_scale = 1.0f) {
  return LinearRegressionOutput(std::string(), data, grad_scale);
}
// The sigmoid of the data, whose gradient is that of the cross entropy.
inline Symbol LogisticRegressionOutput(const std::string& symbol_name, const Symbol& data, const Symbol& label, mx_float grad_scale = 1.0f) {
  return detail::Composed("LogisticRegressionOutput").input("data", data).input("label", label).set("grad_scale", grad_scale, 1.0f).make(symbol_name);
}
inline Symbol LogisticRegressionOutput(const Symbol& data, const Symbol& label, mx_float grad_scale = 1.0f) {
  return LogisticRegressionOutput(std::string(), data, label, grad_scale);
}
inline Symbol LogisticRegressionOutput(const std::string& symbol_name, const Symbol& data, mx_float grad_scale = 1.0f) {
  return detail::Composed("LogisticRegressionOutput").input("data", data).set("grad_scale", grad_scale, 1.0f).make(symbol_name);
}
inline Symbol LogisticRegressionOutput(const Symbol& data, mx_float grad_scale = 1.0f) {
  return LogisticRegressionOutput(std::string(), data, grad_scale);
}
// The data itself, whose gradient is that of the absolute distance to the label.
inline Symbol MAERegressionOutput(const std::string& symbol_name, const Symbol& data, const Symbol& label, mx_float grad_scale = 1.0f) {
  return detail::Composed("MAERegressionOutput").input("data", data).input("label", label).set("grad_scale", grad_scale, 1.0f).make(symbol_name);
}
inline Symbol MAERegressionOutput(const Symbol& data, const Symbol& label, mx_float grad_scale = 1.0f) {
  return MAERegressionOutput(std::string(), data, label, grad_scale);
}
inline Symbol MAERegressionOutput(const std::string& symbol_name, const Symbol& data, mx_float grad_scale = 1.0f) {
  return detail::Composed("MAERegressionOutput").input("data", data).set("grad_scale", grad_scale, 1.0f).make(symbol_name);
}
inline Symbol MAERegressionOutput(const Symbol& data, mx_float grad_scale = 1.0f) {
  return MAERegressionOutput(std::string(), data, grad_scale);
}
// Marks data as a loss: its gradient is grad_scale, normalised.
inline Symbol MakeLoss(const std::string& symbol_name, const Symbol& data, mx_float grad_scale = 1.0f, mx_float valid_thresh = 0.0f, MakeLossNormalization normalization = MakeLossNormalization::kNull) {
  return detail::Composed("MakeLoss").input("data", data).set("grad_scale", grad_scale, 1.0f).set("valid_thresh", valid_thresh, 0.0f).set("normalization", normalization, MakeLossNormalization::kNull).make(symbol_name);
}
inline Symbol MakeLoss(const Symbol& data, mx_float grad_scale = 1.0f, mx_float valid_thresh = 0.0f, MakeLossNormalization normalization = MakeLossNormalization::kNull) {
  return MakeLoss(std::string(), data, grad_scale, valid_thresh, normalization);
}
// Puts a border around data.
inline Symbol Pad(const std::string& symbol_name, const Symbol& data, PadMode mode, const Shape& pad_width, double constant_value = 0.0) {
  return detail::Composed("Pad").input("data", data).set("mode", mode).set("pad_width", pad_width).set("constant_value", constant_value, 0.0).make(symbol_name);
}
inline Symbol Pad(const Symbol& data, PadMode mode, const Shape& pad_width, double constant_value = 0.0) {
  return Pad(std::string(), data, mode, pad_width, constant_value);
}
// The maximum, average, sum or p-norm of each window that moves over the data.
inline Symbol Pooling(const std::string& symbol_name, const Symbol& data, const Shape& kernel = Shape(), PoolingPoolType pool_type = PoolingPoolType::kMax, bool global_pool = false, bool cudnn_off = false, PoolingPoolingConvention pooling_convention = PoolingPoolingConvention::kValid, const Shape& stride = Shape(), const Shape& pad = Shape(), const std::optional<int>& p_value = std::nullopt, const std::optional<bool>& count_include_pad = std::nullopt, PoolingLayout layout = PoolingLayout::kNone) {
  return detail::Composed("Pooling").input("data", data).set("kernel", kernel, Shape()).set("pool_type", pool_type, PoolingPoolType::kMax).set("global_pool", global_pool, false).set("cudnn_off", cudnn_off, false).set("pooling_convention", pooling_convention, PoolingPoolingConvention::kValid).set("stride", stride, Shape()).set("pad", pad, Shape()).set("p_value", p_value).set("count_include_pad", count_include_pad).set("layout", layout, PoolingLayout::kNone).make(symbol_name);
}
inline Symbol Pooling(const Symbol& data, const Shape& kernel = Shape(), PoolingPoolType pool_type = PoolingPoolType::kMax, bool global_pool = false, bool cudnn_off = false, PoolingPoolingConvention pooling_convention = PoolingPoolingConvention::kValid, const Shape& stride = Shape(), const Shape& pad = Shape(), const std::optional<int>& p_value = std::nullopt, const std::optional<bool>& count_include_pad = std::nullopt, PoolingLayout layout = PoolingLayout::kNone) {
  return Pooling(std::string(), data, kernel, pool_type, global_pool, cudnn_off, pooling_convention, stride, pad, p_value, count_include_pad, layout);
}
// Pooling with fewer attributes, for old files.
inline Symbol Pooling_v1(const std::string& symbol_name, const Symbol& data, const Shape& kernel = Shape(), PoolingV1PoolType pool_type = PoolingV1PoolType::kMax, bool global_pool = false, PoolingV1PoolingConvention pooling_convention = PoolingV1PoolingConvention::kValid, const Shape& stride = Shape(), const Shape& pad = Shape()) {
  return detail::Composed("Pooling_v1").input("data", data).set("kernel", kernel, Shape()).set("pool_type", pool_type, PoolingV1PoolType::kMax).set("global_pool", global_pool, false).set("pooling_convention", pooling_convention, PoolingV1PoolingConvention::kValid).set("stride", stride, Shape()).set("pad", pad, Shape()).make(symbol_name);
}
inline Symbol Pooling_v1(const Symbol& data, const Shape& kernel = Shape(), PoolingV1PoolType pool_type = PoolingV1PoolType::kMax, bool global_pool = false, PoolingV1PoolingConvention pooling_convention = PoolingV1PoolingConvention::kValid, const Shape& stride = Shape(), const Shape& pad = Shape()) {
  return Pooling_v1(std::string(), data, kernel, pool_type, global_pool, pooling_convention, stride, pad);
}
// Recurrent layers over a whole sequence: vanilla with relu or tanh, LSTM or GRU, in one or both directions.
inline Symbol RNN(const std::string& symbol_name, const Symbol& data, const Symbol& parameters, const Symbol& state, const Symbol& state_cell, const Symbol& sequence_length, int state_size, int num_layers, RNNMode mode, bool bidirectional = false, mx_float p = 0.0f, bool state_outputs = false, const std::optional<int>& projection_size = std::nullopt, const std::optional<double>& lstm_state_clip_min = std::nullopt, const std::optional<double>& lstm_state_clip_max = std::nullopt, bool lstm_state_clip_nan = false, bool use_sequence_length = false) {
  return detail::Composed("RNN").input("data", data).input("parameters", parameters).input("state", state).input("state_cell", state_cell).input("sequence_length", sequence_length).set("state_size", state_size).set("num_layers", num_layers).set("mode", mode).set("bidirectional", bidirectional, false).set("p", p, 0.0f).set("state_outputs", state_outputs, false).set("projection_size", projection_size).set("lstm_state_clip_min", lstm_state_clip_min).set("lstm_state_clip_max", lstm_state_clip_max).set("lstm_state_clip_nan", lstm_state_clip_nan, false).set("use_sequence_length", use_sequence_length, false).make(symbol_name);
}
inline Symbol RNN(const Symbol& data, const Symbol& parameters, const Symbol& state, const Symbol& state_cell, const Symbol& sequence_length, int state_size, int num_layers, RNNMode mode, bool bidirectional = false, mx_float p = 0.0f, bool state_outputs = false, const std::optional<int>& projection_size = std::nullopt, const std::optional<double>& lstm_state_clip_min = std::nullopt, const std::optional<double>& lstm_state_clip_max = std::nullopt, bool lstm_state_clip_nan = false, bool use_sequence_length = false) {
  return RNN(std::string(), data, parameters, state, state_cell, sequence_length, state_size, num_layers, mode, bidirectional, p, state_outputs, projection_size, lstm_state_clip_min, lstm_state_clip_max, lstm_state_clip_nan, use_sequence_length);
}
inline Symbol RNN(const std::string& symbol_name, const Symbol& data, const Symbol& parameters, const Symbol& state, const Symbol& state_cell, int state_size, int num_layers, RNNMode mode, bool bidirectional = false, mx_float p = 0.0f, bool state_outputs = false, const std::optional<int>& projection_size = std::nullopt, const std::optional<double>& lstm_state_clip_min = std::nullopt, const std::optional<double>& lstm_state_clip_max = std::nullopt, bool lstm_state_clip_nan = false, bool use_sequence_length = false) {
  return detail::Composed("RNN").input("data", data).input("parameters", parameters).input("state", state).input("state_cell", state_cell).set("state_size", state_size).set("num_layers", num_layers).set("mode", mode).set("bidirectional", bidirectional, false).set("p", p, 0.0f).set("state_outputs", state_outputs, false).set("projection_size", projection_size).set("lstm_state_clip_min", lstm_state_clip_min).set("lstm_state_clip_max", lstm_state_clip_max).set("lstm_state_clip_nan", lstm_state_clip_nan, false).set("use_sequence_length", use_sequence_length, false).make(symbol_name);
}
inline Symbol RNN(const Symbol& data, const Symbol& parameters, const Symbol& state, const Symbol& state_cell, int state_size, int num_layers, RNNMode mode, bool bidirectional = false, mx_float p = 0.0f, bool state_outputs = false, const std::optional<int>& projection_size = std::nullopt, const std::optional<double>& lstm_state_clip_min = std::nullopt, const std::optional<double>& lstm_state_clip_max = std::nullopt, bool lstm_state_clip_nan = false, bool use_sequence_length = false) {
  return RNN(std::string(), data, parameters, state, state_cell, state_size, num_layers, mode, bidirectional, p, state_outputs, projection_size, lstm_state_clip_min, lstm_state_clip_max, lstm_state_clip_nan, use_sequence_length);
}
inline Symbol RNN(const std::string& symbol_name, const Symbol& data, const Symbol& parameters, const Symbol& state, int state_size, int num_layers, RNNMode mode, bool bidirectional = false, mx_float p = 0.0f, bool state_outputs = false, const std::optional<int>& projection_size = std::nullopt, const std::optional<double>& lstm_state_clip_min = std::nullopt, const std::optional<double>& lstm_state_clip_max = std::nullopt, bool lstm_state_clip_nan = false, bool use_sequence_length = false) {
  return detail::Composed("RNN").input("data", data).input("parameters", parameters).input("state", state).set("state_size", state_size).set("num_layers", num_layers).set("mode", mode).set("bidirectional", bidirectional, false).set("p", p, 0.0f).set("state_outputs", state_outputs, false).set("projection_size", projection_size).set("lstm_state_clip_min", lstm_state_clip_min).set("lstm_state_clip_max", lstm_state_clip_max).set("lstm_state_clip_nan", lstm_state_clip_nan, false).set("use_sequence_length", use_sequence_length, false).make(symbol_name);
}
inline Symbol RNN(const Symbol& data, const Symbol& parameters, const Symbol& state, int state_size, int num_layers, RNNMode mode, bool bidirectional = false, mx_float p = 0.0f, bool state_outputs = false, const std::optional<int>& projection_size = std::nullopt, const std::optional<double>& lstm_state_clip_min = std::nullopt, const std::optional<double>& lstm_state_clip_max = std::nullopt, bool lstm_state_clip_nan = false, bool use_sequence_length = false) {
  return RNN(std::string(), data, parameters, state, state_size, num_layers, mode, bidirectional, p, state_outputs, projection_size, lstm_state_clip_min, lstm_state_clip_max, lstm_state_clip_nan, use_sequence_length);
}
inline Symbol RNN(const std::string& symbol_name, const Symbol& data, const Symbol& parameters, int state_size, int num_layers, RNNMode mode, bool bidirectional = false, mx_float p = 0.0f, bool state_outputs = false, const std::optional<int>& projection_size = std::nullopt, const std::optional<double>& lstm_state_clip_min = std::nullopt, const std::optional<double>& lstm_state_clip_max = std::nullopt, bool lstm_state_clip_nan = false, bool use_sequence_length = false) {
  return detail::Composed("RNN").input("data", data).input("parameters", parameters).set("state_size", state_size).set("num_layers", num_layers).set("mode", mode).set("bidirectional", bidirectional, false).set("p", p, 0.0f).set("state_outputs", state_outputs, false).set("projection_size", projection_size).set("lstm_state_clip_min", lstm_state_clip_min).set("lstm_state_clip_max", lstm_state_clip_max).set("lstm_state_clip_nan", lstm_state_clip_nan, false).set("use_sequence_length", use_sequence_length, false).make(symbol_name);
}
inline Symbol RNN(const Symbol& data, const Symbol& parameters, int state_size, int num_layers, RNNMode mode, bool bidirectional = false, mx_float p = 0.0f, bool state_outputs = false, const std::optional<int>& projection_size = std::nullopt, const std::optional<double>& lstm_state_clip_min = std::nullopt, const std::optional<double>& lstm_state_clip_max = std::nullopt, bool lstm_state_clip_nan = false, bool use_sequence_length = false) {
  return RNN(std::string(), data, parameters, state_size, num_layers, mode, bidirectional, p, state_outputs, projection_size, lstm_state_clip_min, lstm_state_clip_max, lstm_state_clip_nan, use_sequence_length);
}
inline Symbol RNN(const std::string& symbol_name, const Symbol& data, int state_size, int num_layers, RNNMode mode, bool bidirectional = false, mx_float p = 0.0f, bool state_outputs = false, const std::optional<int>& projection_size = std::nullopt, const std::optional<double>& lstm_state_clip_min = std::nullopt, const std::optional<double>& lstm_state_clip_max = std::nullopt, bool lstm_state_clip_nan = false, bool use_sequence_length = false) {
  return detail::Composed("RNN").input("data", data).set("state_size", state_size).set("num_layers", num_layers).set("mode", mode).set("bidirectional", bidirectional, false).set("p", p, 0.0f).set("state_outputs", state_outputs, false).set("projection_size", projection_size).set("lstm_state_clip_min", lstm_state_clip_min).set("lstm_state_clip_max", lstm_state_clip_max).set("lstm_state_clip_nan", lstm_state_clip_nan, false).set("use_sequence_length", use_sequence_length, false).make(symbol_name);
}
inline Symbol RNN(const Symbol& data, int state_size, int num_layers, RNNMode mode, bool bidirectional = false, mx_float p = 0.0f, bool state_outputs = false, const std::optional<int>& projection_size = std::nullopt, const std::optional<double>& lstm_state_clip_min = std::nullopt, const std::optional<double>& lstm_state_clip_max = std::nullopt, bool lstm_state_clip_nan = false, bool use_sequence_length = false) {
  return RNN(std::string(), data, state_size, num_layers, mode, bidirectional, p, state_outputs, projection_size, lstm_state_clip_min, lstm_state_clip_max, lstm_state_clip_nan, use_sequence_length);
}
// The maximum of each part of boxes in images.
inline Symbol ROIPooling(const std::string& symbol_name, const Symbol& data, const Symbol& rois, const Shape& pooled_size, mx_float spatial_scale) {
  return detail::Composed("ROIPooling").input("data", data).input("rois", rois).set("pooled_size", pooled_size).set("spatial_scale", spatial_scale).make(symbol_name);
}
inline Symbol ROIPooling(const Symbol& data, const Symbol& rois, const Shape& pooled_size, mx_float spatial_scale) {
  return ROIPooling(std::string(), data, rois, pooled_size, spatial_scale);
}
// The same elements under another shape.
inline Symbol Reshape(const std::string& symbol_name, const Symbol& data, const Shape& shape = Shape(), bool reverse = false, const Shape& target_shape = Shape(), bool keep_highest = false) {
  return detail::Composed("Reshape").input("data", data).set("shape", shape, Shape()).set("reverse", reverse, false).set("target_shape", target_shape, Shape()).set("keep_highest", keep_highest, false).make(symbol_name);
}
inline Symbol Reshape(const Symbol& data, const Shape& shape = Shape(), bool reverse = false, const Shape& target_shape = Shape(), bool keep_highest = false) {
  return Reshape(std::string(), data, shape, reverse, target_shape, keep_highest);
}
// The data itself, whose gradient is that of the hinge loss, one class against the others.
inline Symbol SVMOutput(const std::string& symbol_name, const Symbol& data, const Symbol& label, mx_float margin = 1.0f, mx_float regularization_coefficient = 1.0f, bool use_linear = false) {
  return detail::Composed("SVMOutput").input("data", data).input("label", label).set("margin", margin, 1.0f).set("regularization_coefficient", regularization_coefficient, 1.0f).set("use_linear", use_linear, false).make(symbol_name);
}
inline Symbol SVMOutput(const Symbol& data, const Symbol& label, mx_float margin = 1.0f, mx_float regularization_coefficient = 1.0f, bool use_linear = false) {
  return SVMOutput(std::string(), data, label, margin, regularization_coefficient, use_linear);
}
inline Symbol SVMOutput(const std::string& symbol_name, const Symbol& data, mx_float margin = 1.0f, mx_float regularization_coefficient = 1.0f, bool use_linear = false) {
  return detail::Composed("SVMOutput").input("data", data).set("margin", margin, 1.0f).set("regularization_coefficient", regularization_coefficient, 1.0f).set("use_linear", use_linear, false).make(symbol_name);
}
inline Symbol SVMOutput(const Symbol& data, mx_float margin = 1.0f, mx_float regularization_coefficient = 1.0f, bool use_linear = false) {
  return SVMOutput(std::string(), data, margin, regularization_coefficient, use_linear);
}
// The last element of each sequence.
inline Symbol SequenceLast(const std::string& symbol_name, const Symbol& data, const Symbol& sequence_length, bool use_sequence_length = false, int axis = 0) {
  return detail::Composed("SequenceLast").input("data", data).input("sequence_length", sequence_length).set("use_sequence_length", use_sequence_length, false).set("axis", axis, 0).make(symbol_name);
}
inline Symbol SequenceLast(const Symbol& data, const Symbol& sequence_length, bool use_sequence_length = false, int axis = 0) {
  return SequenceLast(std::string(), data, sequence_length, use_sequence_length, axis);
}
inline Symbol SequenceLast(const std::string& symbol_name, const Symbol& data, bool use_sequence_length = false, int axis = 0) {
  return detail::Composed("SequenceLast").input("data", data).set("use_sequence_length", use_sequence_length, false).set("axis", axis, 0).make(symbol_name);
}
inline Symbol SequenceLast(const Symbol& data, bool use_sequence_length = false, int axis = 0) {
  return SequenceLast(std::string(), data, use_sequence_length, axis);
}
// Sets what stands behind the end of each sequence to a value.
inline Symbol SequenceMask(const std::string& symbol_name, const Symbol& data, const Symbol& sequence_length, bool use_sequence_length = false, mx_float value = 0.0f, int axis = 0) {
  return detail::Composed("SequenceMask").input("data", data).input("sequence_length", sequence_length).set("use_sequence_length", use_sequence_length, false).set("value", value, 0.0f).set("axis", axis, 0).make(symbol_name);
}
inline Symbol SequenceMask(const Symbol& data, const Symbol& sequence_length, bool use_sequence_length = false, mx_float value = 0.0f, int axis = 0) {
  return SequenceMask(std::string(), data, sequence_length, use_sequence_length, value, axis);
}
inline Symbol SequenceMask(const std::string& symbol_name, const Symbol& data, bool use_sequence_length = false, mx_float value = 0.0f, int axis = 0) {
  return detail::Composed("SequenceMask").input("data", data).set("use_sequence_length", use_sequence_length, false).set("value", value, 0.0f).set("axis", axis, 0).make(symbol_name);
}
inline Symbol SequenceMask(const Symbol& data, bool use_sequence_length = false, mx_float value = 0.0f, int axis = 0) {
  return SequenceMask(std::string(), data, use_sequence_length, value, axis);
}
// Reverses each sequence; what stands behind its end stays.
inline Symbol SequenceReverse(const std::string& symbol_name, const Symbol& data, const Symbol& sequence_length, bool use_sequence_length = false, int axis = 0) {
  return detail::Composed("SequenceReverse").input("data", data).input("sequence_length", sequence_length).set("use_sequence_length", use_sequence_length, false).set("axis", axis, 0).make(symbol_name);
}
inline Symbol SequenceReverse(const Symbol& data, const Symbol& sequence_length, bool use_sequence_length = false, int axis = 0) {
  return SequenceReverse(std::string(), data, sequence_length, use_sequence_length, axis);
}
inline Symbol SequenceReverse(const std::string& symbol_name, const Symbol& data, bool use_sequence_length = false, int axis = 0) {
  return detail::Composed("SequenceReverse").input("data", data).set("use_sequence_length", use_sequence_length, false).set("axis", axis, 0).make(symbol_name);
}
inline Symbol SequenceReverse(const Symbol& data, bool use_sequence_length = false, int axis = 0) {
  return SequenceReverse(std::string(), data, use_sequence_length, axis);
}
// Cuts data into equal parts along an axis.
inline Symbol SliceChannel(const std::string& symbol_name, const Symbol& data, int num_outputs, int axis = 1, bool squeeze_axis = false) {
  return detail::Composed("SliceChannel").input("data", data).set("num_outputs", num_outputs).set("axis", axis, 1).set("squeeze_axis", squeeze_axis, false).make(symbol_name);
}
inline Symbol SliceChannel(const Symbol& data, int num_outputs, int axis = 1, bool squeeze_axis = false) {
  return SliceChannel(std::string(), data, num_outputs, axis, squeeze_axis);
}
// The softmax of the data, whose gradient is that of the cross entropy with the label.
inline Symbol Softmax(const std::string& symbol_name, const Symbol& data, const Symbol& label, mx_float grad_scale = 1.0f, mx_float ignore_label = -1.0f, bool multi_output = false, bool use_ignore = false, bool preserve_shape = false, SoftmaxOutputNormalization normalization = SoftmaxOutputNormalization::kNull, bool out_grad = false, mx_float smooth_alpha = 0.0f) {
  return detail::Composed("SoftmaxOutput").input("data", data).input("label", label).set("grad_scale", grad_scale, 1.0f).set("ignore_label", ignore_label, -1.0f).set("multi_output", multi_output, false).set("use_ignore", use_ignore, false).set("preserve_shape", preserve_shape, false).set("normalization", normalization, SoftmaxOutputNormalization::kNull).set("out_grad", out_grad, false).set("smooth_alpha", smooth_alpha, 0.0f).make(symbol_name);
}
inline Symbol Softmax(const Symbol& data, const Symbol& label, mx_float grad_scale = 1.0f, mx_float ignore_label = -1.0f, bool multi_output = false, bool use_ignore = false, bool preserve_shape = false, SoftmaxOutputNormalization normalization = SoftmaxOutputNormalization::kNull, bool out_grad = false, mx_float smooth_alpha = 0.0f) {
  return Softmax(std::string(), data, label, grad_scale, ignore_label, multi_output, use_ignore, preserve_shape, normalization, out_grad, smooth_alpha);
}
inline Symbol Softmax(const std::string& symbol_name, const Symbol& data, mx_float grad_scale = 1.0f, mx_float ignore_label = -1.0f, bool multi_output = false, bool use_ignore = false, bool preserve_shape = false, SoftmaxOutputNormalization normalization = SoftmaxOutputNormalization::kNull, bool out_grad = false, mx_float smooth_alpha = 0.0f) {
  return detail::Composed("SoftmaxOutput").input("data", data).set("grad_scale", grad_scale, 1.0f).set("ignore_label", ignore_label, -1.0f).set("multi_output", multi_output, false).set("use_ignore", use_ignore, false).set("preserve_shape", preserve_shape, false).set("normalization", normalization, SoftmaxOutputNormalization::kNull).set("out_grad", out_grad, false).set("smooth_alpha", smooth_alpha, 0.0f).make(symbol_name);
}
inline Symbol Softmax(const Symbol& data, mx_float grad_scale = 1.0f, mx_float ignore_label = -1.0f, bool multi_output = false, bool use_ignore = false, bool preserve_shape = false, SoftmaxOutputNormalization normalization = SoftmaxOutputNormalization::kNull, bool out_grad = false, mx_float smooth_alpha = 0.0f) {
  return Softmax(std::string(), data, grad_scale, ignore_label, multi_output, use_ignore, preserve_shape, normalization, out_grad, smooth_alpha);
}
// Softmax along the last axis, or over the channels at each place.
inline Symbol SoftmaxActivation(const std::string& symbol_name, const Symbol& data, SoftmaxActivationMode mode = SoftmaxActivationMode::kInstance) {
  return detail::Composed("SoftmaxActivation").input("data", data).set("mode", mode, SoftmaxActivationMode::kInstance).make(symbol_name);
}
inline Symbol SoftmaxActivation(const Symbol& data, SoftmaxActivationMode mode = SoftmaxActivationMode::kInstance) {
  return SoftmaxActivation(std::string(), data, mode);
}
// The softmax of the data, whose gradient is that of the cross entropy with the label.
inline Symbol SoftmaxOutput(const std::string& symbol_name, const Symbol& data, const Symbol& label, mx_float grad_scale = 1.0f, mx_float ignore_label = -1.0f, bool multi_output = false, bool use_ignore = false, bool preserve_shape = false, SoftmaxOutputNormalization normalization = SoftmaxOutputNormalization::kNull, bool out_grad = false, mx_float smooth_alpha = 0.0f) {
  return detail::Composed("SoftmaxOutput").input("data", data).input("label", label).set("grad_scale", grad_scale, 1.0f).set("ignore_label", ignore_label, -1.0f).set("multi_output", multi_output, false).set("use_ignore", use_ignore, false).set("preserve_shape", preserve_shape, false).set("normalization", normalization, SoftmaxOutputNormalization::kNull).set("out_grad", out_grad, false).set("smooth_alpha", smooth_alpha, 0.0f).make(symbol_name);
}
inline Symbol SoftmaxOutput(const Symbol& data, const Symbol& label, mx_float grad_scale = 1.0f, mx_float ignore_label = -1.0f, bool multi_output = false, bool use_ignore = false, bool preserve_shape = false, SoftmaxOutputNormalization normalization = SoftmaxOutputNormalization::kNull, bool out_grad = false, mx_float smooth_alpha = 0.0f) {
  return SoftmaxOutput(std::string(), data, label, grad_scale, ignore_label, multi_output, use_ignore, preserve_shape, normalization, out_grad, smooth_alpha);
}
inline Symbol SoftmaxOutput(const std::string& symbol_name, const Symbol& data, mx_float grad_scale = 1.0f, mx_float ignore_label = -1.0f, bool multi_output = false, bool use_ignore = false, bool preserve_shape = false, SoftmaxOutputNormalization normalization = SoftmaxOutputNormalization::kNull, bool out_grad = false, mx_float smooth_alpha = 0.0f) {
  return detail::Composed("SoftmaxOutput").input("data", data).set("grad_scale", grad_scale, 1.0f).set("ignore_label", ignore_label, -1.0f).set("multi_output", multi_output, false).set("use_ignore", use_ignore, false).set("preserve_shape", preserve_shape, false).set("normalization", normalization, SoftmaxOutputNormalization::kNull).set("out_grad", out_grad, false).set("smooth_alpha", smooth_alpha, 0.0f).make(symbol_name);
}
inline Symbol SoftmaxOutput(const Symbol& data, mx_float grad_scale = 1.0f, mx_float ignore_label = -1.0f, bool multi_output = false, bool use_ignore = false, bool preserve_shape = false, SoftmaxOutputNormalization normalization = SoftmaxOutputNormalization::kNull, bool out_grad = false, mx_float smooth_alpha = 0.0f) {
  return SoftmaxOutput(std::string(), data, grad_scale, ignore_label, multi_output, use_ignore, preserve_shape, normalization, out_grad, smooth_alpha);
}
// Moves images by affine transformations.
inline Symbol SpatialTransformer(const std::string& symbol_name, const Symbol& data, const Symbol& loc, SpatialTransformerTransformType transform_type, SpatialTransformerSamplerType sampler_type, const Shape& target_shape = Shape(0, 0), const std::optional<bool>& cudnn_off = std::nullopt) {
  return detail::Composed("SpatialTransformer").input("data", data).input("loc", loc).set("transform_type", transform_type).set("sampler_type", sampler_type).set("target_shape", target_shape, Shape(0, 0)).set("cudnn_off", cudnn_off).make(symbol_name);
}
inline Symbol SpatialTransformer(const Symbol& data, const Symbol& loc, SpatialTransformerTransformType transform_type, SpatialTransformerSamplerType sampler_type, const Shape& target_shape = Shape(0, 0), const std::optional<bool>& cudnn_off = std::nullopt) {
  return SpatialTransformer(std::string(), data, loc, transform_type, sampler_type, target_shape, cudnn_off);
}
// Exchanges two axes.
inline Symbol SwapAxis(const std::string& symbol_name, const Symbol& data, int dim1 = 0, int dim2 = 0) {
  return detail::Composed("SwapAxis").input("data", data).set("dim1", dim1, 0).set("dim2", dim2, 0).make(symbol_name);
}
inline Symbol SwapAxis(const Symbol& data, int dim1 = 0, int dim2 = 0) {
  return SwapAxis(std::string(), data, dim1, dim2);
}
// Makes images larger by a whole number.
inline Symbol UpSampling(const std::string& symbol_name, const std::vector<Symbol>& data, int num_args, int scale, UpSamplingSampleType sample_type, int num_filter = 0, UpSamplingMultiInputMode multi_input_mode = UpSamplingMultiInputMode::kConcat, int64_t workspace = 512) {
  return detail::Composed("UpSampling").inputs(data).set("num_args", num_args).set("scale", scale).set("sample_type", sample_type).set("num_filter", num_filter, 0).set("multi_input_mode", multi_input_mode, UpSamplingMultiInputMode::kConcat).set("workspace", workspace, 512).make(symbol_name);
}
inline Symbol UpSampling(const std::vector<Symbol>& data, int num_args, int scale, UpSamplingSampleType sample_type, int num_filter = 0, UpSamplingMultiInputMode multi_input_mode = UpSamplingMultiInputMode::kConcat, int64_t workspace = 512) {
  return UpSampling(std::string(), data, num_args, scale, sample_type, num_filter, multi_input_mode, workspace);
}
// Absolute value of each element.
inline Symbol abs(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("abs").input("data", data).make(symbol_name);
}
inline Symbol abs(const Symbol& data) {
  return abs(std::string(), data);
}
// Sum of all inputs.
inline Symbol add_n(const std::string& symbol_name, const std::vector<Symbol>& args, int num_args) {
  return detail::Composed("add_n").inputs(args).set("num_args", num_args).make(symbol_name);
}
inline Symbol add_n(const std::vector<Symbol>& args, int num_args) {
  return add_n(std::string(), args, num_args);
}
// 1 if every number in the array is finite, else 0.
inline Symbol all_finite(const std::string& symbol_name, const Symbol& data, bool init_output = true) {
  return detail::Composed("all_finite").input("data", data).set("init_output", init_output, true).make(symbol_name);
}
inline Symbol all_finite(const Symbol& data, bool init_output = true) {
  return all_finite(std::string(), data, init_output);
}
// Converts floating elements to another floating type.
inline Symbol amp_cast(const std::string& symbol_name, const Symbol& data, AmpCastDtype dtype) {
  return detail::Composed("amp_cast").input("data", data).set("dtype", dtype).make(symbol_name);
}
inline Symbol amp_cast(const Symbol& data, AmpCastDtype dtype) {
  return amp_cast(std::string(), data, dtype);
}
// Converts floating inputs to the widest type among them.
inline Symbol amp_multicast(const std::string& symbol_name, const std::vector<Symbol>& data, int num_outputs, bool cast_narrow = false) {
  return detail::Composed("amp_multicast").inputs(data).set("num_outputs", num_outputs).set("cast_narrow", cast_narrow, false).make(symbol_name);
}
inline Symbol amp_multicast(const std::vector<Symbol>& data, int num_outputs, bool cast_narrow = false) {
  return amp_multicast(std::string(), data, num_outputs, cast_narrow);
}
// Inverse cosine.
inline Symbol arccos(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("arccos").input("data", data).make(symbol_name);
}
inline Symbol arccos(const Symbol& data) {
  return arccos(std::string(), data);
}
// Inverse hyperbolic cosine.
inline Symbol arccosh(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("arccosh").input("data", data).make(symbol_name);
}
inline Symbol arccosh(const Symbol& data) {
  return arccosh(std::string(), data);
}
// Inverse sine.
inline Symbol arcsin(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("arcsin").input("data", data).make(symbol_name);
}
inline Symbol arcsin(const Symbol& data) {
  return arcsin(std::string(), data);
}
// Inverse hyperbolic sine.
inline Symbol arcsinh(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("arcsinh").input("data", data).make(symbol_name);
}
inline Symbol arcsinh(const Symbol& data) {
  return arcsinh(std::string(), data);
}
// Inverse tangent.
inline Symbol arctan(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("arctan").input("data", data).make(symbol_name);
}
inline Symbol arctan(const Symbol& data) {
  return arctan(std::string(), data);
}
// Inverse hyperbolic tangent.
inline Symbol arctanh(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("arctanh").input("data", data).make(symbol_name);
}
inline Symbol arctanh(const Symbol& data) {
  return arctanh(std::string(), data);
}
// Index of the first maximum along an axis, in data's type, or float32 or float64 where that is too short for the axis.
inline Symbol argmax(const std::string& symbol_name, const Symbol& data, const std::optional<int>& axis = std::nullopt, bool keepdims = false) {
  return detail::Composed("argmax").input("data", data).set("axis", axis).set("keepdims", keepdims, false).make(symbol_name);
}
inline Symbol argmax(const Symbol& data, const std::optional<int>& axis = std::nullopt, bool keepdims = false) {
  return argmax(std::string(), data, axis, keepdims);
}
// Index of the first maximum along axis 1, in data's type, or float32 or float64 where that is too short for the axis.
inline Symbol argmax_channel(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("argmax_channel").input("data", data).make(symbol_name);
}
inline Symbol argmax_channel(const Symbol& data) {
  return argmax_channel(std::string(), data);
}
// Index of the first minimum along an axis, in data's type, or float32 or float64 where that is too short for the axis.
inline Symbol argmin(const std::string& symbol_name, const Symbol& data, const std::optional<int>& axis = std::nullopt, bool keepdims = false) {
  return detail::Composed("argmin").input("data", data).set("axis", axis).set("keepdims", keepdims, false).make(symbol_name);
}
inline Symbol argmin(const Symbol& data, const std::optional<int>& axis = std::nullopt, bool keepdims = false) {
  return argmin(std::string(), data, axis, keepdims);
}
// Gives the indices that would sort the input along an axis.
inline Symbol argsort(const std::string& symbol_name, const Symbol& data, const std::optional<int>& axis = -1, bool is_ascend = true, ArgsortDtype dtype = ArgsortDtype::kFloat32) {
  return detail::Composed("argsort").input("data", data).set("axis", axis, -1).set("is_ascend", is_ascend, true).set("dtype", dtype, ArgsortDtype::kFloat32).make(symbol_name);
}
inline Symbol argsort(const Symbol& data, const std::optional<int>& axis = -1, bool is_ascend = true, ArgsortDtype dtype = ArgsortDtype::kFloat32) {
  return argsort(std::string(), data, axis, is_ascend, dtype);
}
// Matrix products of the items of two batches.
inline Symbol batch_dot(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs, bool transpose_a = false, bool transpose_b = false, BatchDotForwardStype forward_stype = BatchDotForwardStype::kNone) {
  return detail::Composed("batch_dot").input("lhs", lhs).input("rhs", rhs).set("transpose_a", transpose_a, false).set("transpose_b", transpose_b, false).set("forward_stype", forward_stype, BatchDotForwardStype::kNone).make(symbol_name);
}
inline Symbol batch_dot(const Symbol& lhs, const Symbol& rhs, bool transpose_a = false, bool transpose_b = false, BatchDotForwardStype forward_stype = BatchDotForwardStype::kNone) {
  return batch_dot(std::string(), lhs, rhs, transpose_a, transpose_b, forward_stype);
}
// Takes element indices[i] of row i; indices outside are moved to the nearest column.
inline Symbol batch_take(const std::string& symbol_name, const Symbol& a, const Symbol& indices) {
  return detail::Composed("batch_take").input("a", a).input("indices", indices).make(symbol_name);
}
inline Symbol batch_take(const Symbol& a, const Symbol& indices) {
  return batch_take(std::string(), a, indices);
}
// Sum of two arrays.
inline Symbol broadcast_add(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs) {
  return detail::Composed("broadcast_add").input("lhs", lhs).input("rhs", rhs).make(symbol_name);
}
inline Symbol broadcast_add(const Symbol& lhs, const Symbol& rhs) {
  return broadcast_add(std::string(), lhs, rhs);
}
// Repeats data along axes of size 1.
inline Symbol broadcast_axes(const std::string& symbol_name, const Symbol& data, const Shape& axis = Shape(), const Shape& size = Shape()) {
  return detail::Composed("broadcast_axis").input("data", data).set("axis", axis, Shape()).set("size", size, Shape()).make(symbol_name);
}
inline Symbol broadcast_axes(const Symbol& data, const Shape& axis = Shape(), const Shape& size = Shape()) {
  return broadcast_axes(std::string(), data, axis, size);
}
// Repeats data along axes of size 1.
inline Symbol broadcast_axis(const std::string& symbol_name, const Symbol& data, const Shape& axis = Shape(), const Shape& size = Shape()) {
  return detail::Composed("broadcast_axis").input("data", data).set("axis", axis, Shape()).set("size", size, Shape()).make(symbol_name);
}
inline Symbol broadcast_axis(const Symbol& data, const Shape& axis = Shape(), const Shape& size = Shape()) {
  return broadcast_axis(std::string(), data, axis, size);
}
// Quotient of two arrays.
inline Symbol broadcast_div(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs) {
  return detail::Composed("broadcast_div").input("lhs", lhs).input("rhs", rhs).make(symbol_name);
}
inline Symbol broadcast_div(const Symbol& lhs, const Symbol& rhs) {
  return broadcast_div(std::string(), lhs, rhs);
}
// 1 where the arrays are equal, else 0.
inline Symbol broadcast_equal(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs) {
  return detail::Composed("broadcast_equal").input("lhs", lhs).input("rhs", rhs).make(symbol_name);
}
inline Symbol broadcast_equal(const Symbol& lhs, const Symbol& rhs) {
  return broadcast_equal(std::string(), lhs, rhs);
}
// 1 where the first array is greater, else 0.
inline Symbol broadcast_greater(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs) {
  return detail::Composed("broadcast_greater").input("lhs", lhs).input("rhs", rhs).make(symbol_name);
}
inline Symbol broadcast_greater(const Symbol& lhs, const Symbol& rhs) {
  return broadcast_greater(std::string(), lhs, rhs);
}
// 1 where the first array is greater or equal, else 0.
inline Symbol broadcast_greater_equal(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs) {
  return detail::Composed("broadcast_greater_equal").input("lhs", lhs).input("rhs", rhs).make(symbol_name);
}
inline Symbol broadcast_greater_equal(const Symbol& lhs, const Symbol& rhs) {
  return broadcast_greater_equal(std::string(), lhs, rhs);
}
// Square root of the sum of squares.
inline Symbol broadcast_hypot(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs) {
  return detail::Composed("broadcast_hypot").input("lhs", lhs).input("rhs", rhs).make(symbol_name);
}
inline Symbol broadcast_hypot(const Symbol& lhs, const Symbol& rhs) {
  return broadcast_hypot(std::string(), lhs, rhs);
}
// 1 where the first array is smaller, else 0.
inline Symbol broadcast_lesser(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs) {
  return detail::Composed("broadcast_lesser").input("lhs", lhs).input("rhs", rhs).make(symbol_name);
}
inline Symbol broadcast_lesser(const Symbol& lhs, const Symbol& rhs) {
  return broadcast_lesser(std::string(), lhs, rhs);
}
// 1 where the first array is smaller or equal, else 0.
inline Symbol broadcast_lesser_equal(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs) {
  return detail::Composed("broadcast_lesser_equal").input("lhs", lhs).input("rhs", rhs).make(symbol_name);
}
inline Symbol broadcast_lesser_equal(const Symbol& lhs, const Symbol& rhs) {
  return broadcast_lesser_equal(std::string(), lhs, rhs);
}
// Repeats lhs along axes of size 1 to reach the shape of rhs.
inline Symbol broadcast_like(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs, const std::optional<Shape>& lhs_axes = std::nullopt, const std::optional<Shape>& rhs_axes = std::nullopt) {
  return detail::Composed("broadcast_like").input("lhs", lhs).input("rhs", rhs).set("lhs_axes", lhs_axes).set("rhs_axes", rhs_axes).make(symbol_name);
}
inline Symbol broadcast_like(const Symbol& lhs, const Symbol& rhs, const std::optional<Shape>& lhs_axes = std::nullopt, const std::optional<Shape>& rhs_axes = std::nullopt) {
  return broadcast_like(std::string(), lhs, rhs, lhs_axes, rhs_axes);
}
// 1 where both arrays are not zero, else 0.
inline Symbol broadcast_logical_and(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs) {
  return detail::Composed("broadcast_logical_and").input("lhs", lhs).input("rhs", rhs).make(symbol_name);
}
inline Symbol broadcast_logical_and(const Symbol& lhs, const Symbol& rhs) {
  return broadcast_logical_and(std::string(), lhs, rhs);
}
// 1 where one of the arrays is not zero, else 0.
inline Symbol broadcast_logical_or(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs) {
  return detail::Composed("broadcast_logical_or").input("lhs", lhs).input("rhs", rhs).make(symbol_name);
}
inline Symbol broadcast_logical_or(const Symbol& lhs, const Symbol& rhs) {
  return broadcast_logical_or(std::string(), lhs, rhs);
}
// 1 where exactly one of the arrays is not zero, else 0.
inline Symbol broadcast_logical_xor(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs) {
  return detail::Composed("broadcast_logical_xor").input("lhs", lhs).input("rhs", rhs).make(symbol_name);
}
inline Symbol broadcast_logical_xor(const Symbol& lhs, const Symbol& rhs) {
  return broadcast_logical_xor(std::string(), lhs, rhs);
}
// The larger of two arrays' elements.
inline Symbol broadcast_maximum(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs) {
  return detail::Composed("broadcast_maximum").input("lhs", lhs).input("rhs", rhs).make(symbol_name);
}
inline Symbol broadcast_maximum(const Symbol& lhs, const Symbol& rhs) {
  return broadcast_maximum(std::string(), lhs, rhs);
}
// The smaller of two arrays' elements.
inline Symbol broadcast_minimum(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs) {
  return detail::Composed("broadcast_minimum").input("lhs", lhs).input("rhs", rhs).make(symbol_name);
}
inline Symbol broadcast_minimum(const Symbol& lhs, const Symbol& rhs) {
  return broadcast_minimum(std::string(), lhs, rhs);
}
// Difference of two arrays.
inline Symbol broadcast_minus(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs) {
  return detail::Composed("broadcast_sub").input("lhs", lhs).input("rhs", rhs).make(symbol_name);
}
inline Symbol broadcast_minus(const Symbol& lhs, const Symbol& rhs) {
  return broadcast_minus(std::string(), lhs, rhs);
}
// Remainder of a division; it has the divisor's sign.
inline Symbol broadcast_mod(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs) {
  return detail::Composed("broadcast_mod").input("lhs", lhs).input("rhs", rhs).make(symbol_name);
}
inline Symbol broadcast_mod(const Symbol& lhs, const Symbol& rhs) {
  return broadcast_mod(std::string(), lhs, rhs);
}
// Product of two arrays.
inline Symbol broadcast_mul(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs) {
  return detail::Composed("broadcast_mul").input("lhs", lhs).input("rhs", rhs).make(symbol_name);
}
inline Symbol broadcast_mul(const Symbol& lhs, const Symbol& rhs) {
  return broadcast_mul(std::string(), lhs, rhs);
}
// 1 where the arrays differ, else 0.
inline Symbol broadcast_not_equal(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs) {
  return detail::Composed("broadcast_not_equal").input("lhs", lhs).input("rhs", rhs).make(symbol_name);
}
inline Symbol broadcast_not_equal(const Symbol& lhs, const Symbol& rhs) {
  return broadcast_not_equal(std::string(), lhs, rhs);
}
// Sum of two arrays.
inline Symbol broadcast_plus(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs) {
  return detail::Composed("broadcast_add").input("lhs", lhs).input("rhs", rhs).make(symbol_name);
}
inline Symbol broadcast_plus(const Symbol& lhs, const Symbol& rhs) {
  return broadcast_plus(std::string(), lhs, rhs);
}
// The first array to the power of the second.
inline Symbol broadcast_power(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs) {
  return detail::Composed("broadcast_power").input("lhs", lhs).input("rhs", rhs).make(symbol_name);
}
inline Symbol broadcast_power(const Symbol& lhs, const Symbol& rhs) {
  return broadcast_power(std::string(), lhs, rhs);
}
// Difference of two arrays.
inline Symbol broadcast_sub(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs) {
  return detail::Composed("broadcast_sub").input("lhs", lhs).input("rhs", rhs).make(symbol_name);
}
inline Symbol broadcast_sub(const Symbol& lhs, const Symbol& rhs) {
  return broadcast_sub(std::string(), lhs, rhs);
}
// Repeats data along axes of size 1 to reach a shape.
inline Symbol broadcast_to(const std::string& symbol_name, const Symbol& data, const Shape& shape = Shape()) {
  return detail::Composed("broadcast_to").input("data", data).set("shape", shape, Shape()).make(symbol_name);
}
inline Symbol broadcast_to(const Symbol& data, const Shape& shape = Shape()) {
  return broadcast_to(std::string(), data, shape);
}
// Converts the elements to another type.
inline Symbol cast(const std::string& symbol_name, const Symbol& data, CastDtype dtype) {
  return detail::Composed("Cast").input("data", data).set("dtype", dtype).make(symbol_name);
}
inline Symbol cast(const Symbol& data, CastDtype dtype) {
  return cast(std::string(), data, dtype);
}
// The same values in another storage type: 'default', 'row_sparse' or 'csr'.
inline Symbol cast_storage(const std::string& symbol_name, const Symbol& data, CastStorageStype stype) {
  return detail::Composed("cast_storage").input("data", data).set("stype", stype).make(symbol_name);
}
inline Symbol cast_storage(const Symbol& data, CastStorageStype stype) {
  return cast_storage(std::string(), data, stype);
}
// Cube root.
inline Symbol cbrt(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("cbrt").input("data", data).make(symbol_name);
}
inline Symbol cbrt(const Symbol& data) {
  return cbrt(std::string(), data);
}
// Rounds up to an integer.
inline Symbol ceil(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("ceil").input("data", data).make(symbol_name);
}
inline Symbol ceil(const Symbol& data) {
  return ceil(std::string(), data);
}
// Picks one element along an axis for each index.
inline Symbol choose_element_0index(const std::string& symbol_name, const Symbol& data, const Symbol& index, const std::optional<int>& axis = -1, bool keepdims = false, PickMode mode = PickMode::kClip) {
  return detail::Composed("pick").input("data", data).input("index", index).set("axis", axis, -1).set("keepdims", keepdims, false).set("mode", mode, PickMode::kClip).make(symbol_name);
}
inline Symbol choose_element_0index(const Symbol& data, const Symbol& index, const std::optional<int>& axis = -1, bool keepdims = false, PickMode mode = PickMode::kClip) {
  return choose_element_0index(std::string(), data, index, axis, keepdims, mode);
}
// Limits the elements to [a_min, a_max].
inline Symbol clip(const std::string& symbol_name, const Symbol& data, mx_float a_min, mx_float a_max) {
  return detail::Composed("clip").input("data", data).set("a_min", a_min).set("a_max", a_max).make(symbol_name);
}
inline Symbol clip(const Symbol& data, mx_float a_min, mx_float a_max) {
  return clip(std::string(), data, a_min, a_max);
}
// Adds the columns of im2col up where they came from.
inline Symbol col2im(const std::string& symbol_name, const Symbol& data, const Shape& output_size, const Shape& kernel, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape()) {
  return detail::Composed("col2im").input("data", data).set("output_size", output_size).set("kernel", kernel).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).make(symbol_name);
}
inline Symbol col2im(const Symbol& data, const Shape& output_size, const Shape& kernel, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape()) {
  return col2im(std::string(), data, output_size, kernel, stride, dilate, pad);
}
// Joins arrays along an axis.
inline Symbol concat(const std::string& symbol_name, const std::vector<Symbol>& data, int num_args, int dim = 1) {
  return detail::Composed("Concat").inputs(data).set("num_args", num_args).set("dim", dim, 1).make(symbol_name);
}
inline Symbol concat(const std::vector<Symbol>& data, int num_args, int dim = 1) {
  return concat(std::string(), data, num_args, dim);
}
// Cosine.
inline Symbol cos(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("cos").input("data", data).make(symbol_name);
}
inline Symbol cos(const Symbol& data) {
  return cos(std::string(), data);
}
// Hyperbolic cosine.
inline Symbol cosh(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("cosh").input("data", data).make(symbol_name);
}
inline Symbol cosh(const Symbol& data) {
  return cosh(std::string(), data);
}
// A region of data, as Python's slices along each axis.
inline Symbol crop(const std::string& symbol_name, const Symbol& data, const Shape& begin, const Shape& end, const Shape& step = Shape()) {
  return detail::Composed("slice").input("data", data).set("begin", begin).set("end", end).set("step", step, Shape()).make(symbol_name);
}
inline Symbol crop(const Symbol& data, const Shape& begin, const Shape& end, const Shape& step = Shape()) {
  return crop(std::string(), data, begin, end, step);
}
// The connectionist temporal classification loss: the negative logarithm of the probability of all ways to spread a label over time.
inline Symbol ctc_loss(const std::string& symbol_name, const Symbol& data, const Symbol& label, const Symbol& data_lengths, const Symbol& label_lengths, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return detail::Composed("CTCLoss").input("data", data).input("label", label).input("data_lengths", data_lengths).input("label_lengths", label_lengths).set("use_data_lengths", use_data_lengths, false).set("use_label_lengths", use_label_lengths, false).set("blank_label", blank_label, CTCLossBlankLabel::kFirst).make(symbol_name);
}
inline Symbol ctc_loss(const Symbol& data, const Symbol& label, const Symbol& data_lengths, const Symbol& label_lengths, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return ctc_loss(std::string(), data, label, data_lengths, label_lengths, use_data_lengths, use_label_lengths, blank_label);
}
inline Symbol ctc_loss(const std::string& symbol_name, const Symbol& data, const Symbol& label, const Symbol& data_lengths, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return detail::Composed("CTCLoss").input("data", data).input("label", label).input("data_lengths", data_lengths).set("use_data_lengths", use_data_lengths, false).set("use_label_lengths", use_label_lengths, false).set("blank_label", blank_label, CTCLossBlankLabel::kFirst).make(symbol_name);
}
inline Symbol ctc_loss(const Symbol& data, const Symbol& label, const Symbol& data_lengths, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return ctc_loss(std::string(), data, label, data_lengths, use_data_lengths, use_label_lengths, blank_label);
}
inline Symbol ctc_loss(const std::string& symbol_name, const Symbol& data, const Symbol& label, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return detail::Composed("CTCLoss").input("data", data).input("label", label).set("use_data_lengths", use_data_lengths, false).set("use_label_lengths", use_label_lengths, false).set("blank_label", blank_label, CTCLossBlankLabel::kFirst).make(symbol_name);
}
inline Symbol ctc_loss(const Symbol& data, const Symbol& label, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return ctc_loss(std::string(), data, label, use_data_lengths, use_label_lengths, blank_label);
}
inline Symbol ctc_loss(const std::string& symbol_name, const Symbol& data, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return detail::Composed("CTCLoss").input("data", data).set("use_data_lengths", use_data_lengths, false).set("use_label_lengths", use_label_lengths, false).set("blank_label", blank_label, CTCLossBlankLabel::kFirst).make(symbol_name);
}
inline Symbol ctc_loss(const Symbol& data, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return ctc_loss(std::string(), data, use_data_lengths, use_label_lengths, blank_label);
}
// The sums of the elements up to each one, along an axis.
inline Symbol cumsum(const std::string& symbol_name, const Symbol& a, const std::optional<int>& axis = std::nullopt, NpCumsumDtype dtype = NpCumsumDtype::kNone) {
  return detail::Composed("_np_cumsum").input("a", a).set("axis", axis).set("dtype", dtype, NpCumsumDtype::kNone).make(symbol_name);
}
inline Symbol cumsum(const Symbol& a, const std::optional<int>& axis = std::nullopt, NpCumsumDtype dtype = NpCumsumDtype::kNone) {
  return cumsum(std::string(), a, axis, dtype);
}
// Converts radians to degrees.
inline Symbol degrees(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("degrees").input("data", data).make(symbol_name);
}
inline Symbol degrees(const Symbol& data) {
  return degrees(std::string(), data);
}
// Moves channels into blocks of pixels.
inline Symbol depth_to_space(const std::string& symbol_name, const Symbol& data, int block_size) {
  return detail::Composed("depth_to_space").input("data", data).set("block_size", block_size).make(symbol_name);
}
inline Symbol depth_to_space(const Symbol& data, int block_size) {
  return depth_to_space(std::string(), data, block_size);
}
// The diagonal of a matrix, or the matrix with a diagonal.
inline Symbol diag(const std::string& symbol_name, const Symbol& data, int k = 0, int axis1 = 0, int axis2 = 1) {
  return detail::Composed("diag").input("data", data).set("k", k, 0).set("axis1", axis1, 0).set("axis2", axis2, 1).make(symbol_name);
}
inline Symbol diag(const Symbol& data, int k = 0, int axis1 = 0, int axis2 = 1) {
  return diag(std::string(), data, k, axis1, axis2);
}
// Sums products over the last axis of `lhs` and the first of `rhs`: the matrix product for matrices.
inline Symbol dot(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs, bool transpose_a = false, bool transpose_b = false, DotForwardStype forward_stype = DotForwardStype::kNone) {
  return detail::Composed("dot").input("lhs", lhs).input("rhs", rhs).set("transpose_a", transpose_a, false).set("transpose_b", transpose_b, false).set("forward_stype", forward_stype, DotForwardStype::kNone).make(symbol_name);
}
inline Symbol dot(const Symbol& lhs, const Symbol& rhs, bool transpose_a = false, bool transpose_b = false, DotForwardStype forward_stype = DotForwardStype::kNone) {
  return dot(std::string(), lhs, rhs, transpose_a, transpose_b, forward_stype);
}
// Sum of two arrays.
inline Symbol elemwise_add(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs) {
  return detail::Composed("elemwise_add").input("lhs", lhs).input("rhs", rhs).make(symbol_name);
}
inline Symbol elemwise_add(const Symbol& lhs, const Symbol& rhs) {
  return elemwise_add(std::string(), lhs, rhs);
}
// Quotient of two arrays.
inline Symbol elemwise_div(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs) {
  return detail::Composed("elemwise_div").input("lhs", lhs).input("rhs", rhs).make(symbol_name);
}
inline Symbol elemwise_div(const Symbol& lhs, const Symbol& rhs) {
  return elemwise_div(std::string(), lhs, rhs);
}
// Product of two arrays.
inline Symbol elemwise_mul(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs) {
  return detail::Composed("elemwise_mul").input("lhs", lhs).input("rhs", rhs).make(symbol_name);
}
inline Symbol elemwise_mul(const Symbol& lhs, const Symbol& rhs) {
  return elemwise_mul(std::string(), lhs, rhs);
}
// Difference of two arrays.
inline Symbol elemwise_sub(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs) {
  return detail::Composed("elemwise_sub").input("lhs", lhs).input("rhs", rhs).make(symbol_name);
}
inline Symbol elemwise_sub(const Symbol& lhs, const Symbol& rhs) {
  return elemwise_sub(std::string(), lhs, rhs);
}
// Error function.
inline Symbol erf(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("erf").input("data", data).make(symbol_name);
}
inline Symbol erf(const Symbol& data) {
  return erf(std::string(), data);
}
// Inverse of the error function.
inline Symbol erfinv(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("erfinv").input("data", data).make(symbol_name);
}
inline Symbol erfinv(const Symbol& data) {
  return erfinv(std::string(), data);
}
// Exponential.
inline Symbol exp(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("exp").input("data", data).make(symbol_name);
}
inline Symbol exp(const Symbol& data) {
  return exp(std::string(), data);
}
// Adds an axis of size 1.
inline Symbol expand_dims(const std::string& symbol_name, const Symbol& data, int axis) {
  return detail::Composed("expand_dims").input("data", data).set("axis", axis).make(symbol_name);
}
inline Symbol expand_dims(const Symbol& data, int axis) {
  return expand_dims(std::string(), data, axis);
}
// exp(data) - 1, exact near zero.
inline Symbol expm1(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("expm1").input("data", data).make(symbol_name);
}
inline Symbol expm1(const Symbol& data) {
  return expm1(std::string(), data);
}
// Rounds towards zero.
inline Symbol fix(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("fix").input("data", data).make(symbol_name);
}
inline Symbol fix(const Symbol& data) {
  return fix(std::string(), data);
}
// Joins all axes but the first.
inline Symbol flatten(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("Flatten").input("data", data).make(symbol_name);
}
inline Symbol flatten(const Symbol& data) {
  return flatten(std::string(), data);
}
// Reverses the order along axes.
inline Symbol flip(const std::string& symbol_name, const Symbol& data, const Shape& axis) {
  return detail::Composed("reverse").input("data", data).set("axis", axis).make(symbol_name);
}
inline Symbol flip(const Symbol& data, const Shape& axis) {
  return flip(std::string(), data, axis);
}
// Rounds down to an integer.
inline Symbol floor(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("floor").input("data", data).make(symbol_name);
}
inline Symbol floor(const Symbol& data) {
  return floor(std::string(), data);
}
// Gamma function.
inline Symbol gamma(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("gamma").input("data", data).make(symbol_name);
}
inline Symbol gamma(const Symbol& data) {
  return gamma(std::string(), data);
}
// Logarithm of the absolute value of the gamma function.
inline Symbol gammaln(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("gammaln").input("data", data).make(symbol_name);
}
inline Symbol gammaln(const Symbol& data) {
  return gammaln(std::string(), data);
}
// Gathers elements or slices of `data`; row k of `indices` counts along axis k.
inline Symbol gather_nd(const std::string& symbol_name, const Symbol& data, const Symbol& indices) {
  return detail::Composed("gather_nd").input("data", data).input("indices", indices).make(symbol_name);
}
inline Symbol gather_nd(const Symbol& data, const Symbol& indices) {
  return gather_nd(std::string(), data, indices);
}
// min(max(alpha x + beta, 0), 1).
inline Symbol hard_sigmoid(const std::string& symbol_name, const Symbol& data, mx_float alpha = 0.2f, mx_float beta = 0.5f) {
  return detail::Composed("hard_sigmoid").input("data", data).set("alpha", alpha, 0.2f).set("beta", beta, 0.5f).make(symbol_name);
}
inline Symbol hard_sigmoid(const Symbol& data, mx_float alpha = 0.2f, mx_float beta = 0.5f) {
  return hard_sigmoid(std::string(), data, alpha, beta);
}
// A copy of data.
inline Symbol identity(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("_copy").input("data", data).make(symbol_name);
}
inline Symbol identity(const Symbol& data) {
  return identity(std::string(), data);
}
// Lays out the elements under each place of a window as a column.
inline Symbol im2col(const std::string& symbol_name, const Symbol& data, const Shape& kernel, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape()) {
  return detail::Composed("im2col").input("data", data).set("kernel", kernel).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).make(symbol_name);
}
inline Symbol im2col(const Symbol& data, const Shape& kernel, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape()) {
  return im2col(std::string(), data, kernel, stride, dilate, pad);
}
// The Khatri-Rao product: each column is the Kronecker product of the matrices' columns there.
inline Symbol khatri_rao(const std::string& symbol_name, const std::vector<Symbol>& args, int num_args) {
  return detail::Composed("khatri_rao").inputs(args).set("num_args", num_args).make(symbol_name);
}
inline Symbol khatri_rao(const std::vector<Symbol>& args, int num_args) {
  return khatri_rao(std::string(), args, num_args);
}
// The determinant of each matrix of a batch.
inline Symbol linalg_det(const std::string& symbol_name, const Symbol& A) {
  return detail::Composed("_linalg_det").input("A", A).make(symbol_name);
}
inline Symbol linalg_det(const Symbol& A) {
  return linalg_det(std::string(), A);
}
// A diagonal of each square matrix of a batch.
inline Symbol linalg_extractdiag(const std::string& symbol_name, const Symbol& A, int offset = 0) {
  return detail::Composed("_linalg_extractdiag").input("A", A).set("offset", offset, 0).make(symbol_name);
}
inline Symbol linalg_extractdiag(const Symbol& A, int offset = 0) {
  return linalg_extractdiag(std::string(), A, offset);
}
// A triangle of each square matrix of a batch as a vector, row by row; an upper one column by column.
inline Symbol linalg_extracttrian(const std::string& symbol_name, const Symbol& A, int offset = 0, bool lower = true) {
  return detail::Composed("_linalg_extracttrian").input("A", A).set("offset", offset, 0).set("lower", lower, true).make(symbol_name);
}
inline Symbol linalg_extracttrian(const Symbol& A, int offset = 0, bool lower = true) {
  return linalg_extracttrian(std::string(), A, offset, lower);
}
// Q and L with A = L Q for each matrix of a batch, which has no more rows than columns: the rows of Q are orthonormal, L is lower triangular.
inline Symbol linalg_gelqf(const std::string& symbol_name, const Symbol& A) {
  return detail::Composed("_linalg_gelqf").input("A", A).make(symbol_name);
}
inline Symbol linalg_gelqf(const Symbol& A) {
  return linalg_gelqf(std::string(), A);
}
// alpha op(A) op(B) + beta C for each matrix of a batch, where op may transpose.
inline Symbol linalg_gemm(const std::string& symbol_name, const Symbol& A, const Symbol& B, const Symbol& C, bool transpose_a = false, bool transpose_b = false, double alpha = 1.0, double beta = 1.0, int axis = -2) {
  return detail::Composed("_linalg_gemm").input("A", A).input("B", B).input("C", C).set("transpose_a", transpose_a, false).set("transpose_b", transpose_b, false).set("alpha", alpha, 1.0).set("beta", beta, 1.0).set("axis", axis, -2).make(symbol_name);
}
inline Symbol linalg_gemm(const Symbol& A, const Symbol& B, const Symbol& C, bool transpose_a = false, bool transpose_b = false, double alpha = 1.0, double beta = 1.0, int axis = -2) {
  return linalg_gemm(std::string(), A, B, C, transpose_a, transpose_b, alpha, beta, axis);
}
// alpha op(A) op(B) for each matrix of a batch, where op may transpose.
inline Symbol linalg_gemm2(const std::string& symbol_name, const Symbol& A, const Symbol& B, bool transpose_a = false, bool transpose_b = false, double alpha = 1.0, int axis = -2) {
  return detail::Composed("_linalg_gemm2").input("A", A).input("B", B).set("transpose_a", transpose_a, false).set("transpose_b", transpose_b, false).set("alpha", alpha, 1.0).set("axis", axis, -2).make(symbol_name);
}
inline Symbol linalg_gemm2(const Symbol& A, const Symbol& B, bool transpose_a = false, bool transpose_b = false, double alpha = 1.0, int axis = -2) {
  return linalg_gemm2(std::string(), A, B, transpose_a, transpose_b, alpha, axis);
}
// The inverse of each matrix of a batch; an error for a singular one.
inline Symbol linalg_inverse(const std::string& symbol_name, const Symbol& A) {
  return detail::Composed("_linalg_inverse").input("A", A).make(symbol_name);
}
inline Symbol linalg_inverse(const Symbol& A) {
  return linalg_inverse(std::string(), A);
}
// A matrix with each vector of a batch on a diagonal, and zeros elsewhere.
inline Symbol linalg_makediag(const std::string& symbol_name, const Symbol& A, int offset = 0) {
  return detail::Composed("_linalg_makediag").input("A", A).set("offset", offset, 0).make(symbol_name);
}
inline Symbol linalg_makediag(const Symbol& A, int offset = 0) {
  return linalg_makediag(std::string(), A, offset);
}
// A matrix with each vector of a batch as a triangle, and zeros elsewhere.
inline Symbol linalg_maketrian(const std::string& symbol_name, const Symbol& A, int offset = 0, bool lower = true) {
  return detail::Composed("_linalg_maketrian").input("A", A).set("offset", offset, 0).set("lower", lower, true).make(symbol_name);
}
inline Symbol linalg_maketrian(const Symbol& A, int offset = 0, bool lower = true) {
  return linalg_maketrian(std::string(), A, offset, lower);
}
// The pseudo-inverse of each matrix of a batch; singular values up to its `rcond` times the largest one count as zero.
inline Symbol linalg_pinv(const std::string& symbol_name, const Symbol& A, const Symbol& rcond) {
  return detail::Composed("_linalg_pinv").input("A", A).input("rcond", rcond).make(symbol_name);
}
inline Symbol linalg_pinv(const Symbol& A, const Symbol& rcond) {
  return linalg_pinv(std::string(), A, rcond);
}
// The Cholesky factor of each matrix of a batch; an error for one that is not positive definite.
inline Symbol linalg_potrf(const std::string& symbol_name, const Symbol& A, bool lower = true) {
  return detail::Composed("_linalg_potrf").input("A", A).set("lower", lower, true).make(symbol_name);
}
inline Symbol linalg_potrf(const Symbol& A, bool lower = true) {
  return linalg_potrf(std::string(), A, lower);
}
// The inverse of L L^T for each lower triangular matrix L of a batch.
inline Symbol linalg_potri(const std::string& symbol_name, const Symbol& A) {
  return detail::Composed("_linalg_potri").input("A", A).make(symbol_name);
}
inline Symbol linalg_potri(const Symbol& A) {
  return linalg_potri(std::string(), A);
}
// Sign and logarithm of the absolute value of the determinant of each matrix of a batch.
inline Symbol linalg_slogdet(const std::string& symbol_name, const Symbol& A) {
  return detail::Composed("_linalg_slogdet").input("A", A).make(symbol_name);
}
inline Symbol linalg_slogdet(const Symbol& A) {
  return linalg_slogdet(std::string(), A);
}
// The X with op(A) X = B for each matrix of a batch; an error for a singular one.
inline Symbol linalg_solve(const std::string& symbol_name, const Symbol& A, const Symbol& B, bool transpose = false) {
  return detail::Composed("_linalg_solve").input("A", A).input("B", B).set("transpose", transpose, false).make(symbol_name);
}
inline Symbol linalg_solve(const Symbol& A, const Symbol& B, bool transpose = false) {
  return linalg_solve(std::string(), A, B, transpose);
}
// The sum of the logarithms of the diagonal of each square matrix of a batch.
inline Symbol linalg_sumlogdiag(const std::string& symbol_name, const Symbol& A) {
  return detail::Composed("_linalg_sumlogdiag").input("A", A).make(symbol_name);
}
inline Symbol linalg_sumlogdiag(const Symbol& A) {
  return linalg_sumlogdiag(std::string(), A);
}
// U, s and V with A = U diag(s) V for each matrix of a batch, which has no more rows than columns: U's columns and V's rows are orthonormal, s descends.
inline Symbol linalg_svd(const std::string& symbol_name, const Symbol& A) {
  return detail::Composed("_linalg_svd").input("A", A).make(symbol_name);
}
inline Symbol linalg_svd(const Symbol& A) {
  return linalg_svd(std::string(), A);
}
// alpha A A^T, or alpha A^T A, for each matrix of a batch.
inline Symbol linalg_syrk(const std::string& symbol_name, const Symbol& A, bool transpose = false, double alpha = 1.0) {
  return detail::Composed("_linalg_syrk").input("A", A).set("transpose", transpose, false).set("alpha", alpha, 1.0).make(symbol_name);
}
inline Symbol linalg_syrk(const Symbol& A, bool transpose = false, double alpha = 1.0) {
  return linalg_syrk(std::string(), A, transpose, alpha);
}
// alpha op(A) B, or alpha B op(A), for each triangular matrix A of a batch.
inline Symbol linalg_trmm(const std::string& symbol_name, const Symbol& A, const Symbol& B, bool transpose = false, bool rightside = false, bool lower = true, double alpha = 1.0) {
  return detail::Composed("_linalg_trmm").input("A", A).input("B", B).set("transpose", transpose, false).set("rightside", rightside, false).set("lower", lower, true).set("alpha", alpha, 1.0).make(symbol_name);
}
inline Symbol linalg_trmm(const Symbol& A, const Symbol& B, bool transpose = false, bool rightside = false, bool lower = true, double alpha = 1.0) {
  return linalg_trmm(std::string(), A, B, transpose, rightside, lower, alpha);
}
// Solves op(A) X = alpha B, or X op(A) = alpha B, for each triangular matrix A of a batch.
inline Symbol linalg_trsm(const std::string& symbol_name, const Symbol& A, const Symbol& B, bool transpose = false, bool rightside = false, bool lower = true, double alpha = 1.0) {
  return detail::Composed("_linalg_trsm").input("A", A).input("B", B).set("transpose", transpose, false).set("rightside", rightside, false).set("lower", lower, true).set("alpha", alpha, 1.0).make(symbol_name);
}
inline Symbol linalg_trsm(const Symbol& A, const Symbol& B, bool transpose = false, bool rightside = false, bool lower = true, double alpha = 1.0) {
  return linalg_trsm(std::string(), A, B, transpose, rightside, lower, alpha);
}
// Natural logarithm.
inline Symbol log(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("log").input("data", data).make(symbol_name);
}
inline Symbol log(const Symbol& data) {
  return log(std::string(), data);
}
// Logarithm to base 10.
inline Symbol log10(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("log10").input("data", data).make(symbol_name);
}
inline Symbol log10(const Symbol& data) {
  return log10(std::string(), data);
}
// log(1 + data), exact near zero.
inline Symbol log1p(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("log1p").input("data", data).make(symbol_name);
}
inline Symbol log1p(const Symbol& data) {
  return log1p(std::string(), data);
}
// Logarithm to base 2.
inline Symbol log2(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("log2").input("data", data).make(symbol_name);
}
inline Symbol log2(const Symbol& data) {
  return log2(std::string(), data);
}
// The logarithm of the softmax.
inline Symbol log_softmax(const std::string& symbol_name, const Symbol& data, int axis = -1, const std::optional<double>& temperature = std::nullopt, LogSoftmaxDtype dtype = LogSoftmaxDtype::kNone, const std::optional<bool>& use_length = false) {
  return detail::Composed("log_softmax").input("data", data).set("axis", axis, -1).set("temperature", temperature).set("dtype", dtype, LogSoftmaxDtype::kNone).set("use_length", use_length, false).make(symbol_name);
}
inline Symbol log_softmax(const Symbol& data, int axis = -1, const std::optional<double>& temperature = std::nullopt, LogSoftmaxDtype dtype = LogSoftmaxDtype::kNone, const std::optional<bool>& use_length = false) {
  return log_softmax(std::string(), data, axis, temperature, dtype, use_length);
}
// 1 where data is zero, else 0.
inline Symbol logical_not(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("logical_not").input("data", data).make(symbol_name);
}
inline Symbol logical_not(const Symbol& data) {
  return logical_not(std::string(), data);
}
// Marks data as a loss: its gradient is one.
inline Symbol make_loss(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("make_loss").input("data", data).make(symbol_name);
}
inline Symbol make_loss(const Symbol& data) {
  return make_loss(std::string(), data);
}
// Maximum over axes.
inline Symbol max(const std::string& symbol_name, const Symbol& data, const std::optional<Shape>& axis = std::nullopt, bool keepdims = false, bool exclude = false) {
  return detail::Composed("max").input("data", data).set("axis", axis).set("keepdims", keepdims, false).set("exclude", exclude, false).make(symbol_name);
}
inline Symbol max(const Symbol& data, const std::optional<Shape>& axis = std::nullopt, bool keepdims = false, bool exclude = false) {
  return max(std::string(), data, axis, keepdims, exclude);
}
// Maximum over axes.
inline Symbol max_axis(const std::string& symbol_name, const Symbol& data, const std::optional<Shape>& axis = std::nullopt, bool keepdims = false, bool exclude = false) {
  return detail::Composed("max").input("data", data).set("axis", axis).set("keepdims", keepdims, false).set("exclude", exclude, false).make(symbol_name);
}
inline Symbol max_axis(const Symbol& data, const std::optional<Shape>& axis = std::nullopt, bool keepdims = false, bool exclude = false) {
  return max_axis(std::string(), data, axis, keepdims, exclude);
}
// Mean over axes.
inline Symbol mean(const std::string& symbol_name, const Symbol& data, const std::optional<Shape>& axis = std::nullopt, bool keepdims = false, bool exclude = false) {
  return detail::Composed("mean").input("data", data).set("axis", axis).set("keepdims", keepdims, false).set("exclude", exclude, false).make(symbol_name);
}
inline Symbol mean(const Symbol& data, const std::optional<Shape>& axis = std::nullopt, bool keepdims = false, bool exclude = false) {
  return mean(std::string(), data, axis, keepdims, exclude);
}
// Minimum over axes.
inline Symbol min(const std::string& symbol_name, const Symbol& data, const std::optional<Shape>& axis = std::nullopt, bool keepdims = false, bool exclude = false) {
  return detail::Composed("min").input("data", data).set("axis", axis).set("keepdims", keepdims, false).set("exclude", exclude, false).make(symbol_name);
}
inline Symbol min(const Symbol& data, const std::optional<Shape>& axis = std::nullopt, bool keepdims = false, bool exclude = false) {
  return min(std::string(), data, axis, keepdims, exclude);
}
// Minimum over axes.
inline Symbol min_axis(const std::string& symbol_name, const Symbol& data, const std::optional<Shape>& axis = std::nullopt, bool keepdims = false, bool exclude = false) {
  return detail::Composed("min").input("data", data).set("axis", axis).set("keepdims", keepdims, false).set("exclude", exclude, false).make(symbol_name);
}
inline Symbol min_axis(const Symbol& data, const std::optional<Shape>& axis = std::nullopt, bool keepdims = false, bool exclude = false) {
  return min_axis(std::string(), data, axis, keepdims, exclude);
}
// Mean and variance over axes.
inline Symbol moments(const std::string& symbol_name, const Symbol& data, const std::optional<Shape>& axes = std::nullopt, bool keepdims = false) {
  return detail::Composed("moments").input("data", data).set("axes", axes).set("keepdims", keepdims, false).make(symbol_name);
}
inline Symbol moments(const Symbol& data, const std::optional<Shape>& axes = std::nullopt, bool keepdims = false) {
  return moments(std::string(), data, axes, keepdims);
}
// 1 if every number in all the arrays is finite, else 0.
inline Symbol multi_all_finite(const std::string& symbol_name, const std::vector<Symbol>& data, int num_arrays = 1, bool init_output = true) {
  return detail::Composed("multi_all_finite").inputs(data).set("num_arrays", num_arrays, 1).set("init_output", init_output, true).make(symbol_name);
}
inline Symbol multi_all_finite(const std::vector<Symbol>& data, int num_arrays = 1, bool init_output = true) {
  return multi_all_finite(std::string(), data, num_arrays, init_output);
}
// LARS: scales learning rates by the ratio of the weights' and gradients' norms.
inline Symbol multi_lars(const std::string& symbol_name, const Symbol& lrs, const Symbol& weights_sum_sq, const Symbol& grads_sum_sq, const Symbol& wds, mx_float eta, mx_float eps, mx_float rescale_grad = 1.0f) {
  return detail::Composed("multi_lars").input("lrs", lrs).input("weights_sum_sq", weights_sum_sq).input("grads_sum_sq", grads_sum_sq).input("wds", wds).set("eta", eta).set("eps", eps).set("rescale_grad", rescale_grad, 1.0f).make(symbol_name);
}
inline Symbol multi_lars(const Symbol& lrs, const Symbol& weights_sum_sq, const Symbol& grads_sum_sq, const Symbol& wds, mx_float eta, mx_float eps, mx_float rescale_grad = 1.0f) {
  return multi_lars(std::string(), lrs, weights_sum_sq, grads_sum_sq, wds, eta, eps, rescale_grad);
}
// The sums of the squares of several arrays.
inline Symbol multi_sum_sq(const std::string& symbol_name, const std::vector<Symbol>& data, int num_arrays) {
  return detail::Composed("multi_sum_sq").inputs(data).set("num_arrays", num_arrays).make(symbol_name);
}
inline Symbol multi_sum_sq(const std::vector<Symbol>& data, int num_arrays) {
  return multi_sum_sq(std::string(), data, num_arrays);
}
// Product over axes; NaN counts as 1.
inline Symbol nanprod(const std::string& symbol_name, const Symbol& data, const std::optional<Shape>& axis = std::nullopt, bool keepdims = false, bool exclude = false) {
  return detail::Composed("nanprod").input("data", data).set("axis", axis).set("keepdims", keepdims, false).set("exclude", exclude, false).make(symbol_name);
}
inline Symbol nanprod(const Symbol& data, const std::optional<Shape>& axis = std::nullopt, bool keepdims = false, bool exclude = false) {
  return nanprod(std::string(), data, axis, keepdims, exclude);
}
// Sum over axes; NaN counts as 0.
inline Symbol nansum(const std::string& symbol_name, const Symbol& data, const std::optional<Shape>& axis = std::nullopt, bool keepdims = false, bool exclude = false) {
  return detail::Composed("nansum").input("data", data).set("axis", axis).set("keepdims", keepdims, false).set("exclude", exclude, false).make(symbol_name);
}
inline Symbol nansum(const Symbol& data, const std::optional<Shape>& axis = std::nullopt, bool keepdims = false, bool exclude = false) {
  return nansum(std::string(), data, axis, keepdims, exclude);
}
// Changes the sign.
inline Symbol negative(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("negative").input("data", data).make(symbol_name);
}
inline Symbol negative(const Symbol& data) {
  return negative(std::string(), data);
}
// Norm over axes.
inline Symbol norm(const std::string& symbol_name, const Symbol& data, int ord = 2, const std::optional<Shape>& axis = std::nullopt, NormOutDtype out_dtype = NormOutDtype::kNone, bool keepdims = false) {
  return detail::Composed("norm").input("data", data).set("ord", ord, 2).set("axis", axis).set("out_dtype", out_dtype, NormOutDtype::kNone).set("keepdims", keepdims, false).make(symbol_name);
}
inline Symbol norm(const Symbol& data, int ord = 2, const std::optional<Shape>& axis = std::nullopt, NormOutDtype out_dtype = NormOutDtype::kNone, bool keepdims = false) {
  return norm(std::string(), data, ord, axis, out_dtype, keepdims);
}
// Draws from the normal distribution with mean loc and standard deviation scale.
inline Symbol normal(const std::string& symbol_name, mx_float loc = 0.0f, mx_float scale = 1.0f, const std::optional<Shape>& shape = std::nullopt, const std::string& ctx = "", RandomNormalDtype dtype = RandomNormalDtype::kNone) {
  return detail::Composed("_random_normal").set("loc", loc, 0.0f).set("scale", scale, 1.0f).set("shape", shape).set("ctx", ctx, "").set("dtype", dtype, RandomNormalDtype::kNone).make(symbol_name);
}
inline Symbol normal(mx_float loc = 0.0f, mx_float scale = 1.0f, const std::optional<Shape>& shape = std::nullopt, const std::string& ctx = "", RandomNormalDtype dtype = RandomNormalDtype::kNone) {
  return normal(std::string(), loc, scale, shape, ctx, dtype);
}
// Turns indices into vectors with one element on; an index outside leaves all off.
inline Symbol one_hot(const std::string& symbol_name, const Symbol& indices, int depth, double on_value = 1.0, double off_value = 0.0, OneHotDtype dtype = OneHotDtype::kFloat32) {
  return detail::Composed("one_hot").input("indices", indices).set("depth", depth).set("on_value", on_value, 1.0).set("off_value", off_value, 0.0).set("dtype", dtype, OneHotDtype::kFloat32).make(symbol_name);
}
inline Symbol one_hot(const Symbol& indices, int depth, double on_value = 1.0, double off_value = 0.0, OneHotDtype dtype = OneHotDtype::kFloat32) {
  return one_hot(std::string(), indices, depth, on_value, off_value, dtype);
}
// Ones of the shape and type of data.
inline Symbol ones_like(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("ones_like").input("data", data).make(symbol_name);
}
inline Symbol ones_like(const Symbol& data) {
  return ones_like(std::string(), data);
}
// Puts a border around data.
inline Symbol pad(const std::string& symbol_name, const Symbol& data, PadMode mode, const Shape& pad_width, double constant_value = 0.0) {
  return detail::Composed("Pad").input("data", data).set("mode", mode).set("pad_width", pad_width).set("constant_value", constant_value, 0.0).make(symbol_name);
}
inline Symbol pad(const Symbol& data, PadMode mode, const Shape& pad_width, double constant_value = 0.0) {
  return pad(std::string(), data, mode, pad_width, constant_value);
}
// Picks one element along an axis for each index.
inline Symbol pick(const std::string& symbol_name, const Symbol& data, const Symbol& index, const std::optional<int>& axis = -1, bool keepdims = false, PickMode mode = PickMode::kClip) {
  return detail::Composed("pick").input("data", data).input("index", index).set("axis", axis, -1).set("keepdims", keepdims, false).set("mode", mode, PickMode::kClip).make(symbol_name);
}
inline Symbol pick(const Symbol& data, const Symbol& index, const std::optional<int>& axis = -1, bool keepdims = false, PickMode mode = PickMode::kClip) {
  return pick(std::string(), data, index, axis, keepdims, mode);
}
// Product over axes.
inline Symbol prod(const std::string& symbol_name, const Symbol& data, const std::optional<Shape>& axis = std::nullopt, bool keepdims = false, bool exclude = false) {
  return detail::Composed("prod").input("data", data).set("axis", axis).set("keepdims", keepdims, false).set("exclude", exclude, false).make(symbol_name);
}
inline Symbol prod(const Symbol& data, const std::optional<Shape>& axis = std::nullopt, bool keepdims = false, bool exclude = false) {
  return prod(std::string(), data, axis, keepdims, exclude);
}
// Converts degrees to radians.
inline Symbol radians(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("radians").input("data", data).make(symbol_name);
}
inline Symbol radians(const Symbol& data) {
  return radians(std::string(), data);
}
// Draws from the exponential distribution with rate lam.
inline Symbol random_exponential(const std::string& symbol_name, mx_float lam = 1.0f, const std::optional<Shape>& shape = std::nullopt, const std::string& ctx = "", RandomExponentialDtype dtype = RandomExponentialDtype::kNone) {
  return detail::Composed("_random_exponential").set("lam", lam, 1.0f).set("shape", shape).set("ctx", ctx, "").set("dtype", dtype, RandomExponentialDtype::kNone).make(symbol_name);
}
inline Symbol random_exponential(mx_float lam = 1.0f, const std::optional<Shape>& shape = std::nullopt, const std::string& ctx = "", RandomExponentialDtype dtype = RandomExponentialDtype::kNone) {
  return random_exponential(std::string(), lam, shape, ctx, dtype);
}
// Draws from the gamma distribution with shape alpha and scale beta.
inline Symbol random_gamma(const std::string& symbol_name, mx_float alpha = 1.0f, mx_float beta = 1.0f, const std::optional<Shape>& shape = std::nullopt, const std::string& ctx = "", RandomGammaDtype dtype = RandomGammaDtype::kNone) {
  return detail::Composed("_random_gamma").set("alpha", alpha, 1.0f).set("beta", beta, 1.0f).set("shape", shape).set("ctx", ctx, "").set("dtype", dtype, RandomGammaDtype::kNone).make(symbol_name);
}
inline Symbol random_gamma(mx_float alpha = 1.0f, mx_float beta = 1.0f, const std::optional<Shape>& shape = std::nullopt, const std::string& ctx = "", RandomGammaDtype dtype = RandomGammaDtype::kNone) {
  return random_gamma(std::string(), alpha, beta, shape, ctx, dtype);
}
// Draws counts with mean mu and dispersion alpha; with alpha 0, Poisson counts.
inline Symbol random_generalized_negative_binomial(const std::string& symbol_name, mx_float mu = 1.0f, mx_float alpha = 1.0f, const std::optional<Shape>& shape = std::nullopt, const std::string& ctx = "", RandomGeneralizedNegativeBinomialDtype dtype = RandomGeneralizedNegativeBinomialDtype::kNone) {
  return detail::Composed("_random_generalized_negative_binomial").set("mu", mu, 1.0f).set("alpha", alpha, 1.0f).set("shape", shape).set("ctx", ctx, "").set("dtype", dtype, RandomGeneralizedNegativeBinomialDtype::kNone).make(symbol_name);
}
inline Symbol random_generalized_negative_binomial(mx_float mu = 1.0f, mx_float alpha = 1.0f, const std::optional<Shape>& shape = std::nullopt, const std::string& ctx = "", RandomGeneralizedNegativeBinomialDtype dtype = RandomGeneralizedNegativeBinomialDtype::kNone) {
  return random_generalized_negative_binomial(std::string(), mu, alpha, shape, ctx, dtype);
}
// Draws the number of failures before k successes, each of probability p.
inline Symbol random_negative_binomial(const std::string& symbol_name, mx_float k = 1.0f, mx_float p = 1.0f, const std::optional<Shape>& shape = std::nullopt, const std::string& ctx = "", RandomNegativeBinomialDtype dtype = RandomNegativeBinomialDtype::kNone) {
  return detail::Composed("_random_negative_binomial").set("k", k, 1.0f).set("p", p, 1.0f).set("shape", shape).set("ctx", ctx, "").set("dtype", dtype, RandomNegativeBinomialDtype::kNone).make(symbol_name);
}
inline Symbol random_negative_binomial(mx_float k = 1.0f, mx_float p = 1.0f, const std::optional<Shape>& shape = std::nullopt, const std::string& ctx = "", RandomNegativeBinomialDtype dtype = RandomNegativeBinomialDtype::kNone) {
  return random_negative_binomial(std::string(), k, p, shape, ctx, dtype);
}
// Draws from the normal distribution with mean loc and standard deviation scale.
inline Symbol random_normal(const std::string& symbol_name, mx_float loc = 0.0f, mx_float scale = 1.0f, const std::optional<Shape>& shape = std::nullopt, const std::string& ctx = "", RandomNormalDtype dtype = RandomNormalDtype::kNone) {
  return detail::Composed("_random_normal").set("loc", loc, 0.0f).set("scale", scale, 1.0f).set("shape", shape).set("ctx", ctx, "").set("dtype", dtype, RandomNormalDtype::kNone).make(symbol_name);
}
inline Symbol random_normal(mx_float loc = 0.0f, mx_float scale = 1.0f, const std::optional<Shape>& shape = std::nullopt, const std::string& ctx = "", RandomNormalDtype dtype = RandomNormalDtype::kNone) {
  return random_normal(std::string(), loc, scale, shape, ctx, dtype);
}
// The density of samples of the dirichlet distribution.
inline Symbol random_pdf_dirichlet(const std::string& symbol_name, const Symbol& sample, const Symbol& alpha, bool is_log = false) {
  return detail::Composed("_random_pdf_dirichlet").input("sample", sample).input("alpha", alpha).set("is_log", is_log, false).make(symbol_name);
}
inline Symbol random_pdf_dirichlet(const Symbol& sample, const Symbol& alpha, bool is_log = false) {
  return random_pdf_dirichlet(std::string(), sample, alpha, is_log);
}
// The density of samples of the exponential distribution.
inline Symbol random_pdf_exponential(const std::string& symbol_name, const Symbol& sample, const Symbol& lam, bool is_log = false) {
  return detail::Composed("_random_pdf_exponential").input("sample", sample).input("lam", lam).set("is_log", is_log, false).make(symbol_name);
}
inline Symbol random_pdf_exponential(const Symbol& sample, const Symbol& lam, bool is_log = false) {
  return random_pdf_exponential(std::string(), sample, lam, is_log);
}
// The density of samples of the gamma distribution.
inline Symbol random_pdf_gamma(const std::string& symbol_name, const Symbol& sample, const Symbol& alpha, const Symbol& beta, bool is_log = false) {
  return detail::Composed("_random_pdf_gamma").input("sample", sample).input("alpha", alpha).input("beta", beta).set("is_log", is_log, false).make(symbol_name);
}
inline Symbol random_pdf_gamma(const Symbol& sample, const Symbol& alpha, const Symbol& beta, bool is_log = false) {
  return random_pdf_gamma(std::string(), sample, alpha, beta, is_log);
}
inline Symbol random_pdf_gamma(const std::string& symbol_name, const Symbol& sample, const Symbol& alpha, bool is_log = false) {
  return detail::Composed("_random_pdf_gamma").input("sample", sample).input("alpha", alpha).set("is_log", is_log, false).make(symbol_name);
}
inline Symbol random_pdf_gamma(const Symbol& sample, const Symbol& alpha, bool is_log = false) {
  return random_pdf_gamma(std::string(), sample, alpha, is_log);
}
// The density of samples of the generalized negative binomial distribution.
inline Symbol random_pdf_generalized_negative_binomial(const std::string& symbol_name, const Symbol& sample, const Symbol& mu, const Symbol& alpha, bool is_log = false) {
  return detail::Composed("_random_pdf_generalized_negative_binomial").input("sample", sample).input("mu", mu).input("alpha", alpha).set("is_log", is_log, false).make(symbol_name);
}
inline Symbol random_pdf_generalized_negative_binomial(const Symbol& sample, const Symbol& mu, const Symbol& alpha, bool is_log = false) {
  return random_pdf_generalized_negative_binomial(std::string(), sample, mu, alpha, is_log);
}
// The density of samples of the negative binomial distribution.
inline Symbol random_pdf_negative_binomial(const std::string& symbol_name, const Symbol& sample, const Symbol& k, const Symbol& p, bool is_log = false) {
  return detail::Composed("_random_pdf_negative_binomial").input("sample", sample).input("k", k).input("p", p).set("is_log", is_log, false).make(symbol_name);
}
inline Symbol random_pdf_negative_binomial(const Symbol& sample, const Symbol& k, const Symbol& p, bool is_log = false) {
  return random_pdf_negative_binomial(std::string(), sample, k, p, is_log);
}
// The density of samples of the normal distribution.
inline Symbol random_pdf_normal(const std::string& symbol_name, const Symbol& sample, const Symbol& mu, const Symbol& sigma, bool is_log = false) {
  return detail::Composed("_random_pdf_normal").input("sample", sample).input("mu", mu).input("sigma", sigma).set("is_log", is_log, false).make(symbol_name);
}
inline Symbol random_pdf_normal(const Symbol& sample, const Symbol& mu, const Symbol& sigma, bool is_log = false) {
  return random_pdf_normal(std::string(), sample, mu, sigma, is_log);
}
// The density of samples of the poisson distribution.
inline Symbol random_pdf_poisson(const std::string& symbol_name, const Symbol& sample, const Symbol& lam, bool is_log = false) {
  return detail::Composed("_random_pdf_poisson").input("sample", sample).input("lam", lam).set("is_log", is_log, false).make(symbol_name);
}
inline Symbol random_pdf_poisson(const Symbol& sample, const Symbol& lam, bool is_log = false) {
  return random_pdf_poisson(std::string(), sample, lam, is_log);
}
// The density of samples of the uniform distribution.
inline Symbol random_pdf_uniform(const std::string& symbol_name, const Symbol& sample, const Symbol& low, const Symbol& high, bool is_log = false) {
  return detail::Composed("_random_pdf_uniform").input("sample", sample).input("low", low).input("high", high).set("is_log", is_log, false).make(symbol_name);
}
inline Symbol random_pdf_uniform(const Symbol& sample, const Symbol& low, const Symbol& high, bool is_log = false) {
  return random_pdf_uniform(std::string(), sample, low, high, is_log);
}
// Draws counts from the Poisson distribution with mean lam.
inline Symbol random_poisson(const std::string& symbol_name, mx_float lam = 1.0f, const std::optional<Shape>& shape = std::nullopt, const std::string& ctx = "", RandomPoissonDtype dtype = RandomPoissonDtype::kNone) {
  return detail::Composed("_random_poisson").set("lam", lam, 1.0f).set("shape", shape).set("ctx", ctx, "").set("dtype", dtype, RandomPoissonDtype::kNone).make(symbol_name);
}
inline Symbol random_poisson(mx_float lam = 1.0f, const std::optional<Shape>& shape = std::nullopt, const std::string& ctx = "", RandomPoissonDtype dtype = RandomPoissonDtype::kNone) {
  return random_poisson(std::string(), lam, shape, ctx, dtype);
}
// Draws integers uniformly from [low, high).
inline Symbol random_randint(const std::string& symbol_name, int64_t low, int64_t high, const std::optional<Shape>& shape = std::nullopt, const std::string& ctx = "", RandomRandintDtype dtype = RandomRandintDtype::kNone) {
  return detail::Composed("_random_randint").set("low", low).set("high", high).set("shape", shape).set("ctx", ctx, "").set("dtype", dtype, RandomRandintDtype::kNone).make(symbol_name);
}
inline Symbol random_randint(int64_t low, int64_t high, const std::optional<Shape>& shape = std::nullopt, const std::string& ctx = "", RandomRandintDtype dtype = RandomRandintDtype::kNone) {
  return random_randint(std::string(), low, high, shape, ctx, dtype);
}
// Draws uniformly from [low, high).
inline Symbol random_uniform(const std::string& symbol_name, mx_float low = 0.0f, mx_float high = 1.0f, const std::optional<Shape>& shape = std::nullopt, const std::string& ctx = "", RandomUniformDtype dtype = RandomUniformDtype::kNone) {
  return detail::Composed("_random_uniform").set("low", low, 0.0f).set("high", high, 1.0f).set("shape", shape).set("ctx", ctx, "").set("dtype", dtype, RandomUniformDtype::kNone).make(symbol_name);
}
inline Symbol random_uniform(mx_float low = 0.0f, mx_float high = 1.0f, const std::optional<Shape>& shape = std::nullopt, const std::string& ctx = "", RandomUniformDtype dtype = RandomUniformDtype::kNone) {
  return random_uniform(std::string(), low, high, shape, ctx, dtype);
}
// Turns rows of indices, one an axis, into positions in row-major order.
inline Symbol ravel_multi_index(const std::string& symbol_name, const Symbol& data, const std::optional<Shape>& shape = std::nullopt) {
  return detail::Composed("_ravel_multi_index").input("data", data).set("shape", shape).make(symbol_name);
}
inline Symbol ravel_multi_index(const Symbol& data, const std::optional<Shape>& shape = std::nullopt) {
  return ravel_multi_index(std::string(), data, shape);
}
// Reciprocal of the cube root.
inline Symbol rcbrt(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("rcbrt").input("data", data).make(symbol_name);
}
inline Symbol rcbrt(const Symbol& data) {
  return rcbrt(std::string(), data);
}
// 1 / data.
inline Symbol reciprocal(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("reciprocal").input("data", data).make(symbol_name);
}
inline Symbol reciprocal(const Symbol& data) {
  return reciprocal(std::string(), data);
}
// max(data, 0).
inline Symbol relu(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("relu").input("data", data).make(symbol_name);
}
inline Symbol relu(const Symbol& data) {
  return relu(std::string(), data);
}
// Repeats each element.
inline Symbol repeat(const std::string& symbol_name, const Symbol& data, int repeats, const std::optional<int>& axis = std::nullopt) {
  return detail::Composed("repeat").input("data", data).set("repeats", repeats).set("axis", axis).make(symbol_name);
}
inline Symbol repeat(const Symbol& data, int repeats, const std::optional<int>& axis = std::nullopt) {
  return repeat(std::string(), data, repeats, axis);
}
// The same elements under another shape.
inline Symbol reshape(const std::string& symbol_name, const Symbol& data, const Shape& shape = Shape(), bool reverse = false, const Shape& target_shape = Shape(), bool keep_highest = false) {
  return detail::Composed("Reshape").input("data", data).set("shape", shape, Shape()).set("reverse", reverse, false).set("target_shape", target_shape, Shape()).set("keep_highest", keep_highest, false).make(symbol_name);
}
inline Symbol reshape(const Symbol& data, const Shape& shape = Shape(), bool reverse = false, const Shape& target_shape = Shape(), bool keep_highest = false) {
  return reshape(std::string(), data, shape, reverse, target_shape, keep_highest);
}
// The elements of lhs under the shape of rhs.
inline Symbol reshape_like(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs, const std::optional<int>& lhs_begin = std::nullopt, const std::optional<int>& lhs_end = std::nullopt, const std::optional<int>& rhs_begin = std::nullopt, const std::optional<int>& rhs_end = std::nullopt) {
  return detail::Composed("reshape_like").input("lhs", lhs).input("rhs", rhs).set("lhs_begin", lhs_begin).set("lhs_end", lhs_end).set("rhs_begin", rhs_begin).set("rhs_end", rhs_end).make(symbol_name);
}
inline Symbol reshape_like(const Symbol& lhs, const Symbol& rhs, const std::optional<int>& lhs_begin = std::nullopt, const std::optional<int>& lhs_end = std::nullopt, const std::optional<int>& rhs_begin = std::nullopt, const std::optional<int>& rhs_end = std::nullopt) {
  return reshape_like(std::string(), lhs, rhs, lhs_begin, lhs_end, rhs_begin, rhs_end);
}
// Reverses the order along axes.
inline Symbol reverse(const std::string& symbol_name, const Symbol& data, const Shape& axis) {
  return detail::Composed("reverse").input("data", data).set("axis", axis).make(symbol_name);
}
inline Symbol reverse(const Symbol& data, const Shape& axis) {
  return reverse(std::string(), data, axis);
}
// Rounds to the nearest integer, halves down.
inline Symbol rint(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("rint").input("data", data).make(symbol_name);
}
inline Symbol rint(const Symbol& data) {
  return rint(std::string(), data);
}
// Rounds to the nearest integer, halves away from zero.
inline Symbol round(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("round").input("data", data).make(symbol_name);
}
inline Symbol round(const Symbol& data) {
  return round(std::string(), data);
}
// Reciprocal of the square root.
inline Symbol rsqrt(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("rsqrt").input("data", data).make(symbol_name);
}
inline Symbol rsqrt(const Symbol& data) {
  return rsqrt(std::string(), data);
}
// Draws from the exponential distribution with rate lam.
inline Symbol sample_exponential(const std::string& symbol_name, const Symbol& lam, const Shape& shape = Shape(), SampleExponentialDtype dtype = SampleExponentialDtype::kNone) {
  return detail::Composed("_sample_exponential").input("lam", lam).set("shape", shape, Shape()).set("dtype", dtype, SampleExponentialDtype::kNone).make(symbol_name);
}
inline Symbol sample_exponential(const Symbol& lam, const Shape& shape = Shape(), SampleExponentialDtype dtype = SampleExponentialDtype::kNone) {
  return sample_exponential(std::string(), lam, shape, dtype);
}
// Draws from the gamma distribution with shape alpha and scale beta.
inline Symbol sample_gamma(const std::string& symbol_name, const Symbol& alpha, const Symbol& beta, const Shape& shape = Shape(), SampleGammaDtype dtype = SampleGammaDtype::kNone) {
  return detail::Composed("_sample_gamma").input("alpha", alpha).input("beta", beta).set("shape", shape, Shape()).set("dtype", dtype, SampleGammaDtype::kNone).make(symbol_name);
}
inline Symbol sample_gamma(const Symbol& alpha, const Symbol& beta, const Shape& shape = Shape(), SampleGammaDtype dtype = SampleGammaDtype::kNone) {
  return sample_gamma(std::string(), alpha, beta, shape, dtype);
}
inline Symbol sample_gamma(const std::string& symbol_name, const Symbol& alpha, const Shape& shape = Shape(), SampleGammaDtype dtype = SampleGammaDtype::kNone) {
  return detail::Composed("_sample_gamma").input("alpha", alpha).set("shape", shape, Shape()).set("dtype", dtype, SampleGammaDtype::kNone).make(symbol_name);
}
inline Symbol sample_gamma(const Symbol& alpha, const Shape& shape = Shape(), SampleGammaDtype dtype = SampleGammaDtype::kNone) {
  return sample_gamma(std::string(), alpha, shape, dtype);
}
// Draws counts with mean mu and dispersion alpha; with alpha 0, Poisson counts.
inline Symbol sample_generalized_negative_binomial(const std::string& symbol_name, const Symbol& mu, const Symbol& alpha, const Shape& shape = Shape(), SampleGeneralizedNegativeBinomialDtype dtype = SampleGeneralizedNegativeBinomialDtype::kNone) {
  return detail::Composed("_sample_generalized_negative_binomial").input("mu", mu).input("alpha", alpha).set("shape", shape, Shape()).set("dtype", dtype, SampleGeneralizedNegativeBinomialDtype::kNone).make(symbol_name);
}
inline Symbol sample_generalized_negative_binomial(const Symbol& mu, const Symbol& alpha, const Shape& shape = Shape(), SampleGeneralizedNegativeBinomialDtype dtype = SampleGeneralizedNegativeBinomialDtype::kNone) {
  return sample_generalized_negative_binomial(std::string(), mu, alpha, shape, dtype);
}
// Draws indices along the last axis with the probabilities that `data` holds there.
inline Symbol sample_multinomial(const std::string& symbol_name, const Symbol& data, const Shape& shape = Shape(), bool get_prob = false, SampleMultinomialDtype dtype = SampleMultinomialDtype::kInt32) {
  return detail::Composed("_sample_multinomial").input("data", data).set("shape", shape, Shape()).set("get_prob", get_prob, false).set("dtype", dtype, SampleMultinomialDtype::kInt32).make(symbol_name);
}
inline Symbol sample_multinomial(const Symbol& data, const Shape& shape = Shape(), bool get_prob = false, SampleMultinomialDtype dtype = SampleMultinomialDtype::kInt32) {
  return sample_multinomial(std::string(), data, shape, get_prob, dtype);
}
// Draws the number of failures before k successes, each of probability p.
inline Symbol sample_negative_binomial(const std::string& symbol_name, const Symbol& k, const Symbol& p, const Shape& shape = Shape(), SampleNegativeBinomialDtype dtype = SampleNegativeBinomialDtype::kNone) {
  return detail::Composed("_sample_negative_binomial").input("k", k).input("p", p).set("shape", shape, Shape()).set("dtype", dtype, SampleNegativeBinomialDtype::kNone).make(symbol_name);
}
inline Symbol sample_negative_binomial(const Symbol& k, const Symbol& p, const Shape& shape = Shape(), SampleNegativeBinomialDtype dtype = SampleNegativeBinomialDtype::kNone) {
  return sample_negative_binomial(std::string(), k, p, shape, dtype);
}
// Draws from the normal distribution with mean loc and standard deviation scale.
inline Symbol sample_normal(const std::string& symbol_name, const Symbol& mu, const Symbol& sigma, const Shape& shape = Shape(), SampleNormalDtype dtype = SampleNormalDtype::kNone) {
  return detail::Composed("_sample_normal").input("mu", mu).input("sigma", sigma).set("shape", shape, Shape()).set("dtype", dtype, SampleNormalDtype::kNone).make(symbol_name);
}
inline Symbol sample_normal(const Symbol& mu, const Symbol& sigma, const Shape& shape = Shape(), SampleNormalDtype dtype = SampleNormalDtype::kNone) {
  return sample_normal(std::string(), mu, sigma, shape, dtype);
}
// Draws counts from the Poisson distribution with mean lam.
inline Symbol sample_poisson(const std::string& symbol_name, const Symbol& lam, const Shape& shape = Shape(), SamplePoissonDtype dtype = SamplePoissonDtype::kNone) {
  return detail::Composed("_sample_poisson").input("lam", lam).set("shape", shape, Shape()).set("dtype", dtype, SamplePoissonDtype::kNone).make(symbol_name);
}
inline Symbol sample_poisson(const Symbol& lam, const Shape& shape = Shape(), SamplePoissonDtype dtype = SamplePoissonDtype::kNone) {
  return sample_poisson(std::string(), lam, shape, dtype);
}
// Draws uniformly from [low, high).
inline Symbol sample_uniform(const std::string& symbol_name, const Symbol& low, const Symbol& high, const Shape& shape = Shape(), SampleUniformDtype dtype = SampleUniformDtype::kNone) {
  return detail::Composed("_sample_uniform").input("low", low).input("high", high).set("shape", shape, Shape()).set("dtype", dtype, SampleUniformDtype::kNone).make(symbol_name);
}
inline Symbol sample_uniform(const Symbol& low, const Symbol& high, const Shape& shape = Shape(), SampleUniformDtype dtype = SampleUniformDtype::kNone) {
  return sample_uniform(std::string(), low, high, shape, dtype);
}
// Puts elements or slices of `data` into zeros at the given indices; where one repeats, the last stays.
inline Symbol scatter_nd(const std::string& symbol_name, const Symbol& data, const Symbol& indices, const Shape& shape) {
  return detail::Composed("scatter_nd").input("data", data).input("indices", indices).set("shape", shape).make(symbol_name);
}
inline Symbol scatter_nd(const Symbol& data, const Symbol& indices, const Shape& shape) {
  return scatter_nd(std::string(), data, indices, shape);
}
// The shape of data as an array.
inline Symbol shape_array(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("shape_array").input("data", data).make(symbol_name);
}
inline Symbol shape_array(const Symbol& data) {
  return shape_array(std::string(), data);
}
// Puts the slices along the first axis into random order.
inline Symbol shuffle(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("_shuffle").input("data", data).make(symbol_name);
}
inline Symbol shuffle(const Symbol& data) {
  return shuffle(std::string(), data);
}
// 1 / (1 + exp(-data)).
inline Symbol sigmoid(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("sigmoid").input("data", data).make(symbol_name);
}
inline Symbol sigmoid(const Symbol& data) {
  return sigmoid(std::string(), data);
}
// -1, 0 or 1 for negative, zero and positive elements.
inline Symbol sign(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("sign").input("data", data).make(symbol_name);
}
inline Symbol sign(const Symbol& data) {
  return sign(std::string(), data);
}
// Sine.
inline Symbol sin(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("sin").input("data", data).make(symbol_name);
}
inline Symbol sin(const Symbol& data) {
  return sin(std::string(), data);
}
// Hyperbolic sine.
inline Symbol sinh(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("sinh").input("data", data).make(symbol_name);
}
inline Symbol sinh(const Symbol& data) {
  return sinh(std::string(), data);
}
// The number of elements of data as an array.
inline Symbol size_array(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("size_array").input("data", data).make(symbol_name);
}
inline Symbol size_array(const Symbol& data) {
  return size_array(std::string(), data);
}
// A region of data, as Python's slices along each axis.
inline Symbol slice(const std::string& symbol_name, const Symbol& data, const Shape& begin, const Shape& end, const Shape& step = Shape()) {
  return detail::Composed("slice").input("data", data).set("begin", begin).set("end", end).set("step", step, Shape()).make(symbol_name);
}
inline Symbol slice(const Symbol& data, const Shape& begin, const Shape& end, const Shape& step = Shape()) {
  return slice(std::string(), data, begin, end, step);
}
// A range of data along one axis.
inline Symbol slice_axis(const std::string& symbol_name, const Symbol& data, int axis, int begin, const std::optional<int>& end) {
  return detail::Composed("slice_axis").input("data", data).set("axis", axis).set("begin", begin).set("end", end).make(symbol_name);
}
inline Symbol slice_axis(const Symbol& data, int axis, int begin, const std::optional<int>& end) {
  return slice_axis(std::string(), data, axis, begin, end);
}
// The beginning of data, as long along the axes as another array.
inline Symbol slice_like(const std::string& symbol_name, const Symbol& data, const Symbol& shape_like, const Shape& axes = Shape()) {
  return detail::Composed("slice_like").input("data", data).input("shape_like", shape_like).set("axes", axes, Shape()).make(symbol_name);
}
inline Symbol slice_like(const Symbol& data, const Symbol& shape_like, const Shape& axes = Shape()) {
  return slice_like(std::string(), data, shape_like, axes);
}
// 0.5 (scalar x)^2 where |x| <= 1 / scalar^2, else |x| - 0.5 / scalar^2.
inline Symbol smooth_l1(const std::string& symbol_name, const Symbol& data, mx_float scalar = 1.0f) {
  return detail::Composed("smooth_l1").input("data", data).set("scalar", scalar, 1.0f).make(symbol_name);
}
inline Symbol smooth_l1(const Symbol& data, mx_float scalar = 1.0f) {
  return smooth_l1(std::string(), data, scalar);
}
// Scales exponentials along `axis` so that they sum to one.
inline Symbol softmax(const std::string& symbol_name, const Symbol& data, const Symbol& length, int axis = -1, const std::optional<double>& temperature = std::nullopt, SoftmaxDtype dtype = SoftmaxDtype::kNone, const std::optional<bool>& use_length = false) {
  return detail::Composed("softmax").input("data", data).input("length", length).set("axis", axis, -1).set("temperature", temperature).set("dtype", dtype, SoftmaxDtype::kNone).set("use_length", use_length, false).make(symbol_name);
}
inline Symbol softmax(const Symbol& data, const Symbol& length, int axis = -1, const std::optional<double>& temperature = std::nullopt, SoftmaxDtype dtype = SoftmaxDtype::kNone, const std::optional<bool>& use_length = false) {
  return softmax(std::string(), data, length, axis, temperature, dtype, use_length);
}
inline Symbol softmax(const std::string& symbol_name, const Symbol& data, int axis = -1, const std::optional<double>& temperature = std::nullopt, SoftmaxDtype dtype = SoftmaxDtype::kNone, const std::optional<bool>& use_length = false) {
  return detail::Composed("softmax").input("data", data).set("axis", axis, -1).set("temperature", temperature).set("dtype", dtype, SoftmaxDtype::kNone).set("use_length", use_length, false).make(symbol_name);
}
inline Symbol softmax(const Symbol& data, int axis = -1, const std::optional<double>& temperature = std::nullopt, SoftmaxDtype dtype = SoftmaxDtype::kNone, const std::optional<bool>& use_length = false) {
  return softmax(std::string(), data, axis, temperature, dtype, use_length);
}
// The sum over a batch of the cross entropies between the softmax of the data and the labels.
inline Symbol softmax_cross_entropy(const std::string& symbol_name, const Symbol& data, const Symbol& label) {
  return detail::Composed("softmax_cross_entropy").input("data", data).input("label", label).make(symbol_name);
}
inline Symbol softmax_cross_entropy(const Symbol& data, const Symbol& label) {
  return softmax_cross_entropy(std::string(), data, label);
}
inline Symbol softmax_cross_entropy(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("softmax_cross_entropy").input("data", data).make(symbol_name);
}
inline Symbol softmax_cross_entropy(const Symbol& data) {
  return softmax_cross_entropy(std::string(), data);
}
// The softmax of the negated input.
inline Symbol softmin(const std::string& symbol_name, const Symbol& data, int axis = -1, const std::optional<double>& temperature = std::nullopt, SoftminDtype dtype = SoftminDtype::kNone, const std::optional<bool>& use_length = false) {
  return detail::Composed("softmin").input("data", data).set("axis", axis, -1).set("temperature", temperature).set("dtype", dtype, SoftminDtype::kNone).set("use_length", use_length, false).make(symbol_name);
}
inline Symbol softmin(const Symbol& data, int axis = -1, const std::optional<double>& temperature = std::nullopt, SoftminDtype dtype = SoftminDtype::kNone, const std::optional<bool>& use_length = false) {
  return softmin(std::string(), data, axis, temperature, dtype, use_length);
}
// data / (1 + abs(data)).
inline Symbol softsign(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("softsign").input("data", data).make(symbol_name);
}
inline Symbol softsign(const Symbol& data) {
  return softsign(std::string(), data);
}
// Sorts along an axis; equal elements keep their order.
inline Symbol sort(const std::string& symbol_name, const Symbol& data, const std::optional<int>& axis = -1, bool is_ascend = true) {
  return detail::Composed("sort").input("data", data).set("axis", axis, -1).set("is_ascend", is_ascend, true).make(symbol_name);
}
inline Symbol sort(const Symbol& data, const std::optional<int>& axis = -1, bool is_ascend = true) {
  return sort(std::string(), data, axis, is_ascend);
}
// Moves blocks of pixels into channels.
inline Symbol space_to_depth(const std::string& symbol_name, const Symbol& data, int block_size) {
  return detail::Composed("space_to_depth").input("data", data).set("block_size", block_size).make(symbol_name);
}
inline Symbol space_to_depth(const Symbol& data, int block_size) {
  return space_to_depth(std::string(), data, block_size);
}
// Cuts data into equal parts along an axis.
inline Symbol split(const std::string& symbol_name, const Symbol& data, int num_outputs, int axis = 1, bool squeeze_axis = false) {
  return detail::Composed("SliceChannel").input("data", data).set("num_outputs", num_outputs).set("axis", axis, 1).set("squeeze_axis", squeeze_axis, false).make(symbol_name);
}
inline Symbol split(const Symbol& data, int num_outputs, int axis = 1, bool squeeze_axis = false) {
  return split(std::string(), data, num_outputs, axis, squeeze_axis);
}
// Square root.
inline Symbol sqrt(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("sqrt").input("data", data).make(symbol_name);
}
inline Symbol sqrt(const Symbol& data) {
  return sqrt(std::string(), data);
}
// data * data.
inline Symbol square(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("square").input("data", data).make(symbol_name);
}
inline Symbol square(const Symbol& data) {
  return square(std::string(), data);
}
// Drops axes of size 1.
inline Symbol squeeze(const std::string& symbol_name, const Symbol& data, const std::optional<Shape>& axis = std::nullopt) {
  return detail::Composed("squeeze").input("data", data).set("axis", axis).make(symbol_name);
}
inline Symbol squeeze(const Symbol& data, const std::optional<Shape>& axis = std::nullopt) {
  return squeeze(std::string(), data, axis);
}
// Joins arrays along a new axis.
inline Symbol stack(const std::string& symbol_name, const std::vector<Symbol>& data, int num_args, int axis = 0) {
  return detail::Composed("stack").inputs(data).set("num_args", num_args).set("axis", axis, 0).make(symbol_name);
}
inline Symbol stack(const std::vector<Symbol>& data, int num_args, int axis = 0) {
  return stack(std::string(), data, num_args, axis);
}
// data, through which no gradient flows.
inline Symbol stop_gradient(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("BlockGrad").input("data", data).make(symbol_name);
}
inline Symbol stop_gradient(const Symbol& data) {
  return stop_gradient(std::string(), data);
}
// Sum over axes.
inline Symbol sum(const std::string& symbol_name, const Symbol& data, const std::optional<Shape>& axis = std::nullopt, bool keepdims = false, bool exclude = false) {
  return detail::Composed("sum").input("data", data).set("axis", axis).set("keepdims", keepdims, false).set("exclude", exclude, false).make(symbol_name);
}
inline Symbol sum(const Symbol& data, const std::optional<Shape>& axis = std::nullopt, bool keepdims = false, bool exclude = false) {
  return sum(std::string(), data, axis, keepdims, exclude);
}
// Sum over axes.
inline Symbol sum_axis(const std::string& symbol_name, const Symbol& data, const std::optional<Shape>& axis = std::nullopt, bool keepdims = false, bool exclude = false) {
  return detail::Composed("sum").input("data", data).set("axis", axis).set("keepdims", keepdims, false).set("exclude", exclude, false).make(symbol_name);
}
inline Symbol sum_axis(const Symbol& data, const std::optional<Shape>& axis = std::nullopt, bool keepdims = false, bool exclude = false) {
  return sum_axis(std::string(), data, axis, keepdims, exclude);
}
// Exchanges two axes.
inline Symbol swapaxes(const std::string& symbol_name, const Symbol& data, int dim1 = 0, int dim2 = 0) {
  return detail::Composed("SwapAxis").input("data", data).set("dim1", dim1, 0).set("dim2", dim2, 0).make(symbol_name);
}
inline Symbol swapaxes(const Symbol& data, int dim1 = 0, int dim2 = 0) {
  return swapaxes(std::string(), data, dim1, dim2);
}
// Takes slices of `a` along an axis at the given indices.
inline Symbol take(const std::string& symbol_name, const Symbol& a, const Symbol& indices, int axis = 0, TakeMode mode = TakeMode::kClip) {
  return detail::Composed("take").input("a", a).input("indices", indices).set("axis", axis, 0).set("mode", mode, TakeMode::kClip).make(symbol_name);
}
inline Symbol take(const Symbol& a, const Symbol& indices, int axis = 0, TakeMode mode = TakeMode::kClip) {
  return take(std::string(), a, indices, axis, mode);
}
// Tangent.
inline Symbol tan(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("tan").input("data", data).make(symbol_name);
}
inline Symbol tan(const Symbol& data) {
  return tan(std::string(), data);
}
// Hyperbolic tangent.
inline Symbol tanh(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("tanh").input("data", data).make(symbol_name);
}
inline Symbol tanh(const Symbol& data) {
  return tanh(std::string(), data);
}
// Repeats data as a whole along axes.
inline Symbol tile(const std::string& symbol_name, const Symbol& data, const Shape& reps) {
  return detail::Composed("tile").input("data", data).set("reps", reps).make(symbol_name);
}
inline Symbol tile(const Symbol& data, const Shape& reps) {
  return tile(std::string(), data, reps);
}
// Chooses the k largest (or smallest) elements along an axis, best first.
inline Symbol topk(const std::string& symbol_name, const Symbol& data, const std::optional<int>& axis = -1, int k = 1, TopkRetTyp ret_typ = TopkRetTyp::kIndices, bool is_ascend = false, TopkDtype dtype = TopkDtype::kFloat32) {
  return detail::Composed("topk").input("data", data).set("axis", axis, -1).set("k", k, 1).set("ret_typ", ret_typ, TopkRetTyp::kIndices).set("is_ascend", is_ascend, false).set("dtype", dtype, TopkDtype::kFloat32).make(symbol_name);
}
inline Symbol topk(const Symbol& data, const std::optional<int>& axis = -1, int k = 1, TopkRetTyp ret_typ = TopkRetTyp::kIndices, bool is_ascend = false, TopkDtype dtype = TopkDtype::kFloat32) {
  return topk(std::string(), data, axis, k, ret_typ, is_ascend, dtype);
}
// Permutes the axes.
inline Symbol transpose(const std::string& symbol_name, const Symbol& data, const Shape& axes = Shape()) {
  return detail::Composed("transpose").input("data", data).set("axes", axes, Shape()).make(symbol_name);
}
inline Symbol transpose(const Symbol& data, const Shape& axes = Shape()) {
  return transpose(std::string(), data, axes);
}
// Rounds towards zero.
inline Symbol trunc(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("trunc").input("data", data).make(symbol_name);
}
inline Symbol trunc(const Symbol& data) {
  return trunc(std::string(), data);
}
// Draws uniformly from [low, high).
inline Symbol uniform(const std::string& symbol_name, mx_float low = 0.0f, mx_float high = 1.0f, const std::optional<Shape>& shape = std::nullopt, const std::string& ctx = "", RandomUniformDtype dtype = RandomUniformDtype::kNone) {
  return detail::Composed("_random_uniform").set("low", low, 0.0f).set("high", high, 1.0f).set("shape", shape).set("ctx", ctx, "").set("dtype", dtype, RandomUniformDtype::kNone).make(symbol_name);
}
inline Symbol uniform(mx_float low = 0.0f, mx_float high = 1.0f, const std::optional<Shape>& shape = std::nullopt, const std::string& ctx = "", RandomUniformDtype dtype = RandomUniformDtype::kNone) {
  return uniform(std::string(), low, high, shape, ctx, dtype);
}
// Turns positions in row-major order into rows of indices, one an axis.
inline Symbol unravel_index(const std::string& symbol_name, const Symbol& data, const std::optional<Shape>& shape = std::nullopt) {
  return detail::Composed("_unravel_index").input("data", data).set("shape", shape).make(symbol_name);
}
inline Symbol unravel_index(const Symbol& data, const std::optional<Shape>& shape = std::nullopt) {
  return unravel_index(std::string(), data, shape);
}
// Elements of x where condition is not zero, else of y.
inline Symbol where(const std::string& symbol_name, const Symbol& condition, const Symbol& x, const Symbol& y) {
  return detail::Composed("where").input("condition", condition).input("x", x).input("y", y).make(symbol_name);
}
inline Symbol where(const Symbol& condition, const Symbol& x, const Symbol& y) {
  return where(std::string(), condition, x, y);
}
// Zeros of the shape and type of data.
inline Symbol zeros_like(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("zeros_like").input("data", data).make(symbol_name);
}
inline Symbol zeros_like(const Symbol& data) {
  return zeros_like(std::string(), data);
}

namespace linalg {
// The determinant of each matrix of a batch.
inline Symbol det(const std::string& symbol_name, const Symbol& A) {
  return detail::Composed("_linalg_det").input("A", A).make(symbol_name);
}
inline Symbol det(const Symbol& A) {
  return linalg::det(std::string(), A);
}
// A diagonal of each square matrix of a batch.
inline Symbol extractdiag(const std::string& symbol_name, const Symbol& A, int offset = 0) {
  return detail::Composed("_linalg_extractdiag").input("A", A).set("offset", offset, 0).make(symbol_name);
}
inline Symbol extractdiag(const Symbol& A, int offset = 0) {
  return linalg::extractdiag(std::string(), A, offset);
}
// A triangle of each square matrix of a batch as a vector, row by row; an upper one column by column.
inline Symbol extracttrian(const std::string& symbol_name, const Symbol& A, int offset = 0, bool lower = true) {
  return detail::Composed("_linalg_extracttrian").input("A", A).set("offset", offset, 0).set("lower", lower, true).make(symbol_name);
}
inline Symbol extracttrian(const Symbol& A, int offset = 0, bool lower = true) {
  return linalg::extracttrian(std::string(), A, offset, lower);
}
// Q and L with A = L Q for each matrix of a batch, which has no more rows than columns: the rows of Q are orthonormal, L is lower triangular.
inline Symbol gelqf(const std::string& symbol_name, const Symbol& A) {
  return detail::Composed("_linalg_gelqf").input("A", A).make(symbol_name);
}
inline Symbol gelqf(const Symbol& A) {
  return linalg::gelqf(std::string(), A);
}
// alpha op(A) op(B) + beta C for each matrix of a batch, where op may transpose.
inline Symbol gemm(const std::string& symbol_name, const Symbol& A, const Symbol& B, const Symbol& C, bool transpose_a = false, bool transpose_b = false, double alpha = 1.0, double beta = 1.0, int axis = -2) {
  return detail::Composed("_linalg_gemm").input("A", A).input("B", B).input("C", C).set("transpose_a", transpose_a, false).set("transpose_b", transpose_b, false).set("alpha", alpha, 1.0).set("beta", beta, 1.0).set("axis", axis, -2).make(symbol_name);
}
inline Symbol gemm(const Symbol& A, const Symbol& B, const Symbol& C, bool transpose_a = false, bool transpose_b = false, double alpha = 1.0, double beta = 1.0, int axis = -2) {
  return linalg::gemm(std::string(), A, B, C, transpose_a, transpose_b, alpha, beta, axis);
}
// alpha op(A) op(B) for each matrix of a batch, where op may transpose.
inline Symbol gemm2(const std::string& symbol_name, const Symbol& A, const Symbol& B, bool transpose_a = false, bool transpose_b = false, double alpha = 1.0, int axis = -2) {
  return detail::Composed("_linalg_gemm2").input("A", A).input("B", B).set("transpose_a", transpose_a, false).set("transpose_b", transpose_b, false).set("alpha", alpha, 1.0).set("axis", axis, -2).make(symbol_name);
}
inline Symbol gemm2(const Symbol& A, const Symbol& B, bool transpose_a = false, bool transpose_b = false, double alpha = 1.0, int axis = -2) {
  return linalg::gemm2(std::string(), A, B, transpose_a, transpose_b, alpha, axis);
}
// The inverse of each matrix of a batch; an error for a singular one.
inline Symbol inverse(const std::string& symbol_name, const Symbol& A) {
  return detail::Composed("_linalg_inverse").input("A", A).make(symbol_name);
}
inline Symbol inverse(const Symbol& A) {
  return linalg::inverse(std::string(), A);
}
// A matrix with each vector of a batch on a diagonal, and zeros elsewhere.
inline Symbol makediag(const std::string& symbol_name, const Symbol& A, int offset = 0) {
  return detail::Composed("_linalg_makediag").input("A", A).set("offset", offset, 0).make(symbol_name);
}
inline Symbol makediag(const Symbol& A, int offset = 0) {
  return linalg::makediag(std::string(), A, offset);
}
// A matrix with each vector of a batch as a triangle, and zeros elsewhere.
inline Symbol maketrian(const std::string& symbol_name, const Symbol& A, int offset = 0, bool lower = true) {
  return detail::Composed("_linalg_maketrian").input("A", A).set("offset", offset, 0).set("lower", lower, true).make(symbol_name);
}
inline Symbol maketrian(const Symbol& A, int offset = 0, bool lower = true) {
  return linalg::maketrian(std::string(), A, offset, lower);
}
// The pseudo-inverse of each matrix of a batch; singular values up to its `rcond` times the largest one count as zero.
inline Symbol pinv(const std::string& symbol_name, const Symbol& A, const Symbol& rcond) {
  return detail::Composed("_linalg_pinv").input("A", A).input("rcond", rcond).make(symbol_name);
}
inline Symbol pinv(const Symbol& A, const Symbol& rcond) {
  return linalg::pinv(std::string(), A, rcond);
}
// The Cholesky factor of each matrix of a batch; an error for one that is not positive definite.
inline Symbol potrf(const std::string& symbol_name, const Symbol& A, bool lower = true) {
  return detail::Composed("_linalg_potrf").input("A", A).set("lower", lower, true).make(symbol_name);
}
inline Symbol potrf(const Symbol& A, bool lower = true) {
  return linalg::potrf(std::string(), A, lower);
}
// The inverse of L L^T for each lower triangular matrix L of a batch.
inline Symbol potri(const std::string& symbol_name, const Symbol& A) {
  return detail::Composed("_linalg_potri").input("A", A).make(symbol_name);
}
inline Symbol potri(const Symbol& A) {
  return linalg::potri(std::string(), A);
}
// Sign and logarithm of the absolute value of the determinant of each matrix of a batch.
inline Symbol slogdet(const std::string& symbol_name, const Symbol& A) {
  return detail::Composed("_linalg_slogdet").input("A", A).make(symbol_name);
}
inline Symbol slogdet(const Symbol& A) {
  return linalg::slogdet(std::string(), A);
}
// The X with op(A) X = B for each matrix of a batch; an error for a singular one.
inline Symbol solve(const std::string& symbol_name, const Symbol& A, const Symbol& B, bool transpose = false) {
  return detail::Composed("_linalg_solve").input("A", A).input("B", B).set("transpose", transpose, false).make(symbol_name);
}
inline Symbol solve(const Symbol& A, const Symbol& B, bool transpose = false) {
  return linalg::solve(std::string(), A, B, transpose);
}
// The sum of the logarithms of the diagonal of each square matrix of a batch.
inline Symbol sumlogdiag(const std::string& symbol_name, const Symbol& A) {
  return detail::Composed("_linalg_sumlogdiag").input("A", A).make(symbol_name);
}
inline Symbol sumlogdiag(const Symbol& A) {
  return linalg::sumlogdiag(std::string(), A);
}
// U, s and V with A = U diag(s) V for each matrix of a batch, which has no more rows than columns: U's columns and V's rows are orthonormal, s descends.
inline Symbol svd(const std::string& symbol_name, const Symbol& A) {
  return detail::Composed("_linalg_svd").input("A", A).make(symbol_name);
}
inline Symbol svd(const Symbol& A) {
  return linalg::svd(std::string(), A);
}
// U and v with A = U^T diag(v) U for each symmetric matrix of a batch: the rows of U are its eigenvectors, v its eigenvalues in ascending order.
inline Symbol syevd(const std::string& symbol_name, const Symbol& A) {
  return detail::Composed("_linalg_syevd").input("A", A).make(symbol_name);
}
inline Symbol syevd(const Symbol& A) {
  return linalg::syevd(std::string(), A);
}
// alpha A A^T, or alpha A^T A, for each matrix of a batch.
inline Symbol syrk(const std::string& symbol_name, const Symbol& A, bool transpose = false, double alpha = 1.0) {
  return detail::Composed("_linalg_syrk").input("A", A).set("transpose", transpose, false).set("alpha", alpha, 1.0).make(symbol_name);
}
inline Symbol syrk(const Symbol& A, bool transpose = false, double alpha = 1.0) {
  return linalg::syrk(std::string(), A, transpose, alpha);
}
// alpha op(A) B, or alpha B op(A), for each triangular matrix A of a batch.
inline Symbol trmm(const std::string& symbol_name, const Symbol& A, const Symbol& B, bool transpose = false, bool rightside = false, bool lower = true, double alpha = 1.0) {
  return detail::Composed("_linalg_trmm").input("A", A).input("B", B).set("transpose", transpose, false).set("rightside", rightside, false).set("lower", lower, true).set("alpha", alpha, 1.0).make(symbol_name);
}
inline Symbol trmm(const Symbol& A, const Symbol& B, bool transpose = false, bool rightside = false, bool lower = true, double alpha = 1.0) {
  return linalg::trmm(std::string(), A, B, transpose, rightside, lower, alpha);
}
// Solves op(A) X = alpha B, or X op(A) = alpha B, for each triangular matrix A of a batch.
inline Symbol trsm(const std::string& symbol_name, const Symbol& A, const Symbol& B, bool transpose = false, bool rightside = false, bool lower = true, double alpha = 1.0) {
  return detail::Composed("_linalg_trsm").input("A", A).input("B", B).set("transpose", transpose, false).set("rightside", rightside, false).set("lower", lower, true).set("alpha", alpha, 1.0).make(symbol_name);
}
inline Symbol trsm(const Symbol& A, const Symbol& B, bool transpose = false, bool rightside = false, bool lower = true, double alpha = 1.0) {
  return linalg::trsm(std::string(), A, B, transpose, rightside, lower, alpha);
}
}  // namespace linalg

namespace contrib {
// Averages windows that cover the image evenly, for an output of a given size.
inline Symbol AdaptiveAvgPooling2D(const std::string& symbol_name, const Symbol& data, const Shape& output_size = Shape()) {
  return detail::Composed("_contrib_AdaptiveAvgPooling2D").input("data", data).set("output_size", output_size, Shape()).make(symbol_name);
}
inline Symbol AdaptiveAvgPooling2D(const Symbol& data, const Shape& output_size = Shape()) {
  return contrib::AdaptiveAvgPooling2D(std::string(), data, output_size);
}
// BatchNorm, then max(x, 0).
inline Symbol BatchNormWithReLU(const std::string& symbol_name, const Symbol& data, const Symbol& gamma, const Symbol& beta, const Symbol& moving_mean, const Symbol& moving_var, double eps = 0.0010000000474974513, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int axis = 1, bool cudnn_off = false, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return detail::Composed("_contrib_BatchNormWithReLU").input("data", data).input("gamma", gamma).input("beta", beta).input("moving_mean", moving_mean).input("moving_var", moving_var).set("eps", eps, 0.0010000000474974513).set("momentum", momentum, 0.9f).set("fix_gamma", fix_gamma, true).set("use_global_stats", use_global_stats, false).set("output_mean_var", output_mean_var, false).set("axis", axis, 1).set("cudnn_off", cudnn_off, false).set("min_calib_range", min_calib_range).set("max_calib_range", max_calib_range).make(symbol_name);
}
inline Symbol BatchNormWithReLU(const Symbol& data, const Symbol& gamma, const Symbol& beta, const Symbol& moving_mean, const Symbol& moving_var, double eps = 0.0010000000474974513, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int axis = 1, bool cudnn_off = false, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return contrib::BatchNormWithReLU(std::string(), data, gamma, beta, moving_mean, moving_var, eps, momentum, fix_gamma, use_global_stats, output_mean_var, axis, cudnn_off, min_calib_range, max_calib_range);
}
inline Symbol BatchNormWithReLU(const std::string& symbol_name, const Symbol& data, const Symbol& gamma, const Symbol& beta, const Symbol& moving_mean, double eps = 0.0010000000474974513, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int axis = 1, bool cudnn_off = false, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return detail::Composed("_contrib_BatchNormWithReLU").input("data", data).input("gamma", gamma).input("beta", beta).input("moving_mean", moving_mean).set("eps", eps, 0.0010000000474974513).set("momentum", momentum, 0.9f).set("fix_gamma", fix_gamma, true).set("use_global_stats", use_global_stats, false).set("output_mean_var", output_mean_var, false).set("axis", axis, 1).set("cudnn_off", cudnn_off, false).set("min_calib_range", min_calib_range).set("max_calib_range", max_calib_range).make(symbol_name);
}
inline Symbol BatchNormWithReLU(const Symbol& data, const Symbol& gamma, const Symbol& beta, const Symbol& moving_mean, double eps = 0.0010000000474974513, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int axis = 1, bool cudnn_off = false, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return contrib::BatchNormWithReLU(std::string(), data, gamma, beta, moving_mean, eps, momentum, fix_gamma, use_global_stats, output_mean_var, axis, cudnn_off, min_calib_range, max_calib_range);
}
inline Symbol BatchNormWithReLU(const std::string& symbol_name, const Symbol& data, const Symbol& gamma, const Symbol& beta, double eps = 0.0010000000474974513, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int axis = 1, bool cudnn_off = false, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return detail::Composed("_contrib_BatchNormWithReLU").input("data", data).input("gamma", gamma).input("beta", beta).set("eps", eps, 0.0010000000474974513).set("momentum", momentum, 0.9f).set("fix_gamma", fix_gamma, true).set("use_global_stats", use_global_stats, false).set("output_mean_var", output_mean_var, false).set("axis", axis, 1).set("cudnn_off", cudnn_off, false).set("min_calib_range", min_calib_range).set("max_calib_range", max_calib_range).make(symbol_name);
}
inline Symbol BatchNormWithReLU(const Symbol& data, const Symbol& gamma, const Symbol& beta, double eps = 0.0010000000474974513, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int axis = 1, bool cudnn_off = false, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return contrib::BatchNormWithReLU(std::string(), data, gamma, beta, eps, momentum, fix_gamma, use_global_stats, output_mean_var, axis, cudnn_off, min_calib_range, max_calib_range);
}
inline Symbol BatchNormWithReLU(const std::string& symbol_name, const Symbol& data, const Symbol& gamma, double eps = 0.0010000000474974513, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int axis = 1, bool cudnn_off = false, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return detail::Composed("_contrib_BatchNormWithReLU").input("data", data).input("gamma", gamma).set("eps", eps, 0.0010000000474974513).set("momentum", momentum, 0.9f).set("fix_gamma", fix_gamma, true).set("use_global_stats", use_global_stats, false).set("output_mean_var", output_mean_var, false).set("axis", axis, 1).set("cudnn_off", cudnn_off, false).set("min_calib_range", min_calib_range).set("max_calib_range", max_calib_range).make(symbol_name);
}
inline Symbol BatchNormWithReLU(const Symbol& data, const Symbol& gamma, double eps = 0.0010000000474974513, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int axis = 1, bool cudnn_off = false, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return contrib::BatchNormWithReLU(std::string(), data, gamma, eps, momentum, fix_gamma, use_global_stats, output_mean_var, axis, cudnn_off, min_calib_range, max_calib_range);
}
inline Symbol BatchNormWithReLU(const std::string& symbol_name, const Symbol& data, double eps = 0.0010000000474974513, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int axis = 1, bool cudnn_off = false, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return detail::Composed("_contrib_BatchNormWithReLU").input("data", data).set("eps", eps, 0.0010000000474974513).set("momentum", momentum, 0.9f).set("fix_gamma", fix_gamma, true).set("use_global_stats", use_global_stats, false).set("output_mean_var", output_mean_var, false).set("axis", axis, 1).set("cudnn_off", cudnn_off, false).set("min_calib_range", min_calib_range).set("max_calib_range", max_calib_range).make(symbol_name);
}
inline Symbol BatchNormWithReLU(const Symbol& data, double eps = 0.0010000000474974513, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int axis = 1, bool cudnn_off = false, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return contrib::BatchNormWithReLU(std::string(), data, eps, momentum, fix_gamma, use_global_stats, output_mean_var, axis, cudnn_off, min_calib_range, max_calib_range);
}
// Changes the size of images; new elements are weighted means of the four around them.
inline Symbol BilinearResize2D(const std::string& symbol_name, const Symbol& data, const Symbol& like, int height = 1, int width = 1, const std::optional<mx_float>& scale_height = std::nullopt, const std::optional<mx_float>& scale_width = std::nullopt, ContribBilinearResize2DMode mode = ContribBilinearResize2DMode::kSize, bool align_corners = true) {
  return detail::Composed("_contrib_BilinearResize2D").input("data", data).input("like", like).set("height", height, 1).set("width", width, 1).set("scale_height", scale_height).set("scale_width", scale_width).set("mode", mode, ContribBilinearResize2DMode::kSize).set("align_corners", align_corners, true).make(symbol_name);
}
inline Symbol BilinearResize2D(const Symbol& data, const Symbol& like, int height = 1, int width = 1, const std::optional<mx_float>& scale_height = std::nullopt, const std::optional<mx_float>& scale_width = std::nullopt, ContribBilinearResize2DMode mode = ContribBilinearResize2DMode::kSize, bool align_corners = true) {
  return contrib::BilinearResize2D(std::string(), data, like, height, width, scale_height, scale_width, mode, align_corners);
}
inline Symbol BilinearResize2D(const std::string& symbol_name, const Symbol& data, int height = 1, int width = 1, const std::optional<mx_float>& scale_height = std::nullopt, const std::optional<mx_float>& scale_width = std::nullopt, ContribBilinearResize2DMode mode = ContribBilinearResize2DMode::kSize, bool align_corners = true) {
  return detail::Composed("_contrib_BilinearResize2D").input("data", data).set("height", height, 1).set("width", width, 1).set("scale_height", scale_height).set("scale_width", scale_width).set("mode", mode, ContribBilinearResize2DMode::kSize).set("align_corners", align_corners, true).make(symbol_name);
}
inline Symbol BilinearResize2D(const Symbol& data, int height = 1, int width = 1, const std::optional<mx_float>& scale_height = std::nullopt, const std::optional<mx_float>& scale_width = std::nullopt, ContribBilinearResize2DMode mode = ContribBilinearResize2DMode::kSize, bool align_corners = true) {
  return contrib::BilinearResize2D(std::string(), data, height, width, scale_height, scale_width, mode, align_corners);
}
// The connectionist temporal classification loss: the negative logarithm of the probability of all ways to spread a label over time.
inline Symbol CTCLoss(const std::string& symbol_name, const Symbol& data, const Symbol& label, const Symbol& data_lengths, const Symbol& label_lengths, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return detail::Composed("CTCLoss").input("data", data).input("label", label).input("data_lengths", data_lengths).input("label_lengths", label_lengths).set("use_data_lengths", use_data_lengths, false).set("use_label_lengths", use_label_lengths, false).set("blank_label", blank_label, CTCLossBlankLabel::kFirst).make(symbol_name);
}
inline Symbol CTCLoss(const Symbol& data, const Symbol& label, const Symbol& data_lengths, const Symbol& label_lengths, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return contrib::CTCLoss(std::string(), data, label, data_lengths, label_lengths, use_data_lengths, use_label_lengths, blank_label);
}
inline Symbol CTCLoss(const std::string& symbol_name, const Symbol& data, const Symbol& label, const Symbol& data_lengths, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return detail::Composed("CTCLoss").input("data", data).input("label", label).input("data_lengths", data_lengths).set("use_data_lengths", use_data_lengths, false).set("use_label_lengths", use_label_lengths, false).set("blank_label", blank_label, CTCLossBlankLabel::kFirst).make(symbol_name);
}
inline Symbol CTCLoss(const Symbol& data, const Symbol& label, const Symbol& data_lengths, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return contrib::CTCLoss(std::string(), data, label, data_lengths, use_data_lengths, use_label_lengths, blank_label);
}
inline Symbol CTCLoss(const std::string& symbol_name, const Symbol& data, const Symbol& label, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return detail::Composed("CTCLoss").input("data", data).input("label", label).set("use_data_lengths", use_data_lengths, false).set("use_label_lengths", use_label_lengths, false).set("blank_label", blank_label, CTCLossBlankLabel::kFirst).make(symbol_name);
}
inline Symbol CTCLoss(const Symbol& data, const Symbol& label, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return contrib::CTCLoss(std::string(), data, label, use_data_lengths, use_label_lengths, blank_label);
}
inline Symbol CTCLoss(const std::string& symbol_name, const Symbol& data, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return detail::Composed("CTCLoss").input("data", data).set("use_data_lengths", use_data_lengths, false).set("use_label_lengths", use_label_lengths, false).set("blank_label", blank_label, CTCLossBlankLabel::kFirst).make(symbol_name);
}
inline Symbol CTCLoss(const Symbol& data, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return contrib::CTCLoss(std::string(), data, use_data_lengths, use_label_lengths, blank_label);
}
// Convolution whose filters read the data at places moved by offsets.
inline Symbol DeformableConvolution(const std::string& symbol_name, const Symbol& data, const Symbol& offset, const Symbol& weight, const Symbol& bias, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int num_deformable_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribDeformableConvolutionLayout layout = ContribDeformableConvolutionLayout::kNone) {
  return detail::Composed("_contrib_DeformableConvolution").input("data", data).input("offset", offset).input("weight", weight).input("bias", bias).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("num_group", num_group, 1).set("num_deformable_group", num_deformable_group, 1).set("workspace", workspace, 1024).set("no_bias", no_bias, false).set("layout", layout, ContribDeformableConvolutionLayout::kNone).make(symbol_name);
}
inline Symbol DeformableConvolution(const Symbol& data, const Symbol& offset, const Symbol& weight, const Symbol& bias, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int num_deformable_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribDeformableConvolutionLayout layout = ContribDeformableConvolutionLayout::kNone) {
  return contrib::DeformableConvolution(std::string(), data, offset, weight, bias, kernel, num_filter, stride, dilate, pad, num_group, num_deformable_group, workspace, no_bias, layout);
}
inline Symbol DeformableConvolution(const std::string& symbol_name, const Symbol& data, const Symbol& offset, const Symbol& weight, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int num_deformable_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribDeformableConvolutionLayout layout = ContribDeformableConvolutionLayout::kNone) {
  return detail::Composed("_contrib_DeformableConvolution").input("data", data).input("offset", offset).input("weight", weight).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("num_group", num_group, 1).set("num_deformable_group", num_deformable_group, 1).set("workspace", workspace, 1024).set("no_bias", no_bias, false).set("layout", layout, ContribDeformableConvolutionLayout::kNone).make(symbol_name);
}
inline Symbol DeformableConvolution(const Symbol& data, const Symbol& offset, const Symbol& weight, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int num_deformable_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribDeformableConvolutionLayout layout = ContribDeformableConvolutionLayout::kNone) {
  return contrib::DeformableConvolution(std::string(), data, offset, weight, kernel, num_filter, stride, dilate, pad, num_group, num_deformable_group, workspace, no_bias, layout);
}
inline Symbol DeformableConvolution(const std::string& symbol_name, const Symbol& data, const Symbol& offset, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int num_deformable_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribDeformableConvolutionLayout layout = ContribDeformableConvolutionLayout::kNone) {
  return detail::Composed("_contrib_DeformableConvolution").input("data", data).input("offset", offset).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("num_group", num_group, 1).set("num_deformable_group", num_deformable_group, 1).set("workspace", workspace, 1024).set("no_bias", no_bias, false).set("layout", layout, ContribDeformableConvolutionLayout::kNone).make(symbol_name);
}
inline Symbol DeformableConvolution(const Symbol& data, const Symbol& offset, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int num_deformable_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribDeformableConvolutionLayout layout = ContribDeformableConvolutionLayout::kNone) {
  return contrib::DeformableConvolution(std::string(), data, offset, kernel, num_filter, stride, dilate, pad, num_group, num_deformable_group, workspace, no_bias, layout);
}
inline Symbol DeformableConvolution(const std::string& symbol_name, const Symbol& data, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int num_deformable_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribDeformableConvolutionLayout layout = ContribDeformableConvolutionLayout::kNone) {
  return detail::Composed("_contrib_DeformableConvolution").input("data", data).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("num_group", num_group, 1).set("num_deformable_group", num_deformable_group, 1).set("workspace", workspace, 1024).set("no_bias", no_bias, false).set("layout", layout, ContribDeformableConvolutionLayout::kNone).make(symbol_name);
}
inline Symbol DeformableConvolution(const Symbol& data, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int num_deformable_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribDeformableConvolutionLayout layout = ContribDeformableConvolutionLayout::kNone) {
  return contrib::DeformableConvolution(std::string(), data, kernel, num_filter, stride, dilate, pad, num_group, num_deformable_group, workspace, no_bias, layout);
}
// PSROIPooling of points, each part of a box moved by `trans`, in parts of the box.
inline Symbol DeformablePSROIPooling(const std::string& symbol_name, const Symbol& data, const Symbol& rois, const Symbol& trans, mx_float spatial_scale, int output_dim, int group_size, int pooled_size, int part_size = 0, int sample_per_part = 1, mx_float trans_std = 0.0f, bool no_trans = false) {
  return detail::Composed("_contrib_DeformablePSROIPooling").input("data", data).input("rois", rois).input("trans", trans).set("spatial_scale", spatial_scale).set("output_dim", output_dim).set("group_size", group_size).set("pooled_size", pooled_size).set("part_size", part_size, 0).set("sample_per_part", sample_per_part, 1).set("trans_std", trans_std, 0.0f).set("no_trans", no_trans, false).make(symbol_name);
}
inline Symbol DeformablePSROIPooling(const Symbol& data, const Symbol& rois, const Symbol& trans, mx_float spatial_scale, int output_dim, int group_size, int pooled_size, int part_size = 0, int sample_per_part = 1, mx_float trans_std = 0.0f, bool no_trans = false) {
  return contrib::DeformablePSROIPooling(std::string(), data, rois, trans, spatial_scale, output_dim, group_size, pooled_size, part_size, sample_per_part, trans_std, no_trans);
}
inline Symbol DeformablePSROIPooling(const std::string& symbol_name, const Symbol& data, const Symbol& rois, mx_float spatial_scale, int output_dim, int group_size, int pooled_size, int part_size = 0, int sample_per_part = 1, mx_float trans_std = 0.0f, bool no_trans = false) {
  return detail::Composed("_contrib_DeformablePSROIPooling").input("data", data).input("rois", rois).set("spatial_scale", spatial_scale).set("output_dim", output_dim).set("group_size", group_size).set("pooled_size", pooled_size).set("part_size", part_size, 0).set("sample_per_part", sample_per_part, 1).set("trans_std", trans_std, 0.0f).set("no_trans", no_trans, false).make(symbol_name);
}
inline Symbol DeformablePSROIPooling(const Symbol& data, const Symbol& rois, mx_float spatial_scale, int output_dim, int group_size, int pooled_size, int part_size = 0, int sample_per_part = 1, mx_float trans_std = 0.0f, bool no_trans = false) {
  return contrib::DeformablePSROIPooling(std::string(), data, rois, spatial_scale, output_dim, group_size, pooled_size, part_size, sample_per_part, trans_std, no_trans);
}
inline Symbol DeformablePSROIPooling(const std::string& symbol_name, const Symbol& data, mx_float spatial_scale, int output_dim, int group_size, int pooled_size, int part_size = 0, int sample_per_part = 1, mx_float trans_std = 0.0f, bool no_trans = false) {
  return detail::Composed("_contrib_DeformablePSROIPooling").input("data", data).set("spatial_scale", spatial_scale).set("output_dim", output_dim).set("group_size", group_size).set("pooled_size", pooled_size).set("part_size", part_size, 0).set("sample_per_part", sample_per_part, 1).set("trans_std", trans_std, 0.0f).set("no_trans", no_trans, false).make(symbol_name);
}
inline Symbol DeformablePSROIPooling(const Symbol& data, mx_float spatial_scale, int output_dim, int group_size, int pooled_size, int part_size = 0, int sample_per_part = 1, mx_float trans_std = 0.0f, bool no_trans = false) {
  return contrib::DeformablePSROIPooling(std::string(), data, spatial_scale, output_dim, group_size, pooled_size, part_size, sample_per_part, trans_std, no_trans);
}
// Convolution whose filters read the data at places moved by offsets, times a mask.
inline Symbol ModulatedDeformableConvolution(const std::string& symbol_name, const Symbol& data, const Symbol& offset, const Symbol& mask, const Symbol& weight, const Symbol& bias, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int num_deformable_group = 1, int64_t workspace = 1024, bool no_bias = false, int im2col_step = 64, ContribModulatedDeformableConvolutionLayout layout = ContribModulatedDeformableConvolutionLayout::kNone) {
  return detail::Composed("_contrib_ModulatedDeformableConvolution").input("data", data).input("offset", offset).input("mask", mask).input("weight", weight).input("bias", bias).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("num_group", num_group, 1).set("num_deformable_group", num_deformable_group, 1).set("workspace", workspace, 1024).set("no_bias", no_bias, false).set("im2col_step", im2col_step, 64).set("layout", layout, ContribModulatedDeformableConvolutionLayout::kNone).make(symbol_name);
}
inline Symbol ModulatedDeformableConvolution(const Symbol& data, const Symbol& offset, const Symbol& mask, const Symbol& weight, const Symbol& bias, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int num_deformable_group = 1, int64_t workspace = 1024, bool no_bias = false, int im2col_step = 64, ContribModulatedDeformableConvolutionLayout layout = ContribModulatedDeformableConvolutionLayout::kNone) {
  return contrib::ModulatedDeformableConvolution(std::string(), data, offset, mask, weight, bias, kernel, num_filter, stride, dilate, pad, num_group, num_deformable_group, workspace, no_bias, im2col_step, layout);
}
inline Symbol ModulatedDeformableConvolution(const std::string& symbol_name, const Symbol& data, const Symbol& offset, const Symbol& mask, const Symbol& weight, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int num_deformable_group = 1, int64_t workspace = 1024, bool no_bias = false, int im2col_step = 64, ContribModulatedDeformableConvolutionLayout layout = ContribModulatedDeformableConvolutionLayout::kNone) {
  return detail::Composed("_contrib_ModulatedDeformableConvolution").input("data", data).input("offset", offset).input("mask", mask).input("weight", weight).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("num_group", num_group, 1).set("num_deformable_group", num_deformable_group, 1).set("workspace", workspace, 1024).set("no_bias", no_bias, false).set("im2col_step", im2col_step, 64).set("layout", layout, ContribModulatedDeformableConvolutionLayout::kNone).make(symbol_name);
}
inline Symbol ModulatedDeformableConvolution(const Symbol& data, const Symbol& offset, const Symbol& mask, const Symbol& weight, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int num_deformable_group = 1, int64_t workspace = 1024, bool no_bias = false, int im2col_step = 64, ContribModulatedDeformableConvolutionLayout layout = ContribModulatedDeformableConvolutionLayout::kNone) {
  return contrib::ModulatedDeformableConvolution(std::string(), data, offset, mask, weight, kernel, num_filter, stride, dilate, pad, num_group, num_deformable_group, workspace, no_bias, im2col_step, layout);
}
inline Symbol ModulatedDeformableConvolution(const std::string& symbol_name, const Symbol& data, const Symbol& offset, const Symbol& mask, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int num_deformable_group = 1, int64_t workspace = 1024, bool no_bias = false, int im2col_step = 64, ContribModulatedDeformableConvolutionLayout layout = ContribModulatedDeformableConvolutionLayout::kNone) {
  return detail::Composed("_contrib_ModulatedDeformableConvolution").input("data", data).input("offset", offset).input("mask", mask).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("num_group", num_group, 1).set("num_deformable_group", num_deformable_group, 1).set("workspace", workspace, 1024).set("no_bias", no_bias, false).set("im2col_step", im2col_step, 64).set("layout", layout, ContribModulatedDeformableConvolutionLayout::kNone).make(symbol_name);
}
inline Symbol ModulatedDeformableConvolution(const Symbol& data, const Symbol& offset, const Symbol& mask, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int num_deformable_group = 1, int64_t workspace = 1024, bool no_bias = false, int im2col_step = 64, ContribModulatedDeformableConvolutionLayout layout = ContribModulatedDeformableConvolutionLayout::kNone) {
  return contrib::ModulatedDeformableConvolution(std::string(), data, offset, mask, kernel, num_filter, stride, dilate, pad, num_group, num_deformable_group, workspace, no_bias, im2col_step, layout);
}
inline Symbol ModulatedDeformableConvolution(const std::string& symbol_name, const Symbol& data, const Symbol& offset, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int num_deformable_group = 1, int64_t workspace = 1024, bool no_bias = false, int im2col_step = 64, ContribModulatedDeformableConvolutionLayout layout = ContribModulatedDeformableConvolutionLayout::kNone) {
  return detail::Composed("_contrib_ModulatedDeformableConvolution").input("data", data).input("offset", offset).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("num_group", num_group, 1).set("num_deformable_group", num_deformable_group, 1).set("workspace", workspace, 1024).set("no_bias", no_bias, false).set("im2col_step", im2col_step, 64).set("layout", layout, ContribModulatedDeformableConvolutionLayout::kNone).make(symbol_name);
}
inline Symbol ModulatedDeformableConvolution(const Symbol& data, const Symbol& offset, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int num_deformable_group = 1, int64_t workspace = 1024, bool no_bias = false, int im2col_step = 64, ContribModulatedDeformableConvolutionLayout layout = ContribModulatedDeformableConvolutionLayout::kNone) {
  return contrib::ModulatedDeformableConvolution(std::string(), data, offset, kernel, num_filter, stride, dilate, pad, num_group, num_deformable_group, workspace, no_bias, im2col_step, layout);
}
inline Symbol ModulatedDeformableConvolution(const std::string& symbol_name, const Symbol& data, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int num_deformable_group = 1, int64_t workspace = 1024, bool no_bias = false, int im2col_step = 64, ContribModulatedDeformableConvolutionLayout layout = ContribModulatedDeformableConvolutionLayout::kNone) {
  return detail::Composed("_contrib_ModulatedDeformableConvolution").input("data", data).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("num_group", num_group, 1).set("num_deformable_group", num_deformable_group, 1).set("workspace", workspace, 1024).set("no_bias", no_bias, false).set("im2col_step", im2col_step, 64).set("layout", layout, ContribModulatedDeformableConvolutionLayout::kNone).make(symbol_name);
}
inline Symbol ModulatedDeformableConvolution(const Symbol& data, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int num_deformable_group = 1, int64_t workspace = 1024, bool no_bias = false, int im2col_step = 64, ContribModulatedDeformableConvolutionLayout layout = ContribModulatedDeformableConvolutionLayout::kNone) {
  return contrib::ModulatedDeformableConvolution(std::string(), data, kernel, num_filter, stride, dilate, pad, num_group, num_deformable_group, workspace, no_bias, im2col_step, layout);
}
// Boxes that were found: class, score and corners of each, the best first; class -1: none.
inline Symbol MultiBoxDetection(const std::string& symbol_name, const Symbol& cls_prob, const Symbol& loc_pred, const Symbol& anchor, bool clip = true, mx_float threshold = 0.01f, int background_id = 0, mx_float nms_threshold = 0.5f, bool force_suppress = false, const std::vector<mx_float>& variances = std::vector<mx_float>{0.1f, 0.1f, 0.2f, 0.2f}, int nms_topk = -1) {
  return detail::Composed("_contrib_MultiBoxDetection").input("cls_prob", cls_prob).input("loc_pred", loc_pred).input("anchor", anchor).set("clip", clip, true).set("threshold", threshold, 0.01f).set("background_id", background_id, 0).set("nms_threshold", nms_threshold, 0.5f).set("force_suppress", force_suppress, false).set("variances", variances, std::vector<mx_float>{0.1f, 0.1f, 0.2f, 0.2f}).set("nms_topk", nms_topk, -1).make(symbol_name);
}
inline Symbol MultiBoxDetection(const Symbol& cls_prob, const Symbol& loc_pred, const Symbol& anchor, bool clip = true, mx_float threshold = 0.01f, int background_id = 0, mx_float nms_threshold = 0.5f, bool force_suppress = false, const std::vector<mx_float>& variances = std::vector<mx_float>{0.1f, 0.1f, 0.2f, 0.2f}, int nms_topk = -1) {
  return contrib::MultiBoxDetection(std::string(), cls_prob, loc_pred, anchor, clip, threshold, background_id, nms_threshold, force_suppress, variances, nms_topk);
}
// Anchors: boxes of some sizes and ratios about each element of an image.
inline Symbol MultiBoxPrior(const std::string& symbol_name, const Symbol& data, const std::vector<mx_float>& sizes = std::vector<mx_float>{1.0f}, const std::vector<mx_float>& ratios = std::vector<mx_float>{1.0f}, bool clip = false, const std::vector<mx_float>& steps = std::vector<mx_float>{-1.0f, -1.0f}, const std::vector<mx_float>& offsets = std::vector<mx_float>{0.5f, 0.5f}) {
  return detail::Composed("_contrib_MultiBoxPrior").input("data", data).set("sizes", sizes, std::vector<mx_float>{1.0f}).set("ratios", ratios, std::vector<mx_float>{1.0f}).set("clip", clip, false).set("steps", steps, std::vector<mx_float>{-1.0f, -1.0f}).set("offsets", offsets, std::vector<mx_float>{0.5f, 0.5f}).make(symbol_name);
}
inline Symbol MultiBoxPrior(const Symbol& data, const std::vector<mx_float>& sizes = std::vector<mx_float>{1.0f}, const std::vector<mx_float>& ratios = std::vector<mx_float>{1.0f}, bool clip = false, const std::vector<mx_float>& steps = std::vector<mx_float>{-1.0f, -1.0f}, const std::vector<mx_float>& offsets = std::vector<mx_float>{0.5f, 0.5f}) {
  return contrib::MultiBoxPrior(std::string(), data, sizes, ratios, clip, steps, offsets);
}
// Matches anchors with labelled boxes: their distances, which of them count, and the anchors' classes.
inline Symbol MultiBoxTarget(const std::string& symbol_name, const Symbol& anchor, const Symbol& label, const Symbol& cls_pred, mx_float overlap_threshold = 0.5f, mx_float ignore_label = -1.0f, mx_float negative_mining_ratio = -1.0f, mx_float negative_mining_thresh = 0.5f, int minimum_negative_samples = 0, const std::vector<mx_float>& variances = std::vector<mx_float>{0.1f, 0.1f, 0.2f, 0.2f}) {
  return detail::Composed("_contrib_MultiBoxTarget").input("anchor", anchor).input("label", label).input("cls_pred", cls_pred).set("overlap_threshold", overlap_threshold, 0.5f).set("ignore_label", ignore_label, -1.0f).set("negative_mining_ratio", negative_mining_ratio, -1.0f).set("negative_mining_thresh", negative_mining_thresh, 0.5f).set("minimum_negative_samples", minimum_negative_samples, 0).set("variances", variances, std::vector<mx_float>{0.1f, 0.1f, 0.2f, 0.2f}).make(symbol_name);
}
inline Symbol MultiBoxTarget(const Symbol& anchor, const Symbol& label, const Symbol& cls_pred, mx_float overlap_threshold = 0.5f, mx_float ignore_label = -1.0f, mx_float negative_mining_ratio = -1.0f, mx_float negative_mining_thresh = 0.5f, int minimum_negative_samples = 0, const std::vector<mx_float>& variances = std::vector<mx_float>{0.1f, 0.1f, 0.2f, 0.2f}) {
  return contrib::MultiBoxTarget(std::string(), anchor, label, cls_pred, overlap_threshold, ignore_label, negative_mining_ratio, negative_mining_thresh, minimum_negative_samples, variances);
}
// The regions of each image of a batch that look most like objects.
inline Symbol MultiProposal(const std::string& symbol_name, const Symbol& cls_prob, const Symbol& bbox_pred, const Symbol& im_info, int rpn_pre_nms_top_n = 6000, int rpn_post_nms_top_n = 300, mx_float threshold = 0.7f, int rpn_min_size = 16, const std::vector<mx_float>& scales = std::vector<mx_float>{4.0f, 8.0f, 16.0f, 32.0f}, const std::vector<mx_float>& ratios = std::vector<mx_float>{0.5f, 1.0f, 2.0f}, int feature_stride = 16, bool output_score = false, bool iou_loss = false) {
  return detail::Composed("_contrib_MultiProposal").input("cls_prob", cls_prob).input("bbox_pred", bbox_pred).input("im_info", im_info).set("rpn_pre_nms_top_n", rpn_pre_nms_top_n, 6000).set("rpn_post_nms_top_n", rpn_post_nms_top_n, 300).set("threshold", threshold, 0.7f).set("rpn_min_size", rpn_min_size, 16).set("scales", scales, std::vector<mx_float>{4.0f, 8.0f, 16.0f, 32.0f}).set("ratios", ratios, std::vector<mx_float>{0.5f, 1.0f, 2.0f}).set("feature_stride", feature_stride, 16).set("output_score", output_score, false).set("iou_loss", iou_loss, false).make(symbol_name);
}
inline Symbol MultiProposal(const Symbol& cls_prob, const Symbol& bbox_pred, const Symbol& im_info, int rpn_pre_nms_top_n = 6000, int rpn_post_nms_top_n = 300, mx_float threshold = 0.7f, int rpn_min_size = 16, const std::vector<mx_float>& scales = std::vector<mx_float>{4.0f, 8.0f, 16.0f, 32.0f}, const std::vector<mx_float>& ratios = std::vector<mx_float>{0.5f, 1.0f, 2.0f}, int feature_stride = 16, bool output_score = false, bool iou_loss = false) {
  return contrib::MultiProposal(std::string(), cls_prob, bbox_pred, im_info, rpn_pre_nms_top_n, rpn_post_nms_top_n, threshold, rpn_min_size, scales, ratios, feature_stride, output_score, iou_loss);
}
// Averages each part of boxes, in a group of channels of the part's own.
inline Symbol PSROIPooling(const std::string& symbol_name, const Symbol& data, const Symbol& rois, mx_float spatial_scale, int output_dim, int pooled_size, int group_size = 0) {
  return detail::Composed("_contrib_PSROIPooling").input("data", data).input("rois", rois).set("spatial_scale", spatial_scale).set("output_dim", output_dim).set("pooled_size", pooled_size).set("group_size", group_size, 0).make(symbol_name);
}
inline Symbol PSROIPooling(const Symbol& data, const Symbol& rois, mx_float spatial_scale, int output_dim, int pooled_size, int group_size = 0) {
  return contrib::PSROIPooling(std::string(), data, rois, spatial_scale, output_dim, pooled_size, group_size);
}
// The regions of an image that look most like objects.
inline Symbol Proposal(const std::string& symbol_name, const Symbol& cls_prob, const Symbol& bbox_pred, const Symbol& im_info, int rpn_pre_nms_top_n = 6000, int rpn_post_nms_top_n = 300, mx_float threshold = 0.7f, int rpn_min_size = 16, const std::vector<mx_float>& scales = std::vector<mx_float>{4.0f, 8.0f, 16.0f, 32.0f}, const std::vector<mx_float>& ratios = std::vector<mx_float>{0.5f, 1.0f, 2.0f}, int feature_stride = 16, bool output_score = false, bool iou_loss = false) {
  return detail::Composed("_contrib_Proposal").input("cls_prob", cls_prob).input("bbox_pred", bbox_pred).input("im_info", im_info).set("rpn_pre_nms_top_n", rpn_pre_nms_top_n, 6000).set("rpn_post_nms_top_n", rpn_post_nms_top_n, 300).set("threshold", threshold, 0.7f).set("rpn_min_size", rpn_min_size, 16).set("scales", scales, std::vector<mx_float>{4.0f, 8.0f, 16.0f, 32.0f}).set("ratios", ratios, std::vector<mx_float>{0.5f, 1.0f, 2.0f}).set("feature_stride", feature_stride, 16).set("output_score", output_score, false).set("iou_loss", iou_loss, false).make(symbol_name);
}
inline Symbol Proposal(const Symbol& cls_prob, const Symbol& bbox_pred, const Symbol& im_info, int rpn_pre_nms_top_n = 6000, int rpn_post_nms_top_n = 300, mx_float threshold = 0.7f, int rpn_min_size = 16, const std::vector<mx_float>& scales = std::vector<mx_float>{4.0f, 8.0f, 16.0f, 32.0f}, const std::vector<mx_float>& ratios = std::vector<mx_float>{0.5f, 1.0f, 2.0f}, int feature_stride = 16, bool output_score = false, bool iou_loss = false) {
  return contrib::Proposal(std::string(), cls_prob, bbox_pred, im_info, rpn_pre_nms_top_n, rpn_post_nms_top_n, threshold, rpn_min_size, scales, ratios, feature_stride, output_score, iou_loss);
}
// Averages points, read between elements, of each part of boxes.
inline Symbol ROIAlign(const std::string& symbol_name, const Symbol& data, const Symbol& rois, const Shape& pooled_size, mx_float spatial_scale, int sample_ratio = -1, bool position_sensitive = false, bool aligned = false) {
  return detail::Composed("_contrib_ROIAlign").input("data", data).input("rois", rois).set("pooled_size", pooled_size).set("spatial_scale", spatial_scale).set("sample_ratio", sample_ratio, -1).set("position_sensitive", position_sensitive, false).set("aligned", aligned, false).make(symbol_name);
}
inline Symbol ROIAlign(const Symbol& data, const Symbol& rois, const Shape& pooled_size, mx_float spatial_scale, int sample_ratio = -1, bool position_sensitive = false, bool aligned = false) {
  return contrib::ROIAlign(std::string(), data, rois, pooled_size, spatial_scale, sample_ratio, position_sensitive, aligned);
}
// ROIAlign for turned boxes: centre, width, height, and degrees.
inline Symbol RROIAlign(const std::string& symbol_name, const Symbol& data, const Symbol& rois, const Shape& pooled_size, mx_float spatial_scale, int sampling_ratio = -1) {
  return detail::Composed("_contrib_RROIAlign").input("data", data).input("rois", rois).set("pooled_size", pooled_size).set("spatial_scale", spatial_scale).set("sampling_ratio", sampling_ratio, -1).make(symbol_name);
}
inline Symbol RROIAlign(const Symbol& data, const Symbol& rois, const Shape& pooled_size, mx_float spatial_scale, int sampling_ratio = -1) {
  return contrib::RROIAlign(std::string(), data, rois, pooled_size, spatial_scale, sampling_ratio);
}
// Looks up rows of `weight`, whose gradient is row_sparse: the rows that were looked up.
inline Symbol SparseEmbedding(const std::string& symbol_name, const Symbol& data, const Symbol& weight, int input_dim, int output_dim, ContribSparseEmbeddingDtype dtype = ContribSparseEmbeddingDtype::kFloat32, bool sparse_grad = false, bool deterministic = false) {
  return detail::Composed("_contrib_SparseEmbedding").input("data", data).input("weight", weight).set("input_dim", input_dim).set("output_dim", output_dim).set("dtype", dtype, ContribSparseEmbeddingDtype::kFloat32).set("sparse_grad", sparse_grad, false).set("deterministic", deterministic, false).make(symbol_name);
}
inline Symbol SparseEmbedding(const Symbol& data, const Symbol& weight, int input_dim, int output_dim, ContribSparseEmbeddingDtype dtype = ContribSparseEmbeddingDtype::kFloat32, bool sparse_grad = false, bool deterministic = false) {
  return contrib::SparseEmbedding(std::string(), data, weight, input_dim, output_dim, dtype, sparse_grad, deterministic);
}
inline Symbol SparseEmbedding(const std::string& symbol_name, const Symbol& data, int input_dim, int output_dim, ContribSparseEmbeddingDtype dtype = ContribSparseEmbeddingDtype::kFloat32, bool sparse_grad = false, bool deterministic = false) {
  return detail::Composed("_contrib_SparseEmbedding").input("data", data).set("input_dim", input_dim).set("output_dim", output_dim).set("dtype", dtype, ContribSparseEmbeddingDtype::kFloat32).set("sparse_grad", sparse_grad, false).set("deterministic", deterministic, false).make(symbol_name);
}
inline Symbol SparseEmbedding(const Symbol& data, int input_dim, int output_dim, ContribSparseEmbeddingDtype dtype = ContribSparseEmbeddingDtype::kFloat32, bool sparse_grad = false, bool deterministic = false) {
  return contrib::SparseEmbedding(std::string(), data, input_dim, output_dim, dtype, sparse_grad, deterministic);
}
// BatchNorm over axis 1 whose batch may lie on several devices; here, on one.
inline Symbol SyncBatchNorm(const std::string& symbol_name, const Symbol& data, const Symbol& gamma, const Symbol& beta, const Symbol& moving_mean, const Symbol& moving_var, const std::string& key, mx_float eps = 0.001f, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int ndev = 1) {
  return detail::Composed("_contrib_SyncBatchNorm").input("data", data).input("gamma", gamma).input("beta", beta).input("moving_mean", moving_mean).input("moving_var", moving_var).set("key", key).set("eps", eps, 0.001f).set("momentum", momentum, 0.9f).set("fix_gamma", fix_gamma, true).set("use_global_stats", use_global_stats, false).set("output_mean_var", output_mean_var, false).set("ndev", ndev, 1).make(symbol_name);
}
inline Symbol SyncBatchNorm(const Symbol& data, const Symbol& gamma, const Symbol& beta, const Symbol& moving_mean, const Symbol& moving_var, const std::string& key, mx_float eps = 0.001f, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int ndev = 1) {
  return contrib::SyncBatchNorm(std::string(), data, gamma, beta, moving_mean, moving_var, key, eps, momentum, fix_gamma, use_global_stats, output_mean_var, ndev);
}
inline Symbol SyncBatchNorm(const std::string& symbol_name, const Symbol& data, const Symbol& gamma, const Symbol& beta, const Symbol& moving_mean, const std::string& key, mx_float eps = 0.001f, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int ndev = 1) {
  return detail::Composed("_contrib_SyncBatchNorm").input("data", data).input("gamma", gamma).input("beta", beta).input("moving_mean", moving_mean).set("key", key).set("eps", eps, 0.001f).set("momentum", momentum, 0.9f).set("fix_gamma", fix_gamma, true).set("use_global_stats", use_global_stats, false).set("output_mean_var", output_mean_var, false).set("ndev", ndev, 1).make(symbol_name);
}
inline Symbol SyncBatchNorm(const Symbol& data, const Symbol& gamma, const Symbol& beta, const Symbol& moving_mean, const std::string& key, mx_float eps = 0.001f, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int ndev = 1) {
  return contrib::SyncBatchNorm(std::string(), data, gamma, beta, moving_mean, key, eps, momentum, fix_gamma, use_global_stats, output_mean_var, ndev);
}
inline Symbol SyncBatchNorm(const std::string& symbol_name, const Symbol& data, const Symbol& gamma, const Symbol& beta, const std::string& key, mx_float eps = 0.001f, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int ndev = 1) {
  return detail::Composed("_contrib_SyncBatchNorm").input("data", data).input("gamma", gamma).input("beta", beta).set("key", key).set("eps", eps, 0.001f).set("momentum", momentum, 0.9f).set("fix_gamma", fix_gamma, true).set("use_global_stats", use_global_stats, false).set("output_mean_var", output_mean_var, false).set("ndev", ndev, 1).make(symbol_name);
}
inline Symbol SyncBatchNorm(const Symbol& data, const Symbol& gamma, const Symbol& beta, const std::string& key, mx_float eps = 0.001f, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int ndev = 1) {
  return contrib::SyncBatchNorm(std::string(), data, gamma, beta, key, eps, momentum, fix_gamma, use_global_stats, output_mean_var, ndev);
}
inline Symbol SyncBatchNorm(const std::string& symbol_name, const Symbol& data, const Symbol& gamma, const std::string& key, mx_float eps = 0.001f, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int ndev = 1) {
  return detail::Composed("_contrib_SyncBatchNorm").input("data", data).input("gamma", gamma).set("key", key).set("eps", eps, 0.001f).set("momentum", momentum, 0.9f).set("fix_gamma", fix_gamma, true).set("use_global_stats", use_global_stats, false).set("output_mean_var", output_mean_var, false).set("ndev", ndev, 1).make(symbol_name);
}
inline Symbol SyncBatchNorm(const Symbol& data, const Symbol& gamma, const std::string& key, mx_float eps = 0.001f, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int ndev = 1) {
  return contrib::SyncBatchNorm(std::string(), data, gamma, key, eps, momentum, fix_gamma, use_global_stats, output_mean_var, ndev);
}
inline Symbol SyncBatchNorm(const std::string& symbol_name, const Symbol& data, const std::string& key, mx_float eps = 0.001f, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int ndev = 1) {
  return detail::Composed("_contrib_SyncBatchNorm").input("data", data).set("key", key).set("eps", eps, 0.001f).set("momentum", momentum, 0.9f).set("fix_gamma", fix_gamma, true).set("use_global_stats", use_global_stats, false).set("output_mean_var", output_mean_var, false).set("ndev", ndev, 1).make(symbol_name);
}
inline Symbol SyncBatchNorm(const Symbol& data, const std::string& key, mx_float eps = 0.001f, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int ndev = 1) {
  return contrib::SyncBatchNorm(std::string(), data, key, eps, momentum, fix_gamma, use_global_stats, output_mean_var, ndev);
}
// 1 if all elements of two arrays are equal within tolerances, else 0.
inline Symbol allclose(const std::string& symbol_name, const Symbol& a, const Symbol& b, mx_float rtol = 1e-05f, mx_float atol = 1e-08f, bool equal_nan = true) {
  return detail::Composed("_contrib_allclose").input("a", a).input("b", b).set("rtol", rtol, 1e-05f).set("atol", atol, 1e-08f).set("equal_nan", equal_nan, true).make(symbol_name);
}
inline Symbol allclose(const Symbol& a, const Symbol& b, mx_float rtol = 1e-05f, mx_float atol = 1e-08f, bool equal_nan = true) {
  return contrib::allclose(std::string(), a, b, rtol, atol, equal_nan);
}
// Makes evenly spaced values, as many as data has elements, or as long as one of its axes.
inline Symbol arange_like(const std::string& symbol_name, const Symbol& data, double start = 0.0, double step = 1.0, int repeat = 1, const std::string& ctx = "", const std::optional<int>& axis = std::nullopt) {
  return detail::Composed("_contrib_arange_like").input("data", data).set("start", start, 0.0).set("step", step, 1.0).set("repeat", repeat, 1).set("ctx", ctx, "").set("axis", axis).make(symbol_name);
}
inline Symbol arange_like(const Symbol& data, double start = 0.0, double step = 1.0, int repeat = 1, const std::string& ctx = "", const std::optional<int>& axis = std::nullopt) {
  return contrib::arange_like(std::string(), data, start, step, repeat, ctx, axis);
}
// Matches rows with columns, the best scores first; -1 for those without.
inline Symbol bipartite_matching(const std::string& symbol_name, const Symbol& data, mx_float threshold, bool is_ascend = false, int topk = -1) {
  return detail::Composed("_contrib_bipartite_matching").input("data", data).set("threshold", threshold).set("is_ascend", is_ascend, false).set("topk", topk, -1).make(symbol_name);
}
inline Symbol bipartite_matching(const Symbol& data, mx_float threshold, bool is_ascend = false, int topk = -1) {
  return contrib::bipartite_matching(std::string(), data, threshold, is_ascend, topk);
}
// Takes the slices of data along an axis for which `index` is not zero.
inline Symbol boolean_mask(const std::string& symbol_name, const Symbol& data, const Symbol& index, int axis = 0) {
  return detail::Composed("_contrib_boolean_mask").input("data", data).input("index", index).set("axis", axis, 0).make(symbol_name);
}
inline Symbol boolean_mask(const Symbol& data, const Symbol& index, int axis = 0) {
  return contrib::boolean_mask(std::string(), data, index, axis);
}
// Boxes, as corners, from their distances from anchors.
inline Symbol box_decode(const std::string& symbol_name, const Symbol& data, const Symbol& anchors, mx_float std0 = 1.0f, mx_float std1 = 1.0f, mx_float std2 = 1.0f, mx_float std3 = 1.0f, mx_float clip = -1.0f, ContribBoxDecodeFormat format = ContribBoxDecodeFormat::kCenter) {
  return detail::Composed("_contrib_box_decode").input("data", data).input("anchors", anchors).set("std0", std0, 1.0f).set("std1", std1, 1.0f).set("std2", std2, 1.0f).set("std3", std3, 1.0f).set("clip", clip, -1.0f).set("format", format, ContribBoxDecodeFormat::kCenter).make(symbol_name);
}
inline Symbol box_decode(const Symbol& data, const Symbol& anchors, mx_float std0 = 1.0f, mx_float std1 = 1.0f, mx_float std2 = 1.0f, mx_float std3 = 1.0f, mx_float clip = -1.0f, ContribBoxDecodeFormat format = ContribBoxDecodeFormat::kCenter) {
  return contrib::box_decode(std::string(), data, anchors, std0, std1, std2, std3, clip, format);
}
// Distances of boxes from the anchors that they were matched with, and which of them count.
inline Symbol box_encode(const std::string& symbol_name, const Symbol& samples, const Symbol& matches, const Symbol& anchors, const Symbol& refs, const Symbol& means, const Symbol& stds) {
  return detail::Composed("_contrib_box_encode").input("samples", samples).input("matches", matches).input("anchors", anchors).input("refs", refs).input("means", means).input("stds", stds).make(symbol_name);
}
inline Symbol box_encode(const Symbol& samples, const Symbol& matches, const Symbol& anchors, const Symbol& refs, const Symbol& means, const Symbol& stds) {
  return contrib::box_encode(std::string(), samples, matches, anchors, refs, means, stds);
}
// Intersection over union of each box of lhs with each of rhs.
inline Symbol box_iou(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs, ContribBoxIouFormat format = ContribBoxIouFormat::kCorner) {
  return detail::Composed("_contrib_box_iou").input("lhs", lhs).input("rhs", rhs).set("format", format, ContribBoxIouFormat::kCorner).make(symbol_name);
}
inline Symbol box_iou(const Symbol& lhs, const Symbol& rhs, ContribBoxIouFormat format = ContribBoxIouFormat::kCorner) {
  return contrib::box_iou(std::string(), lhs, rhs, format);
}
// Takes out boxes that overlap better ones; the others come first, the best ahead, and then rows of -1.
inline Symbol box_nms(const std::string& symbol_name, const Symbol& data, mx_float overlap_thresh = 0.5f, mx_float valid_thresh = 0.0f, int topk = -1, int coord_start = 2, int score_index = 1, int id_index = -1, int background_id = -1, bool force_suppress = false, ContribBoxNmsInFormat in_format = ContribBoxNmsInFormat::kCorner, ContribBoxNmsOutFormat out_format = ContribBoxNmsOutFormat::kCorner) {
  return detail::Composed("_contrib_box_nms").input("data", data).set("overlap_thresh", overlap_thresh, 0.5f).set("valid_thresh", valid_thresh, 0.0f).set("topk", topk, -1).set("coord_start", coord_start, 2).set("score_index", score_index, 1).set("id_index", id_index, -1).set("background_id", background_id, -1).set("force_suppress", force_suppress, false).set("in_format", in_format, ContribBoxNmsInFormat::kCorner).set("out_format", out_format, ContribBoxNmsOutFormat::kCorner).make(symbol_name);
}
inline Symbol box_nms(const Symbol& data, mx_float overlap_thresh = 0.5f, mx_float valid_thresh = 0.0f, int topk = -1, int coord_start = 2, int score_index = 1, int id_index = -1, int background_id = -1, bool force_suppress = false, ContribBoxNmsInFormat in_format = ContribBoxNmsInFormat::kCorner, ContribBoxNmsOutFormat out_format = ContribBoxNmsOutFormat::kCorner) {
  return contrib::box_nms(std::string(), data, overlap_thresh, valid_thresh, topk, coord_start, score_index, id_index, background_id, force_suppress, in_format, out_format);
}
// Takes out boxes that overlap better ones; the others come first, the best ahead, and then rows of -1.
inline Symbol box_non_maximum_suppression(const std::string& symbol_name, const Symbol& data, mx_float overlap_thresh = 0.5f, mx_float valid_thresh = 0.0f, int topk = -1, int coord_start = 2, int score_index = 1, int id_index = -1, int background_id = -1, bool force_suppress = false, ContribBoxNmsInFormat in_format = ContribBoxNmsInFormat::kCorner, ContribBoxNmsOutFormat out_format = ContribBoxNmsOutFormat::kCorner) {
  return detail::Composed("_contrib_box_nms").input("data", data).set("overlap_thresh", overlap_thresh, 0.5f).set("valid_thresh", valid_thresh, 0.0f).set("topk", topk, -1).set("coord_start", coord_start, 2).set("score_index", score_index, 1).set("id_index", id_index, -1).set("background_id", background_id, -1).set("force_suppress", force_suppress, false).set("in_format", in_format, ContribBoxNmsInFormat::kCorner).set("out_format", out_format, ContribBoxNmsOutFormat::kCorner).make(symbol_name);
}
inline Symbol box_non_maximum_suppression(const Symbol& data, mx_float overlap_thresh = 0.5f, mx_float valid_thresh = 0.0f, int topk = -1, int coord_start = 2, int score_index = 1, int id_index = -1, int background_id = -1, bool force_suppress = false, ContribBoxNmsInFormat in_format = ContribBoxNmsInFormat::kCorner, ContribBoxNmsOutFormat out_format = ContribBoxNmsOutFormat::kCorner) {
  return contrib::box_non_maximum_suppression(std::string(), data, overlap_thresh, valid_thresh, topk, coord_start, score_index, id_index, background_id, force_suppress, in_format, out_format);
}
// The threshold at which a histogram loses least (by divergence) when values beyond are cut off and the rest is told apart by so many steps.
inline Symbol calibrate_entropy(const std::string& symbol_name, const Symbol& hist, const Symbol& hist_edges, int num_quantized_bins = 255) {
  return detail::Composed("_contrib_calibrate_entropy").input("hist", hist).input("hist_edges", hist_edges).set("num_quantized_bins", num_quantized_bins, 255).make(symbol_name);
}
inline Symbol calibrate_entropy(const Symbol& hist, const Symbol& hist_edges, int num_quantized_bins = 255) {
  return contrib::calibrate_entropy(std::string(), hist, hist_edges, num_quantized_bins);
}
// Adds s[i] data[..., i] to element h[i] of the output: a random projection.
inline Symbol count_sketch(const std::string& symbol_name, const Symbol& data, const Symbol& h, const Symbol& s, int out_dim, int processing_batch_size = 32) {
  return detail::Composed("_contrib_count_sketch").input("data", data).input("h", h).input("s", s).set("out_dim", out_dim).set("processing_batch_size", processing_batch_size, 32).make(symbol_name);
}
inline Symbol count_sketch(const Symbol& data, const Symbol& h, const Symbol& s, int out_dim, int processing_batch_size = 32) {
  return contrib::count_sketch(std::string(), data, h, s, out_dim, processing_batch_size);
}
// The connectionist temporal classification loss: the negative logarithm of the probability of all ways to spread a label over time.
inline Symbol ctc_loss(const std::string& symbol_name, const Symbol& data, const Symbol& label, const Symbol& data_lengths, const Symbol& label_lengths, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return detail::Composed("CTCLoss").input("data", data).input("label", label).input("data_lengths", data_lengths).input("label_lengths", label_lengths).set("use_data_lengths", use_data_lengths, false).set("use_label_lengths", use_label_lengths, false).set("blank_label", blank_label, CTCLossBlankLabel::kFirst).make(symbol_name);
}
inline Symbol ctc_loss(const Symbol& data, const Symbol& label, const Symbol& data_lengths, const Symbol& label_lengths, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return contrib::ctc_loss(std::string(), data, label, data_lengths, label_lengths, use_data_lengths, use_label_lengths, blank_label);
}
inline Symbol ctc_loss(const std::string& symbol_name, const Symbol& data, const Symbol& label, const Symbol& data_lengths, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return detail::Composed("CTCLoss").input("data", data).input("label", label).input("data_lengths", data_lengths).set("use_data_lengths", use_data_lengths, false).set("use_label_lengths", use_label_lengths, false).set("blank_label", blank_label, CTCLossBlankLabel::kFirst).make(symbol_name);
}
inline Symbol ctc_loss(const Symbol& data, const Symbol& label, const Symbol& data_lengths, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return contrib::ctc_loss(std::string(), data, label, data_lengths, use_data_lengths, use_label_lengths, blank_label);
}
inline Symbol ctc_loss(const std::string& symbol_name, const Symbol& data, const Symbol& label, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return detail::Composed("CTCLoss").input("data", data).input("label", label).set("use_data_lengths", use_data_lengths, false).set("use_label_lengths", use_label_lengths, false).set("blank_label", blank_label, CTCLossBlankLabel::kFirst).make(symbol_name);
}
inline Symbol ctc_loss(const Symbol& data, const Symbol& label, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return contrib::ctc_loss(std::string(), data, label, use_data_lengths, use_label_lengths, blank_label);
}
inline Symbol ctc_loss(const std::string& symbol_name, const Symbol& data, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return detail::Composed("CTCLoss").input("data", data).set("use_data_lengths", use_data_lengths, false).set("use_label_lengths", use_label_lengths, false).set("blank_label", blank_label, CTCLossBlankLabel::kFirst).make(symbol_name);
}
inline Symbol ctc_loss(const Symbol& data, bool use_data_lengths = false, bool use_label_lengths = false, CTCLossBlankLabel blank_label = CTCLossBlankLabel::kFirst) {
  return contrib::ctc_loss(std::string(), data, use_data_lengths, use_label_lengths, blank_label);
}
// Turns whole numbers into the real ones that they stand for.
inline Symbol dequantize(const std::string& symbol_name, const Symbol& data, const Symbol& min_range, const Symbol& max_range, ContribDequantizeOutType out_type = ContribDequantizeOutType::kFloat32) {
  return detail::Composed("_contrib_dequantize").input("data", data).input("min_range", min_range).input("max_range", max_range).set("out_type", out_type, ContribDequantizeOutType::kFloat32).make(symbol_name);
}
inline Symbol dequantize(const Symbol& data, const Symbol& min_range, const Symbol& max_range, ContribDequantizeOutType out_type = ContribDequantizeOutType::kFloat32) {
  return contrib::dequantize(std::string(), data, min_range, max_range, out_type);
}
// The adjacency matrix of a graph: a 1 for each edge.
inline Symbol dgl_adjacency(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("_contrib_dgl_adjacency").input("data", data).make(symbol_name);
}
inline Symbol dgl_adjacency(const Symbol& data) {
  return contrib::dgl_adjacency(std::string(), data);
}
// Samples the neighbourhood of some vertices by probabilities of all vertices, for each array of seeds: the vertices' numbers with their count at the end; a matrix with the sampled edges of vertex i in row i; the vertices' probabilities; their distances from the seeds.
inline Symbol dgl_csr_neighbor_non_uniform_sample(const std::string& symbol_name, const Symbol& csr_matrix, const Symbol& probability, const std::vector<Symbol>& seed_arrays, int num_args, int64_t num_hops = 1, int64_t num_neighbor = 2, int64_t max_num_vertices = 100) {
  return detail::Composed("_contrib_dgl_csr_neighbor_non_uniform_sample").inputs({csr_matrix}).inputs({probability}).inputs(seed_arrays).set("num_args", num_args).set("num_hops", num_hops, 1).set("num_neighbor", num_neighbor, 2).set("max_num_vertices", max_num_vertices, 100).make(symbol_name);
}
inline Symbol dgl_csr_neighbor_non_uniform_sample(const Symbol& csr_matrix, const Symbol& probability, const std::vector<Symbol>& seed_arrays, int num_args, int64_t num_hops = 1, int64_t num_neighbor = 2, int64_t max_num_vertices = 100) {
  return contrib::dgl_csr_neighbor_non_uniform_sample(std::string(), csr_matrix, probability, seed_arrays, num_args, num_hops, num_neighbor, max_num_vertices);
}
// Samples the neighbourhood of some vertices of a graph, for each array of seeds: the vertices' numbers with their count at the end; a matrix with the sampled edges of vertex i in row i; the vertices' distances from the seeds.
inline Symbol dgl_csr_neighbor_uniform_sample(const std::string& symbol_name, const Symbol& csr_matrix, const std::vector<Symbol>& seed_arrays, int num_args, int64_t num_hops = 1, int64_t num_neighbor = 2, int64_t max_num_vertices = 100) {
  return detail::Composed("_contrib_dgl_csr_neighbor_uniform_sample").inputs({csr_matrix}).inputs(seed_arrays).set("num_args", num_args).set("num_hops", num_hops, 1).set("num_neighbor", num_neighbor, 2).set("max_num_vertices", max_num_vertices, 100).make(symbol_name);
}
inline Symbol dgl_csr_neighbor_uniform_sample(const Symbol& csr_matrix, const std::vector<Symbol>& seed_arrays, int num_args, int64_t num_hops = 1, int64_t num_neighbor = 2, int64_t max_num_vertices = 100) {
  return contrib::dgl_csr_neighbor_uniform_sample(std::string(), csr_matrix, seed_arrays, num_args, num_hops, num_neighbor, max_num_vertices);
}
// Square matrices of sampled graphs: without the rows of no vertex, columns numbered as the vertices.
inline Symbol dgl_graph_compact(const std::string& symbol_name, const std::vector<Symbol>& graph_data, int num_args, bool return_mapping, const std::vector<int64_t>& graph_sizes) {
  return detail::Composed("_contrib_dgl_graph_compact").inputs(graph_data).set("num_args", num_args).set("return_mapping", return_mapping).set("graph_sizes", graph_sizes).make(symbol_name);
}
inline Symbol dgl_graph_compact(const std::vector<Symbol>& graph_data, int num_args, bool return_mapping, const std::vector<int64_t>& graph_sizes) {
  return contrib::dgl_graph_compact(std::string(), graph_data, num_args, return_mapping, graph_sizes);
}
// The edges between some vertices of a graph, for each array of vertices.
inline Symbol dgl_subgraph(const std::string& symbol_name, const Symbol& graph, const std::vector<Symbol>& data, int num_args, bool return_mapping) {
  return detail::Composed("_contrib_dgl_subgraph").inputs({graph}).inputs(data).set("num_args", num_args).set("return_mapping", return_mapping).make(symbol_name);
}
inline Symbol dgl_subgraph(const Symbol& graph, const std::vector<Symbol>& data, int num_args, bool return_mapping) {
  return contrib::dgl_subgraph(std::string(), graph, data, num_args, return_mapping);
}
// The data over the square root of the size of the last axis.
inline Symbol div_sqrt_dim(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("_contrib_div_sqrt_dim").input("data", data).make(symbol_name);
}
inline Symbol div_sqrt_dim(const Symbol& data) {
  return contrib::div_sqrt_dim(std::string(), data);
}
// The stored element of a csr matrix in row u[i] and column v[i], or -1 where it stores none.
inline Symbol edge_id(const std::string& symbol_name, const Symbol& data, const Symbol& u, const Symbol& v) {
  return detail::Composed("_contrib_edge_id").input("data", data).input("u", u).input("v", v).make(symbol_name);
}
inline Symbol edge_id(const Symbol& data, const Symbol& u, const Symbol& v) {
  return contrib::edge_id(std::string(), data, u, v);
}
// The discrete Fourier transform along the last axis, as pairs of real and imaginary parts.
inline Symbol fft(const std::string& symbol_name, const Symbol& data, int compute_size = 128) {
  return detail::Composed("_contrib_fft").input("data", data).set("compute_size", compute_size, 128).make(symbol_name);
}
inline Symbol fft(const Symbol& data, int compute_size = 128) {
  return contrib::fft(std::string(), data, compute_size);
}
// The number of elements that a csr matrix stores, as a whole or in each row or column.
inline Symbol getnnz(const std::string& symbol_name, const Symbol& data, const std::optional<int>& axis = std::nullopt) {
  return detail::Composed("_contrib_getnnz").input("data", data).set("axis", axis).make(symbol_name);
}
inline Symbol getnnz(const Symbol& data, const std::optional<int>& axis = std::nullopt) {
  return contrib::getnnz(std::string(), data, axis);
}
// The data as they are; their gradient is multiplied by `scalar`.
inline Symbol gradientmultiplier(const std::string& symbol_name, const Symbol& data, double scalar = 1.0, bool is_int = true) {
  return detail::Composed("_contrib_gradientmultiplier").input("data", data).set("scalar", scalar, 1.0).set("is_int", is_int, true).make(symbol_name);
}
inline Symbol gradientmultiplier(const Symbol& data, double scalar = 1.0, bool is_int = true) {
  return contrib::gradientmultiplier(std::string(), data, scalar, is_int);
}
// The log likelihood of sequences of marked events under Hawkes processes with exponential decay, and the states at `max_time`.
inline Symbol hawkesll(const std::string& symbol_name, const Symbol& lda, const Symbol& alpha, const Symbol& beta, const Symbol& state, const Symbol& lags, const Symbol& marks, const Symbol& valid_length, const Symbol& max_time) {
  return detail::Composed("_contrib_hawkesll").input("lda", lda).input("alpha", alpha).input("beta", beta).input("state", state).input("lags", lags).input("marks", marks).input("valid_length", valid_length).input("max_time", max_time).make(symbol_name);
}
inline Symbol hawkesll(const Symbol& lda, const Symbol& alpha, const Symbol& beta, const Symbol& state, const Symbol& lags, const Symbol& marks, const Symbol& valid_length, const Symbol& max_time) {
  return contrib::hawkesll(std::string(), lda, alpha, beta, state, lags, marks, valid_length, max_time);
}
// The real part of the inverse Fourier transform of pairs of real and imaginary parts, not divided by the size.
inline Symbol ifft(const std::string& symbol_name, const Symbol& data, int compute_size = 128) {
  return detail::Composed("_contrib_ifft").input("data", data).set("compute_size", compute_size, 128).make(symbol_name);
}
inline Symbol ifft(const Symbol& data, int compute_size = 128) {
  return contrib::ifft(std::string(), data, compute_size);
}
// The index of each element of the data, or its parts along some axes, in a new last axis.
inline Symbol index_array(const std::string& symbol_name, const Symbol& data, const std::optional<Shape>& axes = std::nullopt) {
  return detail::Composed("_contrib_index_array").input("data", data).set("axes", axes).make(symbol_name);
}
inline Symbol index_array(const Symbol& data, const std::optional<Shape>& axes = std::nullopt) {
  return contrib::index_array(std::string(), data, axes);
}
// The old tensor with the rows that `index_vector` names replaced by those of the new tensor.
inline Symbol index_copy(const std::string& symbol_name, const Symbol& old_tensor, const Symbol& index_vector, const Symbol& new_tensor) {
  return detail::Composed("_contrib_index_copy").input("old_tensor", old_tensor).input("index_vector", index_vector).input("new_tensor", new_tensor).make(symbol_name);
}
inline Symbol index_copy(const Symbol& old_tensor, const Symbol& index_vector, const Symbol& new_tensor) {
  return contrib::index_copy(std::string(), old_tensor, index_vector, new_tensor);
}
// Attention's scores: each head's queries times its keys, over the square root of the width.
inline Symbol interleaved_matmul_encdec_qk(const std::string& symbol_name, const Symbol& queries, const Symbol& keys_values, int heads) {
  return detail::Composed("_contrib_interleaved_matmul_encdec_qk").input("queries", queries).input("keys_values", keys_values).set("heads", heads).make(symbol_name);
}
inline Symbol interleaved_matmul_encdec_qk(const Symbol& queries, const Symbol& keys_values, int heads) {
  return contrib::interleaved_matmul_encdec_qk(std::string(), queries, keys_values, heads);
}
// Attention's result: the attention weights times the values of each head.
inline Symbol interleaved_matmul_encdec_valatt(const std::string& symbol_name, const Symbol& keys_values, const Symbol& attention, int heads) {
  return detail::Composed("_contrib_interleaved_matmul_encdec_valatt").input("keys_values", keys_values).input("attention", attention).set("heads", heads).make(symbol_name);
}
inline Symbol interleaved_matmul_encdec_valatt(const Symbol& keys_values, const Symbol& attention, int heads) {
  return contrib::interleaved_matmul_encdec_valatt(std::string(), keys_values, attention, heads);
}
// Self-attention's scores: each head's queries times its keys, over the square root of the width.
inline Symbol interleaved_matmul_selfatt_qk(const std::string& symbol_name, const Symbol& queries_keys_values, int heads) {
  return detail::Composed("_contrib_interleaved_matmul_selfatt_qk").input("queries_keys_values", queries_keys_values).set("heads", heads).make(symbol_name);
}
inline Symbol interleaved_matmul_selfatt_qk(const Symbol& queries_keys_values, int heads) {
  return contrib::interleaved_matmul_selfatt_qk(std::string(), queries_keys_values, heads);
}
// Self-attention's result: the attention weights times the values of each head.
inline Symbol interleaved_matmul_selfatt_valatt(const std::string& symbol_name, const Symbol& queries_keys_values, const Symbol& attention, int heads) {
  return detail::Composed("_contrib_interleaved_matmul_selfatt_valatt").input("queries_keys_values", queries_keys_values).input("attention", attention).set("heads", heads).make(symbol_name);
}
inline Symbol interleaved_matmul_selfatt_valatt(const Symbol& queries_keys_values, const Symbol& attention, int heads) {
  return contrib::interleaved_matmul_selfatt_valatt(std::string(), queries_keys_values, attention, heads);
}
// batch_dot whose rows on the left and columns on the right are rounded to 8 bits in each run, each with a scale of its own.
inline Symbol low_bit_batch_dot(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs, bool transpose_a = false, bool transpose_b = false) {
  return detail::Composed("_contrib_low_bit_batch_dot").input("lhs", lhs).input("rhs", rhs).set("transpose_a", transpose_a, false).set("transpose_b", transpose_b, false).make(symbol_name);
}
inline Symbol low_bit_batch_dot(const Symbol& lhs, const Symbol& rhs, bool transpose_a = false, bool transpose_b = false) {
  return contrib::low_bit_batch_dot(std::string(), lhs, rhs, transpose_a, transpose_b);
}
// Embedding with a weight of 8 or 4 bits, which lies as that of `low_bit_fully_connected` does.
inline Symbol low_bit_embedding(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& scale, int input_dim, int output_dim, int bits = 8, int64_t group_size = 0) {
  return detail::Composed("_contrib_low_bit_embedding").input("data", data).input("weight", weight).input("scale", scale).set("input_dim", input_dim).set("output_dim", output_dim).set("bits", bits, 8).set("group_size", group_size, 0).make(symbol_name);
}
inline Symbol low_bit_embedding(const Symbol& data, const Symbol& weight, const Symbol& scale, int input_dim, int output_dim, int bits = 8, int64_t group_size = 0) {
  return contrib::low_bit_embedding(std::string(), data, weight, scale, input_dim, output_dim, bits, group_size);
}
// FullyConnected with a weight of 8 or 4 bits.
inline Symbol low_bit_fully_connected(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& scale, const Symbol& bias, int num_hidden, bool no_bias = false, bool flatten = true, int bits = 8, int64_t group_size = 0, bool dynamic = false) {
  return detail::Composed("_contrib_low_bit_fully_connected").input("data", data).input("weight", weight).input("scale", scale).input("bias", bias).set("num_hidden", num_hidden).set("no_bias", no_bias, false).set("flatten", flatten, true).set("bits", bits, 8).set("group_size", group_size, 0).set("dynamic", dynamic, false).make(symbol_name);
}
inline Symbol low_bit_fully_connected(const Symbol& data, const Symbol& weight, const Symbol& scale, const Symbol& bias, int num_hidden, bool no_bias = false, bool flatten = true, int bits = 8, int64_t group_size = 0, bool dynamic = false) {
  return contrib::low_bit_fully_connected(std::string(), data, weight, scale, bias, num_hidden, no_bias, flatten, bits, group_size, dynamic);
}
inline Symbol low_bit_fully_connected(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& scale, int num_hidden, bool no_bias = false, bool flatten = true, int bits = 8, int64_t group_size = 0, bool dynamic = false) {
  return detail::Composed("_contrib_low_bit_fully_connected").input("data", data).input("weight", weight).input("scale", scale).set("num_hidden", num_hidden).set("no_bias", no_bias, false).set("flatten", flatten, true).set("bits", bits, 8).set("group_size", group_size, 0).set("dynamic", dynamic, false).make(symbol_name);
}
inline Symbol low_bit_fully_connected(const Symbol& data, const Symbol& weight, const Symbol& scale, int num_hidden, bool no_bias = false, bool flatten = true, int bits = 8, int64_t group_size = 0, bool dynamic = false) {
  return contrib::low_bit_fully_connected(std::string(), data, weight, scale, num_hidden, no_bias, flatten, bits, group_size, dynamic);
}
inline Symbol low_bit_fully_connected(const std::string& symbol_name, const Symbol& data, const Symbol& weight, int num_hidden, bool no_bias = false, bool flatten = true, int bits = 8, int64_t group_size = 0, bool dynamic = false) {
  return detail::Composed("_contrib_low_bit_fully_connected").input("data", data).input("weight", weight).set("num_hidden", num_hidden).set("no_bias", no_bias, false).set("flatten", flatten, true).set("bits", bits, 8).set("group_size", group_size, 0).set("dynamic", dynamic, false).make(symbol_name);
}
inline Symbol low_bit_fully_connected(const Symbol& data, const Symbol& weight, int num_hidden, bool no_bias = false, bool flatten = true, int bits = 8, int64_t group_size = 0, bool dynamic = false) {
  return contrib::low_bit_fully_connected(std::string(), data, weight, num_hidden, no_bias, flatten, bits, group_size, dynamic);
}
inline Symbol low_bit_fully_connected(const std::string& symbol_name, const Symbol& data, int num_hidden, bool no_bias = false, bool flatten = true, int bits = 8, int64_t group_size = 0, bool dynamic = false) {
  return detail::Composed("_contrib_low_bit_fully_connected").input("data", data).set("num_hidden", num_hidden).set("no_bias", no_bias, false).set("flatten", flatten, true).set("bits", bits, 8).set("group_size", group_size, 0).set("dynamic", dynamic, false).make(symbol_name);
}
inline Symbol low_bit_fully_connected(const Symbol& data, int num_hidden, bool no_bias = false, bool flatten = true, int bits = 8, int64_t group_size = 0, bool dynamic = false) {
  return contrib::low_bit_fully_connected(std::string(), data, num_hidden, no_bias, flatten, bits, group_size, dynamic);
}
// `interleaved_matmul_encdec_qk`, whose rows are rounded to 8 bits in each run, on both sides.
inline Symbol low_bit_interleaved_matmul_encdec_qk(const std::string& symbol_name, const Symbol& queries, const Symbol& keys_values, int heads) {
  return detail::Composed("_contrib_low_bit_interleaved_matmul_encdec_qk").input("queries", queries).input("keys_values", keys_values).set("heads", heads).make(symbol_name);
}
inline Symbol low_bit_interleaved_matmul_encdec_qk(const Symbol& queries, const Symbol& keys_values, int heads) {
  return contrib::low_bit_interleaved_matmul_encdec_qk(std::string(), queries, keys_values, heads);
}
// `interleaved_matmul_encdec_valatt`, whose rows are rounded to 8 bits in each run, on both sides.
inline Symbol low_bit_interleaved_matmul_encdec_valatt(const std::string& symbol_name, const Symbol& keys_values, const Symbol& attention, int heads) {
  return detail::Composed("_contrib_low_bit_interleaved_matmul_encdec_valatt").input("keys_values", keys_values).input("attention", attention).set("heads", heads).make(symbol_name);
}
inline Symbol low_bit_interleaved_matmul_encdec_valatt(const Symbol& keys_values, const Symbol& attention, int heads) {
  return contrib::low_bit_interleaved_matmul_encdec_valatt(std::string(), keys_values, attention, heads);
}
// `interleaved_matmul_selfatt_qk`, whose rows are rounded to 8 bits in each run, on both sides.
inline Symbol low_bit_interleaved_matmul_selfatt_qk(const std::string& symbol_name, const Symbol& queries_keys_values, int heads) {
  return detail::Composed("_contrib_low_bit_interleaved_matmul_selfatt_qk").input("queries_keys_values", queries_keys_values).set("heads", heads).make(symbol_name);
}
inline Symbol low_bit_interleaved_matmul_selfatt_qk(const Symbol& queries_keys_values, int heads) {
  return contrib::low_bit_interleaved_matmul_selfatt_qk(std::string(), queries_keys_values, heads);
}
// `interleaved_matmul_selfatt_valatt`, whose rows are rounded to 8 bits in each run, on both sides.
inline Symbol low_bit_interleaved_matmul_selfatt_valatt(const std::string& symbol_name, const Symbol& queries_keys_values, const Symbol& attention, int heads) {
  return detail::Composed("_contrib_low_bit_interleaved_matmul_selfatt_valatt").input("queries_keys_values", queries_keys_values).input("attention", attention).set("heads", heads).make(symbol_name);
}
inline Symbol low_bit_interleaved_matmul_selfatt_valatt(const Symbol& queries_keys_values, const Symbol& attention, int heads) {
  return contrib::low_bit_interleaved_matmul_selfatt_valatt(std::string(), queries_keys_values, attention, heads);
}
// RNN in prediction with weights of 8 bits: the matrices of RNN's parameters as int8, a scale for each of their rows, and its biases.
inline Symbol low_bit_rnn(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& scale, const Symbol& bias, const Symbol& state, const Symbol& state_cell, int state_size, int num_layers, ContribLowBitRnnMode mode, bool bidirectional = false, bool state_outputs = false) {
  return detail::Composed("_contrib_low_bit_rnn").input("data", data).input("weight", weight).input("scale", scale).input("bias", bias).input("state", state).input("state_cell", state_cell).set("state_size", state_size).set("num_layers", num_layers).set("mode", mode).set("bidirectional", bidirectional, false).set("state_outputs", state_outputs, false).make(symbol_name);
}
inline Symbol low_bit_rnn(const Symbol& data, const Symbol& weight, const Symbol& scale, const Symbol& bias, const Symbol& state, const Symbol& state_cell, int state_size, int num_layers, ContribLowBitRnnMode mode, bool bidirectional = false, bool state_outputs = false) {
  return contrib::low_bit_rnn(std::string(), data, weight, scale, bias, state, state_cell, state_size, num_layers, mode, bidirectional, state_outputs);
}
inline Symbol low_bit_rnn(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& scale, const Symbol& bias, const Symbol& state, int state_size, int num_layers, ContribLowBitRnnMode mode, bool bidirectional = false, bool state_outputs = false) {
  return detail::Composed("_contrib_low_bit_rnn").input("data", data).input("weight", weight).input("scale", scale).input("bias", bias).input("state", state).set("state_size", state_size).set("num_layers", num_layers).set("mode", mode).set("bidirectional", bidirectional, false).set("state_outputs", state_outputs, false).make(symbol_name);
}
inline Symbol low_bit_rnn(const Symbol& data, const Symbol& weight, const Symbol& scale, const Symbol& bias, const Symbol& state, int state_size, int num_layers, ContribLowBitRnnMode mode, bool bidirectional = false, bool state_outputs = false) {
  return contrib::low_bit_rnn(std::string(), data, weight, scale, bias, state, state_size, num_layers, mode, bidirectional, state_outputs);
}
inline Symbol low_bit_rnn(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& scale, const Symbol& bias, int state_size, int num_layers, ContribLowBitRnnMode mode, bool bidirectional = false, bool state_outputs = false) {
  return detail::Composed("_contrib_low_bit_rnn").input("data", data).input("weight", weight).input("scale", scale).input("bias", bias).set("state_size", state_size).set("num_layers", num_layers).set("mode", mode).set("bidirectional", bidirectional, false).set("state_outputs", state_outputs, false).make(symbol_name);
}
inline Symbol low_bit_rnn(const Symbol& data, const Symbol& weight, const Symbol& scale, const Symbol& bias, int state_size, int num_layers, ContribLowBitRnnMode mode, bool bidirectional = false, bool state_outputs = false) {
  return contrib::low_bit_rnn(std::string(), data, weight, scale, bias, state_size, num_layers, mode, bidirectional, state_outputs);
}
inline Symbol low_bit_rnn(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& scale, int state_size, int num_layers, ContribLowBitRnnMode mode, bool bidirectional = false, bool state_outputs = false) {
  return detail::Composed("_contrib_low_bit_rnn").input("data", data).input("weight", weight).input("scale", scale).set("state_size", state_size).set("num_layers", num_layers).set("mode", mode).set("bidirectional", bidirectional, false).set("state_outputs", state_outputs, false).make(symbol_name);
}
inline Symbol low_bit_rnn(const Symbol& data, const Symbol& weight, const Symbol& scale, int state_size, int num_layers, ContribLowBitRnnMode mode, bool bidirectional = false, bool state_outputs = false) {
  return contrib::low_bit_rnn(std::string(), data, weight, scale, state_size, num_layers, mode, bidirectional, state_outputs);
}
inline Symbol low_bit_rnn(const std::string& symbol_name, const Symbol& data, const Symbol& weight, int state_size, int num_layers, ContribLowBitRnnMode mode, bool bidirectional = false, bool state_outputs = false) {
  return detail::Composed("_contrib_low_bit_rnn").input("data", data).input("weight", weight).set("state_size", state_size).set("num_layers", num_layers).set("mode", mode).set("bidirectional", bidirectional, false).set("state_outputs", state_outputs, false).make(symbol_name);
}
inline Symbol low_bit_rnn(const Symbol& data, const Symbol& weight, int state_size, int num_layers, ContribLowBitRnnMode mode, bool bidirectional = false, bool state_outputs = false) {
  return contrib::low_bit_rnn(std::string(), data, weight, state_size, num_layers, mode, bidirectional, state_outputs);
}
inline Symbol low_bit_rnn(const std::string& symbol_name, const Symbol& data, int state_size, int num_layers, ContribLowBitRnnMode mode, bool bidirectional = false, bool state_outputs = false) {
  return detail::Composed("_contrib_low_bit_rnn").input("data", data).set("state_size", state_size).set("num_layers", num_layers).set("mode", mode).set("bidirectional", bidirectional, false).set("state_outputs", state_outputs, false).make(symbol_name);
}
inline Symbol low_bit_rnn(const Symbol& data, int state_size, int num_layers, ContribLowBitRnnMode mode, bool bidirectional = false, bool state_outputs = false) {
  return contrib::low_bit_rnn(std::string(), data, state_size, num_layers, mode, bidirectional, state_outputs);
}
// a data^2 + b data + c.
inline Symbol quadratic(const std::string& symbol_name, const Symbol& data, mx_float a = 0.0f, mx_float b = 0.0f, mx_float c = 0.0f) {
  return detail::Composed("_contrib_quadratic").input("data", data).set("a", a, 0.0f).set("b", b, 0.0f).set("c", c, 0.0f).make(symbol_name);
}
inline Symbol quadratic(const Symbol& data, mx_float a = 0.0f, mx_float b = 0.0f, mx_float c = 0.0f) {
  return contrib::quadratic(std::string(), data, a, b, c);
}
// Turns real numbers of a given range into whole ones.
inline Symbol quantize(const std::string& symbol_name, const Symbol& data, const Symbol& min_range, const Symbol& max_range, ContribQuantizeOutType out_type = ContribQuantizeOutType::kUint8) {
  return detail::Composed("_contrib_quantize").input("data", data).input("min_range", min_range).input("max_range", max_range).set("out_type", out_type, ContribQuantizeOutType::kUint8).make(symbol_name);
}
inline Symbol quantize(const Symbol& data, const Symbol& min_range, const Symbol& max_range, ContribQuantizeOutType out_type = ContribQuantizeOutType::kUint8) {
  return contrib::quantize(std::string(), data, min_range, max_range, out_type);
}
// Turns real numbers x into uint8: x * scale + shift, so that the range fills all 256 numbers.
inline Symbol quantize_asym(const std::string& symbol_name, const Symbol& data, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return detail::Composed("_contrib_quantize_asym").input("data", data).set("min_calib_range", min_calib_range).set("max_calib_range", max_calib_range).make(symbol_name);
}
inline Symbol quantize_asym(const Symbol& data, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return contrib::quantize_asym(std::string(), data, min_calib_range, max_calib_range);
}
// Turns real numbers into whole ones.
inline Symbol quantize_v2(const std::string& symbol_name, const Symbol& data, ContribQuantizeV2OutType out_type = ContribQuantizeV2OutType::kInt8, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return detail::Composed("_contrib_quantize_v2").input("data", data).set("out_type", out_type, ContribQuantizeV2OutType::kInt8).set("min_calib_range", min_calib_range).set("max_calib_range", max_calib_range).make(symbol_name);
}
inline Symbol quantize_v2(const Symbol& data, ContribQuantizeV2OutType out_type = ContribQuantizeV2OutType::kInt8, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return contrib::quantize_v2(std::string(), data, out_type, min_calib_range, max_calib_range);
}
// max(x, 0) of 8 bits; the range stays.
inline Symbol quantized_act(const std::string& symbol_name, const Symbol& data, const Symbol& min_data, const Symbol& max_data, ContribQuantizedActActType act_type) {
  return detail::Composed("_contrib_quantized_act").input("data", data).input("min_data", min_data).input("max_data", max_data).set("act_type", act_type).make(symbol_name);
}
inline Symbol quantized_act(const Symbol& data, const Symbol& min_data, const Symbol& max_data, ContribQuantizedActActType act_type) {
  return contrib::quantized_act(std::string(), data, min_data, max_data, act_type);
}
// Normalises channels of 8 bits by the moving statistics; the range of the output must be calibrated.
inline Symbol quantized_batch_norm(const std::string& symbol_name, const Symbol& data, const Symbol& gamma, const Symbol& beta, const Symbol& moving_mean, const Symbol& moving_var, const Symbol& min_data, const Symbol& max_data, double eps = 0.0010000000474974513, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int axis = 1, bool cudnn_off = false, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return detail::Composed("_contrib_quantized_batch_norm").input("data", data).input("gamma", gamma).input("beta", beta).input("moving_mean", moving_mean).input("moving_var", moving_var).input("min_data", min_data).input("max_data", max_data).set("eps", eps, 0.0010000000474974513).set("momentum", momentum, 0.9f).set("fix_gamma", fix_gamma, true).set("use_global_stats", use_global_stats, false).set("output_mean_var", output_mean_var, false).set("axis", axis, 1).set("cudnn_off", cudnn_off, false).set("min_calib_range", min_calib_range).set("max_calib_range", max_calib_range).make(symbol_name);
}
inline Symbol quantized_batch_norm(const Symbol& data, const Symbol& gamma, const Symbol& beta, const Symbol& moving_mean, const Symbol& moving_var, const Symbol& min_data, const Symbol& max_data, double eps = 0.0010000000474974513, mx_float momentum = 0.9f, bool fix_gamma = true, bool use_global_stats = false, bool output_mean_var = false, int axis = 1, bool cudnn_off = false, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return contrib::quantized_batch_norm(std::string(), data, gamma, beta, moving_mean, moving_var, min_data, max_data, eps, momentum, fix_gamma, use_global_stats, output_mean_var, axis, cudnn_off, min_calib_range, max_calib_range);
}
// Joins arrays of 8 bits, each brought to the range of all.
inline Symbol quantized_concat(const std::string& symbol_name, const std::vector<Symbol>& data, int num_args, int dim = 1) {
  return detail::Composed("_contrib_quantized_concat").inputs(data).set("num_args", num_args).set("dim", dim, 1).make(symbol_name);
}
inline Symbol quantized_concat(const std::vector<Symbol>& data, int num_args, int dim = 1) {
  return contrib::quantized_concat(std::string(), data, num_args, dim);
}
// Convolution of 8 bits, summed exactly in int32.
inline Symbol quantized_conv(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& bias, const Symbol& min_data, const Symbol& max_data, const Symbol& min_weight, const Symbol& max_weight, const Symbol& min_bias, const Symbol& max_bias, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribQuantizedConvCudnnTune cudnn_tune = ContribQuantizedConvCudnnTune::kNone, bool cudnn_off = false, ContribQuantizedConvLayout layout = ContribQuantizedConvLayout::kNone, ContribQuantizedConvAlgorithm algorithm = ContribQuantizedConvAlgorithm::kNone) {
  return detail::Composed("_contrib_quantized_conv").input("data", data).input("weight", weight).input("bias", bias).input("min_data", min_data).input("max_data", max_data).input("min_weight", min_weight).input("max_weight", max_weight).input("min_bias", min_bias).input("max_bias", max_bias).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("num_group", num_group, 1).set("workspace", workspace, 1024).set("no_bias", no_bias, false).set("cudnn_tune", cudnn_tune, ContribQuantizedConvCudnnTune::kNone).set("cudnn_off", cudnn_off, false).set("layout", layout, ContribQuantizedConvLayout::kNone).set("algorithm", algorithm, ContribQuantizedConvAlgorithm::kNone).make(symbol_name);
}
inline Symbol quantized_conv(const Symbol& data, const Symbol& weight, const Symbol& bias, const Symbol& min_data, const Symbol& max_data, const Symbol& min_weight, const Symbol& max_weight, const Symbol& min_bias, const Symbol& max_bias, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribQuantizedConvCudnnTune cudnn_tune = ContribQuantizedConvCudnnTune::kNone, bool cudnn_off = false, ContribQuantizedConvLayout layout = ContribQuantizedConvLayout::kNone, ContribQuantizedConvAlgorithm algorithm = ContribQuantizedConvAlgorithm::kNone) {
  return contrib::quantized_conv(std::string(), data, weight, bias, min_data, max_data, min_weight, max_weight, min_bias, max_bias, kernel, num_filter, stride, dilate, pad, num_group, workspace, no_bias, cudnn_tune, cudnn_off, layout, algorithm);
}
inline Symbol quantized_conv(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& bias, const Symbol& min_data, const Symbol& max_data, const Symbol& min_weight, const Symbol& max_weight, const Symbol& min_bias, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribQuantizedConvCudnnTune cudnn_tune = ContribQuantizedConvCudnnTune::kNone, bool cudnn_off = false, ContribQuantizedConvLayout layout = ContribQuantizedConvLayout::kNone, ContribQuantizedConvAlgorithm algorithm = ContribQuantizedConvAlgorithm::kNone) {
  return detail::Composed("_contrib_quantized_conv").input("data", data).input("weight", weight).input("bias", bias).input("min_data", min_data).input("max_data", max_data).input("min_weight", min_weight).input("max_weight", max_weight).input("min_bias", min_bias).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("num_group", num_group, 1).set("workspace", workspace, 1024).set("no_bias", no_bias, false).set("cudnn_tune", cudnn_tune, ContribQuantizedConvCudnnTune::kNone).set("cudnn_off", cudnn_off, false).set("layout", layout, ContribQuantizedConvLayout::kNone).set("algorithm", algorithm, ContribQuantizedConvAlgorithm::kNone).make(symbol_name);
}
inline Symbol quantized_conv(const Symbol& data, const Symbol& weight, const Symbol& bias, const Symbol& min_data, const Symbol& max_data, const Symbol& min_weight, const Symbol& max_weight, const Symbol& min_bias, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribQuantizedConvCudnnTune cudnn_tune = ContribQuantizedConvCudnnTune::kNone, bool cudnn_off = false, ContribQuantizedConvLayout layout = ContribQuantizedConvLayout::kNone, ContribQuantizedConvAlgorithm algorithm = ContribQuantizedConvAlgorithm::kNone) {
  return contrib::quantized_conv(std::string(), data, weight, bias, min_data, max_data, min_weight, max_weight, min_bias, kernel, num_filter, stride, dilate, pad, num_group, workspace, no_bias, cudnn_tune, cudnn_off, layout, algorithm);
}
inline Symbol quantized_conv(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& bias, const Symbol& min_data, const Symbol& max_data, const Symbol& min_weight, const Symbol& max_weight, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribQuantizedConvCudnnTune cudnn_tune = ContribQuantizedConvCudnnTune::kNone, bool cudnn_off = false, ContribQuantizedConvLayout layout = ContribQuantizedConvLayout::kNone, ContribQuantizedConvAlgorithm algorithm = ContribQuantizedConvAlgorithm::kNone) {
  return detail::Composed("_contrib_quantized_conv").input("data", data).input("weight", weight).input("bias", bias).input("min_data", min_data).input("max_data", max_data).input("min_weight", min_weight).input("max_weight", max_weight).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("num_group", num_group, 1).set("workspace", workspace, 1024).set("no_bias", no_bias, false).set("cudnn_tune", cudnn_tune, ContribQuantizedConvCudnnTune::kNone).set("cudnn_off", cudnn_off, false).set("layout", layout, ContribQuantizedConvLayout::kNone).set("algorithm", algorithm, ContribQuantizedConvAlgorithm::kNone).make(symbol_name);
}
inline Symbol quantized_conv(const Symbol& data, const Symbol& weight, const Symbol& bias, const Symbol& min_data, const Symbol& max_data, const Symbol& min_weight, const Symbol& max_weight, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribQuantizedConvCudnnTune cudnn_tune = ContribQuantizedConvCudnnTune::kNone, bool cudnn_off = false, ContribQuantizedConvLayout layout = ContribQuantizedConvLayout::kNone, ContribQuantizedConvAlgorithm algorithm = ContribQuantizedConvAlgorithm::kNone) {
  return contrib::quantized_conv(std::string(), data, weight, bias, min_data, max_data, min_weight, max_weight, kernel, num_filter, stride, dilate, pad, num_group, workspace, no_bias, cudnn_tune, cudnn_off, layout, algorithm);
}
inline Symbol quantized_conv(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& bias, const Symbol& min_data, const Symbol& max_data, const Symbol& min_weight, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribQuantizedConvCudnnTune cudnn_tune = ContribQuantizedConvCudnnTune::kNone, bool cudnn_off = false, ContribQuantizedConvLayout layout = ContribQuantizedConvLayout::kNone, ContribQuantizedConvAlgorithm algorithm = ContribQuantizedConvAlgorithm::kNone) {
  return detail::Composed("_contrib_quantized_conv").input("data", data).input("weight", weight).input("bias", bias).input("min_data", min_data).input("max_data", max_data).input("min_weight", min_weight).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("num_group", num_group, 1).set("workspace", workspace, 1024).set("no_bias", no_bias, false).set("cudnn_tune", cudnn_tune, ContribQuantizedConvCudnnTune::kNone).set("cudnn_off", cudnn_off, false).set("layout", layout, ContribQuantizedConvLayout::kNone).set("algorithm", algorithm, ContribQuantizedConvAlgorithm::kNone).make(symbol_name);
}
inline Symbol quantized_conv(const Symbol& data, const Symbol& weight, const Symbol& bias, const Symbol& min_data, const Symbol& max_data, const Symbol& min_weight, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribQuantizedConvCudnnTune cudnn_tune = ContribQuantizedConvCudnnTune::kNone, bool cudnn_off = false, ContribQuantizedConvLayout layout = ContribQuantizedConvLayout::kNone, ContribQuantizedConvAlgorithm algorithm = ContribQuantizedConvAlgorithm::kNone) {
  return contrib::quantized_conv(std::string(), data, weight, bias, min_data, max_data, min_weight, kernel, num_filter, stride, dilate, pad, num_group, workspace, no_bias, cudnn_tune, cudnn_off, layout, algorithm);
}
inline Symbol quantized_conv(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& bias, const Symbol& min_data, const Symbol& max_data, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribQuantizedConvCudnnTune cudnn_tune = ContribQuantizedConvCudnnTune::kNone, bool cudnn_off = false, ContribQuantizedConvLayout layout = ContribQuantizedConvLayout::kNone, ContribQuantizedConvAlgorithm algorithm = ContribQuantizedConvAlgorithm::kNone) {
  return detail::Composed("_contrib_quantized_conv").input("data", data).input("weight", weight).input("bias", bias).input("min_data", min_data).input("max_data", max_data).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("num_group", num_group, 1).set("workspace", workspace, 1024).set("no_bias", no_bias, false).set("cudnn_tune", cudnn_tune, ContribQuantizedConvCudnnTune::kNone).set("cudnn_off", cudnn_off, false).set("layout", layout, ContribQuantizedConvLayout::kNone).set("algorithm", algorithm, ContribQuantizedConvAlgorithm::kNone).make(symbol_name);
}
inline Symbol quantized_conv(const Symbol& data, const Symbol& weight, const Symbol& bias, const Symbol& min_data, const Symbol& max_data, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribQuantizedConvCudnnTune cudnn_tune = ContribQuantizedConvCudnnTune::kNone, bool cudnn_off = false, ContribQuantizedConvLayout layout = ContribQuantizedConvLayout::kNone, ContribQuantizedConvAlgorithm algorithm = ContribQuantizedConvAlgorithm::kNone) {
  return contrib::quantized_conv(std::string(), data, weight, bias, min_data, max_data, kernel, num_filter, stride, dilate, pad, num_group, workspace, no_bias, cudnn_tune, cudnn_off, layout, algorithm);
}
inline Symbol quantized_conv(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& bias, const Symbol& min_data, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribQuantizedConvCudnnTune cudnn_tune = ContribQuantizedConvCudnnTune::kNone, bool cudnn_off = false, ContribQuantizedConvLayout layout = ContribQuantizedConvLayout::kNone, ContribQuantizedConvAlgorithm algorithm = ContribQuantizedConvAlgorithm::kNone) {
  return detail::Composed("_contrib_quantized_conv").input("data", data).input("weight", weight).input("bias", bias).input("min_data", min_data).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("num_group", num_group, 1).set("workspace", workspace, 1024).set("no_bias", no_bias, false).set("cudnn_tune", cudnn_tune, ContribQuantizedConvCudnnTune::kNone).set("cudnn_off", cudnn_off, false).set("layout", layout, ContribQuantizedConvLayout::kNone).set("algorithm", algorithm, ContribQuantizedConvAlgorithm::kNone).make(symbol_name);
}
inline Symbol quantized_conv(const Symbol& data, const Symbol& weight, const Symbol& bias, const Symbol& min_data, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribQuantizedConvCudnnTune cudnn_tune = ContribQuantizedConvCudnnTune::kNone, bool cudnn_off = false, ContribQuantizedConvLayout layout = ContribQuantizedConvLayout::kNone, ContribQuantizedConvAlgorithm algorithm = ContribQuantizedConvAlgorithm::kNone) {
  return contrib::quantized_conv(std::string(), data, weight, bias, min_data, kernel, num_filter, stride, dilate, pad, num_group, workspace, no_bias, cudnn_tune, cudnn_off, layout, algorithm);
}
inline Symbol quantized_conv(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& bias, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribQuantizedConvCudnnTune cudnn_tune = ContribQuantizedConvCudnnTune::kNone, bool cudnn_off = false, ContribQuantizedConvLayout layout = ContribQuantizedConvLayout::kNone, ContribQuantizedConvAlgorithm algorithm = ContribQuantizedConvAlgorithm::kNone) {
  return detail::Composed("_contrib_quantized_conv").input("data", data).input("weight", weight).input("bias", bias).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("num_group", num_group, 1).set("workspace", workspace, 1024).set("no_bias", no_bias, false).set("cudnn_tune", cudnn_tune, ContribQuantizedConvCudnnTune::kNone).set("cudnn_off", cudnn_off, false).set("layout", layout, ContribQuantizedConvLayout::kNone).set("algorithm", algorithm, ContribQuantizedConvAlgorithm::kNone).make(symbol_name);
}
inline Symbol quantized_conv(const Symbol& data, const Symbol& weight, const Symbol& bias, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribQuantizedConvCudnnTune cudnn_tune = ContribQuantizedConvCudnnTune::kNone, bool cudnn_off = false, ContribQuantizedConvLayout layout = ContribQuantizedConvLayout::kNone, ContribQuantizedConvAlgorithm algorithm = ContribQuantizedConvAlgorithm::kNone) {
  return contrib::quantized_conv(std::string(), data, weight, bias, kernel, num_filter, stride, dilate, pad, num_group, workspace, no_bias, cudnn_tune, cudnn_off, layout, algorithm);
}
inline Symbol quantized_conv(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribQuantizedConvCudnnTune cudnn_tune = ContribQuantizedConvCudnnTune::kNone, bool cudnn_off = false, ContribQuantizedConvLayout layout = ContribQuantizedConvLayout::kNone, ContribQuantizedConvAlgorithm algorithm = ContribQuantizedConvAlgorithm::kNone) {
  return detail::Composed("_contrib_quantized_conv").input("data", data).input("weight", weight).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("num_group", num_group, 1).set("workspace", workspace, 1024).set("no_bias", no_bias, false).set("cudnn_tune", cudnn_tune, ContribQuantizedConvCudnnTune::kNone).set("cudnn_off", cudnn_off, false).set("layout", layout, ContribQuantizedConvLayout::kNone).set("algorithm", algorithm, ContribQuantizedConvAlgorithm::kNone).make(symbol_name);
}
inline Symbol quantized_conv(const Symbol& data, const Symbol& weight, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribQuantizedConvCudnnTune cudnn_tune = ContribQuantizedConvCudnnTune::kNone, bool cudnn_off = false, ContribQuantizedConvLayout layout = ContribQuantizedConvLayout::kNone, ContribQuantizedConvAlgorithm algorithm = ContribQuantizedConvAlgorithm::kNone) {
  return contrib::quantized_conv(std::string(), data, weight, kernel, num_filter, stride, dilate, pad, num_group, workspace, no_bias, cudnn_tune, cudnn_off, layout, algorithm);
}
inline Symbol quantized_conv(const std::string& symbol_name, const Symbol& data, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribQuantizedConvCudnnTune cudnn_tune = ContribQuantizedConvCudnnTune::kNone, bool cudnn_off = false, ContribQuantizedConvLayout layout = ContribQuantizedConvLayout::kNone, ContribQuantizedConvAlgorithm algorithm = ContribQuantizedConvAlgorithm::kNone) {
  return detail::Composed("_contrib_quantized_conv").input("data", data).set("kernel", kernel).set("num_filter", num_filter).set("stride", stride, Shape()).set("dilate", dilate, Shape()).set("pad", pad, Shape()).set("num_group", num_group, 1).set("workspace", workspace, 1024).set("no_bias", no_bias, false).set("cudnn_tune", cudnn_tune, ContribQuantizedConvCudnnTune::kNone).set("cudnn_off", cudnn_off, false).set("layout", layout, ContribQuantizedConvLayout::kNone).set("algorithm", algorithm, ContribQuantizedConvAlgorithm::kNone).make(symbol_name);
}
inline Symbol quantized_conv(const Symbol& data, const Shape& kernel, int num_filter, const Shape& stride = Shape(), const Shape& dilate = Shape(), const Shape& pad = Shape(), int num_group = 1, int64_t workspace = 1024, bool no_bias = false, ContribQuantizedConvCudnnTune cudnn_tune = ContribQuantizedConvCudnnTune::kNone, bool cudnn_off = false, ContribQuantizedConvLayout layout = ContribQuantizedConvLayout::kNone, ContribQuantizedConvAlgorithm algorithm = ContribQuantizedConvAlgorithm::kNone) {
  return contrib::quantized_conv(std::string(), data, kernel, num_filter, stride, dilate, pad, num_group, workspace, no_bias, cudnn_tune, cudnn_off, layout, algorithm);
}
// Adds arrays of 8 bits: int32 whose range is the sum of theirs, or 8 bits in the calibrated range.
inline Symbol quantized_elemwise_add(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs, const Symbol& lhs_min, const Symbol& lhs_max, const Symbol& rhs_min, const Symbol& rhs_max, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return detail::Composed("_contrib_quantized_elemwise_add").input("lhs", lhs).input("rhs", rhs).input("lhs_min", lhs_min).input("lhs_max", lhs_max).input("rhs_min", rhs_min).input("rhs_max", rhs_max).set("min_calib_range", min_calib_range).set("max_calib_range", max_calib_range).make(symbol_name);
}
inline Symbol quantized_elemwise_add(const Symbol& lhs, const Symbol& rhs, const Symbol& lhs_min, const Symbol& lhs_max, const Symbol& rhs_min, const Symbol& rhs_max, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return contrib::quantized_elemwise_add(std::string(), lhs, rhs, lhs_min, lhs_max, rhs_min, rhs_max, min_calib_range, max_calib_range);
}
// Multiplies arrays of int8: int32, or int8 in the calibrated range, or float32.
inline Symbol quantized_elemwise_mul(const std::string& symbol_name, const Symbol& lhs, const Symbol& rhs, const Symbol& lhs_min, const Symbol& lhs_max, const Symbol& rhs_min, const Symbol& rhs_max, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt, bool enable_float_output = false) {
  return detail::Composed("_contrib_quantized_elemwise_mul").input("lhs", lhs).input("rhs", rhs).input("lhs_min", lhs_min).input("lhs_max", lhs_max).input("rhs_min", rhs_min).input("rhs_max", rhs_max).set("min_calib_range", min_calib_range).set("max_calib_range", max_calib_range).set("enable_float_output", enable_float_output, false).make(symbol_name);
}
inline Symbol quantized_elemwise_mul(const Symbol& lhs, const Symbol& rhs, const Symbol& lhs_min, const Symbol& lhs_max, const Symbol& rhs_min, const Symbol& rhs_max, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt, bool enable_float_output = false) {
  return contrib::quantized_elemwise_mul(std::string(), lhs, rhs, lhs_min, lhs_max, rhs_min, rhs_max, min_calib_range, max_calib_range, enable_float_output);
}
// Rows of an int8 weight by their numbers, moved into the range of rows that there are.
inline Symbol quantized_embedding(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& min_weight, const Symbol& max_weight, int input_dim, int output_dim, ContribQuantizedEmbeddingDtype dtype = ContribQuantizedEmbeddingDtype::kFloat32, bool sparse_grad = false) {
  return detail::Composed("_contrib_quantized_embedding").input("data", data).input("weight", weight).input("min_weight", min_weight).input("max_weight", max_weight).set("input_dim", input_dim).set("output_dim", output_dim).set("dtype", dtype, ContribQuantizedEmbeddingDtype::kFloat32).set("sparse_grad", sparse_grad, false).make(symbol_name);
}
inline Symbol quantized_embedding(const Symbol& data, const Symbol& weight, const Symbol& min_weight, const Symbol& max_weight, int input_dim, int output_dim, ContribQuantizedEmbeddingDtype dtype = ContribQuantizedEmbeddingDtype::kFloat32, bool sparse_grad = false) {
  return contrib::quantized_embedding(std::string(), data, weight, min_weight, max_weight, input_dim, output_dim, dtype, sparse_grad);
}
// Joins all axes but the first; the range stays.
inline Symbol quantized_flatten(const std::string& symbol_name, const Symbol& data, const Symbol& min_data, const Symbol& max_data) {
  return detail::Composed("_contrib_quantized_flatten").input("data", data).input("min_data", min_data).input("max_data", max_data).make(symbol_name);
}
inline Symbol quantized_flatten(const Symbol& data, const Symbol& min_data, const Symbol& max_data) {
  return contrib::quantized_flatten(std::string(), data, min_data, max_data);
}
// FullyConnected of 8 bits, summed exactly in int32.
inline Symbol quantized_fully_connected(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& bias, const Symbol& min_data, const Symbol& max_data, const Symbol& min_weight, const Symbol& max_weight, const Symbol& min_bias, const Symbol& max_bias, int num_hidden, bool no_bias = false, bool flatten = true) {
  return detail::Composed("_contrib_quantized_fully_connected").input("data", data).input("weight", weight).input("bias", bias).input("min_data", min_data).input("max_data", max_data).input("min_weight", min_weight).input("max_weight", max_weight).input("min_bias", min_bias).input("max_bias", max_bias).set("num_hidden", num_hidden).set("no_bias", no_bias, false).set("flatten", flatten, true).make(symbol_name);
}
inline Symbol quantized_fully_connected(const Symbol& data, const Symbol& weight, const Symbol& bias, const Symbol& min_data, const Symbol& max_data, const Symbol& min_weight, const Symbol& max_weight, const Symbol& min_bias, const Symbol& max_bias, int num_hidden, bool no_bias = false, bool flatten = true) {
  return contrib::quantized_fully_connected(std::string(), data, weight, bias, min_data, max_data, min_weight, max_weight, min_bias, max_bias, num_hidden, no_bias, flatten);
}
inline Symbol quantized_fully_connected(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& bias, const Symbol& min_data, const Symbol& max_data, const Symbol& min_weight, const Symbol& max_weight, const Symbol& min_bias, int num_hidden, bool no_bias = false, bool flatten = true) {
  return detail::Composed("_contrib_quantized_fully_connected").input("data", data).input("weight", weight).input("bias", bias).input("min_data", min_data).input("max_data", max_data).input("min_weight", min_weight).input("max_weight", max_weight).input("min_bias", min_bias).set("num_hidden", num_hidden).set("no_bias", no_bias, false).set("flatten", flatten, true).make(symbol_name);
}
inline Symbol quantized_fully_connected(const Symbol& data, const Symbol& weight, const Symbol& bias, const Symbol& min_data, const Symbol& max_data, const Symbol& min_weight, const Symbol& max_weight, const Symbol& min_bias, int num_hidden, bool no_bias = false, bool flatten = true) {
  return contrib::quantized_fully_connected(std::string(), data, weight, bias, min_data, max_data, min_weight, max_weight, min_bias, num_hidden, no_bias, flatten);
}
inline Symbol quantized_fully_connected(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& bias, const Symbol& min_data, const Symbol& max_data, const Symbol& min_weight, const Symbol& max_weight, int num_hidden, bool no_bias = false, bool flatten = true) {
  return detail::Composed("_contrib_quantized_fully_connected").input("data", data).input("weight", weight).input("bias", bias).input("min_data", min_data).input("max_data", max_data).input("min_weight", min_weight).input("max_weight", max_weight).set("num_hidden", num_hidden).set("no_bias", no_bias, false).set("flatten", flatten, true).make(symbol_name);
}
inline Symbol quantized_fully_connected(const Symbol& data, const Symbol& weight, const Symbol& bias, const Symbol& min_data, const Symbol& max_data, const Symbol& min_weight, const Symbol& max_weight, int num_hidden, bool no_bias = false, bool flatten = true) {
  return contrib::quantized_fully_connected(std::string(), data, weight, bias, min_data, max_data, min_weight, max_weight, num_hidden, no_bias, flatten);
}
inline Symbol quantized_fully_connected(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& bias, const Symbol& min_data, const Symbol& max_data, const Symbol& min_weight, int num_hidden, bool no_bias = false, bool flatten = true) {
  return detail::Composed("_contrib_quantized_fully_connected").input("data", data).input("weight", weight).input("bias", bias).input("min_data", min_data).input("max_data", max_data).input("min_weight", min_weight).set("num_hidden", num_hidden).set("no_bias", no_bias, false).set("flatten", flatten, true).make(symbol_name);
}
inline Symbol quantized_fully_connected(const Symbol& data, const Symbol& weight, const Symbol& bias, const Symbol& min_data, const Symbol& max_data, const Symbol& min_weight, int num_hidden, bool no_bias = false, bool flatten = true) {
  return contrib::quantized_fully_connected(std::string(), data, weight, bias, min_data, max_data, min_weight, num_hidden, no_bias, flatten);
}
inline Symbol quantized_fully_connected(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& bias, const Symbol& min_data, const Symbol& max_data, int num_hidden, bool no_bias = false, bool flatten = true) {
  return detail::Composed("_contrib_quantized_fully_connected").input("data", data).input("weight", weight).input("bias", bias).input("min_data", min_data).input("max_data", max_data).set("num_hidden", num_hidden).set("no_bias", no_bias, false).set("flatten", flatten, true).make(symbol_name);
}
inline Symbol quantized_fully_connected(const Symbol& data, const Symbol& weight, const Symbol& bias, const Symbol& min_data, const Symbol& max_data, int num_hidden, bool no_bias = false, bool flatten = true) {
  return contrib::quantized_fully_connected(std::string(), data, weight, bias, min_data, max_data, num_hidden, no_bias, flatten);
}
inline Symbol quantized_fully_connected(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& bias, const Symbol& min_data, int num_hidden, bool no_bias = false, bool flatten = true) {
  return detail::Composed("_contrib_quantized_fully_connected").input("data", data).input("weight", weight).input("bias", bias).input("min_data", min_data).set("num_hidden", num_hidden).set("no_bias", no_bias, false).set("flatten", flatten, true).make(symbol_name);
}
inline Symbol quantized_fully_connected(const Symbol& data, const Symbol& weight, const Symbol& bias, const Symbol& min_data, int num_hidden, bool no_bias = false, bool flatten = true) {
  return contrib::quantized_fully_connected(std::string(), data, weight, bias, min_data, num_hidden, no_bias, flatten);
}
inline Symbol quantized_fully_connected(const std::string& symbol_name, const Symbol& data, const Symbol& weight, const Symbol& bias, int num_hidden, bool no_bias = false, bool flatten = true) {
  return detail::Composed("_contrib_quantized_fully_connected").input("data", data).input("weight", weight).input("bias", bias).set("num_hidden", num_hidden).set("no_bias", no_bias, false).set("flatten", flatten, true).make(symbol_name);
}
inline Symbol quantized_fully_connected(const Symbol& data, const Symbol& weight, const Symbol& bias, int num_hidden, bool no_bias = false, bool flatten = true) {
  return contrib::quantized_fully_connected(std::string(), data, weight, bias, num_hidden, no_bias, flatten);
}
inline Symbol quantized_fully_connected(const std::string& symbol_name, const Symbol& data, const Symbol& weight, int num_hidden, bool no_bias = false, bool flatten = true) {
  return detail::Composed("_contrib_quantized_fully_connected").input("data", data).input("weight", weight).set("num_hidden", num_hidden).set("no_bias", no_bias, false).set("flatten", flatten, true).make(symbol_name);
}
inline Symbol quantized_fully_connected(const Symbol& data, const Symbol& weight, int num_hidden, bool no_bias = false, bool flatten = true) {
  return contrib::quantized_fully_connected(std::string(), data, weight, num_hidden, no_bias, flatten);
}
inline Symbol quantized_fully_connected(const std::string& symbol_name, const Symbol& data, int num_hidden, bool no_bias = false, bool flatten = true) {
  return detail::Composed("_contrib_quantized_fully_connected").input("data", data).set("num_hidden", num_hidden).set("no_bias", no_bias, false).set("flatten", flatten, true).make(symbol_name);
}
inline Symbol quantized_fully_connected(const Symbol& data, int num_hidden, bool no_bias = false, bool flatten = true) {
  return contrib::quantized_fully_connected(std::string(), data, num_hidden, no_bias, flatten);
}
// Pooling of 8 bits, by maximum or average; the range stays.
inline Symbol quantized_pooling(const std::string& symbol_name, const Symbol& data, const Symbol& min_data, const Symbol& max_data, const Shape& kernel = Shape(), ContribQuantizedPoolingPoolType pool_type = ContribQuantizedPoolingPoolType::kMax, bool global_pool = false, bool cudnn_off = false, ContribQuantizedPoolingPoolingConvention pooling_convention = ContribQuantizedPoolingPoolingConvention::kValid, const Shape& stride = Shape(), const Shape& pad = Shape(), const std::optional<int>& p_value = std::nullopt, const std::optional<bool>& count_include_pad = std::nullopt, ContribQuantizedPoolingLayout layout = ContribQuantizedPoolingLayout::kNone) {
  return detail::Composed("_contrib_quantized_pooling").input("data", data).input("min_data", min_data).input("max_data", max_data).set("kernel", kernel, Shape()).set("pool_type", pool_type, ContribQuantizedPoolingPoolType::kMax).set("global_pool", global_pool, false).set("cudnn_off", cudnn_off, false).set("pooling_convention", pooling_convention, ContribQuantizedPoolingPoolingConvention::kValid).set("stride", stride, Shape()).set("pad", pad, Shape()).set("p_value", p_value).set("count_include_pad", count_include_pad).set("layout", layout, ContribQuantizedPoolingLayout::kNone).make(symbol_name);
}
inline Symbol quantized_pooling(const Symbol& data, const Symbol& min_data, const Symbol& max_data, const Shape& kernel = Shape(), ContribQuantizedPoolingPoolType pool_type = ContribQuantizedPoolingPoolType::kMax, bool global_pool = false, bool cudnn_off = false, ContribQuantizedPoolingPoolingConvention pooling_convention = ContribQuantizedPoolingPoolingConvention::kValid, const Shape& stride = Shape(), const Shape& pad = Shape(), const std::optional<int>& p_value = std::nullopt, const std::optional<bool>& count_include_pad = std::nullopt, ContribQuantizedPoolingLayout layout = ContribQuantizedPoolingLayout::kNone) {
  return contrib::quantized_pooling(std::string(), data, min_data, max_data, kernel, pool_type, global_pool, cudnn_off, pooling_convention, stride, pad, p_value, count_include_pad, layout);
}
// An LSTM whose input comes as uint8, x * data_scale + data_shift.
inline Symbol quantized_rnn(const std::string& symbol_name, const Symbol& data, const Symbol& parameters, const Symbol& state, const Symbol& state_cell, const Symbol& data_scale, const Symbol& data_shift, int state_size, int num_layers, ContribQuantizedRnnMode mode, bool bidirectional = false, mx_float p = 0.0f, bool state_outputs = false, const std::optional<int>& projection_size = std::nullopt, const std::optional<double>& lstm_state_clip_min = std::nullopt, const std::optional<double>& lstm_state_clip_max = std::nullopt, bool lstm_state_clip_nan = false, bool use_sequence_length = false) {
  return detail::Composed("_contrib_quantized_rnn").input("data", data).input("parameters", parameters).input("state", state).input("state_cell", state_cell).input("data_scale", data_scale).input("data_shift", data_shift).set("state_size", state_size).set("num_layers", num_layers).set("mode", mode).set("bidirectional", bidirectional, false).set("p", p, 0.0f).set("state_outputs", state_outputs, false).set("projection_size", projection_size).set("lstm_state_clip_min", lstm_state_clip_min).set("lstm_state_clip_max", lstm_state_clip_max).set("lstm_state_clip_nan", lstm_state_clip_nan, false).set("use_sequence_length", use_sequence_length, false).make(symbol_name);
}
inline Symbol quantized_rnn(const Symbol& data, const Symbol& parameters, const Symbol& state, const Symbol& state_cell, const Symbol& data_scale, const Symbol& data_shift, int state_size, int num_layers, ContribQuantizedRnnMode mode, bool bidirectional = false, mx_float p = 0.0f, bool state_outputs = false, const std::optional<int>& projection_size = std::nullopt, const std::optional<double>& lstm_state_clip_min = std::nullopt, const std::optional<double>& lstm_state_clip_max = std::nullopt, bool lstm_state_clip_nan = false, bool use_sequence_length = false) {
  return contrib::quantized_rnn(std::string(), data, parameters, state, state_cell, data_scale, data_shift, state_size, num_layers, mode, bidirectional, p, state_outputs, projection_size, lstm_state_clip_min, lstm_state_clip_max, lstm_state_clip_nan, use_sequence_length);
}
// Turns int32 into 8 bits.
inline Symbol requantize(const std::string& symbol_name, const Symbol& data, const Symbol& min_range, const Symbol& max_range, ContribRequantizeOutType out_type = ContribRequantizeOutType::kInt8, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return detail::Composed("_contrib_requantize").input("data", data).input("min_range", min_range).input("max_range", max_range).set("out_type", out_type, ContribRequantizeOutType::kInt8).set("min_calib_range", min_calib_range).set("max_calib_range", max_calib_range).make(symbol_name);
}
inline Symbol requantize(const Symbol& data, const Symbol& min_range, const Symbol& max_range, ContribRequantizeOutType out_type = ContribRequantizeOutType::kInt8, const std::optional<mx_float>& min_calib_range = std::nullopt, const std::optional<mx_float>& max_calib_range = std::nullopt) {
  return contrib::requantize(std::string(), data, min_range, max_range, out_type, min_calib_range, max_calib_range);
}
// Rounds to the nearest integer; the gradient passes as it is (straight-through estimator).
inline Symbol round_ste(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("_contrib_round_ste").input("data", data).make(symbol_name);
}
inline Symbol round_ste(const Symbol& data) {
  return contrib::round_ste(std::string(), data);
}
// The sign of each element; the gradient passes as it is (straight-through estimator).
inline Symbol sign_ste(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("_contrib_sign_ste").input("data", data).make(symbol_name);
}
inline Symbol sign_ste(const Symbol& data) {
  return contrib::sign_ste(std::string(), data);
}
}  // namespace contrib

namespace image {
// Adds principal components of ImageNet's colours, weighted by alpha.
inline Symbol adjust_lighting(const std::string& symbol_name, const Symbol& data, const std::vector<mx_float>& alpha) {
  return detail::Composed("_image_adjust_lighting").input("data", data).set("alpha", alpha).make(symbol_name);
}
inline Symbol adjust_lighting(const Symbol& data, const std::vector<mx_float>& alpha) {
  return image::adjust_lighting(std::string(), data, alpha);
}
// A part of the images.
inline Symbol crop(const std::string& symbol_name, const Symbol& data, int x, int y, int width, int height) {
  return detail::Composed("_image_crop").input("data", data).set("x", x).set("y", y).set("width", width).set("height", height).make(symbol_name);
}
inline Symbol crop(const Symbol& data, int x, int y, int width, int height) {
  return image::crop(std::string(), data, x, y, width, height);
}
// Mirrors images.
inline Symbol flip_left_right(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("_image_flip_left_right").input("data", data).make(symbol_name);
}
inline Symbol flip_left_right(const Symbol& data) {
  return image::flip_left_right(std::string(), data);
}
// Turns images upside down.
inline Symbol flip_top_bottom(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("_image_flip_top_bottom").input("data", data).make(symbol_name);
}
inline Symbol flip_top_bottom(const Symbol& data) {
  return image::flip_top_bottom(std::string(), data);
}
// Subtracts a mean from each channel of (C, H, W) or (N, C, H, W) and divides by a deviation.
inline Symbol normalize(const std::string& symbol_name, const Symbol& data, const std::vector<mx_float>& mean = std::vector<mx_float>{0.0f, 0.0f, 0.0f, 0.0f}, const std::vector<mx_float>& std = std::vector<mx_float>{1.0f, 1.0f, 1.0f, 1.0f}) {
  return detail::Composed("_image_normalize").input("data", data).set("mean", mean, std::vector<mx_float>{0.0f, 0.0f, 0.0f, 0.0f}).set("std", std, std::vector<mx_float>{1.0f, 1.0f, 1.0f, 1.0f}).make(symbol_name);
}
inline Symbol normalize(const Symbol& data, const std::vector<mx_float>& mean = std::vector<mx_float>{0.0f, 0.0f, 0.0f, 0.0f}, const std::vector<mx_float>& std = std::vector<mx_float>{1.0f, 1.0f, 1.0f, 1.0f}) {
  return image::normalize(std::string(), data, mean, std);
}
// Multiplies values by a factor between min_factor and max_factor.
inline Symbol random_brightness(const std::string& symbol_name, const Symbol& data, mx_float min_factor, mx_float max_factor) {
  return detail::Composed("_image_random_brightness").input("data", data).set("min_factor", min_factor).set("max_factor", max_factor).make(symbol_name);
}
inline Symbol random_brightness(const Symbol& data, mx_float min_factor, mx_float max_factor) {
  return image::random_brightness(std::string(), data, min_factor, max_factor);
}
// Changes brightness, contrast, saturation and hue, in random order.
inline Symbol random_color_jitter(const std::string& symbol_name, const Symbol& data, mx_float brightness, mx_float contrast, mx_float saturation, mx_float hue) {
  return detail::Composed("_image_random_color_jitter").input("data", data).set("brightness", brightness).set("contrast", contrast).set("saturation", saturation).set("hue", hue).make(symbol_name);
}
inline Symbol random_color_jitter(const Symbol& data, mx_float brightness, mx_float contrast, mx_float saturation, mx_float hue) {
  return image::random_color_jitter(std::string(), data, brightness, contrast, saturation, hue);
}
// Moves values from their mean grey by a factor between min_factor and max_factor.
inline Symbol random_contrast(const std::string& symbol_name, const Symbol& data, mx_float min_factor, mx_float max_factor) {
  return detail::Composed("_image_random_contrast").input("data", data).set("min_factor", min_factor).set("max_factor", max_factor).make(symbol_name);
}
inline Symbol random_contrast(const Symbol& data, mx_float min_factor, mx_float max_factor) {
  return image::random_contrast(std::string(), data, min_factor, max_factor);
}
// Mirrors with probability 1/2.
inline Symbol random_flip_left_right(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("_image_random_flip_left_right").input("data", data).make(symbol_name);
}
inline Symbol random_flip_left_right(const Symbol& data) {
  return image::random_flip_left_right(std::string(), data);
}
// Turns upside down with probability 1/2.
inline Symbol random_flip_top_bottom(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("_image_random_flip_top_bottom").input("data", data).make(symbol_name);
}
inline Symbol random_flip_top_bottom(const Symbol& data) {
  return image::random_flip_top_bottom(std::string(), data);
}
// Turns the hue by a random part of the circle between min_factor and max_factor; 1 is a whole turn.
inline Symbol random_hue(const std::string& symbol_name, const Symbol& data, mx_float min_factor, mx_float max_factor) {
  return detail::Composed("_image_random_hue").input("data", data).set("min_factor", min_factor).set("max_factor", max_factor).make(symbol_name);
}
inline Symbol random_hue(const Symbol& data, mx_float min_factor, mx_float max_factor) {
  return image::random_hue(std::string(), data, min_factor, max_factor);
}
// Adds principal components of ImageNet's colours with normal weights.
inline Symbol random_lighting(const std::string& symbol_name, const Symbol& data, mx_float alpha_std = 0.05f) {
  return detail::Composed("_image_random_lighting").input("data", data).set("alpha_std", alpha_std, 0.05f).make(symbol_name);
}
inline Symbol random_lighting(const Symbol& data, mx_float alpha_std = 0.05f) {
  return image::random_lighting(std::string(), data, alpha_std);
}
// Moves colours from grey by a factor between min_factor and max_factor.
inline Symbol random_saturation(const std::string& symbol_name, const Symbol& data, mx_float min_factor, mx_float max_factor) {
  return detail::Composed("_image_random_saturation").input("data", data).set("min_factor", min_factor).set("max_factor", max_factor).make(symbol_name);
}
inline Symbol random_saturation(const Symbol& data, mx_float min_factor, mx_float max_factor) {
  return image::random_saturation(std::string(), data, min_factor, max_factor);
}
// Resizes images.
inline Symbol resize(const std::string& symbol_name, const Symbol& data, const Shape& size = Shape(), bool keep_ratio = false, int interp = 1) {
  return detail::Composed("_image_resize").input("data", data).set("size", size, Shape()).set("keep_ratio", keep_ratio, false).set("interp", interp, 1).make(symbol_name);
}
inline Symbol resize(const Symbol& data, const Shape& size = Shape(), bool keep_ratio = false, int interp = 1) {
  return image::resize(std::string(), data, size, keep_ratio, interp);
}
// From bytes (H, W, C) to floats (C, H, W) between 0 and 1; also for batches.
inline Symbol to_tensor(const std::string& symbol_name, const Symbol& data) {
  return detail::Composed("_image_to_tensor").input("data", data).make(symbol_name);
}
inline Symbol to_tensor(const Symbol& data) {
  return image::to_tensor(std::string(), data);
}
}  // namespace image

namespace random {
// Draws from the exponential distribution with rate lam.
inline Symbol exponential_like(const std::string& symbol_name, const Symbol& data, mx_float lam = 1.0f) {
  return detail::Composed("_random_exponential_like").input("data", data).set("lam", lam, 1.0f).make(symbol_name);
}
inline Symbol exponential_like(const Symbol& data, mx_float lam = 1.0f) {
  return random::exponential_like(std::string(), data, lam);
}
// Draws from the gamma distribution with shape alpha and scale beta.
inline Symbol gamma_like(const std::string& symbol_name, const Symbol& data, mx_float alpha = 1.0f, mx_float beta = 1.0f) {
  return detail::Composed("_random_gamma_like").input("data", data).set("alpha", alpha, 1.0f).set("beta", beta, 1.0f).make(symbol_name);
}
inline Symbol gamma_like(const Symbol& data, mx_float alpha = 1.0f, mx_float beta = 1.0f) {
  return random::gamma_like(std::string(), data, alpha, beta);
}
// Draws counts with mean mu and dispersion alpha; with alpha 0, Poisson counts.
inline Symbol generalized_negative_binomial_like(const std::string& symbol_name, const Symbol& data, mx_float mu = 1.0f, mx_float alpha = 1.0f) {
  return detail::Composed("_random_generalized_negative_binomial_like").input("data", data).set("mu", mu, 1.0f).set("alpha", alpha, 1.0f).make(symbol_name);
}
inline Symbol generalized_negative_binomial_like(const Symbol& data, mx_float mu = 1.0f, mx_float alpha = 1.0f) {
  return random::generalized_negative_binomial_like(std::string(), data, mu, alpha);
}
// Draws the number of failures before k successes, each of probability p.
inline Symbol negative_binomial_like(const std::string& symbol_name, const Symbol& data, mx_float k = 1.0f, mx_float p = 1.0f) {
  return detail::Composed("_random_negative_binomial_like").input("data", data).set("k", k, 1.0f).set("p", p, 1.0f).make(symbol_name);
}
inline Symbol negative_binomial_like(const Symbol& data, mx_float k = 1.0f, mx_float p = 1.0f) {
  return random::negative_binomial_like(std::string(), data, k, p);
}
// Draws from the normal distribution with mean loc and standard deviation scale.
inline Symbol normal_like(const std::string& symbol_name, const Symbol& data, mx_float loc = 0.0f, mx_float scale = 1.0f) {
  return detail::Composed("_random_normal_like").input("data", data).set("loc", loc, 0.0f).set("scale", scale, 1.0f).make(symbol_name);
}
inline Symbol normal_like(const Symbol& data, mx_float loc = 0.0f, mx_float scale = 1.0f) {
  return random::normal_like(std::string(), data, loc, scale);
}
// Draws counts from the Poisson distribution with mean lam.
inline Symbol poisson_like(const std::string& symbol_name, const Symbol& data, mx_float lam = 1.0f) {
  return detail::Composed("_random_poisson_like").input("data", data).set("lam", lam, 1.0f).make(symbol_name);
}
inline Symbol poisson_like(const Symbol& data, mx_float lam = 1.0f) {
  return random::poisson_like(std::string(), data, lam);
}
// Draws uniformly from [low, high).
inline Symbol uniform_like(const std::string& symbol_name, const Symbol& data, mx_float low = 0.0f, mx_float high = 1.0f) {
  return detail::Composed("_random_uniform_like").input("data", data).set("low", low, 0.0f).set("high", high, 1.0f).make(symbol_name);
}
inline Symbol uniform_like(const Symbol& data, mx_float low = 0.0f, mx_float high = 1.0f) {
  return random::uniform_like(std::string(), data, low, high);
}
}  // namespace random

}  // namespace names
}  // namespace loomix::cpp
