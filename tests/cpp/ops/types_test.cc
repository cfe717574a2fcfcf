// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "op_runner.h"
#include "ops/blocked/blocked.h"
#include "ops/quantization/packed.h"

// What inference lets through, kernels compute: each operator of the table in each combination of types.
namespace loomix::ops::testing {
namespace {

constexpr DType kTypes[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::uint8,
                            DType::int8,    DType::int32,   DType::int64,   DType::boolean};

struct Sample {
  std::vector<Shape> shapes;  // of inputs; what is missing or unknown follows from the others
  TextPairs attrs;            // beside those that the operator requires
};

// Operators that take none of the shapes that are tried for the others.
const std::map<std::string, Sample>& special_samples() {
  const Shape image{2, 4, 5, 5}, filters{4, 4, 2, 2}, filtered{2, 4, 4, 4};
  const Shape blocks{2, 2, 5, 5, channel_block()};
  const TextPairs blocked_conv = {{"kernel", "(1, 1)"},
                                  {"num_filter", "16"},
                                  {"no_bias", "True"},
                                  {"image", "(1, 16, 4, 4)"},
                                  {"weight_size", "256"}};
  const auto in_training = [](const char* pass) -> TextPairs {
    return {{"kernel", "(1, 1)"},   {"num_filter", "16"}, {"no_bias", "True"}, {"image", "(4, 16, 4, 4)"},
            {"weight_size", "256"}, {"training", "True"}, {"pass", pass}};
  };
  const Shape training{4, 16 / channel_block(), 4, 4, channel_block()};
  const TextPairs packed = {
      {"kernel", "(1, 1)"}, {"num_filter", "16"}, {"image", "(1, 16, 4, 4)"}, {"weight_size", "256"}};
  static const std::map<std::string, Sample> samples = {
      {"_arange", {{}, {{"stop", "4"}}}},
      {"_onehot_encode", {{Shape{2}, Shape{2, 3}}, {}}},
      {"scatter_nd", {{Shape{1}, Shape{2, 1}}, {{"shape", "(2, 3)"}}}},
      {"_scatter_set_nd", {{Shape{2, 3}, Shape{1}, Shape{2, 1}}, {{"shape", "(2, 3)"}}}},
      {"_backward_concat", {{Shape{2, 6}, Shape{2, 3}, Shape{2, 3}}, {{"dim", "1"}}}},
      {"_backward_FullyConnected_data", {{Shape{2, 4}, Shape{4, 3}, Shape{2, 3}}, {}}},
      {"_backward_FullyConnected_weight", {{Shape{2, 4}, Shape{2, 3}, Shape{4, 3}}, {}}},
      {"_backward_Convolution_data", {{filtered, filters, image}, {}}},
      {"_backward_Convolution_weight", {{filtered, image, filters}, {}}},
      {"_backward_Convolution_v1_data", {{filtered, filters, image}, {}}},
      {"_backward_Convolution_v1_weight", {{filtered, image, filters}, {}}},
      {"_linalg_potrf", {{Shape{2, 1, 1}}, {}}},  // of ones, larger matrices have no such factor
      {"_linalg_inverse", {{Shape{2, 1, 1}}, {}}},
      {"_linalg_solve", {{Shape{2, 1, 1}, Shape{2, 1, 3}}, {}}},
      {"_contrib_quantized_pooling", {{image, Shape{1}, Shape{1}}, {{"kernel", "(2, 2)"}}}},
      {"_contrib_quantized_concat", {{image, Shape{1}, Shape{1}}, {{"num_args", "1"}}}},
      {"_contrib_quantized_batch_norm",
       {{image, Shape{4}, Shape{4}, Shape{4}, Shape{4}, Shape{1}, Shape{1}},
        {{"min_calib_range", "-1"}, {"max_calib_range", "1"}}}},
      {"_packed_product_weight", {{Shape{16, 16, 1, 1}}, packed}},
      {"_packed_convolution", {{Shape{1, 4, 4, 16}}, packed}},
      {"_packed_dense",
       {{Shape{1, 1, 1, 16}},
        {{"kernel", "(1, 1)"},
         {"num_filter", "16"},
         {"image", "(1, 16, 1, 1)"},
         {"dense", "True"},
         {"weight_size", "256"}}}},
      {"_packed_pooling", {{Shape{2, 5, 5, 4}}, {{"kernel", "(2, 2)"}, {"layout", "NHWC"}}}},
      {"_packed_concat", {{Shape{2, 3}}, {{"num_args", "1"}, {"scales", "(1,)"}}}},
      {"_packed_add", {{Shape{2, 3}}, {{"num_args", "1"}, {"scales", "(1,)"}}}},
      {"_contrib_calibrate_entropy", {{Shape{9}, Shape{10}}, {{"num_quantized_bins", "3"}}}},
      {"CTCLoss", {{Shape{3, 2, 4}, Shape{2, 2}}, {}}},
      {"_backward_CTCLoss", {{Shape{2}, Shape{3, 2, 4}}, {}}},
      {"_backward_SequenceLast", {{Shape{3}, Shape{2, 3}}, {}}},
      {"_contrib_interleaved_matmul_encdec_qk", {{Shape{2, 2, 3}, Shape{4, 2, 6}}, {}}},
      {"_contrib_interleaved_matmul_encdec_valatt", {{Shape{4, 2, 6}, Shape{2, 3, 4}}, {}}},
      {"_contrib_low_bit_interleaved_matmul_encdec_qk", {{Shape{2, 2, 3}, Shape{4, 2, 6}}, {}}},
      {"_contrib_low_bit_interleaved_matmul_encdec_valatt", {{Shape{4, 2, 6}, Shape{2, 3, 4}}, {}}},
      {"_backward_interleaved_matmul_selfatt_qk", {{Shape{2, 2, 2}, Shape{2, 2, 3}}, {}}},
      {"_backward_interleaved_matmul_selfatt_valatt", {{Shape{2, 2, 1}, Shape{2, 2, 3}}, {}}},
      {"_backward_interleaved_matmul_encdec_qk", {{Shape{2, 2, 4}, Shape{2, 2, 3}, Shape{4, 2, 6}}, {}}},
      {"_backward_interleaved_matmul_encdec_valatt", {{Shape{3, 2, 3}, Shape{4, 2, 6}, Shape{2, 3, 4}}, {}}},
      {"_backward_np_cumsum", {{Shape{4}, Shape{4}}, {{"axis", "0"}}}},
      {"_contrib_index_copy", {{Shape{3, 2}, Shape{2}}, {}}},
      {"_contrib_hawkesll",
       {{Shape{2, 3}, Shape::unknown(), Shape::unknown(), Shape::unknown(), Shape{2, 4}}, {}}},
      {"_backward_hawkesll",
       {{Shape{2}, Shape{2, 3}, Shape{2, 3}, Shape{3}, Shape{3}, Shape{2, 3}, Shape{2, 4}}, {}}},
      {"_backward_count_sketch", {{Shape{2, 4}, Shape{3}, Shape{3}}, {}}},
      {"_backward_random_pdf_dirichlet", {{Shape{2}, Shape{2, 3}, Shape{2, 3}}, {}}},
      {"_sample_unique_zipfian", {{}, {{"shape", "(2, 3)"}}}},
      {"_contrib_edge_id", {{Shape{2, 3}, Shape{2}, Shape{2}}, {}}},
      {"_set_value", {{}, {{"src", "2"}}}},
      {"Deconvolution", {{image}, {}}},
      {"_backward_Deconvolution_data", {{image, filters, filtered}, {}}},
      {"_backward_Deconvolution_weight", {{image, filtered, filters}, {}}},
      {"GridGenerator", {{Shape{2, 6}}, {{"target_shape", "(2, 3)"}}}},
      {"BilinearSampler", {{image, Shape{2, 2, 3, 3}}, {}}},
      {"_backward_BilinearSampler_data", {{Shape{2, 4, 3, 3}, image, Shape{2, 2, 3, 3}}, {}}},
      {"_backward_BilinearSampler_grid", {{Shape{2, 4, 3, 3}, image, Shape{2, 2, 3, 3}}, {}}},
      {"SpatialTransformer", {{image, Shape{2, 6}}, {{"target_shape", "(2, 3)"}}}},
      {"Crop", {{image}, {{"h_w", "(2, 2)"}}}},
      {"_backward_Crop", {{Shape{2, 4, 2, 2}, image}, {{"h_w", "(2, 2)"}}}},
      {"_backward_UpSampling", {{Shape{2, 4, 10, 10}, image}, {}}},
      {"col2im", {{Shape{2, 8, 4}}, {}}},
      {"Correlation", {{image, image}, {}}},
      {"ROIPooling", {{image, Shape{3, 5}}, {}}},
      {"_contrib_ROIAlign", {{image, Shape{3, 5}}, {}}},
      {"_contrib_RROIAlign", {{image, Shape{3, 6}}, {}}},
      {"_contrib_PSROIPooling", {{Shape{2, 1, 5, 5}, Shape{3, 5}}, {}}},
      {"_contrib_DeformablePSROIPooling", {{Shape{2, 1, 5, 5}, Shape{3, 5}, Shape{3, 2, 1, 1}}, {}}},
      {"_contrib_box_iou", {{Shape{3, 4}, Shape{2, 4}}, {}}},
      {"_contrib_box_nms", {{Shape{2, 3, 6}}, {}}},
      {"_contrib_box_encode",
       {{Shape{2, 3}, Shape{2, 3}, Shape{2, 3, 4}, Shape{2, 2, 4}, Shape{4}, Shape{4}}, {}}},
      {"_contrib_box_decode", {{Shape{2, 3, 4}, Shape{1, 3, 4}}, {}}},
      {"_contrib_MultiBoxTarget", {{Shape{1, 3, 4}, Shape{2, 2, 5}, Shape{2, 3, 3}}, {}}},
      {"_contrib_MultiBoxDetection", {{Shape{2, 3, 3}, Shape{2, 12}, Shape{1, 3, 4}}, {}}},
      {"_contrib_Proposal", {{Shape{1, 24, 2, 2}, Shape{1, 48, 2, 2}, Shape{1, 3}}, {}}},
      {"_contrib_MultiProposal", {{Shape{2, 24, 2, 2}, Shape{2, 48, 2, 2}, Shape{2, 3}}, {}}},
      {"_backward_Embedding", {{Shape{2, 3, 2}, Shape{2, 3}}, {{"input_dim", "4"}, {"output_dim", "2"}}}},
      {"_backward_SparseEmbedding",
       {{Shape{2, 3, 2}, Shape{2, 3}}, {{"input_dim", "4"}, {"output_dim", "2"}}}},
      {"_block_channels", {{image}, {}}},
      {"_unblock_channels", {{blocks}, {{"channels", std::to_string(2 * channel_block())}}}},
      {"_blocked_pooling", {{blocks}, {{"kernel", "(2, 2)"}}}},
      {"_blocked_LRN", {{blocks}, {{"nsize", "3"}}}},
      {"_backward_blocked_LRN", {{blocks, blocks}, {{"nsize", "3"}}}},
      {"_blocked_norm", {{blocks, Shape{2 * channel_block()}}, {}}},
      {"_blocked_conv_weight", {{Shape{16, 16, 1, 1}}, blocked_conv}},
      {"_plain_conv_weight", {{Shape{256}}, blocked_conv}},
      {"_blocked_convolution",
       {{Shape{1, 16 / channel_block(), 4, 4, channel_block()}, Shape{256}}, blocked_conv}},
      {"_blocked_training_weight", {{Shape{16, 16, 1, 1}}, in_training("forward")}},
      {"_backward_blocked_conv_data", {{training, Shape{256}}, in_training("data")}},
      {"_backward_blocked_conv_weight", {{training, training}, in_training("weight")}},
      {"_backward_blocked_conv_bias",
       {{blocks}, {{"kernel", "(1, 1)"}, {"num_filter", std::to_string(2 * channel_block())}}}},
      {"_blocked_batch_norm", {{blocks, Shape{2 * channel_block()}}, {}}},
      {"_blocked_batch_norm_again", {{blocks, Shape{2 * channel_block()}}, {}}},
      {"_backward_blocked_batch_norm", {{blocks, blocks, Shape{2 * channel_block()}}, {}}},
      {"_backward_blocked_batch_norm_free_gamma", {{blocks, blocks, Shape{2 * channel_block()}}, {}}},
      {"_blocked_max_pooling", {{blocks}, {{"kernel", "(2, 2)"}}}},
      {"_backward_blocked_max_pooling",
       {{training, training}, {{"kernel", "(1, 1)"}, {"image", "(4, 16, 4, 4)"}}}},
      {"_backward_blocked_average_pooling", {{training}, {{"kernel", "(1, 1)"}, {"image", "(4, 16, 4, 4)"}}}},
      {"Pooling", {{image}, {{"kernel", "(2, 2)"}}}},
      {"_backward_Pooling_max", {{filtered, Shape{2, 4, 1, 4, 4}, image}, {{"kernel", "(2, 2)"}}}},
      {"_backward_Pooling_mean", {{filtered, image}, {{"kernel", "(2, 2)"}}}},
      {"_backward_Pooling_norm",
       {{filtered, image, filtered}, {{"kernel", "(2, 2)"}, {"pool_type", "lp"}, {"p_value", "2"}}}},
      {"Pooling_v1", {{image}, {{"kernel", "(2, 2)"}}}},
      {"_backward_Pooling_v1_max", {{filtered, Shape{2, 4, 1, 4, 4}, image}, {{"kernel", "(2, 2)"}}}},
      {"_backward_Pooling_v1_mean", {{filtered, image}, {{"kernel", "(2, 2)"}}}},
  };
  return samples;
}

const Shape kTried[] = {Shape{2, 3}, Shape{4, 4, 4, 4}, Shape{3}, Shape{1}, Shape{2, 2, 3}};

class TypesOf {
 public:
  explicit TypesOf(const OpDef& op) : op_(op) {}

