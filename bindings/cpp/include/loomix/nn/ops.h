// SPDX-License-Identifier: Apache-2.0
// Written by tools/generate_ops.py from the operator table.
// clang-format off
#pragma once

#include "loomix/nn/array.h"

// All operators, with parameters by name: op::Convolution(x, w, b, {.kernel = {3, 3}, .num_filter = 8}).
namespace loomix::nn::op {

// Applies an activation function to each element.
struct ActivationParams {
  const char* act_type = nullptr;  // relu, sigmoid, softrelu, softsign, tanh
};
inline Array Activation(const Array& data, const ActivationParams& params = {}) {
  return detail::Call("Activation").in(data).give("act_type", params.act_type).run();
}
// Normalises each channel over the batch, then scales by gamma and adds beta.
struct BatchNormParams {
  std::optional<double> eps = {};  // 0.0010000000474974513
  std::optional<double> momentum = {};  // 0.9
  std::optional<bool> fix_gamma = {};  // True
  std::optional<bool> use_global_stats = {};  // False
  std::optional<bool> output_mean_var = {};  // False
  std::optional<int64_t> axis = {};  // 1
  std::optional<bool> cudnn_off = {};  // False
  std::optional<double> min_calib_range = {};
  std::optional<double> max_calib_range = {};
};
inline Arrays BatchNorm(const Array& data, const Array& gamma, const Array& beta, const Array& moving_mean, const Array& moving_var, const BatchNormParams& params = {}) {
  return detail::Call("BatchNorm").in(data).in(gamma).in(beta).in(moving_mean).in(moving_var).give("eps", params.eps).give("momentum", params.momentum).give("fix_gamma", params.fix_gamma).give("use_global_stats", params.use_global_stats).give("output_mean_var", params.output_mean_var).give("axis", params.axis).give("cudnn_off", params.cudnn_off).give("min_calib_range", params.min_calib_range).give("max_calib_range", params.max_calib_range).run_all();
}
// BatchNorm over axis 1, for old files.
struct BatchNormV1Params {
  std::optional<double> eps = {};  // 0.001
  std::optional<double> momentum = {};  // 0.9
  std::optional<bool> fix_gamma = {};  // True
  std::optional<bool> use_global_stats = {};  // False
  std::optional<bool> output_mean_var = {};  // False
};
inline Arrays BatchNorm_v1(const Array& data, const Array& gamma, const Array& beta, const Array& moving_mean, const Array& moving_var, const BatchNormV1Params& params = {}) {
  return detail::Call("BatchNorm_v1").in(data).in(gamma).in(beta).in(moving_mean).in(moving_var).give("eps", params.eps).give("momentum", params.momentum).give("fix_gamma", params.fix_gamma).give("use_global_stats", params.use_global_stats).give("output_mean_var", params.output_mean_var).run_all();
}
// Reads data where a grid says, as weighted means of the four elements around; outside of it there are zeros.
struct BilinearSamplerParams {
  std::optional<bool> cudnn_off = {};
};
inline Array BilinearSampler(const Array& data, const Array& grid, const BilinearSamplerParams& params = {}) {
  return detail::Call("BilinearSampler").in(data).in(grid).give("cudnn_off", params.cudnn_off).run();
}
// data, through which no gradient flows.
inline Array BlockGrad(const Array& data) {
  return detail::Call("BlockGrad").in(data).run();
}
// The connectionist temporal classification loss: the negative logarithm of the probability of all ways to spread a label over time.
struct CTCLossParams {
  std::optional<bool> use_data_lengths = {};  // False
  std::optional<bool> use_label_lengths = {};  // False
  const char* blank_label = nullptr;  // first, last
};
inline Arrays CTCLoss(const Array& data, const Array& label = {}, const Array& data_lengths = {}, const Array& label_lengths = {}, const CTCLossParams& params = {}) {
  return detail::Call("CTCLoss").in(data).in(label).in(data_lengths).in(label_lengths).give("use_data_lengths", params.use_data_lengths).give("use_label_lengths", params.use_label_lengths).give("blank_label", params.blank_label).run_all();
}
// Converts the elements to another type.
struct CastParams {
  const char* dtype = nullptr;  // bfloat16, bool, float16, float32, float64, int32, int64, int8, uint8
};
inline Array Cast(const Array& data, const CastParams& params = {}) {
  return detail::Call("Cast").in(data).give("dtype", params.dtype).run();
}
// Joins arrays along an axis.
struct ConcatParams {
  std::optional<int64_t> dim = {};  // 1
};
inline Array Concat(const Arrays& data, const ConcatParams& params = {}) {
  return detail::Call("Concat").in(data).set("num_args", static_cast<int64_t>(data.size())).give("dim", params.dim).run();
}
// Slides filters over one to three axes of the data.
struct ConvolutionParams {
  Shape kernel = {};
  Shape stride = {};
  Shape dilate = {};
  Shape pad = {};
  std::optional<int64_t> num_filter = {};
  std::optional<int64_t> num_group = {};  // 1
  std::optional<int64_t> workspace = {};  // 1024
  std::optional<bool> no_bias = {};  // False
  const char* cudnn_tune = nullptr;  // fastest, limited_workspace, off
  std::optional<bool> cudnn_off = {};  // False
  const char* layout = nullptr;  // NCDHW, NCHW, NCW, NDHWC, NHWC
  const char* algorithm = nullptr;  // direct, fft, gemm, winograd
};
inline Array Convolution(const Array& data, const Array& weight = {}, const Array& bias = {}, const ConvolutionParams& params = {}) {
  return detail::Call("Convolution").in(data).in(weight).in(bias).give("kernel", params.kernel).give("stride", params.stride).give("dilate", params.dilate).give("pad", params.pad).give("num_filter", params.num_filter).give("num_group", params.num_group).give("workspace", params.workspace).give("no_bias", params.no_bias).give("cudnn_tune", params.cudnn_tune).give("cudnn_off", params.cudnn_off).give("layout", params.layout).give("algorithm", params.algorithm).run();
}
// Convolution by another name, for old files.
struct ConvolutionV1Params {
  Shape kernel = {};
  Shape stride = {};
  Shape dilate = {};
  Shape pad = {};
  std::optional<int64_t> num_filter = {};
  std::optional<int64_t> num_group = {};  // 1
  std::optional<int64_t> workspace = {};  // 1024
  std::optional<bool> no_bias = {};  // False
  const char* cudnn_tune = nullptr;  // fastest, limited_workspace, off
  std::optional<bool> cudnn_off = {};  // False
  const char* layout = nullptr;  // NCDHW, NCHW, NDHWC, NHWC
  const char* algorithm = nullptr;  // direct, fft, gemm, winograd
};
inline Array Convolution_v1(const Array& data, const Array& weight = {}, const Array& bias = {}, const ConvolutionV1Params& params = {}) {
  return detail::Call("Convolution_v1").in(data).in(weight).in(bias).give("kernel", params.kernel).give("stride", params.stride).give("dilate", params.dilate).give("pad", params.pad).give("num_filter", params.num_filter).give("num_group", params.num_group).give("workspace", params.workspace).give("no_bias", params.no_bias).give("cudnn_tune", params.cudnn_tune).give("cudnn_off", params.cudnn_off).give("layout", params.layout).give("algorithm", params.algorithm).run();
}
// Compares squares of one image with displaced squares of another: a channel for each displacement.
struct CorrelationParams {
  std::optional<int64_t> kernel_size = {};  // 1
  std::optional<int64_t> max_displacement = {};  // 1
  std::optional<int64_t> stride1 = {};  // 1
  std::optional<int64_t> stride2 = {};  // 1
  std::optional<int64_t> pad_size = {};  // 0
  std::optional<bool> is_multiply = {};  // True
};
inline Array Correlation(const Array& data1, const Array& data2, const CorrelationParams& params = {}) {
  return detail::Call("Correlation").in(data1).in(data2).give("kernel_size", params.kernel_size).give("max_displacement", params.max_displacement).give("stride1", params.stride1).give("stride2", params.stride2).give("pad_size", params.pad_size).give("is_multiply", params.is_multiply).run();
}
// Keeps a part of each image.
struct CropParams {
  Shape offset = {};  // (0, 0)
  Shape h_w = {};  // (0, 0)
  std::optional<bool> center_crop = {};  // False
};
inline Array Crop(const Arrays& data, const CropParams& params = {}) {
  return detail::Call("Crop").in(data).set("num_args", static_cast<int64_t>(data.size())).give("offset", params.offset).give("h_w", params.h_w).give("center_crop", params.center_crop).run();
}
// Spreads each element of the data over the output by a filter: the transpose of Convolution.
struct DeconvolutionParams {
  Shape kernel = {};
  Shape stride = {};
  Shape dilate = {};
  Shape pad = {};
  Shape adj = {};
  Shape target_shape = {};
  std::optional<int64_t> num_filter = {};
  std::optional<int64_t> num_group = {};  // 1
  std::optional<int64_t> workspace = {};  // 512
  std::optional<bool> no_bias = {};  // True
  const char* cudnn_tune = nullptr;  // fastest, limited_workspace, off
  std::optional<bool> cudnn_off = {};  // False
  const char* layout = nullptr;  // NCDHW, NCHW, NCW, NDHWC, NHWC
  const char* algorithm = nullptr;  // direct, fft, gemm, winograd
};
inline Array Deconvolution(const Array& data, const Array& weight = {}, const Array& bias = {}, const DeconvolutionParams& params = {}) {
  return detail::Call("Deconvolution").in(data).in(weight).in(bias).give("kernel", params.kernel).give("stride", params.stride).give("dilate", params.dilate).give("pad", params.pad).give("adj", params.adj).give("target_shape", params.target_shape).give("num_filter", params.num_filter).give("num_group", params.num_group).give("workspace", params.workspace).give("no_bias", params.no_bias).give("cudnn_tune", params.cudnn_tune).give("cudnn_off", params.cudnn_off).give("layout", params.layout).give("algorithm", params.algorithm).run();
}
// Sets random elements to zero while training, and scales the others so that the mean stays.
struct DropoutParams {
  std::optional<double> p = {};  // 0.5
  const char* mode = nullptr;  // always, training
  Shape axes = {};
  std::optional<bool> cudnn_off = {};  // False
};
inline Arrays Dropout(const Array& data, const DropoutParams& params = {}) {
  return detail::Call("Dropout").in(data).give("p", params.p).give("mode", params.mode).give("axes", params.axes).give("cudnn_off", params.cudnn_off).run_all();
}
// Sum of all inputs.
inline Array ElementWiseSum(const Arrays& args) {
  return detail::Call("add_n").in(args).set("num_args", static_cast<int64_t>(args.size())).run();
}
// Looks up rows of `weight`; indices outside are moved to the nearest row.
struct EmbeddingParams {
  std::optional<int64_t> input_dim = {};
  std::optional<int64_t> output_dim = {};
  const char* dtype = nullptr;  // bfloat16, float16, float32, float64, int32, int64, int8, uint8
  std::optional<bool> sparse_grad = {};  // False
  std::optional<bool> deterministic = {};  // False
};
inline Array Embedding(const Array& data, const Array& weight, const EmbeddingParams& params = {}) {
  return detail::Call("Embedding").in(data).in(weight).give("input_dim", params.input_dim).give("output_dim", params.output_dim).give("dtype", params.dtype).give("sparse_grad", params.sparse_grad).give("deterministic", params.deterministic).run();
}
// Joins all axes but the first.
inline Array Flatten(const Array& data) {
  return detail::Call("Flatten").in(data).run();
}
// Multiplies the data by the transposed weight and adds the bias.
struct FullyConnectedParams {
  std::optional<int64_t> num_hidden = {};
  std::optional<bool> no_bias = {};  // False
  std::optional<bool> flatten = {};  // True
};
inline Array FullyConnected(const Array& data, const Array& weight = {}, const Array& bias = {}, const FullyConnectedParams& params = {}) {
  return detail::Call("FullyConnected").in(data).in(weight).in(bias).give("num_hidden", params.num_hidden).give("no_bias", params.no_bias).give("flatten", params.flatten).run();
}
// Makes a grid for BilinearSampler from an affine transformation or a flow.
struct GridGeneratorParams {
  const char* transform_type = nullptr;  // affine, warp
  Shape target_shape = {};  // (0, 0)
};
inline Array GridGenerator(const Array& data, const GridGeneratorParams& params = {}) {
  return detail::Call("GridGenerator").in(data).give("transform_type", params.transform_type).give("target_shape", params.target_shape).run();
}
// Normalises each group of channels of each item; one gamma and one beta a group.
struct GroupNormParams {
  std::optional<int64_t> num_groups = {};  // 1
  std::optional<double> eps = {};  // 1e-05
  std::optional<bool> output_mean_var = {};  // False
};
inline Arrays GroupNorm(const Array& data, const Array& gamma, const Array& beta, const GroupNormParams& params = {}) {
  return detail::Call("GroupNorm").in(data).in(gamma).in(beta).give("num_groups", params.num_groups).give("eps", params.eps).give("output_mean_var", params.output_mean_var).run_all();
}
// The data as they are; their gradient gets that of a penalty on mean activations that differ from `sparseness_target`.
struct IdentityAttachKLSparseRegParams {
  std::optional<double> sparseness_target = {};  // 0.1
  std::optional<double> penalty = {};  // 0.001
  std::optional<double> momentum = {};  // 0.9
};
inline Array IdentityAttachKLSparseReg(const Array& data, const Array& moving_avg, const IdentityAttachKLSparseRegParams& params = {}) {
  return detail::Call("IdentityAttachKLSparseReg").in(data).in(moving_avg).give("sparseness_target", params.sparseness_target).give("penalty", params.penalty).give("momentum", params.momentum).run();
}
// Normalises each channel of each item, then scales by gamma and adds beta.
struct InstanceNormParams {
  std::optional<double> eps = {};  // 0.001
};
inline Arrays InstanceNorm(const Array& data, const Array& gamma, const Array& beta, const InstanceNormParams& params = {}) {
  return detail::Call("InstanceNorm").in(data).in(gamma).in(beta).give("eps", params.eps).run_all();
}
// Divides data by its Euclidean norm.
struct L2NormalizationParams {
  std::optional<double> eps = {};  // 1e-10
  const char* mode = nullptr;  // channel, instance, spatial
};
inline Arrays L2Normalization(const Array& data, const L2NormalizationParams& params = {}) {
  return detail::Call("L2Normalization").in(data).give("eps", params.eps).give("mode", params.mode).run_all();
}
// Divides each element by a power of the mean square of the channels around it.
struct LRNParams {
  std::optional<double> alpha = {};  // 0.0001
  std::optional<double> beta = {};  // 0.75
  std::optional<double> knorm = {};  // 2.0
  std::optional<int64_t> nsize = {};
};
inline Arrays LRN(const Array& data, const LRNParams& params = {}) {
  return detail::Call("LRN").in(data).give("alpha", params.alpha).give("beta", params.beta).give("knorm", params.knorm).give("nsize", params.nsize).run_all();
}
// Normalises along one axis, then scales by gamma and adds beta.
struct LayerNormParams {
  std::optional<int64_t> axis = {};  // -1
  std::optional<double> eps = {};  // 1e-05
  std::optional<bool> output_mean_var = {};  // False
};
inline Arrays LayerNorm(const Array& data, const Array& gamma, const Array& beta, const LayerNormParams& params = {}) {
  return detail::Call("LayerNorm").in(data).in(gamma).in(beta).give("axis", params.axis).give("eps", params.eps).give("output_mean_var", params.output_mean_var).run_all();
}
// Rectifiers whose negative side is not zero: leaky, prelu, rrelu, elu, selu, gelu.
struct LeakyReLUParams {
  const char* act_type = nullptr;  // elu, gelu, leaky, prelu, rrelu, selu
  std::optional<double> slope = {};  // 0.25
  std::optional<double> lower_bound = {};  // 0.125
  std::optional<double> upper_bound = {};  // 0.334
};
inline Arrays LeakyReLU(const Array& data, const Array& gamma = {}, const LeakyReLUParams& params = {}) {
  return detail::Call("LeakyReLU").in(data).in(gamma).give("act_type", params.act_type).give("slope", params.slope).give("lower_bound", params.lower_bound).give("upper_bound", params.upper_bound).run_all();
}
// The data itself, whose gradient is that of half the squared distance to the label.
struct LinearRegressionOutputParams {
  std::optional<double> grad_scale = {};  // 1.0
};
inline Array LinearRegressionOutput(const Array& data, const Array& label, const LinearRegressionOutputParams& params = {}) {
  return detail::Call("LinearRegressionOutput").in(data).in(label).give("grad_scale", params.grad_scale).run();
}
// The sigmoid of the data, whose gradient is that of the cross entropy.
struct LogisticRegressionOutputParams {
  std::optional<double> grad_scale = {};  // 1.0
};
inline Array LogisticRegressionOutput(const Array& data, const Array& label, const LogisticRegressionOutputParams& params = {}) {
  return detail::Call("LogisticRegressionOutput").in(data).in(label).give("grad_scale", params.grad_scale).run();
}
// The data itself, whose gradient is that of the absolute distance to the label.
struct MAERegressionOutputParams {
  std::optional<double> grad_scale = {};  // 1.0
};
inline Array MAERegressionOutput(const Array& data, const Array& label, const MAERegressionOutputParams& params = {}) {
  return detail::Call("MAERegressionOutput").in(data).in(label).give("grad_scale", params.grad_scale).run();
}
// Marks data as a loss: its gradient is grad_scale, normalised.
struct MakeLossParams {
  std::optional<double> grad_scale = {};  // 1.0
  std::optional<double> valid_thresh = {};  // 0.0
  const char* normalization = nullptr;  // batch, null, valid
};
inline Array MakeLoss(const Array& data, const MakeLossParams& params = {}) {
  return detail::Call("MakeLoss").in(data).give("grad_scale", params.grad_scale).give("valid_thresh", params.valid_thresh).give("normalization", params.normalization).run();
}
// Puts a border around data.
struct PadParams {
  const char* mode = nullptr;  // constant, edge, reflect
  Shape pad_width = {};
  std::optional<double> constant_value = {};  // 0.0
};
inline Array Pad(const Array& data, const PadParams& params = {}) {
  return detail::Call("Pad").in(data).give("mode", params.mode).give("pad_width", params.pad_width).give("constant_value", params.constant_value).run();
}
// The maximum, average, sum or p-norm of each window that moves over the data.
struct PoolingParams {
  Shape kernel = {};
  const char* pool_type = nullptr;  // avg, lp, max, sum
  std::optional<bool> global_pool = {};  // False
  std::optional<bool> cudnn_off = {};  // False
  const char* pooling_convention = nullptr;  // full, same, valid
  Shape stride = {};
  Shape pad = {};
  std::optional<int64_t> p_value = {};
  std::optional<bool> count_include_pad = {};
  const char* layout = nullptr;  // NCDHW, NCHW, NCW, NDHWC, NHWC, NWC
};
inline Array Pooling(const Array& data, const PoolingParams& params = {}) {
  return detail::Call("Pooling").in(data).give("kernel", params.kernel).give("pool_type", params.pool_type).give("global_pool", params.global_pool).give("cudnn_off", params.cudnn_off).give("pooling_convention", params.pooling_convention).give("stride", params.stride).give("pad", params.pad).give("p_value", params.p_value).give("count_include_pad", params.count_include_pad).give("layout", params.layout).run();
}
// Pooling with fewer attributes, for old files.
struct PoolingV1Params {
  Shape kernel = {};
  const char* pool_type = nullptr;  // avg, max, sum
  std::optional<bool> global_pool = {};  // False
  const char* pooling_convention = nullptr;  // full, valid
  Shape stride = {};
  Shape pad = {};
};
inline Array Pooling_v1(const Array& data, const PoolingV1Params& params = {}) {
  return detail::Call("Pooling_v1").in(data).give("kernel", params.kernel).give("pool_type", params.pool_type).give("global_pool", params.global_pool).give("pooling_convention", params.pooling_convention).give("stride", params.stride).give("pad", params.pad).run();
}
// Recurrent layers over a whole sequence: vanilla with relu or tanh, LSTM or GRU, in one or both directions.
struct RNNParams {
  std::optional<int64_t> state_size = {};
  std::optional<int64_t> num_layers = {};
  std::optional<bool> bidirectional = {};  // False
  const char* mode = nullptr;  // gru, lstm, rnn_relu, rnn_tanh
  std::optional<double> p = {};  // 0.0
  std::optional<bool> state_outputs = {};  // False
  std::optional<int64_t> projection_size = {};
  std::optional<double> lstm_state_clip_min = {};
  std::optional<double> lstm_state_clip_max = {};
  std::optional<bool> lstm_state_clip_nan = {};  // False
  std::optional<bool> use_sequence_length = {};  // False
};
inline Arrays RNN(const Array& data, const Array& parameters = {}, const Array& state = {}, const Array& state_cell = {}, const Array& sequence_length = {}, const RNNParams& params = {}) {
  return detail::Call("RNN").in(data).in(parameters).in(state).in(state_cell).in(sequence_length).give("state_size", params.state_size).give("num_layers", params.num_layers).give("bidirectional", params.bidirectional).give("mode", params.mode).give("p", params.p).give("state_outputs", params.state_outputs).give("projection_size", params.projection_size).give("lstm_state_clip_min", params.lstm_state_clip_min).give("lstm_state_clip_max", params.lstm_state_clip_max).give("lstm_state_clip_nan", params.lstm_state_clip_nan).give("use_sequence_length", params.use_sequence_length).run_all();
}
// The maximum of each part of boxes in images.
struct ROIPoolingParams {
  Shape pooled_size = {};
  std::optional<double> spatial_scale = {};
};
inline Array ROIPooling(const Array& data, const Array& rois, const ROIPoolingParams& params = {}) {
  return detail::Call("ROIPooling").in(data).in(rois).give("pooled_size", params.pooled_size).give("spatial_scale", params.spatial_scale).run();
}
// The same elements under another shape.
struct ReshapeParams {
  Shape shape = {};
  std::optional<bool> reverse = {};  // False
  Shape target_shape = {};
  std::optional<bool> keep_highest = {};  // False
};
inline Array Reshape(const Array& data, const ReshapeParams& params = {}) {
  return detail::Call("Reshape").in(data).give("shape", params.shape).give("reverse", params.reverse).give("target_shape", params.target_shape).give("keep_highest", params.keep_highest).run();
}
// The data itself, whose gradient is that of the hinge loss, one class against the others.
struct SVMOutputParams {
  std::optional<double> margin = {};  // 1.0
  std::optional<double> regularization_coefficient = {};  // 1.0
  std::optional<bool> use_linear = {};  // False
};
inline Array SVMOutput(const Array& data, const Array& label, const SVMOutputParams& params = {}) {
  return detail::Call("SVMOutput").in(data).in(label).give("margin", params.margin).give("regularization_coefficient", params.regularization_coefficient).give("use_linear", params.use_linear).run();
}
// The last element of each sequence.
struct SequenceLastParams {
  std::optional<bool> use_sequence_length = {};  // False
  std::optional<int64_t> axis = {};  // 0
};
inline Array SequenceLast(const Array& data, const Array& sequence_length = {}, const SequenceLastParams& params = {}) {
  return detail::Call("SequenceLast").in(data).in(sequence_length).give("use_sequence_length", params.use_sequence_length).give("axis", params.axis).run();
}
// Sets what stands behind the end of each sequence to a value.
struct SequenceMaskParams {
  std::optional<bool> use_sequence_length = {};  // False
  std::optional<double> value = {};  // 0.0
  std::optional<int64_t> axis = {};  // 0
};
inline Array SequenceMask(const Array& data, const Array& sequence_length = {}, const SequenceMaskParams& params = {}) {
  return detail::Call("SequenceMask").in(data).in(sequence_length).give("use_sequence_length", params.use_sequence_length).give("value", params.value).give("axis", params.axis).run();
}
// Reverses each sequence; what stands behind its end stays.
struct SequenceReverseParams {
  std::optional<bool> use_sequence_length = {};  // False
  std::optional<int64_t> axis = {};  // 0
};
inline Array SequenceReverse(const Array& data, const Array& sequence_length = {}, const SequenceReverseParams& params = {}) {
  return detail::Call("SequenceReverse").in(data).in(sequence_length).give("use_sequence_length", params.use_sequence_length).give("axis", params.axis).run();
}
// Cuts data into equal parts along an axis.
struct SliceChannelParams {
  std::optional<int64_t> num_outputs = {};
  std::optional<int64_t> axis = {};  // 1
  std::optional<bool> squeeze_axis = {};  // False
};
inline Arrays SliceChannel(const Array& data, const SliceChannelParams& params = {}) {
  return detail::Call("SliceChannel").in(data).give("num_outputs", params.num_outputs).give("axis", params.axis).give("squeeze_axis", params.squeeze_axis).run_all();
}
// The softmax of the data, whose gradient is that of the cross entropy with the label.
struct SoftmaxOutputParams {
  std::optional<double> grad_scale = {};  // 1.0
  std::optional<double> ignore_label = {};  // -1.0
  std::optional<bool> multi_output = {};  // False
  std::optional<bool> use_ignore = {};  // False
  std::optional<bool> preserve_shape = {};  // False
  const char* normalization = nullptr;  // batch, null, valid
  std::optional<bool> out_grad = {};  // False
  std::optional<double> smooth_alpha = {};  // 0.0
};
inline Array Softmax(const Array& data, const Array& label, const SoftmaxOutputParams& params = {}) {
  return detail::Call("SoftmaxOutput").in(data).in(label).give("grad_scale", params.grad_scale).give("ignore_label", params.ignore_label).give("multi_output", params.multi_output).give("use_ignore", params.use_ignore).give("preserve_shape", params.preserve_shape).give("normalization", params.normalization).give("out_grad", params.out_grad).give("smooth_alpha", params.smooth_alpha).run();
}
// Softmax along the last axis, or over the channels at each place.
struct SoftmaxActivationParams {
  const char* mode = nullptr;  // channel, instance
};
inline Array SoftmaxActivation(const Array& data, const SoftmaxActivationParams& params = {}) {
  return detail::Call("SoftmaxActivation").in(data).give("mode", params.mode).run();
}
// The softmax of the data, whose gradient is that of the cross entropy with the label.
inline Array SoftmaxOutput(const Array& data, const Array& label, const SoftmaxOutputParams& params = {}) {
  return detail::Call("SoftmaxOutput").in(data).in(label).give("grad_scale", params.grad_scale).give("ignore_label", params.ignore_label).give("multi_output", params.multi_output).give("use_ignore", params.use_ignore).give("preserve_shape", params.preserve_shape).give("normalization", params.normalization).give("out_grad", params.out_grad).give("smooth_alpha", params.smooth_alpha).run();
}
// Moves images by affine transformations.
struct SpatialTransformerParams {
  Shape target_shape = {};  // (0, 0)
  const char* transform_type = nullptr;  // affine
  const char* sampler_type = nullptr;  // bilinear
  std::optional<bool> cudnn_off = {};
};
inline Array SpatialTransformer(const Array& data, const Array& loc, const SpatialTransformerParams& params = {}) {
  return detail::Call("SpatialTransformer").in(data).in(loc).give("target_shape", params.target_shape).give("transform_type", params.transform_type).give("sampler_type", params.sampler_type).give("cudnn_off", params.cudnn_off).run();
}
// Exchanges two axes.
struct SwapAxisParams {
  std::optional<int64_t> dim1 = {};  // 0
  std::optional<int64_t> dim2 = {};  // 0
};
inline Array SwapAxis(const Array& data, const SwapAxisParams& params = {}) {
  return detail::Call("SwapAxis").in(data).give("dim1", params.dim1).give("dim2", params.dim2).run();
}
// Makes images larger by a whole number.
struct UpSamplingParams {
  std::optional<int64_t> scale = {};
  std::optional<int64_t> num_filter = {};  // 0
  const char* sample_type = nullptr;  // bilinear, nearest
  const char* multi_input_mode = nullptr;  // concat, sum
  std::optional<int64_t> workspace = {};  // 512
};
inline Array UpSampling(const Arrays& data, const UpSamplingParams& params = {}) {
  return detail::Call("UpSampling").in(data).set("num_args", static_cast<int64_t>(data.size())).give("scale", params.scale).give("num_filter", params.num_filter).give("sample_type", params.sample_type).give("multi_input_mode", params.multi_input_mode).give("workspace", params.workspace).run();
}
// Absolute value of each element.
inline Array abs(const Array& data) {
  return detail::Call("abs").in(data).run();
}
// Adam.
struct AdamUpdateParams {
  std::optional<double> lr = {};
  std::optional<double> beta1 = {};  // 0.9
  std::optional<double> beta2 = {};  // 0.999
  std::optional<double> epsilon = {};  // 1e-08
  std::optional<double> wd = {};  // 0.0
  std::optional<double> rescale_grad = {};  // 1.0
  std::optional<double> clip_gradient = {};  // -1.0
  std::optional<bool> lazy_update = {};  // True
};
inline Array adam_update(const Array& weight, const Array& grad, const Array& mean, const Array& var, const AdamUpdateParams& params = {}) {
  return detail::Call("adam_update").in(weight).in(grad).in(mean).in(var).give("lr", params.lr).give("beta1", params.beta1).give("beta2", params.beta2).give("epsilon", params.epsilon).give("wd", params.wd).give("rescale_grad", params.rescale_grad).give("clip_gradient", params.clip_gradient).give("lazy_update", params.lazy_update).run();
}
// Sum of all inputs.
inline Array add_n(const Arrays& args) {
  return detail::Call("add_n").in(args).set("num_args", static_cast<int64_t>(args.size())).run();
}
// 1 if every number in the array is finite, else 0.
struct AllFiniteParams {
  std::optional<bool> init_output = {};  // True
};
inline Array all_finite(const Array& data, const AllFiniteParams& params = {}) {
  return detail::Call("all_finite").in(data).give("init_output", params.init_output).run();
}
// Converts floating elements to another floating type.
struct AmpCastParams {
  const char* dtype = nullptr;  // bfloat16, float16, float32, float64, int32, int64, int8, uint8
};
inline Array amp_cast(const Array& data, const AmpCastParams& params = {}) {
  return detail::Call("amp_cast").in(data).give("dtype", params.dtype).run();
}
// Converts floating inputs to the widest type among them.
struct AmpMulticastParams {
  std::optional<bool> cast_narrow = {};  // False
};
inline Array amp_multicast(const Arrays& data, const AmpMulticastParams& params = {}) {
  return detail::Call("amp_multicast").in(data).set("num_outputs", static_cast<int64_t>(data.size())).give("cast_narrow", params.cast_narrow).run();
}
// Inverse cosine.
inline Array arccos(const Array& data) {
  return detail::Call("arccos").in(data).run();
}
// Inverse hyperbolic cosine.
inline Array arccosh(const Array& data) {
  return detail::Call("arccosh").in(data).run();
}
// Inverse sine.
inline Array arcsin(const Array& data) {
  return detail::Call("arcsin").in(data).run();
}
// Inverse hyperbolic sine.
inline Array arcsinh(const Array& data) {
  return detail::Call("arcsinh").in(data).run();
}
// Inverse tangent.
inline Array arctan(const Array& data) {
  return detail::Call("arctan").in(data).run();
}
// Inverse hyperbolic tangent.
inline Array arctanh(const Array& data) {
  return detail::Call("arctanh").in(data).run();
}
// Index of the first maximum along an axis, in data's type, or float32 or float64 where that is too short for the axis.
struct ArgmaxParams {
  std::optional<int64_t> axis = {};
  std::optional<bool> keepdims = {};  // False
};
inline Array argmax(const Array& data, const ArgmaxParams& params = {}) {
  return detail::Call("argmax").in(data).give("axis", params.axis).give("keepdims", params.keepdims).run();
}
// Index of the first maximum along axis 1, in data's type, or float32 or float64 where that is too short for the axis.
inline Array argmax_channel(const Array& data) {
  return detail::Call("argmax_channel").in(data).run();
}
// Index of the first minimum along an axis, in data's type, or float32 or float64 where that is too short for the axis.
struct ArgminParams {
  std::optional<int64_t> axis = {};
  std::optional<bool> keepdims = {};  // False
};
inline Array argmin(const Array& data, const ArgminParams& params = {}) {
  return detail::Call("argmin").in(data).give("axis", params.axis).give("keepdims", params.keepdims).run();
}
// Gives the indices that would sort the input along an axis.
struct ArgsortParams {
  std::optional<int64_t> axis = {};  // -1
  std::optional<bool> is_ascend = {};  // True
  const char* dtype = nullptr;  // float16, float32, float64, int32, int64, uint8
};
inline Array argsort(const Array& data, const ArgsortParams& params = {}) {
  return detail::Call("argsort").in(data).give("axis", params.axis).give("is_ascend", params.is_ascend).give("dtype", params.dtype).run();
}
// Matrix products of the items of two batches.
struct BatchDotParams {
  std::optional<bool> transpose_a = {};  // False
  std::optional<bool> transpose_b = {};  // False
  const char* forward_stype = nullptr;  // csr, default, row_sparse
};
inline Array batch_dot(const Array& lhs, const Array& rhs, const BatchDotParams& params = {}) {
  return detail::Call("batch_dot").in(lhs).in(rhs).give("transpose_a", params.transpose_a).give("transpose_b", params.transpose_b).give("forward_stype", params.forward_stype).run();
}
// Takes element indices[i] of row i; indices outside are moved to the nearest column.
inline Array batch_take(const Array& a, const Array& indices) {
  return detail::Call("batch_take").in(a).in(indices).run();
}
// Sum of two arrays.
inline Array broadcast_add(const Array& lhs, const Array& rhs) {
  return detail::Call("broadcast_add").in(lhs).in(rhs).run();
}
// Repeats data along axes of size 1.
struct BroadcastAxisParams {
  Shape axis = {};
  Shape size = {};
};
inline Array broadcast_axes(const Array& data, const BroadcastAxisParams& params = {}) {
  return detail::Call("broadcast_axis").in(data).give("axis", params.axis).give("size", params.size).run();
}
// Repeats data along axes of size 1.
inline Array broadcast_axis(const Array& data, const BroadcastAxisParams& params = {}) {
  return detail::Call("broadcast_axis").in(data).give("axis", params.axis).give("size", params.size).run();
}
// Quotient of two arrays.
inline Array broadcast_div(const Array& lhs, const Array& rhs) {
  return detail::Call("broadcast_div").in(lhs).in(rhs).run();
}
// 1 where the arrays are equal, else 0.
inline Array broadcast_equal(const Array& lhs, const Array& rhs) {
  return detail::Call("broadcast_equal").in(lhs).in(rhs).run();
}
// 1 where the first array is greater, else 0.
inline Array broadcast_greater(const Array& lhs, const Array& rhs) {
  return detail::Call("broadcast_greater").in(lhs).in(rhs).run();
}
// 1 where the first array is greater or equal, else 0.
inline Array broadcast_greater_equal(const Array& lhs, const Array& rhs) {
  return detail::Call("broadcast_greater_equal").in(lhs).in(rhs).run();
}
// Square root of the sum of squares.
inline Array broadcast_hypot(const Array& lhs, const Array& rhs) {
  return detail::Call("broadcast_hypot").in(lhs).in(rhs).run();
}
// 1 where the first array is smaller, else 0.
inline Array broadcast_lesser(const Array& lhs, const Array& rhs) {
  return detail::Call("broadcast_lesser").in(lhs).in(rhs).run();
}
// 1 where the first array is smaller or equal, else 0.
inline Array broadcast_lesser_equal(const Array& lhs, const Array& rhs) {
  return detail::Call("broadcast_lesser_equal").in(lhs).in(rhs).run();
}
// Repeats lhs along axes of size 1 to reach the shape of rhs.
struct BroadcastLikeParams {
  Shape lhs_axes = {};
  Shape rhs_axes = {};
};
inline Array broadcast_like(const Array& lhs, const Array& rhs, const BroadcastLikeParams& params = {}) {
  return detail::Call("broadcast_like").in(lhs).in(rhs).give("lhs_axes", params.lhs_axes).give("rhs_axes", params.rhs_axes).run();
}
// 1 where both arrays are not zero, else 0.
inline Array broadcast_logical_and(const Array& lhs, const Array& rhs) {
  return detail::Call("broadcast_logical_and").in(lhs).in(rhs).run();
}
// 1 where one of the arrays is not zero, else 0.
inline Array broadcast_logical_or(const Array& lhs, const Array& rhs) {
  return detail::Call("broadcast_logical_or").in(lhs).in(rhs).run();
}
// 1 where exactly one of the arrays is not zero, else 0.
inline Array broadcast_logical_xor(const Array& lhs, const Array& rhs) {
  return detail::Call("broadcast_logical_xor").in(lhs).in(rhs).run();
}
// The larger of two arrays' elements.
inline Array broadcast_maximum(const Array& lhs, const Array& rhs) {
  return detail::Call("broadcast_maximum").in(lhs).in(rhs).run();
}
// The smaller of two arrays' elements.
inline Array broadcast_minimum(const Array& lhs, const Array& rhs) {
  return detail::Call("broadcast_minimum").in(lhs).in(rhs).run();
}
// Difference of two arrays.
inline Array broadcast_minus(const Array& lhs, const Array& rhs) {
  return detail::Call("broadcast_sub").in(lhs).in(rhs).run();
}
// Remainder of a division; it has the divisor's sign.
inline Array broadcast_mod(const Array& lhs, const Array& rhs) {
  return detail::Call("broadcast_mod").in(lhs).in(rhs).run();
}
// Product of two arrays.
inline Array broadcast_mul(const Array& lhs, const Array& rhs) {
  return detail::Call("broadcast_mul").in(lhs).in(rhs).run();
}
// 1 where the arrays differ, else 0.
inline Array broadcast_not_equal(const Array& lhs, const Array& rhs) {
  return detail::Call("broadcast_not_equal").in(lhs).in(rhs).run();
}
// Sum of two arrays.
inline Array broadcast_plus(const Array& lhs, const Array& rhs) {
  return detail::Call("broadcast_add").in(lhs).in(rhs).run();
}
// The first array to the power of the second.
inline Array broadcast_power(const Array& lhs, const Array& rhs) {
  return detail::Call("broadcast_power").in(lhs).in(rhs).run();
}
// Difference of two arrays.
inline Array broadcast_sub(const Array& lhs, const Array& rhs) {
  return detail::Call("broadcast_sub").in(lhs).in(rhs).run();
}
// Repeats data along axes of size 1 to reach a shape.
struct BroadcastToParams {
  Shape shape = {};
};
inline Array broadcast_to(const Array& data, const BroadcastToParams& params = {}) {
  return detail::Call("broadcast_to").in(data).give("shape", params.shape).run();
}
// Converts the elements to another type.
inline Array cast(const Array& data, const CastParams& params = {}) {
  return detail::Call("Cast").in(data).give("dtype", params.dtype).run();
}
// The same values in another storage type: 'default', 'row_sparse' or 'csr'.
struct CastStorageParams {
  const char* stype = nullptr;  // csr, default, row_sparse
};
inline Array cast_storage(const Array& data, const CastStorageParams& params = {}) {
  return detail::Call("cast_storage").in(data).give("stype", params.stype).run();
}
// Cube root.
inline Array cbrt(const Array& data) {
  return detail::Call("cbrt").in(data).run();
}
// Rounds up to an integer.
inline Array ceil(const Array& data) {
  return detail::Call("ceil").in(data).run();
}
// Picks one element along an axis for each index.
struct PickParams {
  std::optional<int64_t> axis = {};  // -1
  std::optional<bool> keepdims = {};  // False
  const char* mode = nullptr;  // clip, wrap
};
inline Array choose_element_0index(const Array& data, const Array& index, const PickParams& params = {}) {
  return detail::Call("pick").in(data).in(index).give("axis", params.axis).give("keepdims", params.keepdims).give("mode", params.mode).run();
}
// Limits the elements to [a_min, a_max].
struct ClipParams {
  std::optional<double> a_min = {};
  std::optional<double> a_max = {};
};
inline Array clip(const Array& data, const ClipParams& params = {}) {
  return detail::Call("clip").in(data).give("a_min", params.a_min).give("a_max", params.a_max).run();
}
// Adds the columns of im2col up where they came from.
struct Col2imParams {
  Shape output_size = {};
  Shape kernel = {};
  Shape stride = {};
  Shape dilate = {};
  Shape pad = {};
};
inline Array col2im(const Array& data, const Col2imParams& params = {}) {
  return detail::Call("col2im").in(data).give("output_size", params.output_size).give("kernel", params.kernel).give("stride", params.stride).give("dilate", params.dilate).give("pad", params.pad).run();
}
// Joins arrays along an axis.
inline Array concat(const Arrays& data, const ConcatParams& params = {}) {
  return detail::Call("Concat").in(data).set("num_args", static_cast<int64_t>(data.size())).give("dim", params.dim).run();
}
// Cosine.
inline Array cos(const Array& data) {
  return detail::Call("cos").in(data).run();
}
// Hyperbolic cosine.
inline Array cosh(const Array& data) {
  return detail::Call("cosh").in(data).run();
}
// A region of data, as Python's slices along each axis.
struct SliceParams {
  Shape begin = {};
  Shape end = {};
  Shape step = {};
};
inline Array crop(const Array& data, const SliceParams& params = {}) {
  return detail::Call("slice").in(data).give("begin", params.begin).give("end", params.end).give("step", params.step).run();
}
// The connectionist temporal classification loss: the negative logarithm of the probability of all ways to spread a label over time.
inline Arrays ctc_loss(const Array& data, const Array& label = {}, const Array& data_lengths = {}, const Array& label_lengths = {}, const CTCLossParams& params = {}) {
  return detail::Call("CTCLoss").in(data).in(label).in(data_lengths).in(label_lengths).give("use_data_lengths", params.use_data_lengths).give("use_label_lengths", params.use_label_lengths).give("blank_label", params.blank_label).run_all();
}
// The sums of the elements up to each one, along an axis.
struct NpCumsumParams {
  std::optional<int64_t> axis = {};
  const char* dtype = nullptr;  // float16, float32, float64, int32, int64, int8
};
inline Array cumsum(const Array& a, const NpCumsumParams& params = {}) {
  return detail::Call("_np_cumsum").in(a).give("axis", params.axis).give("dtype", params.dtype).run();
}
// Converts radians to degrees.
inline Array degrees(const Array& data) {
  return detail::Call("degrees").in(data).run();
}
// Moves channels into blocks of pixels.
struct DepthToSpaceParams {
  std::optional<int64_t> block_size = {};
};
inline Array depth_to_space(const Array& data, const DepthToSpaceParams& params = {}) {
  return detail::Call("depth_to_space").in(data).give("block_size", params.block_size).run();
}
// The diagonal of a matrix, or the matrix with a diagonal.
struct DiagParams {
  std::optional<int64_t> k = {};  // 0
  std::optional<int64_t> axis1 = {};  // 0
  std::optional<int64_t> axis2 = {};  // 1
};
inline Array diag(const Array& data, const DiagParams& params = {}) {
  return detail::Call("diag").in(data).give("k", params.k).give("axis1", params.axis1).give("axis2", params.axis2).run();
}
// Sums products over the last axis of `lhs` and the first of `rhs`: the matrix product for matrices.
struct DotParams {
  std::optional<bool> transpose_a = {};  // False
  std::optional<bool> transpose_b = {};  // False
  const char* forward_stype = nullptr;  // csr, default, row_sparse
};
inline Array dot(const Array& lhs, const Array& rhs, const DotParams& params = {}) {
  return detail::Call("dot").in(lhs).in(rhs).give("transpose_a", params.transpose_a).give("transpose_b", params.transpose_b).give("forward_stype", params.forward_stype).run();
}
// Sum of two arrays.
inline Array elemwise_add(const Array& lhs, const Array& rhs) {
  return detail::Call("elemwise_add").in(lhs).in(rhs).run();
}
// Quotient of two arrays.
inline Array elemwise_div(const Array& lhs, const Array& rhs) {
  return detail::Call("elemwise_div").in(lhs).in(rhs).run();
}
// Product of two arrays.
inline Array elemwise_mul(const Array& lhs, const Array& rhs) {
  return detail::Call("elemwise_mul").in(lhs).in(rhs).run();
}
// Difference of two arrays.
inline Array elemwise_sub(const Array& lhs, const Array& rhs) {
  return detail::Call("elemwise_sub").in(lhs).in(rhs).run();
}
// Error function.
inline Array erf(const Array& data) {
  return detail::Call("erf").in(data).run();
}
// Inverse of the error function.
inline Array erfinv(const Array& data) {
  return detail::Call("erfinv").in(data).run();
}
// Exponential.
inline Array exp(const Array& data) {
  return detail::Call("exp").in(data).run();
}
// Adds an axis of size 1.
struct ExpandDimsParams {
  std::optional<int64_t> axis = {};
};
inline Array expand_dims(const Array& data, const ExpandDimsParams& params = {}) {
  return detail::Call("expand_dims").in(data).give("axis", params.axis).run();
}
// exp(data) - 1, exact near zero.
inline Array expm1(const Array& data) {
  return detail::Call("expm1").in(data).run();
}
// Copies the matrix `lhs` and sets element rhs[i] of row i to mhs[i]; an index outside leaves its row.
inline Array fill_element_0index(const Array& lhs, const Array& mhs, const Array& rhs) {
  return detail::Call("fill_element_0index").in(lhs).in(mhs).in(rhs).run();
}
// Rounds towards zero.
inline Array fix(const Array& data) {
  return detail::Call("fix").in(data).run();
}
// Joins all axes but the first.
inline Array flatten(const Array& data) {
  return detail::Call("Flatten").in(data).run();
}
// Reverses the order along axes.
struct ReverseParams {
  Shape axis = {};
};
inline Array flip(const Array& data, const ReverseParams& params = {}) {
  return detail::Call("reverse").in(data).give("axis", params.axis).run();
}
// Rounds down to an integer.
inline Array floor(const Array& data) {
  return detail::Call("floor").in(data).run();
}
// Follow the moving leader.
struct FtmlUpdateParams {
  std::optional<double> lr = {};
  std::optional<double> beta1 = {};  // 0.6
  std::optional<double> beta2 = {};  // 0.999
  std::optional<double> epsilon = {};  // 9.99999993922529e-09
  std::optional<int64_t> t = {};
  std::optional<double> wd = {};  // 0.0
  std::optional<double> rescale_grad = {};  // 1.0
  std::optional<double> clip_grad = {};  // -1.0
};
inline Array ftml_update(const Array& weight, const Array& grad, const Array& d, const Array& v, const Array& z, const FtmlUpdateParams& params = {}) {
  return detail::Call("ftml_update").in(weight).in(grad).in(d).in(v).in(z).give("lr", params.lr).give("beta1", params.beta1).give("beta2", params.beta2).give("epsilon", params.epsilon).give("t", params.t).give("wd", params.wd).give("rescale_grad", params.rescale_grad).give("clip_grad", params.clip_grad).run();
}
// Follow the regularised leader.
struct FtrlUpdateParams {
  std::optional<double> lr = {};
  std::optional<double> lamda1 = {};  // 0.01
  std::optional<double> beta = {};  // 1.0
  std::optional<double> wd = {};  // 0.0
  std::optional<double> rescale_grad = {};  // 1.0
  std::optional<double> clip_gradient = {};  // -1.0
};
inline Array ftrl_update(const Array& weight, const Array& grad, const Array& z, const Array& n, const FtrlUpdateParams& params = {}) {
  return detail::Call("ftrl_update").in(weight).in(grad).in(z).in(n).give("lr", params.lr).give("lamda1", params.lamda1).give("beta", params.beta).give("wd", params.wd).give("rescale_grad", params.rescale_grad).give("clip_gradient", params.clip_gradient).run();
}
// Gamma function.
inline Array gamma(const Array& data) {
  return detail::Call("gamma").in(data).run();
}
// Logarithm of the absolute value of the gamma function.
inline Array gammaln(const Array& data) {
  return detail::Call("gammaln").in(data).run();
}
// Gathers elements or slices of `data`; row k of `indices` counts along axis k.
inline Array gather_nd(const Array& data, const Array& indices) {
  return detail::Call("gather_nd").in(data).in(indices).run();
}
// min(max(alpha x + beta, 0), 1).
struct HardSigmoidParams {
  std::optional<double> alpha = {};  // 0.2
  std::optional<double> beta = {};  // 0.5
};
inline Array hard_sigmoid(const Array& data, const HardSigmoidParams& params = {}) {
  return detail::Call("hard_sigmoid").in(data).give("alpha", params.alpha).give("beta", params.beta).run();
}
// A copy of data.
inline Array identity(const Array& data) {
  return detail::Call("_copy").in(data).run();
}
// Lays out the elements under each place of a window as a column.
struct Im2colParams {
  Shape kernel = {};
  Shape stride = {};
  Shape dilate = {};
  Shape pad = {};
};
inline Array im2col(const Array& data, const Im2colParams& params = {}) {
  return detail::Call("im2col").in(data).give("kernel", params.kernel).give("stride", params.stride).give("dilate", params.dilate).give("pad", params.pad).run();
}
// The Khatri-Rao product: each column is the Kronecker product of the matrices' columns there.
inline Array khatri_rao(const Arrays& args) {
  return detail::Call("khatri_rao").in(args).set("num_args", static_cast<int64_t>(args.size())).run();
}
// The direction of LAMB's step.
struct LambUpdatePhase1Params {
  std::optional<double> beta1 = {};  // 0.9
  std::optional<double> beta2 = {};  // 0.999
  std::optional<double> epsilon = {};  // 1e-06
  std::optional<int64_t> t = {};
  std::optional<bool> bias_correction = {};  // True
  std::optional<double> wd = {};
  std::optional<double> rescale_grad = {};  // 1.0
  std::optional<double> clip_gradient = {};  // -1.0
};
inline Array lamb_update_phase1(const Array& weight, const Array& grad, const Array& mean, const Array& var, const LambUpdatePhase1Params& params = {}) {
  return detail::Call("lamb_update_phase1").in(weight).in(grad).in(mean).in(var).give("beta1", params.beta1).give("beta2", params.beta2).give("epsilon", params.epsilon).give("t", params.t).give("bias_correction", params.bias_correction).give("wd", params.wd).give("rescale_grad", params.rescale_grad).give("clip_gradient", params.clip_gradient).run();
}
// LAMB's step, its length scaled by the norms r1 of the weight and r2 of the direction g.
struct LambUpdatePhase2Params {
  std::optional<double> lr = {};
  std::optional<double> lower_bound = {};  // -1.0
  std::optional<double> upper_bound = {};  // -1.0
};
inline Array lamb_update_phase2(const Array& weight, const Array& g, const Array& r1, const Array& r2, const LambUpdatePhase2Params& params = {}) {
  return detail::Call("lamb_update_phase2").in(weight).in(g).in(r1).in(r2).give("lr", params.lr).give("lower_bound", params.lower_bound).give("upper_bound", params.upper_bound).run();
}
// The determinant of each matrix of a batch.
inline Arrays linalg_det(const Array& A) {
  return detail::Call("_linalg_det").in(A).run_all();
}
// A diagonal of each square matrix of a batch.
struct LinalgExtractdiagParams {
  std::optional<int64_t> offset = {};  // 0
};
inline Array linalg_extractdiag(const Array& A, const LinalgExtractdiagParams& params = {}) {
  return detail::Call("_linalg_extractdiag").in(A).give("offset", params.offset).run();
}
// A triangle of each square matrix of a batch as a vector, row by row; an upper one column by column.
struct LinalgExtracttrianParams {
  std::optional<int64_t> offset = {};  // 0
  std::optional<bool> lower = {};  // True
};
inline Array linalg_extracttrian(const Array& A, const LinalgExtracttrianParams& params = {}) {
  return detail::Call("_linalg_extracttrian").in(A).give("offset", params.offset).give("lower", params.lower).run();
}
// Q and L with A = L Q for each matrix of a batch, which has no more rows than columns: the rows of Q are orthonormal, L is lower triangular.
inline Arrays linalg_gelqf(const Array& A) {
  return detail::Call("_linalg_gelqf").in(A).run_all();
}
// alpha op(A) op(B) + beta C for each matrix of a batch, where op may transpose.
struct LinalgGemmParams {
  std::optional<bool> transpose_a = {};  // False
  std::optional<bool> transpose_b = {};  // False
  std::optional<double> alpha = {};  // 1.0
  std::optional<double> beta = {};  // 1.0
  std::optional<int64_t> axis = {};  // -2
};
inline Array linalg_gemm(const Array& A, const Array& B, const Array& C, const LinalgGemmParams& params = {}) {
  return detail::Call("_linalg_gemm").in(A).in(B).in(C).give("transpose_a", params.transpose_a).give("transpose_b", params.transpose_b).give("alpha", params.alpha).give("beta", params.beta).give("axis", params.axis).run();
}
// alpha op(A) op(B) for each matrix of a batch, where op may transpose.
struct LinalgGemm2Params {
  std::optional<bool> transpose_a = {};  // False
  std::optional<bool> transpose_b = {};  // False
  std::optional<double> alpha = {};  // 1.0
  std::optional<int64_t> axis = {};  // -2
};
inline Array linalg_gemm2(const Array& A, const Array& B, const LinalgGemm2Params& params = {}) {
  return detail::Call("_linalg_gemm2").in(A).in(B).give("transpose_a", params.transpose_a).give("transpose_b", params.transpose_b).give("alpha", params.alpha).give("axis", params.axis).run();
}
// The inverse of each matrix of a batch; an error for a singular one.
inline Array linalg_inverse(const Array& A) {
  return detail::Call("_linalg_inverse").in(A).run();
}
// A matrix with each vector of a batch on a diagonal, and zeros elsewhere.
struct LinalgMakediagParams {
  std::optional<int64_t> offset = {};  // 0
};
inline Array linalg_makediag(const Array& A, const LinalgMakediagParams& params = {}) {
  return detail::Call("_linalg_makediag").in(A).give("offset", params.offset).run();
}
// A matrix with each vector of a batch as a triangle, and zeros elsewhere.
struct LinalgMaketrianParams {
  std::optional<int64_t> offset = {};  // 0
  std::optional<bool> lower = {};  // True
};
inline Array linalg_maketrian(const Array& A, const LinalgMaketrianParams& params = {}) {
  return detail::Call("_linalg_maketrian").in(A).give("offset", params.offset).give("lower", params.lower).run();
}
// The pseudo-inverse of each matrix of a batch; singular values up to its `rcond` times the largest one count as zero.
inline Array linalg_pinv(const Array& A, const Array& rcond) {
  return detail::Call("_linalg_pinv").in(A).in(rcond).run();
}
// The Cholesky factor of each matrix of a batch; an error for one that is not positive definite.
struct LinalgPotrfParams {
  std::optional<bool> lower = {};  // True
};
inline Array linalg_potrf(const Array& A, const LinalgPotrfParams& params = {}) {
  return detail::Call("_linalg_potrf").in(A).give("lower", params.lower).run();
}
// The inverse of L L^T for each lower triangular matrix L of a batch.
inline Array linalg_potri(const Array& A) {
  return detail::Call("_linalg_potri").in(A).run();
}
// Sign and logarithm of the absolute value of the determinant of each matrix of a batch.
inline Arrays linalg_slogdet(const Array& A) {
  return detail::Call("_linalg_slogdet").in(A).run_all();
}
// The X with op(A) X = B for each matrix of a batch; an error for a singular one.
struct LinalgSolveParams {
  std::optional<bool> transpose = {};  // False
};
inline Array linalg_solve(const Array& A, const Array& B, const LinalgSolveParams& params = {}) {
  return detail::Call("_linalg_solve").in(A).in(B).give("transpose", params.transpose).run();
}
// The sum of the logarithms of the diagonal of each square matrix of a batch.
inline Array linalg_sumlogdiag(const Array& A) {
  return detail::Call("_linalg_sumlogdiag").in(A).run();
}
// U, s and V with A = U diag(s) V for each matrix of a batch, which has no more rows than columns: U's columns and V's rows are orthonormal, s descends.
inline Arrays linalg_svd(const Array& A) {
  return detail::Call("_linalg_svd").in(A).run_all();
}
// alpha A A^T, or alpha A^T A, for each matrix of a batch.
struct LinalgSyrkParams {
  std::optional<bool> transpose = {};  // False
  std::optional<double> alpha = {};  // 1.0
};
inline Array linalg_syrk(const Array& A, const LinalgSyrkParams& params = {}) {
  return detail::Call("_linalg_syrk").in(A).give("transpose", params.transpose).give("alpha", params.alpha).run();
}
// alpha op(A) B, or alpha B op(A), for each triangular matrix A of a batch.
struct LinalgTrmmParams {
  std::optional<bool> transpose = {};  // False
  std::optional<bool> rightside = {};  // False
  std::optional<bool> lower = {};  // True
  std::optional<double> alpha = {};  // 1.0
};
inline Array linalg_trmm(const Array& A, const Array& B, const LinalgTrmmParams& params = {}) {
  return detail::Call("_linalg_trmm").in(A).in(B).give("transpose", params.transpose).give("rightside", params.rightside).give("lower", params.lower).give("alpha", params.alpha).run();
}
// Solves op(A) X = alpha B, or X op(A) = alpha B, for each triangular matrix A of a batch.
struct LinalgTrsmParams {
  std::optional<bool> transpose = {};  // False
  std::optional<bool> rightside = {};  // False
  std::optional<bool> lower = {};  // True
  std::optional<double> alpha = {};  // 1.0
};
inline Array linalg_trsm(const Array& A, const Array& B, const LinalgTrsmParams& params = {}) {
  return detail::Call("_linalg_trsm").in(A).in(B).give("transpose", params.transpose).give("rightside", params.rightside).give("lower", params.lower).give("alpha", params.alpha).run();
}
// Natural logarithm.
inline Array log(const Array& data) {
  return detail::Call("log").in(data).run();
}
// Logarithm to base 10.
inline Array log10(const Array& data) {
  return detail::Call("log10").in(data).run();
}
// log(1 + data), exact near zero.
inline Array log1p(const Array& data) {
  return detail::Call("log1p").in(data).run();
}
// Logarithm to base 2.
inline Array log2(const Array& data) {
  return detail::Call("log2").in(data).run();
}
// The logarithm of the softmax.
struct LogSoftmaxParams {
  std::optional<int64_t> axis = {};  // -1
  std::optional<double> temperature = {};
  const char* dtype = nullptr;  // float16, float32, float64
  std::optional<bool> use_length = {};  // False
};
inline Array log_softmax(const Array& data, const LogSoftmaxParams& params = {}) {
  return detail::Call("log_softmax").in(data).give("axis", params.axis).give("temperature", params.temperature).give("dtype", params.dtype).give("use_length", params.use_length).run();
}
// 1 where data is zero, else 0.
inline Array logical_not(const Array& data) {
  return detail::Call("logical_not").in(data).run();
}
// Marks data as a loss: its gradient is one.
inline Array make_loss(const Array& data) {
  return detail::Call("make_loss").in(data).run();
}
// Maximum over axes.
struct MaxParams {
  Shape axis = {};
  std::optional<bool> keepdims = {};  // False
  std::optional<bool> exclude = {};  // False
};
inline Array max(const Array& data, const MaxParams& params = {}) {
  return detail::Call("max").in(data).give("axis", params.axis).give("keepdims", params.keepdims).give("exclude", params.exclude).run();
}
// Maximum over axes.
inline Array max_axis(const Array& data, const MaxParams& params = {}) {
  return detail::Call("max").in(data).give("axis", params.axis).give("keepdims", params.keepdims).give("exclude", params.exclude).run();
}
// Mean over axes.
struct MeanParams {
  Shape axis = {};
  std::optional<bool> keepdims = {};  // False
  std::optional<bool> exclude = {};  // False
};
inline Array mean(const Array& data, const MeanParams& params = {}) {
  return detail::Call("mean").in(data).give("axis", params.axis).give("keepdims", params.keepdims).give("exclude", params.exclude).run();
}
// Minimum over axes.
struct MinParams {
  Shape axis = {};
  std::optional<bool> keepdims = {};  // False
  std::optional<bool> exclude = {};  // False
};
inline Array min(const Array& data, const MinParams& params = {}) {
  return detail::Call("min").in(data).give("axis", params.axis).give("keepdims", params.keepdims).give("exclude", params.exclude).run();
}
// Minimum over axes.
inline Array min_axis(const Array& data, const MinParams& params = {}) {
  return detail::Call("min").in(data).give("axis", params.axis).give("keepdims", params.keepdims).give("exclude", params.exclude).run();
}
// Mean and variance over axes.
struct MomentsParams {
  Shape axes = {};
  std::optional<bool> keepdims = {};  // False
};
inline Arrays moments(const Array& data, const MomentsParams& params = {}) {
  return detail::Call("moments").in(data).give("axes", params.axes).give("keepdims", params.keepdims).run_all();
}
// The direction of LAMB's step, in float32, for a weight of a half type.
struct MpLambUpdatePhase1Params {
  std::optional<double> beta1 = {};  // 0.9
  std::optional<double> beta2 = {};  // 0.999
  std::optional<double> epsilon = {};  // 1e-06
  std::optional<int64_t> t = {};
  std::optional<bool> bias_correction = {};  // True
  std::optional<double> wd = {};
  std::optional<double> rescale_grad = {};  // 1.0
  std::optional<double> clip_gradient = {};  // -1.0
};
inline Array mp_lamb_update_phase1(const Array& weight, const Array& grad, const Array& mean, const Array& var, const Array& weight32, const MpLambUpdatePhase1Params& params = {}) {
  return detail::Call("mp_lamb_update_phase1").in(weight).in(grad).in(mean).in(var).in(weight32).give("beta1", params.beta1).give("beta2", params.beta2).give("epsilon", params.epsilon).give("t", params.t).give("bias_correction", params.bias_correction).give("wd", params.wd).give("rescale_grad", params.rescale_grad).give("clip_gradient", params.clip_gradient).run();
}
// LAMB's step for a weight of a half type with a float32 copy.
struct MpLambUpdatePhase2Params {
  std::optional<double> lr = {};
  std::optional<double> lower_bound = {};  // -1.0
  std::optional<double> upper_bound = {};  // -1.0
};
inline Array mp_lamb_update_phase2(const Array& weight, const Array& g, const Array& r1, const Array& r2, const Array& weight32, const MpLambUpdatePhase2Params& params = {}) {
  return detail::Call("mp_lamb_update_phase2").in(weight).in(g).in(r1).in(r2).in(weight32).give("lr", params.lr).give("lower_bound", params.lower_bound).give("upper_bound", params.upper_bound).run();
}
// nag_mom_update for a weight of a half type with a float32 copy.
struct MpNagMomUpdateParams {
  std::optional<double> lr = {};
  std::optional<double> momentum = {};  // 0.0
  std::optional<double> wd = {};  // 0.0
  std::optional<double> rescale_grad = {};  // 1.0
  std::optional<double> clip_gradient = {};  // -1.0
};
inline Array mp_nag_mom_update(const Array& weight, const Array& grad, const Array& mom, const Array& weight32, const MpNagMomUpdateParams& params = {}) {
  return detail::Call("mp_nag_mom_update").in(weight).in(grad).in(mom).in(weight32).give("lr", params.lr).give("momentum", params.momentum).give("wd", params.wd).give("rescale_grad", params.rescale_grad).give("clip_gradient", params.clip_gradient).run();
}
// sgd_mom_update for a weight of a half type with a float32 copy.
struct MpSgdMomUpdateParams {
  std::optional<double> lr = {};
  std::optional<double> momentum = {};  // 0.0
  std::optional<double> wd = {};  // 0.0
  std::optional<double> rescale_grad = {};  // 1.0
  std::optional<double> clip_gradient = {};  // -1.0
  std::optional<bool> lazy_update = {};  // True
};
inline Array mp_sgd_mom_update(const Array& weight, const Array& grad, const Array& mom, const Array& weight32, const MpSgdMomUpdateParams& params = {}) {
  return detail::Call("mp_sgd_mom_update").in(weight).in(grad).in(mom).in(weight32).give("lr", params.lr).give("momentum", params.momentum).give("wd", params.wd).give("rescale_grad", params.rescale_grad).give("clip_gradient", params.clip_gradient).give("lazy_update", params.lazy_update).run();
}
// sgd_update for a weight of a half type with a float32 copy.
struct MpSgdUpdateParams {
  std::optional<double> lr = {};
  std::optional<double> wd = {};  // 0.0
  std::optional<double> rescale_grad = {};  // 1.0
  std::optional<double> clip_gradient = {};  // -1.0
  std::optional<bool> lazy_update = {};  // True
};
inline Array mp_sgd_update(const Array& weight, const Array& grad, const Array& weight32, const MpSgdUpdateParams& params = {}) {
  return detail::Call("mp_sgd_update").in(weight).in(grad).in(weight32).give("lr", params.lr).give("wd", params.wd).give("rescale_grad", params.rescale_grad).give("clip_gradient", params.clip_gradient).give("lazy_update", params.lazy_update).run();
}
// 1 if every number in all the arrays is finite, else 0.
struct MultiAllFiniteParams {
  std::optional<bool> init_output = {};  // True
};
inline Array multi_all_finite(const Arrays& data, const MultiAllFiniteParams& params = {}) {
  return detail::Call("multi_all_finite").in(data).set("num_arrays", static_cast<int64_t>(data.size())).give("init_output", params.init_output).run();
}
// LARS: scales learning rates by the ratio of the weights' and gradients' norms.
struct MultiLarsParams {
  std::optional<double> eta = {};
  std::optional<double> eps = {};
  std::optional<double> rescale_grad = {};  // 1.0
};
inline Array multi_lars(const Array& lrs, const Array& weights_sum_sq, const Array& grads_sum_sq, const Array& wds, const MultiLarsParams& params = {}) {
  return detail::Call("multi_lars").in(lrs).in(weights_sum_sq).in(grads_sum_sq).in(wds).give("eta", params.eta).give("eps", params.eps).give("rescale_grad", params.rescale_grad).run();
}
// mp_sgd_mom_update for several weights: weight, grad, mom, weight32 of each.
struct MultiMpSgdMomUpdateParams {
  std::vector<double> lrs = {};
  std::vector<double> wds = {};
  std::optional<double> momentum = {};  // 0.0
  std::optional<double> rescale_grad = {};  // 1.0
  std::optional<double> clip_gradient = {};  // -1.0
};
inline Array multi_mp_sgd_mom_update(const Arrays& data, const MultiMpSgdMomUpdateParams& params = {}) {
  return detail::Call("multi_mp_sgd_mom_update").in(data).set("num_weights", static_cast<int64_t>(data.size())).give("lrs", params.lrs).give("wds", params.wds).give("momentum", params.momentum).give("rescale_grad", params.rescale_grad).give("clip_gradient", params.clip_gradient).run();
}
// mp_sgd_update for several weights: weight, grad, weight32 of each.
struct MultiMpSgdUpdateParams {
  std::vector<double> lrs = {};
  std::vector<double> wds = {};
  std::optional<double> rescale_grad = {};  // 1.0
  std::optional<double> clip_gradient = {};  // -1.0
};
inline Array multi_mp_sgd_update(const Arrays& data, const MultiMpSgdUpdateParams& params = {}) {
  return detail::Call("multi_mp_sgd_update").in(data).set("num_weights", static_cast<int64_t>(data.size())).give("lrs", params.lrs).give("wds", params.wds).give("rescale_grad", params.rescale_grad).give("clip_gradient", params.clip_gradient).run();
}
// sgd_mom_update for several weights: weight, grad, mom of each.
struct MultiSgdMomUpdateParams {
  std::vector<double> lrs = {};
  std::vector<double> wds = {};
  std::optional<double> momentum = {};  // 0.0
  std::optional<double> rescale_grad = {};  // 1.0
  std::optional<double> clip_gradient = {};  // -1.0
};
inline Array multi_sgd_mom_update(const Arrays& data, const MultiSgdMomUpdateParams& params = {}) {
  return detail::Call("multi_sgd_mom_update").in(data).set("num_weights", static_cast<int64_t>(data.size())).give("lrs", params.lrs).give("wds", params.wds).give("momentum", params.momentum).give("rescale_grad", params.rescale_grad).give("clip_gradient", params.clip_gradient).run();
}
// sgd_update for several weights: weight, grad of each.
struct MultiSgdUpdateParams {
  std::vector<double> lrs = {};
  std::vector<double> wds = {};
  std::optional<double> rescale_grad = {};  // 1.0
  std::optional<double> clip_gradient = {};  // -1.0
};
inline Array multi_sgd_update(const Arrays& data, const MultiSgdUpdateParams& params = {}) {
  return detail::Call("multi_sgd_update").in(data).set("num_weights", static_cast<int64_t>(data.size())).give("lrs", params.lrs).give("wds", params.wds).give("rescale_grad", params.rescale_grad).give("clip_gradient", params.clip_gradient).run();
}
// The sums of the squares of several arrays.
inline Array multi_sum_sq(const Arrays& data) {
  return detail::Call("multi_sum_sq").in(data).set("num_arrays", static_cast<int64_t>(data.size())).run();
}
// Nesterov's accelerated gradient.
struct NagMomUpdateParams {
  std::optional<double> lr = {};
  std::optional<double> momentum = {};  // 0.0
  std::optional<double> wd = {};  // 0.0
  std::optional<double> rescale_grad = {};  // 1.0
  std::optional<double> clip_gradient = {};  // -1.0
};
inline Array nag_mom_update(const Array& weight, const Array& grad, const Array& mom, const NagMomUpdateParams& params = {}) {
  return detail::Call("nag_mom_update").in(weight).in(grad).in(mom).give("lr", params.lr).give("momentum", params.momentum).give("wd", params.wd).give("rescale_grad", params.rescale_grad).give("clip_gradient", params.clip_gradient).run();
}
// Product over axes; NaN counts as 1.
struct NanprodParams {
  Shape axis = {};
  std::optional<bool> keepdims = {};  // False
  std::optional<bool> exclude = {};  // False
};
inline Array nanprod(const Array& data, const NanprodParams& params = {}) {
  return detail::Call("nanprod").in(data).give("axis", params.axis).give("keepdims", params.keepdims).give("exclude", params.exclude).run();
}
// Sum over axes; NaN counts as 0.
struct NansumParams {
  Shape axis = {};
  std::optional<bool> keepdims = {};  // False
  std::optional<bool> exclude = {};  // False
};
inline Array nansum(const Array& data, const NansumParams& params = {}) {
  return detail::Call("nansum").in(data).give("axis", params.axis).give("keepdims", params.keepdims).give("exclude", params.exclude).run();
}
// Changes the sign.
inline Array negative(const Array& data) {
  return detail::Call("negative").in(data).run();
}
// Norm over axes.
struct NormParams {
  std::optional<int64_t> ord = {};  // 2
  Shape axis = {};
  const char* out_dtype = nullptr;  // float16, float32, float64, int32, int64, int8
  std::optional<bool> keepdims = {};  // False
};
inline Array norm(const Array& data, const NormParams& params = {}) {
  return detail::Call("norm").in(data).give("ord", params.ord).give("axis", params.axis).give("out_dtype", params.out_dtype).give("keepdims", params.keepdims).run();
}
// Draws from the normal distribution with mean loc and standard deviation scale.
struct RandomNormalParams {
  std::optional<double> loc = {};  // 0.0
  std::optional<double> scale = {};  // 1.0
  Shape shape = {};
  const char* ctx = nullptr;
  const char* dtype = nullptr;  // bfloat16, float16, float32, float64
};
inline Array normal(const RandomNormalParams& params = {}) {
  return detail::Call("_random_normal").give("loc", params.loc).give("scale", params.scale).give("shape", params.shape).give("ctx", params.ctx).give("dtype", params.dtype).run();
}
// Turns indices into vectors with one element on; an index outside leaves all off.
struct OneHotParams {
  std::optional<int64_t> depth = {};
  std::optional<double> on_value = {};  // 1.0
  std::optional<double> off_value = {};  // 0.0
  const char* dtype = nullptr;  // bfloat16, float16, float32, float64, int32, int64, int8, uint8
};
inline Array one_hot(const Array& indices, const OneHotParams& params = {}) {
  return detail::Call("one_hot").in(indices).give("depth", params.depth).give("on_value", params.on_value).give("off_value", params.off_value).give("dtype", params.dtype).run();
}
// Ones of the shape and type of data.
inline Array ones_like(const Array& data) {
  return detail::Call("ones_like").in(data).run();
}
// Puts a border around data.
inline Array pad(const Array& data, const PadParams& params = {}) {
  return detail::Call("Pad").in(data).give("mode", params.mode).give("pad_width", params.pad_width).give("constant_value", params.constant_value).run();
}
// Picks one element along an axis for each index.
inline Array pick(const Array& data, const Array& index, const PickParams& params = {}) {
  return detail::Call("pick").in(data).in(index).give("axis", params.axis).give("keepdims", params.keepdims).give("mode", params.mode).run();
}
// multi_mp_sgd_mom_update with learning rates and weight decays as last arrays.
struct PreloadedMultiMpSgdMomUpdateParams {
  std::optional<double> momentum = {};  // 0.0
  std::optional<double> rescale_grad = {};  // 1.0
  std::optional<double> clip_gradient = {};  // -1.0
};
inline Array preloaded_multi_mp_sgd_mom_update(const Arrays& data, const PreloadedMultiMpSgdMomUpdateParams& params = {}) {
  return detail::Call("preloaded_multi_mp_sgd_mom_update").in(data).set("num_weights", static_cast<int64_t>(data.size())).give("momentum", params.momentum).give("rescale_grad", params.rescale_grad).give("clip_gradient", params.clip_gradient).run();
}
// multi_mp_sgd_update with the learning rates and weight decays as last two arrays.
struct PreloadedMultiMpSgdUpdateParams {
  std::optional<double> rescale_grad = {};  // 1.0
  std::optional<double> clip_gradient = {};  // -1.0
};
inline Array preloaded_multi_mp_sgd_update(const Arrays& data, const PreloadedMultiMpSgdUpdateParams& params = {}) {
  return detail::Call("preloaded_multi_mp_sgd_update").in(data).set("num_weights", static_cast<int64_t>(data.size())).give("rescale_grad", params.rescale_grad).give("clip_gradient", params.clip_gradient).run();
}
// multi_sgd_mom_update with the learning rates and weight decays as last arrays.
struct PreloadedMultiSgdMomUpdateParams {
  std::optional<double> momentum = {};  // 0.0
  std::optional<double> rescale_grad = {};  // 1.0
  std::optional<double> clip_gradient = {};  // -1.0
};
inline Array preloaded_multi_sgd_mom_update(const Arrays& data, const PreloadedMultiSgdMomUpdateParams& params = {}) {
  return detail::Call("preloaded_multi_sgd_mom_update").in(data).set("num_weights", static_cast<int64_t>(data.size())).give("momentum", params.momentum).give("rescale_grad", params.rescale_grad).give("clip_gradient", params.clip_gradient).run();
}
// multi_sgd_update with the learning rates and weight decays as last two arrays.
struct PreloadedMultiSgdUpdateParams {
  std::optional<double> rescale_grad = {};  // 1.0
  std::optional<double> clip_gradient = {};  // -1.0
};
inline Array preloaded_multi_sgd_update(const Arrays& data, const PreloadedMultiSgdUpdateParams& params = {}) {
  return detail::Call("preloaded_multi_sgd_update").in(data).set("num_weights", static_cast<int64_t>(data.size())).give("rescale_grad", params.rescale_grad).give("clip_gradient", params.clip_gradient).run();
}
// Product over axes.
struct ProdParams {
  Shape axis = {};
  std::optional<bool> keepdims = {};  // False
  std::optional<bool> exclude = {};  // False
};
inline Array prod(const Array& data, const ProdParams& params = {}) {
  return detail::Call("prod").in(data).give("axis", params.axis).give("keepdims", params.keepdims).give("exclude", params.exclude).run();
}
// Converts degrees to radians.
inline Array radians(const Array& data) {
  return detail::Call("radians").in(data).run();
}
// Draws from the exponential distribution with rate lam.
struct RandomExponentialParams {
  std::optional<double> lam = {};  // 1.0
  Shape shape = {};
  const char* ctx = nullptr;
  const char* dtype = nullptr;  // bfloat16, float16, float32, float64
};
inline Array random_exponential(const RandomExponentialParams& params = {}) {
  return detail::Call("_random_exponential").give("lam", params.lam).give("shape", params.shape).give("ctx", params.ctx).give("dtype", params.dtype).run();
}
// Draws from the gamma distribution with shape alpha and scale beta.
struct RandomGammaParams {
  std::optional<double> alpha = {};  // 1.0
  std::optional<double> beta = {};  // 1.0
  Shape shape = {};
  const char* ctx = nullptr;
  const char* dtype = nullptr;  // bfloat16, float16, float32, float64
};
inline Array random_gamma(const RandomGammaParams& params = {}) {
  return detail::Call("_random_gamma").give("alpha", params.alpha).give("beta", params.beta).give("shape", params.shape).give("ctx", params.ctx).give("dtype", params.dtype).run();
}
// Draws counts with mean mu and dispersion alpha; with alpha 0, Poisson counts.
struct RandomGeneralizedNegativeBinomialParams {
  std::optional<double> mu = {};  // 1.0
  std::optional<double> alpha = {};  // 1.0
  Shape shape = {};
  const char* ctx = nullptr;
  const char* dtype = nullptr;  // bfloat16, float16, float32, float64
};
inline Array random_generalized_negative_binomial(const RandomGeneralizedNegativeBinomialParams& params = {}) {
  return detail::Call("_random_generalized_negative_binomial").give("mu", params.mu).give("alpha", params.alpha).give("shape", params.shape).give("ctx", params.ctx).give("dtype", params.dtype).run();
}
// Draws the number of failures before k successes, each of probability p.
struct RandomNegativeBinomialParams {
  std::optional<double> k = {};  // 1.0
  std::optional<double> p = {};  // 1.0
  Shape shape = {};
  const char* ctx = nullptr;
  const char* dtype = nullptr;  // bfloat16, float16, float32, float64
};
inline Array random_negative_binomial(const RandomNegativeBinomialParams& params = {}) {
  return detail::Call("_random_negative_binomial").give("k", params.k).give("p", params.p).give("shape", params.shape).give("ctx", params.ctx).give("dtype", params.dtype).run();
}
// Draws from the normal distribution with mean loc and standard deviation scale.
inline Array random_normal(const RandomNormalParams& params = {}) {
  return detail::Call("_random_normal").give("loc", params.loc).give("scale", params.scale).give("shape", params.shape).give("ctx", params.ctx).give("dtype", params.dtype).run();
}
// The density of samples of the dirichlet distribution.
struct RandomPdfDirichletParams {
  std::optional<bool> is_log = {};  // False
};
inline Array random_pdf_dirichlet(const Array& sample, const Array& alpha, const RandomPdfDirichletParams& params = {}) {
  return detail::Call("_random_pdf_dirichlet").in(sample).in(alpha).give("is_log", params.is_log).run();
}
// The density of samples of the exponential distribution.
struct RandomPdfExponentialParams {
  std::optional<bool> is_log = {};  // False
};
inline Array random_pdf_exponential(const Array& sample, const Array& lam, const RandomPdfExponentialParams& params = {}) {
  return detail::Call("_random_pdf_exponential").in(sample).in(lam).give("is_log", params.is_log).run();
}
// The density of samples of the gamma distribution.
struct RandomPdfGammaParams {
  std::optional<bool> is_log = {};  // False
};
inline Array random_pdf_gamma(const Array& sample, const Array& alpha, const Array& beta, const RandomPdfGammaParams& params = {}) {
  return detail::Call("_random_pdf_gamma").in(sample).in(alpha).in(beta).give("is_log", params.is_log).run();
}
// The density of samples of the generalized negative binomial distribution.
struct RandomPdfGeneralizedNegativeBinomialParams {
  std::optional<bool> is_log = {};  // False
};
inline Array random_pdf_generalized_negative_binomial(const Array& sample, const Array& mu, const Array& alpha, const RandomPdfGeneralizedNegativeBinomialParams& params = {}) {
  return detail::Call("_random_pdf_generalized_negative_binomial").in(sample).in(mu).in(alpha).give("is_log", params.is_log).run();
}
// The density of samples of the negative binomial distribution.
struct RandomPdfNegativeBinomialParams {
  std::optional<bool> is_log = {};  // False
};
inline Array random_pdf_negative_binomial(const Array& sample, const Array& k, const Array& p, const RandomPdfNegativeBinomialParams& params = {}) {
  return detail::Call("_random_pdf_negative_binomial").in(sample).in(k).in(p).give("is_log", params.is_log).run();
}
// The density of samples of the normal distribution.
struct RandomPdfNormalParams {
  std::optional<bool> is_log = {};  // False
};
inline Array random_pdf_normal(const Array& sample, const Array& mu, const Array& sigma, const RandomPdfNormalParams& params = {}) {
  return detail::Call("_random_pdf_normal").in(sample).in(mu).in(sigma).give("is_log", params.is_log).run();
}
// The density of samples of the poisson distribution.
struct RandomPdfPoissonParams {
  std::optional<bool> is_log = {};  // False
};
inline Array random_pdf_poisson(const Array& sample, const Array& lam, const RandomPdfPoissonParams& params = {}) {
  return detail::Call("_random_pdf_poisson").in(sample).in(lam).give("is_log", params.is_log).run();
}
// The density of samples of the uniform distribution.
struct RandomPdfUniformParams {
  std::optional<bool> is_log = {};  // False
};
inline Array random_pdf_uniform(const Array& sample, const Array& low, const Array& high, const RandomPdfUniformParams& params = {}) {
  return detail::Call("_random_pdf_uniform").in(sample).in(low).in(high).give("is_log", params.is_log).run();
}
// Draws counts from the Poisson distribution with mean lam.
struct RandomPoissonParams {
  std::optional<double> lam = {};  // 1.0
  Shape shape = {};
  const char* ctx = nullptr;
  const char* dtype = nullptr;  // bfloat16, float16, float32, float64
};
inline Array random_poisson(const RandomPoissonParams& params = {}) {
  return detail::Call("_random_poisson").give("lam", params.lam).give("shape", params.shape).give("ctx", params.ctx).give("dtype", params.dtype).run();
}
// Draws integers uniformly from [low, high).
struct RandomRandintParams {
  std::optional<int64_t> low = {};
  std::optional<int64_t> high = {};
  Shape shape = {};
  const char* ctx = nullptr;
  const char* dtype = nullptr;  // int32, int64
};
inline Array random_randint(const RandomRandintParams& params = {}) {
  return detail::Call("_random_randint").give("low", params.low).give("high", params.high).give("shape", params.shape).give("ctx", params.ctx).give("dtype", params.dtype).run();
}
// Draws uniformly from [low, high).
struct RandomUniformParams {
  std::optional<double> low = {};  // 0.0
  std::optional<double> high = {};  // 1.0
  Shape shape = {};
  const char* ctx = nullptr;
  const char* dtype = nullptr;  // bfloat16, float16, float32, float64
};
inline Array random_uniform(const RandomUniformParams& params = {}) {
  return detail::Call("_random_uniform").give("low", params.low).give("high", params.high).give("shape", params.shape).give("ctx", params.ctx).give("dtype", params.dtype).run();
}
// Turns rows of indices, one an axis, into positions in row-major order.
struct RavelMultiIndexParams {
  Shape shape = {};
};
inline Array ravel_multi_index(const Array& data, const RavelMultiIndexParams& params = {}) {
  return detail::Call("_ravel_multi_index").in(data).give("shape", params.shape).run();
}
// Reciprocal of the cube root.
inline Array rcbrt(const Array& data) {
  return detail::Call("rcbrt").in(data).run();
}
// 1 / data.
inline Array reciprocal(const Array& data) {
  return detail::Call("reciprocal").in(data).run();
}
// max(data, 0).
inline Array relu(const Array& data) {
  return detail::Call("relu").in(data).run();
}
// Repeats each element.
struct RepeatParams {
  std::optional<int64_t> repeats = {};
  std::optional<int64_t> axis = {};
};
inline Array repeat(const Array& data, const RepeatParams& params = {}) {
  return detail::Call("repeat").in(data).give("repeats", params.repeats).give("axis", params.axis).run();
}
// Sets arrays to zero.
inline Arrays reset_arrays(const Arrays& data) {
  return detail::Call("reset_arrays").in(data).set("num_arrays", static_cast<int64_t>(data.size())).run_all();
}
// The same elements under another shape.
inline Array reshape(const Array& data, const ReshapeParams& params = {}) {
  return detail::Call("Reshape").in(data).give("shape", params.shape).give("reverse", params.reverse).give("target_shape", params.target_shape).give("keep_highest", params.keep_highest).run();
}
// The elements of lhs under the shape of rhs.
struct ReshapeLikeParams {
  std::optional<int64_t> lhs_begin = {};
  std::optional<int64_t> lhs_end = {};
  std::optional<int64_t> rhs_begin = {};
  std::optional<int64_t> rhs_end = {};
};
inline Array reshape_like(const Array& lhs, const Array& rhs, const ReshapeLikeParams& params = {}) {
  return detail::Call("reshape_like").in(lhs).in(rhs).give("lhs_begin", params.lhs_begin).give("lhs_end", params.lhs_end).give("rhs_begin", params.rhs_begin).give("rhs_end", params.rhs_end).run();
}
// Reverses the order along axes.
inline Array reverse(const Array& data, const ReverseParams& params = {}) {
  return detail::Call("reverse").in(data).give("axis", params.axis).run();
}
// Rounds to the nearest integer, halves down.
inline Array rint(const Array& data) {
  return detail::Call("rint").in(data).run();
}
// RMSProp in Hinton's form.
struct RmspropUpdateParams {
  std::optional<double> lr = {};
  std::optional<double> gamma1 = {};  // 0.95
  std::optional<double> epsilon = {};  // 1e-08
  std::optional<double> wd = {};  // 0.0
  std::optional<double> rescale_grad = {};  // 1.0
  std::optional<double> clip_gradient = {};  // -1.0
  std::optional<double> clip_weights = {};  // -1.0
};
inline Array rmsprop_update(const Array& weight, const Array& grad, const Array& n, const RmspropUpdateParams& params = {}) {
  return detail::Call("rmsprop_update").in(weight).in(grad).in(n).give("lr", params.lr).give("gamma1", params.gamma1).give("epsilon", params.epsilon).give("wd", params.wd).give("rescale_grad", params.rescale_grad).give("clip_gradient", params.clip_gradient).give("clip_weights", params.clip_weights).run();
}
// RMSProp in Graves' form.
struct RmspropalexUpdateParams {
  std::optional<double> lr = {};
  std::optional<double> gamma1 = {};  // 0.95
  std::optional<double> gamma2 = {};  // 0.9
  std::optional<double> epsilon = {};  // 1e-08
  std::optional<double> wd = {};  // 0.0
  std::optional<double> rescale_grad = {};  // 1.0
  std::optional<double> clip_gradient = {};  // -1.0
  std::optional<double> clip_weights = {};  // -1.0
};
inline Array rmspropalex_update(const Array& weight, const Array& grad, const Array& n, const Array& g, const Array& delta, const RmspropalexUpdateParams& params = {}) {
  return detail::Call("rmspropalex_update").in(weight).in(grad).in(n).in(g).in(delta).give("lr", params.lr).give("gamma1", params.gamma1).give("gamma2", params.gamma2).give("epsilon", params.epsilon).give("wd", params.wd).give("rescale_grad", params.rescale_grad).give("clip_gradient", params.clip_gradient).give("clip_weights", params.clip_weights).run();
}
// Rounds to the nearest integer, halves away from zero.
inline Array round(const Array& data) {
  return detail::Call("round").in(data).run();
}
// Reciprocal of the square root.
inline Array rsqrt(const Array& data) {
  return detail::Call("rsqrt").in(data).run();
}
// Draws from the exponential distribution with rate lam.
struct SampleExponentialParams {
  Shape shape = {};
  const char* dtype = nullptr;  // bfloat16, float16, float32, float64
};
inline Array sample_exponential(const Array& lam, const SampleExponentialParams& params = {}) {
  return detail::Call("_sample_exponential").in(lam).give("shape", params.shape).give("dtype", params.dtype).run();
}
// Draws from the gamma distribution with shape alpha and scale beta.
struct SampleGammaParams {
  Shape shape = {};
  const char* dtype = nullptr;  // bfloat16, float16, float32, float64
};
inline Array sample_gamma(const Array& alpha, const Array& beta, const SampleGammaParams& params = {}) {
  return detail::Call("_sample_gamma").in(alpha).in(beta).give("shape", params.shape).give("dtype", params.dtype).run();
}
// Draws counts with mean mu and dispersion alpha; with alpha 0, Poisson counts.
struct SampleGeneralizedNegativeBinomialParams {
  Shape shape = {};
  const char* dtype = nullptr;  // bfloat16, float16, float32, float64
};
inline Array sample_generalized_negative_binomial(const Array& mu, const Array& alpha, const SampleGeneralizedNegativeBinomialParams& params = {}) {
  return detail::Call("_sample_generalized_negative_binomial").in(mu).in(alpha).give("shape", params.shape).give("dtype", params.dtype).run();
}
// Draws indices along the last axis with the probabilities that `data` holds there.
struct SampleMultinomialParams {
  Shape shape = {};
  std::optional<bool> get_prob = {};  // False
  const char* dtype = nullptr;  // float16, float32, float64, int32, uint8
};
inline Arrays sample_multinomial(const Array& data, const SampleMultinomialParams& params = {}) {
  return detail::Call("_sample_multinomial").in(data).give("shape", params.shape).give("get_prob", params.get_prob).give("dtype", params.dtype).run_all();
}
// Draws the number of failures before k successes, each of probability p.
struct SampleNegativeBinomialParams {
  Shape shape = {};
  const char* dtype = nullptr;  // bfloat16, float16, float32, float64
};
inline Array sample_negative_binomial(const Array& k, const Array& p, const SampleNegativeBinomialParams& params = {}) {
  return detail::Call("_sample_negative_binomial").in(k).in(p).give("shape", params.shape).give("dtype", params.dtype).run();
}
// Draws from the normal distribution with mean loc and standard deviation scale.
struct SampleNormalParams {
  Shape shape = {};
  const char* dtype = nullptr;  // bfloat16, float16, float32, float64
};
inline Array sample_normal(const Array& mu, const Array& sigma, const SampleNormalParams& params = {}) {
  return detail::Call("_sample_normal").in(mu).in(sigma).give("shape", params.shape).give("dtype", params.dtype).run();
}
// Draws counts from the Poisson distribution with mean lam.
struct SamplePoissonParams {
  Shape shape = {};
  const char* dtype = nullptr;  // bfloat16, float16, float32, float64
};
inline Array sample_poisson(const Array& lam, const SamplePoissonParams& params = {}) {
  return detail::Call("_sample_poisson").in(lam).give("shape", params.shape).give("dtype", params.dtype).run();
}
// Draws uniformly from [low, high).
struct SampleUniformParams {
  Shape shape = {};
  const char* dtype = nullptr;  // bfloat16, float16, float32, float64
};
inline Array sample_uniform(const Array& low, const Array& high, const SampleUniformParams& params = {}) {
  return detail::Call("_sample_uniform").in(low).in(high).give("shape", params.shape).give("dtype", params.dtype).run();
}
// Puts elements or slices of `data` into zeros at the given indices; where one repeats, the last stays.
struct ScatterNdParams {
  Shape shape = {};
};
inline Array scatter_nd(const Array& data, const Array& indices, const ScatterNdParams& params = {}) {
  return detail::Call("scatter_nd").in(data).in(indices).give("shape", params.shape).run();
}
// Stochastic gradient descent with momentum.
struct SgdMomUpdateParams {
  std::optional<double> lr = {};
  std::optional<double> momentum = {};  // 0.0
  std::optional<double> wd = {};  // 0.0
  std::optional<double> rescale_grad = {};  // 1.0
  std::optional<double> clip_gradient = {};  // -1.0
  std::optional<bool> lazy_update = {};  // True
};
inline Array sgd_mom_update(const Array& weight, const Array& grad, const Array& mom, const SgdMomUpdateParams& params = {}) {
  return detail::Call("sgd_mom_update").in(weight).in(grad).in(mom).give("lr", params.lr).give("momentum", params.momentum).give("wd", params.wd).give("rescale_grad", params.rescale_grad).give("clip_gradient", params.clip_gradient).give("lazy_update", params.lazy_update).run();
}
// Stochastic gradient descent.
struct SgdUpdateParams {
  std::optional<double> lr = {};
  std::optional<double> wd = {};  // 0.0
  std::optional<double> rescale_grad = {};  // 1.0
  std::optional<double> clip_gradient = {};  // -1.0
  std::optional<bool> lazy_update = {};  // True
};
inline Array sgd_update(const Array& weight, const Array& grad, const SgdUpdateParams& params = {}) {
  return detail::Call("sgd_update").in(weight).in(grad).give("lr", params.lr).give("wd", params.wd).give("rescale_grad", params.rescale_grad).give("clip_gradient", params.clip_gradient).give("lazy_update", params.lazy_update).run();
}
// The shape of data as an array.
inline Array shape_array(const Array& data) {
  return detail::Call("shape_array").in(data).run();
}
// Puts the slices along the first axis into random order.
inline Array shuffle(const Array& data) {
  return detail::Call("_shuffle").in(data).run();
}
// 1 / (1 + exp(-data)).
inline Array sigmoid(const Array& data) {
  return detail::Call("sigmoid").in(data).run();
}
// -1, 0 or 1 for negative, zero and positive elements.
inline Array sign(const Array& data) {
  return detail::Call("sign").in(data).run();
}
// A step by the sign of the gradient.
struct SignsgdUpdateParams {
  std::optional<double> lr = {};
  std::optional<double> wd = {};  // 0.0
  std::optional<double> rescale_grad = {};  // 1.0
  std::optional<double> clip_gradient = {};  // -1.0
};
inline Array signsgd_update(const Array& weight, const Array& grad, const SignsgdUpdateParams& params = {}) {
  return detail::Call("signsgd_update").in(weight).in(grad).give("lr", params.lr).give("wd", params.wd).give("rescale_grad", params.rescale_grad).give("clip_gradient", params.clip_gradient).run();
}
// A step by the sign of the momentum.
struct SignumUpdateParams {
  std::optional<double> lr = {};
  std::optional<double> momentum = {};  // 0.0
  std::optional<double> wd = {};  // 0.0
  std::optional<double> rescale_grad = {};  // 1.0
  std::optional<double> clip_gradient = {};  // -1.0
  std::optional<double> wd_lh = {};  // 0.0
};
inline Array signum_update(const Array& weight, const Array& grad, const Array& mom, const SignumUpdateParams& params = {}) {
  return detail::Call("signum_update").in(weight).in(grad).in(mom).give("lr", params.lr).give("momentum", params.momentum).give("wd", params.wd).give("rescale_grad", params.rescale_grad).give("clip_gradient", params.clip_gradient).give("wd_lh", params.wd_lh).run();
}
// Sine.
inline Array sin(const Array& data) {
  return detail::Call("sin").in(data).run();
}
// Hyperbolic sine.
inline Array sinh(const Array& data) {
  return detail::Call("sinh").in(data).run();
}
// The number of elements of data as an array.
inline Array size_array(const Array& data) {
  return detail::Call("size_array").in(data).run();
}
// A region of data, as Python's slices along each axis.
inline Array slice(const Array& data, const SliceParams& params = {}) {
  return detail::Call("slice").in(data).give("begin", params.begin).give("end", params.end).give("step", params.step).run();
}
// A range of data along one axis.
struct SliceAxisParams {
  std::optional<int64_t> axis = {};
  std::optional<int64_t> begin = {};
  std::optional<int64_t> end = {};
};
inline Array slice_axis(const Array& data, const SliceAxisParams& params = {}) {
  return detail::Call("slice_axis").in(data).give("axis", params.axis).give("begin", params.begin).give("end", params.end).run();
}
// The beginning of data, as long along the axes as another array.
struct SliceLikeParams {
  Shape axes = {};
};
inline Array slice_like(const Array& data, const Array& shape_like, const SliceLikeParams& params = {}) {
  return detail::Call("slice_like").in(data).in(shape_like).give("axes", params.axes).run();
}
// 0.5 (scalar x)^2 where |x| <= 1 / scalar^2, else |x| - 0.5 / scalar^2.
struct SmoothL1Params {
  std::optional<double> scalar = {};  // 1.0
};
inline Array smooth_l1(const Array& data, const SmoothL1Params& params = {}) {
  return detail::Call("smooth_l1").in(data).give("scalar", params.scalar).run();
}
// Scales exponentials along `axis` so that they sum to one.
struct SoftmaxParams {
  std::optional<int64_t> axis = {};  // -1
  std::optional<double> temperature = {};
  const char* dtype = nullptr;  // float16, float32, float64
  std::optional<bool> use_length = {};  // False
};
inline Array softmax(const Array& data, const Array& length = {}, const SoftmaxParams& params = {}) {
  return detail::Call("softmax").in(data).in(length).give("axis", params.axis).give("temperature", params.temperature).give("dtype", params.dtype).give("use_length", params.use_length).run();
}
// The sum over a batch of the cross entropies between the softmax of the data and the labels.
inline Array softmax_cross_entropy(const Array& data, const Array& label) {
  return detail::Call("softmax_cross_entropy").in(data).in(label).run();
}
// The softmax of the negated input.
struct SoftminParams {
  std::optional<int64_t> axis = {};  // -1
  std::optional<double> temperature = {};
  const char* dtype = nullptr;  // float16, float32, float64
  std::optional<bool> use_length = {};  // False
};
inline Array softmin(const Array& data, const SoftminParams& params = {}) {
  return detail::Call("softmin").in(data).give("axis", params.axis).give("temperature", params.temperature).give("dtype", params.dtype).give("use_length", params.use_length).run();
}
// data / (1 + abs(data)).
inline Array softsign(const Array& data) {
  return detail::Call("softsign").in(data).run();
}
// Sorts along an axis; equal elements keep their order.
struct SortParams {
  std::optional<int64_t> axis = {};  // -1
  std::optional<bool> is_ascend = {};  // True
};
inline Arrays sort(const Array& data, const SortParams& params = {}) {
  return detail::Call("sort").in(data).give("axis", params.axis).give("is_ascend", params.is_ascend).run_all();
}
// Moves blocks of pixels into channels.
struct SpaceToDepthParams {
  std::optional<int64_t> block_size = {};
};
inline Array space_to_depth(const Array& data, const SpaceToDepthParams& params = {}) {
  return detail::Call("space_to_depth").in(data).give("block_size", params.block_size).run();
}
// Cuts data into equal parts along an axis.
inline Arrays split(const Array& data, const SliceChannelParams& params = {}) {
  return detail::Call("SliceChannel").in(data).give("num_outputs", params.num_outputs).give("axis", params.axis).give("squeeze_axis", params.squeeze_axis).run_all();
}
// Square root.
inline Array sqrt(const Array& data) {
  return detail::Call("sqrt").in(data).run();
}
// data * data.
inline Array square(const Array& data) {
  return detail::Call("square").in(data).run();
}
// Drops axes of size 1.
struct SqueezeParams {
  Shape axis = {};
};
inline Array squeeze(const Array& data, const SqueezeParams& params = {}) {
  return detail::Call("squeeze").in(data).give("axis", params.axis).run();
}
// Joins arrays along a new axis.
struct StackParams {
  std::optional<int64_t> axis = {};  // 0
};
inline Array stack(const Arrays& data, const StackParams& params = {}) {
  return detail::Call("stack").in(data).set("num_args", static_cast<int64_t>(data.size())).give("axis", params.axis).run();
}
// data, through which no gradient flows.
inline Array stop_gradient(const Array& data) {
  return detail::Call("BlockGrad").in(data).run();
}
// Sum over axes.
struct SumParams {
  Shape axis = {};
  std::optional<bool> keepdims = {};  // False
  std::optional<bool> exclude = {};  // False
};
inline Array sum(const Array& data, const SumParams& params = {}) {
  return detail::Call("sum").in(data).give("axis", params.axis).give("keepdims", params.keepdims).give("exclude", params.exclude).run();
}
// Sum over axes.
inline Array sum_axis(const Array& data, const SumParams& params = {}) {
  return detail::Call("sum").in(data).give("axis", params.axis).give("keepdims", params.keepdims).give("exclude", params.exclude).run();
}
// Exchanges two axes.
inline Array swapaxes(const Array& data, const SwapAxisParams& params = {}) {
  return detail::Call("SwapAxis").in(data).give("dim1", params.dim1).give("dim2", params.dim2).run();
}
// Takes slices of `a` along an axis at the given indices.
struct TakeParams {
  std::optional<int64_t> axis = {};  // 0
  const char* mode = nullptr;  // clip, raise, wrap
};
inline Array take(const Array& a, const Array& indices, const TakeParams& params = {}) {
  return detail::Call("take").in(a).in(indices).give("axis", params.axis).give("mode", params.mode).run();
}
// Tangent.
inline Array tan(const Array& data) {
  return detail::Call("tan").in(data).run();
}
// Hyperbolic tangent.
inline Array tanh(const Array& data) {
  return detail::Call("tanh").in(data).run();
}
// Repeats data as a whole along axes.
struct TileParams {
  Shape reps = {};
};
inline Array tile(const Array& data, const TileParams& params = {}) {
  return detail::Call("tile").in(data).give("reps", params.reps).run();
}
// Chooses the k largest (or smallest) elements along an axis, best first.
struct TopkParams {
  std::optional<int64_t> axis = {};  // -1
  std::optional<int64_t> k = {};  // 1
  const char* ret_typ = nullptr;  // both, indices, mask, value
  std::optional<bool> is_ascend = {};  // False
  const char* dtype = nullptr;  // float16, float32, float64, int32, int64, uint8
};
inline Arrays topk(const Array& data, const TopkParams& params = {}) {
  return detail::Call("topk").in(data).give("axis", params.axis).give("k", params.k).give("ret_typ", params.ret_typ).give("is_ascend", params.is_ascend).give("dtype", params.dtype).run_all();
}
// Permutes the axes.
struct TransposeParams {
  Shape axes = {};
};
inline Array transpose(const Array& data, const TransposeParams& params = {}) {
  return detail::Call("transpose").in(data).give("axes", params.axes).run();
}
// Rounds towards zero.
inline Array trunc(const Array& data) {
  return detail::Call("trunc").in(data).run();
}
// Draws uniformly from [low, high).
inline Array uniform(const RandomUniformParams& params = {}) {
  return detail::Call("_random_uniform").give("low", params.low).give("high", params.high).give("shape", params.shape).give("ctx", params.ctx).give("dtype", params.dtype).run();
}
// Turns positions in row-major order into rows of indices, one an axis.
struct UnravelIndexParams {
  Shape shape = {};
};
inline Array unravel_index(const Array& data, const UnravelIndexParams& params = {}) {
  return detail::Call("_unravel_index").in(data).give("shape", params.shape).run();
}
// Elements of x where condition is not zero, else of y.
inline Array where(const Array& condition, const Array& x, const Array& y) {
  return detail::Call("where").in(condition).in(x).in(y).run();
}
// Zeros of the shape and type of data.
inline Array zeros_like(const Array& data) {
  return detail::Call("zeros_like").in(data).run();
}

namespace linalg {
// The determinant of each matrix of a batch.
inline Arrays det(const Array& A) {
  return detail::Call("_linalg_det").in(A).run_all();
}
// A diagonal of each square matrix of a batch.
inline Array extractdiag(const Array& A, const LinalgExtractdiagParams& params = {}) {
  return detail::Call("_linalg_extractdiag").in(A).give("offset", params.offset).run();
}
// A triangle of each square matrix of a batch as a vector, row by row; an upper one column by column.
inline Array extracttrian(const Array& A, const LinalgExtracttrianParams& params = {}) {
  return detail::Call("_linalg_extracttrian").in(A).give("offset", params.offset).give("lower", params.lower).run();
}
// Q and L with A = L Q for each matrix of a batch, which has no more rows than columns: the rows of Q are orthonormal, L is lower triangular.
inline Arrays gelqf(const Array& A) {
  return detail::Call("_linalg_gelqf").in(A).run_all();
}
// alpha op(A) op(B) + beta C for each matrix of a batch, where op may transpose.
inline Array gemm(const Array& A, const Array& B, const Array& C, const LinalgGemmParams& params = {}) {
  return detail::Call("_linalg_gemm").in(A).in(B).in(C).give("transpose_a", params.transpose_a).give("transpose_b", params.transpose_b).give("alpha", params.alpha).give("beta", params.beta).give("axis", params.axis).run();
}
// alpha op(A) op(B) for each matrix of a batch, where op may transpose.
inline Array gemm2(const Array& A, const Array& B, const LinalgGemm2Params& params = {}) {
  return detail::Call("_linalg_gemm2").in(A).in(B).give("transpose_a", params.transpose_a).give("transpose_b", params.transpose_b).give("alpha", params.alpha).give("axis", params.axis).run();
}
// The inverse of each matrix of a batch; an error for a singular one.
inline Array inverse(const Array& A) {
  return detail::Call("_linalg_inverse").in(A).run();
}
// A matrix with each vector of a batch on a diagonal, and zeros elsewhere.
inline Array makediag(const Array& A, const LinalgMakediagParams& params = {}) {
  return detail::Call("_linalg_makediag").in(A).give("offset", params.offset).run();
}
// A matrix with each vector of a batch as a triangle, and zeros elsewhere.
inline Array maketrian(const Array& A, const LinalgMaketrianParams& params = {}) {
  return detail::Call("_linalg_maketrian").in(A).give("offset", params.offset).give("lower", params.lower).run();
}
// The pseudo-inverse of each matrix of a batch; singular values up to its `rcond` times the largest one count as zero.
inline Array pinv(const Array& A, const Array& rcond) {
  return detail::Call("_linalg_pinv").in(A).in(rcond).run();
}
// The Cholesky factor of each matrix of a batch; an error for one that is not positive definite.
inline Array potrf(const Array& A, const LinalgPotrfParams& params = {}) {
  return detail::Call("_linalg_potrf").in(A).give("lower", params.lower).run();
}
// The inverse of L L^T for each lower triangular matrix L of a batch.
inline Array potri(const Array& A) {
  return detail::Call("_linalg_potri").in(A).run();
}
// Sign and logarithm of the absolute value of the determinant of each matrix of a batch.
inline Arrays slogdet(const Array& A) {
  return detail::Call("_linalg_slogdet").in(A).run_all();
}
// The X with op(A) X = B for each matrix of a batch; an error for a singular one.
inline Array solve(const Array& A, const Array& B, const LinalgSolveParams& params = {}) {
  return detail::Call("_linalg_solve").in(A).in(B).give("transpose", params.transpose).run();
}
// The sum of the logarithms of the diagonal of each square matrix of a batch.
inline Array sumlogdiag(const Array& A) {
  return detail::Call("_linalg_sumlogdiag").in(A).run();
}
// U, s and V with A = U diag(s) V for each matrix of a batch, which has no more rows than columns: U's columns and V's rows are orthonormal, s descends.
inline Arrays svd(const Array& A) {
  return detail::Call("_linalg_svd").in(A).run_all();
}
// U and v with A = U^T diag(v) U for each symmetric matrix of a batch: the rows of U are its eigenvectors, v its eigenvalues in ascending order.
inline Arrays syevd(const Array& A) {
  return detail::Call("_linalg_syevd").in(A).run_all();
}
// alpha A A^T, or alpha A^T A, for each matrix of a batch.
inline Array syrk(const Array& A, const LinalgSyrkParams& params = {}) {
  return detail::Call("_linalg_syrk").in(A).give("transpose", params.transpose).give("alpha", params.alpha).run();
}
// alpha op(A) B, or alpha B op(A), for each triangular matrix A of a batch.
inline Array trmm(const Array& A, const Array& B, const LinalgTrmmParams& params = {}) {
  return detail::Call("_linalg_trmm").in(A).in(B).give("transpose", params.transpose).give("rightside", params.rightside).give("lower", params.lower).give("alpha", params.alpha).run();
}
// Solves op(A) X = alpha B, or X op(A) = alpha B, for each triangular matrix A of a batch.
inline Array trsm(const Array& A, const Array& B, const LinalgTrsmParams& params = {}) {
  return detail::Call("_linalg_trsm").in(A).in(B).give("transpose", params.transpose).give("rightside", params.rightside).give("lower", params.lower).give("alpha", params.alpha).run();
}
}  // namespace linalg

namespace contrib {
// Averages windows that cover the image evenly, for an output of a given size.
struct ContribAdaptiveAvgPooling2DParams {
  Shape output_size = {};
};
inline Array AdaptiveAvgPooling2D(const Array& data, const ContribAdaptiveAvgPooling2DParams& params = {}) {
  return detail::Call("_contrib_AdaptiveAvgPooling2D").in(data).give("output_size", params.output_size).run();
}
// BatchNorm, then max(x, 0).
struct ContribBatchNormWithReLUParams {
  std::optional<double> eps = {};  // 0.0010000000474974513
  std::optional<double> momentum = {};  // 0.9
  std::optional<bool> fix_gamma = {};  // True
  std::optional<bool> use_global_stats = {};  // False
  std::optional<bool> output_mean_var = {};  // False
  std::optional<int64_t> axis = {};  // 1
  std::optional<bool> cudnn_off = {};  // False
  std::optional<double> min_calib_range = {};
  std::optional<double> max_calib_range = {};
};
inline Arrays BatchNormWithReLU(const Array& data, const Array& gamma, const Array& beta, const Array& moving_mean, const Array& moving_var, const ContribBatchNormWithReLUParams& params = {}) {
  return detail::Call("_contrib_BatchNormWithReLU").in(data).in(gamma).in(beta).in(moving_mean).in(moving_var).give("eps", params.eps).give("momentum", params.momentum).give("fix_gamma", params.fix_gamma).give("use_global_stats", params.use_global_stats).give("output_mean_var", params.output_mean_var).give("axis", params.axis).give("cudnn_off", params.cudnn_off).give("min_calib_range", params.min_calib_range).give("max_calib_range", params.max_calib_range).run_all();
}
// Changes the size of images; new elements are weighted means of the four around them.
struct ContribBilinearResize2DParams {
  std::optional<int64_t> height = {};  // 1
  std::optional<int64_t> width = {};  // 1
  std::optional<double> scale_height = {};
  std::optional<double> scale_width = {};
  const char* mode = nullptr;  // like, odd_scale, size, to_even_down, to_even_up, to_odd_down, to_odd_up
  std::optional<bool> align_corners = {};  // True
};
inline Array BilinearResize2D(const Array& data, const Array& like = {}, const ContribBilinearResize2DParams& params = {}) {
  return detail::Call("_contrib_BilinearResize2D").in(data).in(like).give("height", params.height).give("width", params.width).give("scale_height", params.scale_height).give("scale_width", params.scale_width).give("mode", params.mode).give("align_corners", params.align_corners).run();
}
// The connectionist temporal classification loss: the negative logarithm of the probability of all ways to spread a label over time.
inline Arrays CTCLoss(const Array& data, const Array& label = {}, const Array& data_lengths = {}, const Array& label_lengths = {}, const CTCLossParams& params = {}) {
  return detail::Call("CTCLoss").in(data).in(label).in(data_lengths).in(label_lengths).give("use_data_lengths", params.use_data_lengths).give("use_label_lengths", params.use_label_lengths).give("blank_label", params.blank_label).run_all();
}
// Convolution whose filters read the data at places moved by offsets.
struct ContribDeformableConvolutionParams {
  Shape kernel = {};
  Shape stride = {};
  Shape dilate = {};
  Shape pad = {};
  std::optional<int64_t> num_filter = {};
  std::optional<int64_t> num_group = {};  // 1
  std::optional<int64_t> num_deformable_group = {};  // 1
  std::optional<int64_t> workspace = {};  // 1024
  std::optional<bool> no_bias = {};  // False
  const char* layout = nullptr;  // NCDHW, NCHW, NCW
};
inline Array DeformableConvolution(const Array& data, const Array& offset = {}, const Array& weight = {}, const Array& bias = {}, const ContribDeformableConvolutionParams& params = {}) {
  return detail::Call("_contrib_DeformableConvolution").in(data).in(offset).in(weight).in(bias).give("kernel", params.kernel).give("stride", params.stride).give("dilate", params.dilate).give("pad", params.pad).give("num_filter", params.num_filter).give("num_group", params.num_group).give("num_deformable_group", params.num_deformable_group).give("workspace", params.workspace).give("no_bias", params.no_bias).give("layout", params.layout).run();
}
// PSROIPooling of points, each part of a box moved by `trans`, in parts of the box.
struct ContribDeformablePSROIPoolingParams {
  std::optional<double> spatial_scale = {};
  std::optional<int64_t> output_dim = {};
  std::optional<int64_t> group_size = {};
  std::optional<int64_t> pooled_size = {};
  std::optional<int64_t> part_size = {};  // 0
  std::optional<int64_t> sample_per_part = {};  // 1
  std::optional<double> trans_std = {};  // 0.0
  std::optional<bool> no_trans = {};  // False
};
inline Array DeformablePSROIPooling(const Array& data, const Array& rois = {}, const Array& trans = {}, const ContribDeformablePSROIPoolingParams& params = {}) {
  return detail::Call("_contrib_DeformablePSROIPooling").in(data).in(rois).in(trans).give("spatial_scale", params.spatial_scale).give("output_dim", params.output_dim).give("group_size", params.group_size).give("pooled_size", params.pooled_size).give("part_size", params.part_size).give("sample_per_part", params.sample_per_part).give("trans_std", params.trans_std).give("no_trans", params.no_trans).run();
}
// Convolution whose filters read the data at places moved by offsets, times a mask.
struct ContribModulatedDeformableConvolutionParams {
  Shape kernel = {};
  Shape stride = {};
  Shape dilate = {};
  Shape pad = {};
  std::optional<int64_t> num_filter = {};
  std::optional<int64_t> num_group = {};  // 1
  std::optional<int64_t> num_deformable_group = {};  // 1
  std::optional<int64_t> workspace = {};  // 1024
  std::optional<bool> no_bias = {};  // False
  std::optional<int64_t> im2col_step = {};  // 64
  const char* layout = nullptr;  // NCDHW, NCHW, NCW
};
inline Array ModulatedDeformableConvolution(const Array& data, const Array& offset = {}, const Array& mask = {}, const Array& weight = {}, const Array& bias = {}, const ContribModulatedDeformableConvolutionParams& params = {}) {
  return detail::Call("_contrib_ModulatedDeformableConvolution").in(data).in(offset).in(mask).in(weight).in(bias).give("kernel", params.kernel).give("stride", params.stride).give("dilate", params.dilate).give("pad", params.pad).give("num_filter", params.num_filter).give("num_group", params.num_group).give("num_deformable_group", params.num_deformable_group).give("workspace", params.workspace).give("no_bias", params.no_bias).give("im2col_step", params.im2col_step).give("layout", params.layout).run();
}
// Boxes that were found: class, score and corners of each, the best first; class -1: none.
struct ContribMultiBoxDetectionParams {
  std::optional<bool> clip = {};  // True
  std::optional<double> threshold = {};  // 0.01
  std::optional<int64_t> background_id = {};  // 0
  std::optional<double> nms_threshold = {};  // 0.5
  std::optional<bool> force_suppress = {};  // False
  std::vector<double> variances = {};  // (0.1, 0.1, 0.2, 0.2)
  std::optional<int64_t> nms_topk = {};  // -1
};
inline Array MultiBoxDetection(const Array& cls_prob, const Array& loc_pred, const Array& anchor, const ContribMultiBoxDetectionParams& params = {}) {
  return detail::Call("_contrib_MultiBoxDetection").in(cls_prob).in(loc_pred).in(anchor).give("clip", params.clip).give("threshold", params.threshold).give("background_id", params.background_id).give("nms_threshold", params.nms_threshold).give("force_suppress", params.force_suppress).give("variances", params.variances).give("nms_topk", params.nms_topk).run();
}
// Anchors: boxes of some sizes and ratios about each element of an image.
struct ContribMultiBoxPriorParams {
  std::vector<double> sizes = {};  // (1.0,)
  std::vector<double> ratios = {};  // (1.0,)
  std::optional<bool> clip = {};  // False
  std::vector<double> steps = {};  // (-1.0, -1.0)
  std::vector<double> offsets = {};  // (0.5, 0.5)
};
inline Array MultiBoxPrior(const Array& data, const ContribMultiBoxPriorParams& params = {}) {
  return detail::Call("_contrib_MultiBoxPrior").in(data).give("sizes", params.sizes).give("ratios", params.ratios).give("clip", params.clip).give("steps", params.steps).give("offsets", params.offsets).run();
}
// Matches anchors with labelled boxes: their distances, which of them count, and the anchors' classes.
struct ContribMultiBoxTargetParams {
  std::optional<double> overlap_threshold = {};  // 0.5
  std::optional<double> ignore_label = {};  // -1.0
  std::optional<double> negative_mining_ratio = {};  // -1.0
  std::optional<double> negative_mining_thresh = {};  // 0.5
  std::optional<int64_t> minimum_negative_samples = {};  // 0
  std::vector<double> variances = {};  // (0.1, 0.1, 0.2, 0.2)
};
inline Arrays MultiBoxTarget(const Array& anchor, const Array& label, const Array& cls_pred, const ContribMultiBoxTargetParams& params = {}) {
  return detail::Call("_contrib_MultiBoxTarget").in(anchor).in(label).in(cls_pred).give("overlap_threshold", params.overlap_threshold).give("ignore_label", params.ignore_label).give("negative_mining_ratio", params.negative_mining_ratio).give("negative_mining_thresh", params.negative_mining_thresh).give("minimum_negative_samples", params.minimum_negative_samples).give("variances", params.variances).run_all();
}
// The regions of each image of a batch that look most like objects.
struct ContribMultiProposalParams {
  std::optional<int64_t> rpn_pre_nms_top_n = {};  // 6000
  std::optional<int64_t> rpn_post_nms_top_n = {};  // 300
  std::optional<double> threshold = {};  // 0.7
  std::optional<int64_t> rpn_min_size = {};  // 16
  std::vector<double> scales = {};  // (4.0, 8.0, 16.0, 32.0)
  std::vector<double> ratios = {};  // (0.5, 1.0, 2.0)
  std::optional<int64_t> feature_stride = {};  // 16
  std::optional<bool> output_score = {};  // False
  std::optional<bool> iou_loss = {};  // False
};
inline Arrays MultiProposal(const Array& cls_prob, const Array& bbox_pred, const Array& im_info, const ContribMultiProposalParams& params = {}) {
  return detail::Call("_contrib_MultiProposal").in(cls_prob).in(bbox_pred).in(im_info).give("rpn_pre_nms_top_n", params.rpn_pre_nms_top_n).give("rpn_post_nms_top_n", params.rpn_post_nms_top_n).give("threshold", params.threshold).give("rpn_min_size", params.rpn_min_size).give("scales", params.scales).give("ratios", params.ratios).give("feature_stride", params.feature_stride).give("output_score", params.output_score).give("iou_loss", params.iou_loss).run_all();
}
// Averages each part of boxes, in a group of channels of the part's own.
struct ContribPSROIPoolingParams {
  std::optional<double> spatial_scale = {};
  std::optional<int64_t> output_dim = {};
  std::optional<int64_t> pooled_size = {};
  std::optional<int64_t> group_size = {};  // 0
};
inline Array PSROIPooling(const Array& data, const Array& rois, const ContribPSROIPoolingParams& params = {}) {
  return detail::Call("_contrib_PSROIPooling").in(data).in(rois).give("spatial_scale", params.spatial_scale).give("output_dim", params.output_dim).give("pooled_size", params.pooled_size).give("group_size", params.group_size).run();
}
// The regions of an image that look most like objects.
struct ContribProposalParams {
  std::optional<int64_t> rpn_pre_nms_top_n = {};  // 6000
  std::optional<int64_t> rpn_post_nms_top_n = {};  // 300
  std::optional<double> threshold = {};  // 0.7
  std::optional<int64_t> rpn_min_size = {};  // 16
  std::vector<double> scales = {};  // (4.0, 8.0, 16.0, 32.0)
  std::vector<double> ratios = {};  // (0.5, 1.0, 2.0)
  std::optional<int64_t> feature_stride = {};  // 16
  std::optional<bool> output_score = {};  // False
  std::optional<bool> iou_loss = {};  // False
};
inline Arrays Proposal(const Array& cls_prob, const Array& bbox_pred, const Array& im_info, const ContribProposalParams& params = {}) {
  return detail::Call("_contrib_Proposal").in(cls_prob).in(bbox_pred).in(im_info).give("rpn_pre_nms_top_n", params.rpn_pre_nms_top_n).give("rpn_post_nms_top_n", params.rpn_post_nms_top_n).give("threshold", params.threshold).give("rpn_min_size", params.rpn_min_size).give("scales", params.scales).give("ratios", params.ratios).give("feature_stride", params.feature_stride).give("output_score", params.output_score).give("iou_loss", params.iou_loss).run_all();
}
// Averages points, read between elements, of each part of boxes.
struct ContribROIAlignParams {
  Shape pooled_size = {};
  std::optional<double> spatial_scale = {};
  std::optional<int64_t> sample_ratio = {};  // -1
  std::optional<bool> position_sensitive = {};  // False
  std::optional<bool> aligned = {};  // False
};
inline Array ROIAlign(const Array& data, const Array& rois, const ContribROIAlignParams& params = {}) {
  return detail::Call("_contrib_ROIAlign").in(data).in(rois).give("pooled_size", params.pooled_size).give("spatial_scale", params.spatial_scale).give("sample_ratio", params.sample_ratio).give("position_sensitive", params.position_sensitive).give("aligned", params.aligned).run();
}
// ROIAlign for turned boxes: centre, width, height, and degrees.
struct ContribRROIAlignParams {
  Shape pooled_size = {};
  std::optional<double> spatial_scale = {};
  std::optional<int64_t> sampling_ratio = {};  // -1
};
inline Array RROIAlign(const Array& data, const Array& rois, const ContribRROIAlignParams& params = {}) {
  return detail::Call("_contrib_RROIAlign").in(data).in(rois).give("pooled_size", params.pooled_size).give("spatial_scale", params.spatial_scale).give("sampling_ratio", params.sampling_ratio).run();
}
// Looks up rows of `weight`, whose gradient is row_sparse: the rows that were looked up.
struct ContribSparseEmbeddingParams {
  std::optional<int64_t> input_dim = {};
  std::optional<int64_t> output_dim = {};
  const char* dtype = nullptr;  // bfloat16, float16, float32, float64, int32, int64, int8, uint8
  std::optional<bool> sparse_grad = {};  // False
  std::optional<bool> deterministic = {};  // False
};
inline Array SparseEmbedding(const Array& data, const Array& weight, const ContribSparseEmbeddingParams& params = {}) {
  return detail::Call("_contrib_SparseEmbedding").in(data).in(weight).give("input_dim", params.input_dim).give("output_dim", params.output_dim).give("dtype", params.dtype).give("sparse_grad", params.sparse_grad).give("deterministic", params.deterministic).run();
}
// BatchNorm over axis 1 whose batch may lie on several devices; here, on one.
struct ContribSyncBatchNormParams {
  std::optional<double> eps = {};  // 0.001
  std::optional<double> momentum = {};  // 0.9
  std::optional<bool> fix_gamma = {};  // True
  std::optional<bool> use_global_stats = {};  // False
  std::optional<bool> output_mean_var = {};  // False
  std::optional<int64_t> ndev = {};  // 1
  const char* key = nullptr;
};
inline Arrays SyncBatchNorm(const Array& data, const Array& gamma, const Array& beta, const Array& moving_mean, const Array& moving_var, const ContribSyncBatchNormParams& params = {}) {
  return detail::Call("_contrib_SyncBatchNorm").in(data).in(gamma).in(beta).in(moving_mean).in(moving_var).give("eps", params.eps).give("momentum", params.momentum).give("fix_gamma", params.fix_gamma).give("use_global_stats", params.use_global_stats).give("output_mean_var", params.output_mean_var).give("ndev", params.ndev).give("key", params.key).run_all();
}
// 1 if all elements of two arrays are equal within tolerances, else 0.
struct ContribAllcloseParams {
  std::optional<double> rtol = {};  // 1e-05
  std::optional<double> atol = {};  // 1e-08
  std::optional<bool> equal_nan = {};  // True
};
inline Array allclose(const Array& a, const Array& b, const ContribAllcloseParams& params = {}) {
  return detail::Call("_contrib_allclose").in(a).in(b).give("rtol", params.rtol).give("atol", params.atol).give("equal_nan", params.equal_nan).run();
}
// Makes evenly spaced values, as many as data has elements, or as long as one of its axes.
struct ContribArangeLikeParams {
  std::optional<double> start = {};  // 0.0
  std::optional<double> step = {};  // 1.0
  std::optional<int64_t> repeat = {};  // 1
  const char* ctx = nullptr;
  std::optional<int64_t> axis = {};
};
inline Array arange_like(const Array& data, const ContribArangeLikeParams& params = {}) {
  return detail::Call("_contrib_arange_like").in(data).give("start", params.start).give("step", params.step).give("repeat", params.repeat).give("ctx", params.ctx).give("axis", params.axis).run();
}
// Matches rows with columns, the best scores first; -1 for those without.
struct ContribBipartiteMatchingParams {
  std::optional<bool> is_ascend = {};  // False
  std::optional<double> threshold = {};
  std::optional<int64_t> topk = {};  // -1
};
inline Arrays bipartite_matching(const Array& data, const ContribBipartiteMatchingParams& params = {}) {
  return detail::Call("_contrib_bipartite_matching").in(data).give("is_ascend", params.is_ascend).give("threshold", params.threshold).give("topk", params.topk).run_all();
}
// Takes the slices of data along an axis for which `index` is not zero.
struct ContribBooleanMaskParams {
  std::optional<int64_t> axis = {};  // 0
};
inline Array boolean_mask(const Array& data, const Array& index, const ContribBooleanMaskParams& params = {}) {
  return detail::Call("_contrib_boolean_mask").in(data).in(index).give("axis", params.axis).run();
}
// Boxes, as corners, from their distances from anchors.
struct ContribBoxDecodeParams {
  std::optional<double> std0 = {};  // 1.0
  std::optional<double> std1 = {};  // 1.0
  std::optional<double> std2 = {};  // 1.0
  std::optional<double> std3 = {};  // 1.0
  std::optional<double> clip = {};  // -1.0
  const char* format = nullptr;  // center, corner
};
inline Array box_decode(const Array& data, const Array& anchors, const ContribBoxDecodeParams& params = {}) {
  return detail::Call("_contrib_box_decode").in(data).in(anchors).give("std0", params.std0).give("std1", params.std1).give("std2", params.std2).give("std3", params.std3).give("clip", params.clip).give("format", params.format).run();
}
// Distances of boxes from the anchors that they were matched with, and which of them count.
inline Arrays box_encode(const Array& samples, const Array& matches, const Array& anchors, const Array& refs, const Array& means, const Array& stds) {
  return detail::Call("_contrib_box_encode").in(samples).in(matches).in(anchors).in(refs).in(means).in(stds).run_all();
}
// Intersection over union of each box of lhs with each of rhs.
struct ContribBoxIouParams {
  const char* format = nullptr;  // center, corner
};
inline Array box_iou(const Array& lhs, const Array& rhs, const ContribBoxIouParams& params = {}) {
  return detail::Call("_contrib_box_iou").in(lhs).in(rhs).give("format", params.format).run();
}
// Takes out boxes that overlap better ones; the others come first, the best ahead, and then rows of -1.
struct ContribBoxNmsParams {
  std::optional<double> overlap_thresh = {};  // 0.5
  std::optional<double> valid_thresh = {};  // 0.0
  std::optional<int64_t> topk = {};  // -1
  std::optional<int64_t> coord_start = {};  // 2
  std::optional<int64_t> score_index = {};  // 1
  std::optional<int64_t> id_index = {};  // -1
  std::optional<int64_t> background_id = {};  // -1
  std::optional<bool> force_suppress = {};  // False
  const char* in_format = nullptr;  // center, corner
  const char* out_format = nullptr;  // center, corner
};
inline Array box_nms(const Array& data, const ContribBoxNmsParams& params = {}) {
  return detail::Call("_contrib_box_nms").in(data).give("overlap_thresh", params.overlap_thresh).give("valid_thresh", params.valid_thresh).give("topk", params.topk).give("coord_start", params.coord_start).give("score_index", params.score_index).give("id_index", params.id_index).give("background_id", params.background_id).give("force_suppress", params.force_suppress).give("in_format", params.in_format).give("out_format", params.out_format).run();
}
// Takes out boxes that overlap better ones; the others come first, the best ahead, and then rows of -1.
inline Array box_non_maximum_suppression(const Array& data, const ContribBoxNmsParams& params = {}) {
  return detail::Call("_contrib_box_nms").in(data).give("overlap_thresh", params.overlap_thresh).give("valid_thresh", params.valid_thresh).give("topk", params.topk).give("coord_start", params.coord_start).give("score_index", params.score_index).give("id_index", params.id_index).give("background_id", params.background_id).give("force_suppress", params.force_suppress).give("in_format", params.in_format).give("out_format", params.out_format).run();
}
// The threshold at which a histogram loses least (by divergence) when values beyond are cut off and the rest is told apart by so many steps.
struct ContribCalibrateEntropyParams {
  std::optional<int64_t> num_quantized_bins = {};  // 255
};
inline Arrays calibrate_entropy(const Array& hist, const Array& hist_edges, const ContribCalibrateEntropyParams& params = {}) {
  return detail::Call("_contrib_calibrate_entropy").in(hist).in(hist_edges).give("num_quantized_bins", params.num_quantized_bins).run_all();
}
// Adds s[i] data[..., i] to element h[i] of the output: a random projection.
struct ContribCountSketchParams {
  std::optional<int64_t> out_dim = {};
  std::optional<int64_t> processing_batch_size = {};  // 32
};
inline Array count_sketch(const Array& data, const Array& h, const Array& s, const ContribCountSketchParams& params = {}) {
  return detail::Call("_contrib_count_sketch").in(data).in(h).in(s).give("out_dim", params.out_dim).give("processing_batch_size", params.processing_batch_size).run();
}
// The connectionist temporal classification loss: the negative logarithm of the probability of all ways to spread a label over time.
inline Arrays ctc_loss(const Array& data, const Array& label = {}, const Array& data_lengths = {}, const Array& label_lengths = {}, const CTCLossParams& params = {}) {
  return detail::Call("CTCLoss").in(data).in(label).in(data_lengths).in(label_lengths).give("use_data_lengths", params.use_data_lengths).give("use_label_lengths", params.use_label_lengths).give("blank_label", params.blank_label).run_all();
}
// Turns whole numbers into the real ones that they stand for.
struct ContribDequantizeParams {
  const char* out_type = nullptr;  // float32
};
inline Array dequantize(const Array& data, const Array& min_range, const Array& max_range, const ContribDequantizeParams& params = {}) {
  return detail::Call("_contrib_dequantize").in(data).in(min_range).in(max_range).give("out_type", params.out_type).run();
}
// The adjacency matrix of a graph: a 1 for each edge.
inline Array dgl_adjacency(const Array& data) {
  return detail::Call("_contrib_dgl_adjacency").in(data).run();
}
// Samples the neighbourhood of some vertices by probabilities of all vertices, for each array of seeds: the vertices' numbers with their count at the end; a matrix with the sampled edges of vertex i in row i; the vertices' probabilities; their distances from the seeds.
struct ContribDglCsrNeighborNonUniformSampleParams {
  std::optional<int64_t> num_hops = {};  // 1
  std::optional<int64_t> num_neighbor = {};  // 2
  std::optional<int64_t> max_num_vertices = {};  // 100
};
inline Array dgl_csr_neighbor_non_uniform_sample(const Array& csr_matrix, const Array& probability, const Arrays& seed_arrays, const ContribDglCsrNeighborNonUniformSampleParams& params = {}) {
  return detail::Call("_contrib_dgl_csr_neighbor_non_uniform_sample").in(csr_matrix).in(probability).in(seed_arrays).set("num_args", static_cast<int64_t>(seed_arrays.size())).give("num_hops", params.num_hops).give("num_neighbor", params.num_neighbor).give("max_num_vertices", params.max_num_vertices).run();
}
// Samples the neighbourhood of some vertices of a graph, for each array of seeds: the vertices' numbers with their count at the end; a matrix with the sampled edges of vertex i in row i; the vertices' distances from the seeds.
struct ContribDglCsrNeighborUniformSampleParams {
  std::optional<int64_t> num_hops = {};  // 1
  std::optional<int64_t> num_neighbor = {};  // 2
  std::optional<int64_t> max_num_vertices = {};  // 100
};
inline Array dgl_csr_neighbor_uniform_sample(const Array& csr_matrix, const Arrays& seed_arrays, const ContribDglCsrNeighborUniformSampleParams& params = {}) {
  return detail::Call("_contrib_dgl_csr_neighbor_uniform_sample").in(csr_matrix).in(seed_arrays).set("num_args", static_cast<int64_t>(seed_arrays.size())).give("num_hops", params.num_hops).give("num_neighbor", params.num_neighbor).give("max_num_vertices", params.max_num_vertices).run();
}
// Square matrices of sampled graphs: without the rows of no vertex, columns numbered as the vertices.
struct ContribDglGraphCompactParams {
  std::optional<bool> return_mapping = {};
  Shape graph_sizes = {};
};
inline Array dgl_graph_compact(const Arrays& graph_data, const ContribDglGraphCompactParams& params = {}) {
  return detail::Call("_contrib_dgl_graph_compact").in(graph_data).set("num_args", static_cast<int64_t>(graph_data.size())).give("return_mapping", params.return_mapping).give("graph_sizes", params.graph_sizes).run();
}
// The edges between some vertices of a graph, for each array of vertices.
struct ContribDglSubgraphParams {
  std::optional<bool> return_mapping = {};
};
inline Array dgl_subgraph(const Array& graph, const Arrays& data, const ContribDglSubgraphParams& params = {}) {
  return detail::Call("_contrib_dgl_subgraph").in(graph).in(data).set("num_args", static_cast<int64_t>(data.size())).give("return_mapping", params.return_mapping).run();
}
// The data over the square root of the size of the last axis.
inline Array div_sqrt_dim(const Array& data) {
  return detail::Call("_contrib_div_sqrt_dim").in(data).run();
}
// The stored element of a csr matrix in row u[i] and column v[i], or -1 where it stores none.
inline Array edge_id(const Array& data, const Array& u, const Array& v) {
  return detail::Call("_contrib_edge_id").in(data).in(u).in(v).run();
}
// The discrete Fourier transform along the last axis, as pairs of real and imaginary parts.
struct ContribFftParams {
  std::optional<int64_t> compute_size = {};  // 128
};
inline Array fft(const Array& data, const ContribFftParams& params = {}) {
  return detail::Call("_contrib_fft").in(data).give("compute_size", params.compute_size).run();
}
// The number of elements that a csr matrix stores, as a whole or in each row or column.
struct ContribGetnnzParams {
  std::optional<int64_t> axis = {};
};
inline Array getnnz(const Array& data, const ContribGetnnzParams& params = {}) {
  return detail::Call("_contrib_getnnz").in(data).give("axis", params.axis).run();
}
// The data as they are; their gradient is multiplied by `scalar`.
struct ContribGradientmultiplierParams {
  std::optional<double> scalar = {};  // 1.0
  std::optional<bool> is_int = {};  // True
};
inline Array gradientmultiplier(const Array& data, const ContribGradientmultiplierParams& params = {}) {
  return detail::Call("_contrib_gradientmultiplier").in(data).give("scalar", params.scalar).give("is_int", params.is_int).run();
}
// AdaGrad with one accumulated square a row.
struct ContribGroupAdagradUpdateParams {
  std::optional<double> lr = {};
  std::optional<double> rescale_grad = {};  // 1.0
  std::optional<double> clip_gradient = {};  // -1.0
  std::optional<double> epsilon = {};  // 1e-05
};
inline Array group_adagrad_update(const Array& weight, const Array& grad, const Array& history, const ContribGroupAdagradUpdateParams& params = {}) {
  return detail::Call("_contrib_group_adagrad_update").in(weight).in(grad).in(history).give("lr", params.lr).give("rescale_grad", params.rescale_grad).give("clip_gradient", params.clip_gradient).give("epsilon", params.epsilon).run();
}
// The log likelihood of sequences of marked events under Hawkes processes with exponential decay, and the states at `max_time`.
inline Arrays hawkesll(const Array& lda, const Array& alpha, const Array& beta, const Array& state, const Array& lags, const Array& marks, const Array& valid_length, const Array& max_time) {
  return detail::Call("_contrib_hawkesll").in(lda).in(alpha).in(beta).in(state).in(lags).in(marks).in(valid_length).in(max_time).run_all();
}
// The real part of the inverse Fourier transform of pairs of real and imaginary parts, not divided by the size.
struct ContribIfftParams {
  std::optional<int64_t> compute_size = {};  // 128
};
inline Array ifft(const Array& data, const ContribIfftParams& params = {}) {
  return detail::Call("_contrib_ifft").in(data).give("compute_size", params.compute_size).run();
}
// The index of each element of the data, or its parts along some axes, in a new last axis.
struct ContribIndexArrayParams {
  Shape axes = {};
};
inline Array index_array(const Array& data, const ContribIndexArrayParams& params = {}) {
  return detail::Call("_contrib_index_array").in(data).give("axes", params.axes).run();
}
// The old tensor with the rows that `index_vector` names replaced by those of the new tensor.
inline Array index_copy(const Array& old_tensor, const Array& index_vector, const Array& new_tensor) {
  return detail::Call("_contrib_index_copy").in(old_tensor).in(index_vector).in(new_tensor).run();
}
// Attention's scores: each head's queries times its keys, over the square root of the width.
struct ContribInterleavedMatmulEncdecQkParams {
  std::optional<int64_t> heads = {};
};
inline Array interleaved_matmul_encdec_qk(const Array& queries, const Array& keys_values, const ContribInterleavedMatmulEncdecQkParams& params = {}) {
  return detail::Call("_contrib_interleaved_matmul_encdec_qk").in(queries).in(keys_values).give("heads", params.heads).run();
}
// Attention's result: the attention weights times the values of each head.
struct ContribInterleavedMatmulEncdecValattParams {
  std::optional<int64_t> heads = {};
};
inline Array interleaved_matmul_encdec_valatt(const Array& keys_values, const Array& attention, const ContribInterleavedMatmulEncdecValattParams& params = {}) {
  return detail::Call("_contrib_interleaved_matmul_encdec_valatt").in(keys_values).in(attention).give("heads", params.heads).run();
}
// Self-attention's scores: each head's queries times its keys, over the square root of the width.
struct ContribInterleavedMatmulSelfattQkParams {
  std::optional<int64_t> heads = {};
};
inline Array interleaved_matmul_selfatt_qk(const Array& queries_keys_values, const ContribInterleavedMatmulSelfattQkParams& params = {}) {
  return detail::Call("_contrib_interleaved_matmul_selfatt_qk").in(queries_keys_values).give("heads", params.heads).run();
}
// Self-attention's result: the attention weights times the values of each head.
struct ContribInterleavedMatmulSelfattValattParams {
  std::optional<int64_t> heads = {};
};
inline Array interleaved_matmul_selfatt_valatt(const Array& queries_keys_values, const Array& attention, const ContribInterleavedMatmulSelfattValattParams& params = {}) {
  return detail::Call("_contrib_interleaved_matmul_selfatt_valatt").in(queries_keys_values).in(attention).give("heads", params.heads).run();
}
// batch_dot whose rows on the left and columns on the right are rounded to 8 bits in each run, each with a scale of its own.
struct ContribLowBitBatchDotParams {
  std::optional<bool> transpose_a = {};  // False
  std::optional<bool> transpose_b = {};  // False
};
inline Array low_bit_batch_dot(const Array& lhs, const Array& rhs, const ContribLowBitBatchDotParams& params = {}) {
  return detail::Call("_contrib_low_bit_batch_dot").in(lhs).in(rhs).give("transpose_a", params.transpose_a).give("transpose_b", params.transpose_b).run();
}
// Embedding with a weight of 8 or 4 bits, which lies as that of `low_bit_fully_connected` does.
struct ContribLowBitEmbeddingParams {
  std::optional<int64_t> input_dim = {};
  std::optional<int64_t> output_dim = {};
  std::optional<int64_t> bits = {};  // 8
  std::optional<int64_t> group_size = {};  // 0
};
inline Array low_bit_embedding(const Array& data, const Array& weight, const Array& scale, const ContribLowBitEmbeddingParams& params = {}) {
  return detail::Call("_contrib_low_bit_embedding").in(data).in(weight).in(scale).give("input_dim", params.input_dim).give("output_dim", params.output_dim).give("bits", params.bits).give("group_size", params.group_size).run();
}
// FullyConnected with a weight of 8 or 4 bits.
struct ContribLowBitFullyConnectedParams {
  std::optional<int64_t> num_hidden = {};
  std::optional<bool> no_bias = {};  // False
  std::optional<bool> flatten = {};  // True
  std::optional<int64_t> bits = {};  // 8
  std::optional<int64_t> group_size = {};  // 0
  std::optional<bool> dynamic = {};  // False
};
inline Array low_bit_fully_connected(const Array& data, const Array& weight = {}, const Array& scale = {}, const Array& bias = {}, const ContribLowBitFullyConnectedParams& params = {}) {
  return detail::Call("_contrib_low_bit_fully_connected").in(data).in(weight).in(scale).in(bias).give("num_hidden", params.num_hidden).give("no_bias", params.no_bias).give("flatten", params.flatten).give("bits", params.bits).give("group_size", params.group_size).give("dynamic", params.dynamic).run();
}
// `interleaved_matmul_encdec_qk`, whose rows are rounded to 8 bits in each run, on both sides.
struct ContribLowBitInterleavedMatmulEncdecQkParams {
  std::optional<int64_t> heads = {};
};
inline Array low_bit_interleaved_matmul_encdec_qk(const Array& queries, const Array& keys_values, const ContribLowBitInterleavedMatmulEncdecQkParams& params = {}) {
  return detail::Call("_contrib_low_bit_interleaved_matmul_encdec_qk").in(queries).in(keys_values).give("heads", params.heads).run();
}
// `interleaved_matmul_encdec_valatt`, whose rows are rounded to 8 bits in each run, on both sides.
struct ContribLowBitInterleavedMatmulEncdecValattParams {
  std::optional<int64_t> heads = {};
};
inline Array low_bit_interleaved_matmul_encdec_valatt(const Array& keys_values, const Array& attention, const ContribLowBitInterleavedMatmulEncdecValattParams& params = {}) {
  return detail::Call("_contrib_low_bit_interleaved_matmul_encdec_valatt").in(keys_values).in(attention).give("heads", params.heads).run();
}
// `interleaved_matmul_selfatt_qk`, whose rows are rounded to 8 bits in each run, on both sides.
struct ContribLowBitInterleavedMatmulSelfattQkParams {
  std::optional<int64_t> heads = {};
};
inline Array low_bit_interleaved_matmul_selfatt_qk(const Array& queries_keys_values, const ContribLowBitInterleavedMatmulSelfattQkParams& params = {}) {
  return detail::Call("_contrib_low_bit_interleaved_matmul_selfatt_qk").in(queries_keys_values).give("heads", params.heads).run();
}
// `interleaved_matmul_selfatt_valatt`, whose rows are rounded to 8 bits in each run, on both sides.
struct ContribLowBitInterleavedMatmulSelfattValattParams {
  std::optional<int64_t> heads = {};
};
inline Array low_bit_interleaved_matmul_selfatt_valatt(const Array& queries_keys_values, const Array& attention, const ContribLowBitInterleavedMatmulSelfattValattParams& params = {}) {
  return detail::Call("_contrib_low_bit_interleaved_matmul_selfatt_valatt").in(queries_keys_values).in(attention).give("heads", params.heads).run();
}
// RNN in prediction with weights of 8 bits: the matrices of RNN's parameters as int8, a scale for each of their rows, and its biases.
struct ContribLowBitRnnParams {
  std::optional<int64_t> state_size = {};
  std::optional<int64_t> num_layers = {};
  std::optional<bool> bidirectional = {};  // False
  const char* mode = nullptr;  // gru, lstm, rnn_relu, rnn_tanh
  std::optional<bool> state_outputs = {};  // False
};
inline Arrays low_bit_rnn(const Array& data, const Array& weight = {}, const Array& scale = {}, const Array& bias = {}, const Array& state = {}, const Array& state_cell = {}, const ContribLowBitRnnParams& params = {}) {
  return detail::Call("_contrib_low_bit_rnn").in(data).in(weight).in(scale).in(bias).in(state).in(state_cell).give("state_size", params.state_size).give("num_layers", params.num_layers).give("bidirectional", params.bidirectional).give("mode", params.mode).give("state_outputs", params.state_outputs).run_all();
}
// a data^2 + b data + c.
struct ContribQuadraticParams {
  std::optional<double> a = {};  // 0.0
  std::optional<double> b = {};  // 0.0
  std::optional<double> c = {};  // 0.0
};
inline Array quadratic(const Array& data, const ContribQuadraticParams& params = {}) {
  return detail::Call("_contrib_quadratic").in(data).give("a", params.a).give("b", params.b).give("c", params.c).run();
}
// Turns real numbers of a given range into whole ones.
struct ContribQuantizeParams {
  const char* out_type = nullptr;  // int8, uint8
};
inline Arrays quantize(const Array& data, const Array& min_range, const Array& max_range, const ContribQuantizeParams& params = {}) {
  return detail::Call("_contrib_quantize").in(data).in(min_range).in(max_range).give("out_type", params.out_type).run_all();
}
// Turns real numbers x into uint8: x * scale + shift, so that the range fills all 256 numbers.
struct ContribQuantizeAsymParams {
  std::optional<double> min_calib_range = {};
  std::optional<double> max_calib_range = {};
};
inline Arrays quantize_asym(const Array& data, const ContribQuantizeAsymParams& params = {}) {
  return detail::Call("_contrib_quantize_asym").in(data).give("min_calib_range", params.min_calib_range).give("max_calib_range", params.max_calib_range).run_all();
}
// Turns real numbers into whole ones.
struct ContribQuantizeV2Params {
  const char* out_type = nullptr;  // auto, int8, uint8
  std::optional<double> min_calib_range = {};
  std::optional<double> max_calib_range = {};
};
inline Arrays quantize_v2(const Array& data, const ContribQuantizeV2Params& params = {}) {
  return detail::Call("_contrib_quantize_v2").in(data).give("out_type", params.out_type).give("min_calib_range", params.min_calib_range).give("max_calib_range", params.max_calib_range).run_all();
}
// max(x, 0) of 8 bits; the range stays.
struct ContribQuantizedActParams {
  const char* act_type = nullptr;  // relu, sigmoid, softrelu, softsign, tanh
};
inline Arrays quantized_act(const Array& data, const Array& min_data, const Array& max_data, const ContribQuantizedActParams& params = {}) {
  return detail::Call("_contrib_quantized_act").in(data).in(min_data).in(max_data).give("act_type", params.act_type).run_all();
}
// Normalises channels of 8 bits by the moving statistics; the range of the output must be calibrated.
struct ContribQuantizedBatchNormParams {
  std::optional<double> eps = {};  // 0.0010000000474974513
  std::optional<double> momentum = {};  // 0.9
  std::optional<bool> fix_gamma = {};  // True
  std::optional<bool> use_global_stats = {};  // False
  std::optional<bool> output_mean_var = {};  // False
  std::optional<int64_t> axis = {};  // 1
  std::optional<bool> cudnn_off = {};  // False
  std::optional<double> min_calib_range = {};
  std::optional<double> max_calib_range = {};
};
inline Arrays quantized_batch_norm(const Array& data, const Array& gamma, const Array& beta, const Array& moving_mean, const Array& moving_var, const Array& min_data, const Array& max_data, const ContribQuantizedBatchNormParams& params = {}) {
  return detail::Call("_contrib_quantized_batch_norm").in(data).in(gamma).in(beta).in(moving_mean).in(moving_var).in(min_data).in(max_data).give("eps", params.eps).give("momentum", params.momentum).give("fix_gamma", params.fix_gamma).give("use_global_stats", params.use_global_stats).give("output_mean_var", params.output_mean_var).give("axis", params.axis).give("cudnn_off", params.cudnn_off).give("min_calib_range", params.min_calib_range).give("max_calib_range", params.max_calib_range).run_all();
}
// Joins arrays of 8 bits, each brought to the range of all.
struct ContribQuantizedConcatParams {
  std::optional<int64_t> dim = {};  // 1
};
inline Arrays quantized_concat(const Arrays& data, const ContribQuantizedConcatParams& params = {}) {
  return detail::Call("_contrib_quantized_concat").in(data).set("num_args", static_cast<int64_t>(data.size())).give("dim", params.dim).run_all();
}
// Convolution of 8 bits, summed exactly in int32.
struct ContribQuantizedConvParams {
  Shape kernel = {};
  Shape stride = {};
  Shape dilate = {};
  Shape pad = {};
  std::optional<int64_t> num_filter = {};
  std::optional<int64_t> num_group = {};  // 1
  std::optional<int64_t> workspace = {};  // 1024
  std::optional<bool> no_bias = {};  // False
  const char* cudnn_tune = nullptr;  // fastest, limited_workspace, off
  std::optional<bool> cudnn_off = {};  // False
  const char* layout = nullptr;  // NCDHW, NCHW, NCW, NDHWC, NHWC
  const char* algorithm = nullptr;  // direct, fft, gemm, winograd
};
inline Arrays quantized_conv(const Array& data, const Array& weight = {}, const Array& bias = {}, const Array& min_data = {}, const Array& max_data = {}, const Array& min_weight = {}, const Array& max_weight = {}, const Array& min_bias = {}, const Array& max_bias = {}, const ContribQuantizedConvParams& params = {}) {
  return detail::Call("_contrib_quantized_conv").in(data).in(weight).in(bias).in(min_data).in(max_data).in(min_weight).in(max_weight).in(min_bias).in(max_bias).give("kernel", params.kernel).give("stride", params.stride).give("dilate", params.dilate).give("pad", params.pad).give("num_filter", params.num_filter).give("num_group", params.num_group).give("workspace", params.workspace).give("no_bias", params.no_bias).give("cudnn_tune", params.cudnn_tune).give("cudnn_off", params.cudnn_off).give("layout", params.layout).give("algorithm", params.algorithm).run_all();
}
// Adds arrays of 8 bits: int32 whose range is the sum of theirs, or 8 bits in the calibrated range.
struct ContribQuantizedElemwiseAddParams {
  std::optional<double> min_calib_range = {};
  std::optional<double> max_calib_range = {};
};
inline Arrays quantized_elemwise_add(const Array& lhs, const Array& rhs, const Array& lhs_min, const Array& lhs_max, const Array& rhs_min, const Array& rhs_max, const ContribQuantizedElemwiseAddParams& params = {}) {
  return detail::Call("_contrib_quantized_elemwise_add").in(lhs).in(rhs).in(lhs_min).in(lhs_max).in(rhs_min).in(rhs_max).give("min_calib_range", params.min_calib_range).give("max_calib_range", params.max_calib_range).run_all();
}
// Multiplies arrays of int8: int32, or int8 in the calibrated range, or float32.
struct ContribQuantizedElemwiseMulParams {
  std::optional<double> min_calib_range = {};
  std::optional<double> max_calib_range = {};
  std::optional<bool> enable_float_output = {};  // False
};
inline Arrays quantized_elemwise_mul(const Array& lhs, const Array& rhs, const Array& lhs_min, const Array& lhs_max, const Array& rhs_min, const Array& rhs_max, const ContribQuantizedElemwiseMulParams& params = {}) {
  return detail::Call("_contrib_quantized_elemwise_mul").in(lhs).in(rhs).in(lhs_min).in(lhs_max).in(rhs_min).in(rhs_max).give("min_calib_range", params.min_calib_range).give("max_calib_range", params.max_calib_range).give("enable_float_output", params.enable_float_output).run_all();
}
// Rows of an int8 weight by their numbers, moved into the range of rows that there are.
struct ContribQuantizedEmbeddingParams {
  std::optional<int64_t> input_dim = {};
  std::optional<int64_t> output_dim = {};
  const char* dtype = nullptr;  // bfloat16, float16, float32, float64, int32, int64, int8, uint8
  std::optional<bool> sparse_grad = {};  // False
};
inline Arrays quantized_embedding(const Array& data, const Array& weight, const Array& min_weight, const Array& max_weight, const ContribQuantizedEmbeddingParams& params = {}) {
  return detail::Call("_contrib_quantized_embedding").in(data).in(weight).in(min_weight).in(max_weight).give("input_dim", params.input_dim).give("output_dim", params.output_dim).give("dtype", params.dtype).give("sparse_grad", params.sparse_grad).run_all();
}
// Joins all axes but the first; the range stays.
inline Arrays quantized_flatten(const Array& data, const Array& min_data, const Array& max_data) {
  return detail::Call("_contrib_quantized_flatten").in(data).in(min_data).in(max_data).run_all();
}
// FullyConnected of 8 bits, summed exactly in int32.
struct ContribQuantizedFullyConnectedParams {
  std::optional<int64_t> num_hidden = {};
  std::optional<bool> no_bias = {};  // False
  std::optional<bool> flatten = {};  // True
};
inline Arrays quantized_fully_connected(const Array& data, const Array& weight = {}, const Array& bias = {}, const Array& min_data = {}, const Array& max_data = {}, const Array& min_weight = {}, const Array& max_weight = {}, const Array& min_bias = {}, const Array& max_bias = {}, const ContribQuantizedFullyConnectedParams& params = {}) {
  return detail::Call("_contrib_quantized_fully_connected").in(data).in(weight).in(bias).in(min_data).in(max_data).in(min_weight).in(max_weight).in(min_bias).in(max_bias).give("num_hidden", params.num_hidden).give("no_bias", params.no_bias).give("flatten", params.flatten).run_all();
}
// Pooling of 8 bits, by maximum or average; the range stays.
struct ContribQuantizedPoolingParams {
  Shape kernel = {};
  const char* pool_type = nullptr;  // avg, lp, max, sum
  std::optional<bool> global_pool = {};  // False
  std::optional<bool> cudnn_off = {};  // False
  const char* pooling_convention = nullptr;  // full, same, valid
  Shape stride = {};
  Shape pad = {};
  std::optional<int64_t> p_value = {};
  std::optional<bool> count_include_pad = {};
  const char* layout = nullptr;  // NCDHW, NCHW, NCW, NDHWC, NHWC, NWC
};
inline Arrays quantized_pooling(const Array& data, const Array& min_data, const Array& max_data, const ContribQuantizedPoolingParams& params = {}) {
  return detail::Call("_contrib_quantized_pooling").in(data).in(min_data).in(max_data).give("kernel", params.kernel).give("pool_type", params.pool_type).give("global_pool", params.global_pool).give("cudnn_off", params.cudnn_off).give("pooling_convention", params.pooling_convention).give("stride", params.stride).give("pad", params.pad).give("p_value", params.p_value).give("count_include_pad", params.count_include_pad).give("layout", params.layout).run_all();
}
// An LSTM whose input comes as uint8, x * data_scale + data_shift.
struct ContribQuantizedRnnParams {
  std::optional<int64_t> state_size = {};
  std::optional<int64_t> num_layers = {};
  std::optional<bool> bidirectional = {};  // False
  const char* mode = nullptr;  // gru, lstm, rnn_relu, rnn_tanh
  std::optional<double> p = {};  // 0.0
  std::optional<bool> state_outputs = {};  // False
  std::optional<int64_t> projection_size = {};
  std::optional<double> lstm_state_clip_min = {};
  std::optional<double> lstm_state_clip_max = {};
  std::optional<bool> lstm_state_clip_nan = {};  // False
  std::optional<bool> use_sequence_length = {};  // False
};
inline Arrays quantized_rnn(const Array& data, const Array& parameters, const Array& state, const Array& state_cell, const Array& data_scale, const Array& data_shift, const ContribQuantizedRnnParams& params = {}) {
  return detail::Call("_contrib_quantized_rnn").in(data).in(parameters).in(state).in(state_cell).in(data_scale).in(data_shift).give("state_size", params.state_size).give("num_layers", params.num_layers).give("bidirectional", params.bidirectional).give("mode", params.mode).give("p", params.p).give("state_outputs", params.state_outputs).give("projection_size", params.projection_size).give("lstm_state_clip_min", params.lstm_state_clip_min).give("lstm_state_clip_max", params.lstm_state_clip_max).give("lstm_state_clip_nan", params.lstm_state_clip_nan).give("use_sequence_length", params.use_sequence_length).run_all();
}
// Turns int32 into 8 bits.
struct ContribRequantizeParams {
  const char* out_type = nullptr;  // auto, int8, uint8
  std::optional<double> min_calib_range = {};
  std::optional<double> max_calib_range = {};
};
inline Arrays requantize(const Array& data, const Array& min_range, const Array& max_range, const ContribRequantizeParams& params = {}) {
  return detail::Call("_contrib_requantize").in(data).in(min_range).in(max_range).give("out_type", params.out_type).give("min_calib_range", params.min_calib_range).give("max_calib_range", params.max_calib_range).run_all();
}
// Rounds to the nearest integer; the gradient passes as it is (straight-through estimator).
inline Array round_ste(const Array& data) {
  return detail::Call("_contrib_round_ste").in(data).run();
}
// The sign of each element; the gradient passes as it is (straight-through estimator).
inline Array sign_ste(const Array& data) {
  return detail::Call("_contrib_sign_ste").in(data).run();
}
}  // namespace contrib

namespace image {
// Adds principal components of ImageNet's colours, weighted by alpha.
struct ImageAdjustLightingParams {
  std::vector<double> alpha = {};
};
inline Array adjust_lighting(const Array& data, const ImageAdjustLightingParams& params = {}) {
  return detail::Call("_image_adjust_lighting").in(data).give("alpha", params.alpha).run();
}
// A part of the images.
struct ImageCropParams {
  std::optional<int64_t> x = {};
  std::optional<int64_t> y = {};
  std::optional<int64_t> width = {};
  std::optional<int64_t> height = {};
};
inline Array crop(const Array& data, const ImageCropParams& params = {}) {
  return detail::Call("_image_crop").in(data).give("x", params.x).give("y", params.y).give("width", params.width).give("height", params.height).run();
}
// Mirrors images.
inline Array flip_left_right(const Array& data) {
  return detail::Call("_image_flip_left_right").in(data).run();
}
// Turns images upside down.
inline Array flip_top_bottom(const Array& data) {
  return detail::Call("_image_flip_top_bottom").in(data).run();
}
// Subtracts a mean from each channel of (C, H, W) or (N, C, H, W) and divides by a deviation.
struct ImageNormalizeParams {
  std::vector<double> mean = {};  // (0.0, 0.0, 0.0, 0.0)
  std::vector<double> std = {};  // (1.0, 1.0, 1.0, 1.0)
};
inline Array normalize(const Array& data, const ImageNormalizeParams& params = {}) {
  return detail::Call("_image_normalize").in(data).give("mean", params.mean).give("std", params.std).run();
}
// Multiplies values by a factor between min_factor and max_factor.
struct ImageRandomBrightnessParams {
  std::optional<double> min_factor = {};
  std::optional<double> max_factor = {};
};
inline Array random_brightness(const Array& data, const ImageRandomBrightnessParams& params = {}) {
  return detail::Call("_image_random_brightness").in(data).give("min_factor", params.min_factor).give("max_factor", params.max_factor).run();
}
// Changes brightness, contrast, saturation and hue, in random order.
struct ImageRandomColorJitterParams {
  std::optional<double> brightness = {};
  std::optional<double> contrast = {};
  std::optional<double> saturation = {};
  std::optional<double> hue = {};
};
inline Array random_color_jitter(const Array& data, const ImageRandomColorJitterParams& params = {}) {
  return detail::Call("_image_random_color_jitter").in(data).give("brightness", params.brightness).give("contrast", params.contrast).give("saturation", params.saturation).give("hue", params.hue).run();
}
// Moves values from their mean grey by a factor between min_factor and max_factor.
struct ImageRandomContrastParams {
  std::optional<double> min_factor = {};
  std::optional<double> max_factor = {};
};
inline Array random_contrast(const Array& data, const ImageRandomContrastParams& params = {}) {
  return detail::Call("_image_random_contrast").in(data).give("min_factor", params.min_factor).give("max_factor", params.max_factor).run();
}
// Mirrors with probability 1/2.
inline Array random_flip_left_right(const Array& data) {
  return detail::Call("_image_random_flip_left_right").in(data).run();
}
// Turns upside down with probability 1/2.
inline Array random_flip_top_bottom(const Array& data) {
  return detail::Call("_image_random_flip_top_bottom").in(data).run();
}
// Turns the hue by a random part of the circle between min_factor and max_factor; 1 is a whole turn.
struct ImageRandomHueParams {
  std::optional<double> min_factor = {};
  std::optional<double> max_factor = {};
};
inline Array random_hue(const Array& data, const ImageRandomHueParams& params = {}) {
  return detail::Call("_image_random_hue").in(data).give("min_factor", params.min_factor).give("max_factor", params.max_factor).run();
}
// Adds principal components of ImageNet's colours with normal weights.
struct ImageRandomLightingParams {
  std::optional<double> alpha_std = {};  // 0.05
};
inline Array random_lighting(const Array& data, const ImageRandomLightingParams& params = {}) {
  return detail::Call("_image_random_lighting").in(data).give("alpha_std", params.alpha_std).run();
}
// Moves colours from grey by a factor between min_factor and max_factor.
struct ImageRandomSaturationParams {
  std::optional<double> min_factor = {};
  std::optional<double> max_factor = {};
};
inline Array random_saturation(const Array& data, const ImageRandomSaturationParams& params = {}) {
  return detail::Call("_image_random_saturation").in(data).give("min_factor", params.min_factor).give("max_factor", params.max_factor).run();
}
// Resizes images.
struct ImageResizeParams {
  Shape size = {};
  std::optional<bool> keep_ratio = {};  // False
  std::optional<int64_t> interp = {};  // 1
};
inline Array resize(const Array& data, const ImageResizeParams& params = {}) {
  return detail::Call("_image_resize").in(data).give("size", params.size).give("keep_ratio", params.keep_ratio).give("interp", params.interp).run();
}
// From bytes (H, W, C) to floats (C, H, W) between 0 and 1; also for batches.
inline Array to_tensor(const Array& data) {
  return detail::Call("_image_to_tensor").in(data).run();
}
}  // namespace image

namespace random {
// Draws from the exponential distribution with rate lam.
struct RandomExponentialLikeParams {
  std::optional<double> lam = {};  // 1.0
};
inline Array exponential_like(const Array& data, const RandomExponentialLikeParams& params = {}) {
  return detail::Call("_random_exponential_like").in(data).give("lam", params.lam).run();
}
// Draws from the gamma distribution with shape alpha and scale beta.
struct RandomGammaLikeParams {
  std::optional<double> alpha = {};  // 1.0
  std::optional<double> beta = {};  // 1.0
};
inline Array gamma_like(const Array& data, const RandomGammaLikeParams& params = {}) {
  return detail::Call("_random_gamma_like").in(data).give("alpha", params.alpha).give("beta", params.beta).run();
}
// Draws counts with mean mu and dispersion alpha; with alpha 0, Poisson counts.
struct RandomGeneralizedNegativeBinomialLikeParams {
  std::optional<double> mu = {};  // 1.0
  std::optional<double> alpha = {};  // 1.0
};
inline Array generalized_negative_binomial_like(const Array& data, const RandomGeneralizedNegativeBinomialLikeParams& params = {}) {
  return detail::Call("_random_generalized_negative_binomial_like").in(data).give("mu", params.mu).give("alpha", params.alpha).run();
}
// Draws the number of failures before k successes, each of probability p.
struct RandomNegativeBinomialLikeParams {
  std::optional<double> k = {};  // 1.0
  std::optional<double> p = {};  // 1.0
};
inline Array negative_binomial_like(const Array& data, const RandomNegativeBinomialLikeParams& params = {}) {
  return detail::Call("_random_negative_binomial_like").in(data).give("k", params.k).give("p", params.p).run();
}
// Draws from the normal distribution with mean loc and standard deviation scale.
struct RandomNormalLikeParams {
  std::optional<double> loc = {};  // 0.0
  std::optional<double> scale = {};  // 1.0
};
inline Array normal_like(const Array& data, const RandomNormalLikeParams& params = {}) {
  return detail::Call("_random_normal_like").in(data).give("loc", params.loc).give("scale", params.scale).run();
}
// Draws counts from the Poisson distribution with mean lam.
struct RandomPoissonLikeParams {
  std::optional<double> lam = {};  // 1.0
};
inline Array poisson_like(const Array& data, const RandomPoissonLikeParams& params = {}) {
  return detail::Call("_random_poisson_like").in(data).give("lam", params.lam).run();
}
// Draws uniformly from [low, high).
struct RandomUniformLikeParams {
  std::optional<double> low = {};  // 0.0
  std::optional<double> high = {};  // 1.0
};
inline Array uniform_like(const Array& data, const RandomUniformLikeParams& params = {}) {
  return detail::Call("_random_uniform_like").in(data).give("low", params.low).give("high", params.high).run();
}
}  // namespace random

}  // namespace loomix::nn::op
