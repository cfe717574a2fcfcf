// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"
#include "ops/random/pdf.h"
#include "ops/random/random.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

template <class D>
void distribution(OpTable& table) {
  const std::string name = D::name;
  table.kernel<DrawParams<D>, draw_cpu<D>>("_random_" + name, "draw_cpu", DeviceType::cpu);
  table.kernel<LikeParams<D>, draw_like_cpu<D>>("_random_" + name + "_like", "draw_like_cpu",
                                                DeviceType::cpu);
  table.kernel<SampleParams<D>, sample_cpu<D>>("_sample_" + name, "sample_cpu", DeviceType::cpu);
}

}  // namespace

void kernels_random_cpu(OpTable& table) {
  constexpr DeviceType cpu = DeviceType::cpu;
  distribution<Uniform>(table);
  distribution<Normal>(table);
  distribution<Gamma>(table);
  distribution<Exponential>(table);
  distribution<Poisson>(table);
  distribution<NegativeBinomial>(table);
  distribution<GeneralizedNegativeBinomial>(table);
  table.kernel<RandintParams, randint_cpu>("_random_randint", "randint_cpu", cpu);
  table.kernel<MultinomialParams, multinomial_cpu, nullptr, multinomial_scratch>("_sample_multinomial",
                                                                                 "multinomial_cpu", cpu);
  table.kernel<NoParams, backward_multinomial_cpu>("_backward_sample_multinomial", "backward_multinomial_cpu",
                                                   cpu);
  table.kernel<NoParams, shuffle_cpu, nullptr, shuffle_scratch>("_shuffle", "shuffle_cpu", cpu);
  table.kernel<ZipfianParams, unique_zipfian_cpu, nullptr, unique_zipfian_scratch>("_sample_unique_zipfian",
                                                                                   "unique_zipfian_cpu", cpu);
  kernels_pdf_cpu(table);
}

}  // namespace loomix::ops
