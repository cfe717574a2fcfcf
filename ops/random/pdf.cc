// SPDX-License-Identifier: Apache-2.0
#include "ops/random/pdf.h"

#include <algorithm>

#include "base/error.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// Parameters share a shape, with which that of the samples begins: each element has a block of them. With `vectors`, both
// end in an axis of components.
void infer_block(ShapeInfer& s, int sample, bool vectors) {
  const int first = sample + 1;
  s.tie_inputs(first, s.num_in(), {});
  const Shape& samples = s.in(sample);
  const Shape& parameters = s.in(first);
  if (!samples.ndim_known() || !parameters.ndim_known()) return;
  const int shared = parameters.ndim() - (vectors ? 1 : 0);
  const auto fits = [](int64_t a, int64_t b) { return a < 0 || b < 0 || a == b; };
  bool ok = shared >= 0 && samples.ndim() >= parameters.ndim();
  for (int i = 0; ok && i < shared; ++i) ok = fits(samples[i], parameters[i]);
  if (ok && vectors) ok = fits(samples[samples.ndim() - 1], parameters[shared]);
  LOOMIX_CHECK(ok, ShapeError,
               "[{}] samples have shape {}; expected one that begins with {}, that of the parameters{}.",
               s.who(), samples.to_string(), parameters.to_string(),
               vectors ? " but their last axis, which is also the last one of the samples" : "");
}

Shape density_shape(const Shape& samples, bool vectors) {
  Shape out = samples;
  if (vectors && out.ndim() > 0) out.resize(out.ndim() - 1);
  return out;
}

template <bool vectors>
void infer_forward(const PdfParams&, ShapeInfer& s) {
  if (!vectors) s.set_in(0, s.out(0));
  infer_block(s, 0, vectors);
  s.set_out(0, density_shape(s.in(0), vectors));
}

template <bool vectors>
void infer_backward(const PdfParams&, ShapeInfer& s) {
  for (int i = 0; i < s.num_out(); ++i) s.set_in(i + 1, s.out(i));
  infer_block(s, 1, vectors);
  s.set_in(0, density_shape(s.in(1), vectors));
  for (int i = 0; i < s.num_out(); ++i) s.set_out(i, s.in(i + 1));
}

template <bool vectors, class Names>
void add(OpTable& table, const std::string& name, const Names& parameters) {
  std::string words = name;
  std::replace(words.begin(), words.end(), '_', ' ');
  auto op = table.add<PdfParams>("_random_pdf_" + name);
  op.aliases({"random_pdf_" + name})
      .doc("The density of samples of the " + words +
           " distribution. Each element of the parameters belongs to a block of samples.")
      .input("sample")
      .infer_shape(infer_forward<vectors>)
      .types(kFloatingTypes)
      .element_cost(30);
  const std::string backward = "_backward_random_pdf_" + name;
  op.gradient_op(backward, {head(0), input(0), input(1), input_if_any(2)}, {0, 1, 2});
  auto back = table.add_hidden<PdfParams>(backward, {"grad", "sample"});
  back.output("sample").infer_shape(infer_backward<vectors>).types(kFloatingTypes).element_cost(60);
  for (const char* parameter : parameters) {
    op.input(parameter);
    back.input(parameter).output(parameter);
  }
}

template <class... D>
void add_all(OpTable& table) {
  (add<false>(table, D::name, D::parameters), ...);
}

}  // namespace

void register_pdf(OpTable& table) {
  add_all<UniformPdf, NormalPdf, GammaPdf, ExponentialPdf, PoissonPdf, NegativeBinomialPdf,
          GeneralizedNegativeBinomialPdf>(table);
  add<true>(table, "dirichlet", std::array{"alpha"});
}

}  // namespace loomix::ops
