// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/params.h"
#include "ops/conv/layout.h"
#include "ops/kernel.h"
#include "ops/scratch_slots.h"

namespace loomix::ops {

class BilinearShapes;

enum class CudnnTune { off, limited_workspace, fastest };  // MXNet's 0, 1 and 2
enum class ConvAlgorithm { fft, winograd, direct, gemm };  // in the order of their kernels
inline constexpr std::pair<std::string_view, ConvAlgorithm> kConvAlgorithms[] = {
    {"direct", ConvAlgorithm::direct},
    {"gemm", ConvAlgorithm::gemm},
    {"winograd", ConvAlgorithm::winograd},
    {"fft", ConvAlgorithm::fft}};

struct ConvolutionParams {
  Shape kernel;
  Shape stride;
  Shape dilate;
  Shape pad;
  int num_filter = 0;
  int num_group = 1;
  int64_t workspace = 1024;
  bool no_bias = false;
  std::optional<CudnnTune> cudnn_tune;
  bool cudnn_off = false;
  std::optional<Layout> layout;
  std::optional<ConvAlgorithm> algorithm;

  template <class P>
  static void list_window(FieldList<P>& f) {
    f("kernel", &P::kernel, "Size of the filters, one number an axis.").required("(2, 2)");
    f("stride", &P::stride, "Distance of the filter's places; 1 by default.");
    f("dilate", &P::dilate, "Distance of the filter's own elements; 1 by default.");
    f("pad", &P::pad, "Zeros added at each side; 0 by default.");
  }
  template <class P>
  static void list_others(FieldList<P>& f, std::span<const LayoutName> layouts) {
    f("num_filter", &P::num_filter, "Number of filters, the channels of the output.")
        .required("4")
        .type("int (non-negative)")
        .at_least(1);
    f("num_group", &P::num_group, "Groups of channels that do not mix.")
        .type("int (non-negative)")
        .at_least(1);
    f("workspace", &P::workspace,
      "Megabytes of memory that the algorithm `fft`, and on a GPU those of cuDNN, may take.")
        .type("long (non-negative)")
        .at_least(0);
    f("no_bias", &P::no_bias, "Leaves the bias out.");
    f("cudnn_tune", &P::cudnn_tune,
      "How cuDNN's algorithm is found on a GPU: by its estimates, or by timing those that fit `workspace`, "
      "or all, once "
      "for each geometry; by default as LOOMIX_CUDA_CONV_TUNE says.")
        .options({{"fastest", CudnnTune::fastest},
                  {"limited_workspace", CudnnTune::limited_workspace},
                  {"off", CudnnTune::off}});
    f("cudnn_off", &P::cudnn_off, "Runs by plain sums on a GPU, without cuDNN.");
    f("layout", &P::layout, "Order of the axes: NCW, NCHW or NCDHW by default.").options(layouts);
  }
  template <class P>
  static void list_algorithm(FieldList<P>& f) {
    f("algorithm", &P::algorithm,
      "How it is computed: a sum for each output, products of matrices, or by transforms; what is fastest by "
      "default. One that cannot compute this convolution is an error.")
        .options(std::span(kConvAlgorithms));
  }
  static void fields(FieldList<ConvolutionParams>& f) {
    list_window(f);
    list_others(f, kConvLayouts);
    list_algorithm(f);
  }
};

// Convolution_v1 is Convolution by another name, for old files.
struct ConvolutionV1Params : ConvolutionParams {
  static void fields(FieldList<ConvolutionV1Params>& f) {
    list_window(f);
    static constexpr LayoutName kLayouts[] = {
        {"NCDHW", Layout::NCDHW}, {"NCHW", Layout::NCHW}, {"NDHWC", Layout::NDHWC}, {"NHWC", Layout::NHWC}};
    list_others(f, kLayouts);
    list_algorithm(f);
  }
};

// By the attribute, or else by LOOMIX_CONV_ALGO.
std::optional<ConvAlgorithm> asked_for(const ConvolutionParams& p);
std::optional<ConvAlgorithm> algorithm_of_setting();
inline bool is_asked_for(ConvAlgorithm algorithm, const ConvolutionParams& p) {
  return asked_for(p) == algorithm;
}
// Throws where an algorithm is asked for by the attribute that none of its kernels follows: plain loops come last.
void check_followed(const ConvolutionParams& p, std::span<const TensorView> in);
// Whether kernels of this algorithm may run. Where one is asked for by the setting, those after it compute what it cannot.
Support may_run(ConvAlgorithm algorithm, const ConvolutionParams& p);

// The number of lists' elements, their signs and the groups; throws in the name of `who`.
void check_window(const ConvolutionParams& p, const char* who);

// What data, weight and output say about each other.
void convolution_shapes(const ConvolutionParams& p, BilinearShapes& s);
// The data's shape as far as it is known, with as many axes as the kernel asks for; unknown while the output is, too.
Shape known_data(const ConvolutionParams& p, BilinearShapes& s);
// Throws if the groups do not share so many channels of the data.
void check_groups(const ConvolutionParams& p, const BilinearShapes& s, const Shape& data, int64_t channels);

// A convolution in numbers; missing spatial axes have size one. Channels and filters are those of one group.
struct ConvGeometry {
  int64_t batch, groups, channels, filters;
  int64_t in[3], out[3], kernel[3], stride[3], dilate[3], pad[3];
  bool channels_last;

