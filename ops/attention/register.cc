// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "base/error.h"
#include "ops/attention/attention.h"
#include "ops/linalg/linalg.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using Params = AttentionParams;

// Throws unless the last axis divides into what each head has.
void check_projection(const Params& p, const ShapeInfer& s, const Shape& shape, int parts, const char* name) {
  if (!shape.ndim_known()) return;
  LOOMIX_CHECK(shape.ndim() == 3, ShapeError,
               "[{}] {} has shape {}; expected three axes: length, batch, heads * {} * width.", s.who(), name,
               shape.to_string(), parts);
  const int64_t unit = int64_t{p.heads} * parts;
  LOOMIX_CHECK(shape[2] < 0 || (shape[2] > 0 && shape[2] % unit == 0), ShapeError,
               "[{}] {} has shape {}; expected a last size that {} heads of {} parts divide.", s.who(), name,
               shape.to_string(), p.heads, parts);
  LOOMIX_CHECK(!shape.is_known() || shape.size_between(1, 3) <= std::numeric_limits<int32_t>::max(),
               ShapeError, "[{}] {} has shape {}; one time step may have at most {} elements.", s.who(), name,
               shape.to_string(), std::numeric_limits<int32_t>::max());
}

int64_t times(int64_t size, int64_t factor) { return size < 0 ? kUnknownDim : size * factor; }
int64_t over(int64_t size, int64_t divisor) { return size < 0 ? kUnknownDim : size / divisor; }

Shape weights_shape(const Params& p, const Shape& queries, const Shape& keys) {
  return {times(queries[1], p.heads), queries[0], keys[0]};
}

// Places of a product's arguments: in the forward operator, or after the head of a backward one.
struct Places {
  int first, second, result;
  bool result_is_input;
  void set_result(ShapeInfer& s, const Shape& shape) const {
    if (result_is_input) s.set_in(result, shape);
    else s.set_out(result, shape);
  }
};

constexpr Places kForward{0, 1, 0, false};
constexpr Places kBackward{1, 2, 0, true};

using Rule = void (*)(const Params&, ShapeInfer&, const Places&);

void selfatt_qk(const Params& p, ShapeInfer& s, const Places& at) {
  const Shape& qkv = s.in(at.first);
  check_projection(p, s, qkv, 3, "queries_keys_values");
  if (qkv.ndim_known()) at.set_result(s, weights_shape(p, qkv, qkv));
}

void selfatt_valatt(const Params& p, ShapeInfer& s, const Places& at) {
  const Shape& qkv = s.in(at.first);
  check_projection(p, s, qkv, 3, "queries_keys_values");
  if (!qkv.ndim_known()) return;
  s.set_in(at.second, weights_shape(p, qkv, qkv));
  at.set_result(s, {qkv[0], qkv[1], over(qkv[2], 3)});
}

void encdec_qk(const Params& p, ShapeInfer& s, const Places& at) {
  check_projection(p, s, s.in(at.first), 1, "queries");
  check_projection(p, s, s.in(at.second), 2, "keys_values");
  if (s.in(at.first).ndim_known()) {
    s.set_in(at.second, {kUnknownDim, s.in(at.first)[1], times(s.in(at.first)[2], 2)});
    at.set_result(s, weights_shape(p, s.in(at.first), s.in(at.second)));
  }
}

void encdec_valatt(const Params& p, ShapeInfer& s, const Places& at) {
  const Shape& kv = s.in(at.first);
  check_projection(p, s, kv, 2, "keys_values");
  if (!kv.ndim_known()) return;
  s.set_in(at.second, {times(kv[1], p.heads), kUnknownDim, kv[0]});
  at.set_result(s, {s.in(at.second)[1], kv[1], over(kv[2], 2)});
}

template <Rule rule>
void forward_shape(const Params& p, ShapeInfer& s) {
  rule(p, s, kForward);
}

template <Rule rule>
void backward_shape(const Params& p, ShapeInfer& s) {
  for (int i = 0; i < s.num_out(); ++i) s.tie({i + 1}, {i});
  rule(p, s, kBackward);
  for (int i = 0; i < s.num_out(); ++i) s.set_out(i, s.in(i + 1));
}

// The same on rows that are rounded to 8 bits in each run, on both sides.
[[gnu::noinline]] void add_low_bit(OpTable& table, const std::string& name,
                                   std::initializer_list<std::string_view> inputs,
                                   void (*shape)(const Params&, ShapeInfer&)) {
  const std::string real = "interleaved_matmul_" + name;
  table.add<Params>("_contrib_low_bit_" + real)
      .doc("`" + real + "`, whose rows are rounded to 8 bits in each run, on both sides.")
      .inputs(inputs)
      .infer_shape(shape)
      .types({DType::float32})
      .element_cost(5);
}

template <Rule rule>
void add(OpTable& table, const std::string& name, std::initializer_list<std::string_view> inputs,
         const char* doc) {
  const std::string backward = "_backward_interleaved_matmul_" + name;
  table.add<Params>("_contrib_interleaved_matmul_" + name)
      .doc(doc)
      .inputs(inputs)
      .infer_shape(forward_shape<rule>)
      .types(kMatrixTypes)
      .element_cost(5)
      .gradient_op(backward, {head(0), input(0), input_if_any(1)}, {0, 1});
  add_low_bit(table, name, inputs, forward_shape<rule>);
  auto op = table.add_hidden<Params>(backward, {"grad"}).inputs(inputs);
  op.infer_shape(backward_shape<rule>);
  op.types(kMatrixTypes).element_cost(5);
  for (const std::string_view input : inputs) op.output(input);
}

}  // namespace

void register_attention(OpTable& table) {
  add<selfatt_qk>(
      table, "selfatt_qk", {"queries_keys_values"},
      "Self-attention's scores: each head's queries times its keys, over the square root of the width.");
  add<selfatt_valatt>(table, "selfatt_valatt", {"queries_keys_values", "attention"},
                      "Self-attention's result: the attention weights times the values of each head.");
  add<encdec_qk>(
      table, "encdec_qk", {"queries", "keys_values"},
      "Attention's scores: each head's queries times its keys, over the square root of the width.");
  add<encdec_valatt>(table, "encdec_valatt", {"keys_values", "attention"},
                     "Attention's result: the attention weights times the values of each head.");
}

}  // namespace loomix::ops
