// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ops/conv/layout.h"
#include "ops/kernel_choice.h"
#include "ops/table.h"

// Kernels that let another kernel of the same operator compute, on arrays brought into the form that it takes: half types
// as float32, images with their channels last as such with channels first.
namespace loomix::ops {

struct Rearrangement {
  Ref<const AttrsBase> attrs;  // of the other kernel's runs
  bool channels_last = false;  // arrays of three and more axes have them there
  uint32_t batched = 0;      // bit i: input i has images (or rows) along axis 0; none: all is brought at once
  bool sums_images = false;  // the output is a sum over images; else it has them along axis 0, too
  uint32_t plain = 0;        // bit i: input i is taken as it is
};

// Saved values have images along axis 0, and are the other kernel's own. Some images at a time, so that the scratch memory does not grow with the batch. How many follows from the shapes alone,
// so results do not depend on the cores.
class Rearranged final : public KernelState {
 public:
  Rearranged(const OpDef& op, const KernelSpec& spec, Rearrangement how);
  void run(const KernelArgs& args) const;

 private:
  struct Array {
    int64_t offset;   // in the scratch memory, or -1: as it is
    bool shape_only;  // its data is not there
    bool batched;
    bool permuted;
  };
  // A run on so many images.
  struct Piece {
    int64_t images;
    std::vector<TensorView> views;  // inputs, then the output
    KernelChoice choice;
  };
  Piece make_piece(const OpDef& op, const KernelSpec& spec, int64_t images) const;
  TensorView part_of(const TensorView& whole, size_t array, int64_t first, int64_t images) const;
  void bring(const TensorView& from, const TensorView& to, bool permuted, bool back,
             engine::RunContext& context) const;

  const Rearrangement how_;
  DType dtype_;
  std::vector<Array> arrays_;  // inputs, then the output
  std::vector<Piece> pieces_;  // the usual one, and a shorter last one if need be
  int64_t batch_ = 1;          // images of a call; 1 where nothing is batched
  size_t own_bytes_ = 0;       // scratch memory before that of the other kernel
};

Support rearranges(const KernelSpec& spec, bool channels_last);

template <class P>
bool has_channels_last(const P& p) {
  if constexpr (requires { p.layout; }) return channels_last(p.layout);
  else return false;
}

// For an operator with attributes P, which may have a layout. The numbers are those of Rearrangement.
template <class P, uint32_t batched, bool sums_images = false, uint32_t plain = 0>
void add_rearranged(KernelList& table, std::string_view op, const char* name) {
  Kernel kernel{.name = name};
  kernel.support = [](const AttrsBase& attrs, const KernelSpec& spec) {
    return rearranges(spec, has_channels_last(attrs.as<P>()));
  };
  kernel.prepare = [](const OpDef& op, const AttrsBase& attrs, const KernelSpec& spec) {
    P p = attrs.as<P>();
    const bool last = has_channels_last(p);
    if constexpr (requires { p.layout; }) p.layout.reset();
    return Ref<const KernelState>(make_ref<Rearranged>(
        op, spec, Rearrangement{make_attrs(std::move(p)), last, batched, sums_images, plain}));
  };
  kernel.run = [](const AttrsBase&, const KernelArgs& args) {
    static_cast<const Rearranged*>(args.state)->run(args);
  };
  table.add_kernel(op, kernel);
}

}  // namespace loomix::ops