  ConvGeometry(const ConvolutionParams& p, const Shape& data);
  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }
  int64_t kernel_size() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t depth() const { return channels * kernel_size(); }  // products summed for one output
  int64_t reach(int i) const { return dilate[i] * (kernel[i] - 1) + 1; }
};

// A convolution and its two gradients. Deconvolution is made of the same three, and so shares their kernels: its output
// is a convolution's gradient of the data.
enum class ConvPass { forward, data, weight };

// Forward: data and weight; data: gradient of the output, and weight; weight: gradient of the output, and data. A bias, one
// number a channel of what is computed, may be there but for the weight.
struct ConvOperands {
  const TensorView& a;
  const TensorView& b;
  const TensorView* bias = nullptr;
};

// How the passes of the operator with attributes P lie in its inputs and outputs.
ConvGeometry geometry_of(const ConvolutionParams& p, ConvPass pass, std::span<const TensorView> in,
                         std::span<const TensorView> out);
ConvOperands operands_of(const ConvolutionParams& p, ConvPass pass, std::span<const TensorView> in);

// Plain loops; the specification.
void conv_forward_cpu(const ConvGeometry&, const ConvOperands&, const KernelArgs&);
void conv_data_cpu(const ConvGeometry&, const ConvOperands&, const KernelArgs&);
void conv_weight_cpu(const ConvGeometry&, const ConvOperands&, const KernelArgs&);
// grad -> gradient of the bias.
void convolution_bias_cpu(const ConvolutionParams&, const KernelArgs&);

// The same as matrix products over pieces of the unfolded image that fit into the cache: float32, channels first. Scratch
// memory: what the threads share (packed weights, or sums of parts), then pieces of which each has one.
class PreparedConvGemm : public KernelState {
 protected:
  // Floats that all threads share, and that each has for itself; of at most so many `units` of work.
  PreparedConvGemm(const ConvGeometry& g, int64_t shared, int64_t own, int64_t units, int cores);
  float* shared(const KernelArgs& args) const;
  ScratchSlots slots(const KernelArgs& args) const;
  const ConvGeometry geometry;

 private:
  const int64_t shared_, own_;  // floats
  const int slots_;
};

class ConvGemm : public PreparedConvGemm {
 public:
  static constexpr ConvPass kPass = ConvPass::forward;
  ConvGemm(const ConvGeometry& g, bool with_bias, int cores);
  void run(const ConvOperands& operands, const KernelArgs& args) const;

 private:
  static int64_t panels(const ConvGeometry& g);
};

class ConvDataGemm : public PreparedConvGemm {
 public:
  static constexpr ConvPass kPass = ConvPass::data;
  ConvDataGemm(const ConvGeometry& g, bool with_bias, int cores);
  void run(const ConvOperands& operands, const KernelArgs& args) const;

 private:
  static ConvGeometry part_of(const ConvGeometry& g);  // some of the channels
  const bool by_phases_;
  const int64_t parts_;
};

class ConvWeightGemm : public PreparedConvGemm {
 public:
  static constexpr ConvPass kPass = ConvPass::weight;
  ConvWeightGemm(const ConvGeometry& g, bool with_bias, int cores);
  void run(const ConvOperands& operands, const KernelArgs& args) const;

 private:
  static int64_t parts(const ConvGeometry& g);    // partial sums, whatever the number of threads
  static int64_t at_once(const ConvGeometry& g);  // pixels that are unfolded at a time
};

Support convolution_gemm_support(const ConvolutionParams&, const KernelSpec&);

// Adds one number to each channel of `planes` channels of one image.
void add_bias(const float* bias, int64_t planes, int64_t size, float* image);

// A kernel above as that of an operator.
template <class P, class Pass>
class ConvKernel final : public Pass {
 public:
  ConvKernel(const P& p, const KernelSpec& spec)
      : Pass(geometry_of(p, Pass::kPass, spec.in, spec.out),
             operands_of(p, Pass::kPass, spec.in).bias != nullptr, spec.cores) {}
  void run(const P& p, const KernelArgs& args) const {
    Pass::run(operands_of(p, Pass::kPass, args.in), args);
  }
};

}  // namespace loomix::ops
