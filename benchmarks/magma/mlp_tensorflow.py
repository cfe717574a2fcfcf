# SPDX-License-Identifier: Apache-2.0
"""The same by TensorFlow: Keras' `fit`, as MagmaDNN's paper measures it, or a compiled step that is called in a loop.

mlp_tensorflow.py HIDDEN_LAYERS EPOCHS fit|step
"""

import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

threads = int(os.environ.get("OMP_NUM_THREADS", 2))
tf.config.threading.set_intra_op_parallelism_threads(threads)
tf.config.threading.set_inter_op_parallelism_threads(threads)
rng = np.random.default_rng(1)
x, y = rng.random((60000, 784), dtype=np.float32), rng.integers(0, 10, 60000)
layers, decay = [], tf.keras.regularizers.L2(0.0005)  # whose gradient is 0.001 times the weight
for _ in range(int(sys.argv[1])):
    layers.append(tf.keras.layers.Dense(500, "sigmoid", kernel_regularizer=decay, bias_regularizer=decay))
layers.append(tf.keras.layers.Dense(10, kernel_regularizer=decay, bias_regularizer=decay))
net = tf.keras.Sequential([tf.keras.Input((784,)), *layers])
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.SGD(0.05)

if sys.argv[3] == "fit":
    net.compile(optimizer, loss_of, metrics=["accuracy"])
    for _ in range(int(sys.argv[2])):
        begin = time.perf_counter()
        net.fit(x, y, batch_size=100, epochs=1, shuffle=False, verbose=0)
        print(f"{time.perf_counter() - begin:.4f}", flush=True)
    sys.exit()

x, y = tf.constant(x), tf.constant(y)
loss_sum, right = tf.Variable(0.0), tf.Variable(0, dtype=tf.int64)


@tf.function
def step(at):
    data, label = x[at : at + 100], y[at : at + 100]
    with tf.GradientTape() as tape:
        out = net(data, training=True)
        loss = loss_of(label, out)
        total = loss + tf.add_n(net.losses)
    optimizer.apply_gradients(
        zip(tape.gradient(total, net.trainable_variables), net.trainable_variables, strict=True)
    )
    loss_sum.assign_add(loss)
    right.assign_add(tf.reduce_sum(tf.cast(tf.argmax(out, 1) == label, tf.int64)))


for _ in range(int(sys.argv[2])):
    loss_sum.assign(0)
    right.assign(0)
    begin = time.perf_counter()
    for at in range(0, 60000, 100):
        step(tf.constant(at))
    assert loss_sum.numpy() < 6000 and right.numpy() >= 0
    print(f"{time.perf_counter() - begin:.4f}", flush=True)
