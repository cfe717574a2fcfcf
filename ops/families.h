// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace loomix::ops {

class OpTable;

// A family is a folder of ops/: `register.cc` defines the first function (schemas, rules, gradients), `kernels_cpu.cc`
// the second (one line a kernel). A new family adds its two lines here and its line to the list in table.cc.
void register_elemwise(OpTable& table);
void kernels_elemwise_cpu(OpTable& table);

void register_reduce(OpTable& table);
void kernels_reduce_cpu(OpTable& table);

void register_shape(OpTable& table);
void kernels_shape_cpu(OpTable& table);

void register_init(OpTable& table);
void kernels_init_cpu(OpTable& table);

void register_index(OpTable& table);
void kernels_index_cpu(OpTable& table);

void register_ordering(OpTable& table);
void kernels_ordering_cpu(OpTable& table);

void register_random(OpTable& table);
void kernels_random_cpu(OpTable& table);

void register_linear(OpTable& table);
void kernels_linear_cpu(OpTable& table);
void kernels_linear_dnnl(OpTable& table);  // called by the one above

void register_linalg(OpTable& table);
void kernels_linalg_cpu(OpTable& table);

void register_sequence(OpTable& table);
void kernels_sequence_cpu(OpTable& table);

void register_attention(OpTable& table);
void kernels_attention_cpu(OpTable& table);

void register_contrib(OpTable& table);
void kernels_contrib_cpu(OpTable& table);

void register_conv(OpTable& table);
void kernels_conv_cpu(OpTable& table);
void kernels_conv_dnnl(OpTable& table);

void register_pool(OpTable& table);
void kernels_pool_cpu(OpTable& table);
void kernels_pool_dnnl(OpTable& table);

void register_vision(OpTable& table);
void kernels_vision_cpu(OpTable& table);

void register_detection(OpTable& table);
void kernels_detection_cpu(OpTable& table);

void register_norm(OpTable& table);
void kernels_norm_cpu(OpTable& table);

void register_activation(OpTable& table);
void kernels_activation_cpu(OpTable& table);

void register_softmax(OpTable& table);
void kernels_softmax_cpu(OpTable& table);

void register_loss(OpTable& table);
void kernels_loss_cpu(OpTable& table);

void register_dropout(OpTable& table);
void kernels_dropout_cpu(OpTable& table);

void register_rnn(OpTable& table);
void kernels_rnn_cpu(OpTable& table);

void register_sparse(OpTable& table);
void kernels_sparse_cpu(OpTable& table);  // for operators of other families, too

void register_optimizer(OpTable& table);
void kernels_optimizer_cpu(OpTable& table);

}  // namespace loomix::ops