  void check() {
    if (op_.name.starts_with("_contrib_dgl_"))
      return;                          // of csr matrices only; tests/python/test_sparse.py has them
    if (op_.name == "_fused") return;  // has an attribute that no text gives; tests/cpp/symbol/fuse_test.cc
    if (!find_shapes()) {
      ADD_FAILURE() << op_.name << ": no shape that is tried is one for it";
      return;
    }
    try_all(static_cast<size_t>(op_.count_inputs(*attrs_)));
    EXPECT_GT(ran_, 0) << op_.name << " takes no types";
  }

 private:
  bool find_shapes() {
    if (const auto found = special_samples().find(op_.name); found != special_samples().end()) {
      use(found->second.attrs);
      return complete(found->second.shapes);
    }
    if (op_.hidden && find_shapes_of_gradient()) return true;
    TextPairs attrs;
    if (op_.params->find("shape") && !op_.params->find("shape")->required) attrs = {{"shape", "(2, 3)"}};
    use(attrs);
    if (op_.count_inputs(*attrs_) == 0) return complete({});
    for (const Shape& shape : kTried) {
      if (complete(std::vector<Shape>(static_cast<size_t>(op_.count_inputs(*attrs_)), shape))) return true;
      if (complete({shape})) return true;
    }
    return false;
  }

