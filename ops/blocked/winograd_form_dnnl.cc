// SPDX-License-Identifier: Apache-2.0
#include "ops/blocked/winograd_form_dnnl.h"

namespace loomix::ops {

#if DNNL_VERSION_MAJOR >= 3

std::optional<WinogradForm> winograd_form(const onednn::Desc&) { return {}; }

#else

std::optional<WinogradForm> winograd_form(const onednn::Desc& weight) {
  constexpr int64_t kBlock = WinogradForm::kBlock;
  if (weight.data.format_kind != dnnl_format_kind_wino) return {};
  const dnnl_wino_desc_t& d = weight.data.format_desc.wino_desc;
  if (d.r != 3 || (d.alpha != 4 && d.alpha != 6) || d.adj_scale != 1 || d.oc != weight.data.dims[0] ||
      d.ic != weight.data.dims[1] || d.oc_block != kBlock || d.ic_block != kBlock || d.oc % kBlock != 0 ||
      d.ic % kBlock != 0)
    return {};
  WinogradForm form;
  form.tile = d.alpha;
  form.filters = d.oc;
  form.channels = d.ic;
  form.filter_step = form.channels * 9;
  form.channel_step = 9;
  form.inner_blocks = d.oc2_block;
  // The formats' names list the axes from the outermost: a of tiles, O and I blocks of filters and channels (outer blocks with
  // B), o and i inside of them.
  switch (d.wino_format) {
    case dnnl_wino_wei_aaOio:
    case dnnl_wino_wei_aaOBiOo: {
      const bool together = d.wino_format == dnnl_wino_wei_aaOBiOo;
      form.value = form.channels * form.filters;
      form.outer = form.channels * form.inner_blocks * kBlock;
      form.inner = together ? kBlock : form.channels * kBlock;
      form.channel = together ? form.inner_blocks * kBlock : kBlock;
      form.far = form.channel * kBlock;
      return form;
    }
    case dnnl_wino_wei_OBaaIBOIio:
      form.value = form.channels * form.inner_blocks * kBlock;
      form.outer = form.value * form.tile * form.tile;
      form.inner = d.ic2_block * kBlock * kBlock;
      form.channel = kBlock;
      form.blocks_of_channels = d.ic2_block;
      form.near = kBlock * kBlock;
      form.far = form.inner_blocks * form.inner;
      return form;
    default: return {};
  }
}

#endif

}  // namespace loomix::ops