  // As the operator has them whose gradient this one computes.
  bool find_shapes_of_gradient() {
    constexpr std::string_view kPrefix = "_backward_";
    if (!op_.name.starts_with(kPrefix)) return false;
    const OpDef* const op = builtin_table().find(std::string_view(op_.name).substr(kPrefix.size()));
    if (!op || op->params != op_.params) return false;
    TypesOf forward(*op);
    if (!forward.find_shapes()) return false;
    use(forward.texts_);
    std::vector<Shape> shapes;
    for (int i = 0; i < op_.count_inputs(*attrs_); ++i) {
      const std::string name = op_.input_name(*attrs_, i);
      Shape shape = name == "like"                       ? forward.shapes_[0]
                    : name == "grad" || name == "output" ? forward.out_shapes_[0]
                                                         : Shape::unknown();
      for (int j = 0; j < static_cast<int>(forward.shapes_.size()); ++j) {
        if (op->input_name(*forward.attrs_, j) == name) shape = forward.shapes_[static_cast<size_t>(j)];
      }
      shapes.push_back(shape);
    }
    return complete(shapes);
  }

  void use(const TextPairs& more) {
    texts_ = more;
    for (const auto& example : op_.params->example()) {
      if (std::none_of(more.begin(), more.end(),
                       [&](const auto& pair) { return pair.first == example.first; }))
        texts_.push_back(example);
    }
    attrs_ = op_.params->parse(op_.name, texts_);
  }

  bool complete(std::vector<Shape> in) {
    in.resize(static_cast<size_t>(op_.count_inputs(*attrs_)), Shape::unknown());
    std::vector<Shape> out(static_cast<size_t>(op_.count_outputs(*attrs_)), Shape::unknown());
    try {
      ShapeInfer rule(op_, in, out);
      op_.infer_shape(*attrs_, rule);
    } catch (const Error&) {
      return false;
    }
    const auto known = [](const Shape& shape) { return shape.is_known(); };
    shapes_ = in;
    out_shapes_ = out;
    return std::all_of(in.begin(), in.end(), known) &&
           (op_.data_dependent || std::all_of(out.begin(), out.end(), known));
  }

  // Every pair of types of the first input and another one; the others follow, or are of the first's type.
  void try_all(size_t inputs) {
    if (inputs == 0) return try_types({});
    for (const DType first : kTypes) {
      std::vector<DType> types(inputs, DType::unknown);
      types[0] = first;
      if (inputs == 1) try_types(types);
      for (size_t i = 1; i < inputs; ++i) {
        for (const DType other : kTypes) {
          types[i] = other;
          try_types(types);
        }
        types[i] = DType::unknown;
      }
    }
  }

  void try_types(std::vector<DType> in) {
    std::vector<DType> out(static_cast<size_t>(op_.count_outputs(*attrs_)), DType::unknown);
    try {
      op_.infer_types(*attrs_, in, out);
      for (DType& dtype : in) {
        if (dtype != DType::unknown) continue;
        dtype = in[0];
        op_.infer_types(*attrs_, in, out);
      }
    } catch (const TypeError&) {
      return;
    }
    run(in);
  }

  void run(const std::vector<DType>& types) {
    std::vector<Tensor> inputs;
    std::string text;
    for (size_t i = 0; i < types.size(); ++i) {
      const std::vector<double> ones(static_cast<size_t>(shapes_[i].size()), 1);
      inputs.emplace_back(shapes_[i], types[i], ones);
      text += fmt::format(" {}", name_of(types[i]));
    }
    ++ran_;
    try {
      run_op(op_.name, inputs, texts_, {.training = true, .saved = true});
    } catch (const std::exception& error) {
      ADD_FAILURE() << op_.name << " of" << text << ": " << error.what();
    }
  }

  const OpDef& op_;
  TextPairs texts_;
  Ref<const AttrsBase> attrs_;
  std::vector<Shape> shapes_;
  std::vector<Shape> out_shapes_;
  int ran_ = 0;
};

TEST(Types, WhatIsInferredRuns) {
  for (const OpDef& op : builtin_table().all()) TypesOf(op).check();
}

TEST(Types, WhatNoKernelTakesIsRefusedByName) {
  const OpDef& op = builtin_table().at("Convolution");
  const auto attrs = op.params->parse(op.name, op.params->example());
  std::vector<DType> in(3, DType::int32), out(1, DType::unknown);
  try {
    op.infer_types(*attrs, in, out);
    FAIL();
  } catch (const TypeError& error) {
    EXPECT_STREQ(
        error.what(),
        "[Convolution] input 'data' has type int32; it may be one of float32, float64, float16, bfloat16.");
  }
}

}  // namespace
}  // namespace loomix::ops::testing
