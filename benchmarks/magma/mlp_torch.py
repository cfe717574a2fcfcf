# SPDX-License-Identifier: Apache-2.0
"""The same by PyTorch in Python."""

import os
import sys
import time

import torch

torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 2)))
torch.manual_seed(1)
x, y = torch.rand(60000, 784), torch.randint(10, (60000,))
layers, size = [], 784
for _ in range(int(sys.argv[1])):
    layers += [torch.nn.Linear(size, 500), torch.nn.Sigmoid()]
    size = 500
net = torch.nn.Sequential(*layers, torch.nn.Linear(size, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, weight_decay=0.001)
for _ in range(int(sys.argv[2])):
    begin = time.perf_counter()
    loss_sum, right = torch.zeros(()), torch.zeros((), dtype=torch.int64)
    for at in range(0, 60000, 100):
        data, label = x[at : at + 100], y[at : at + 100]
        optimizer.zero_grad()
        out = net(data)
        loss = torch.nn.functional.cross_entropy(out, label)
        loss.backward()
        optimizer.step()
        loss_sum += loss.detach()
        right += (out.detach().argmax(1) == label).sum()
    assert loss_sum.item() < 6000 and right.item() >= 0
    print(f"{time.perf_counter() - begin:.4f}", flush=True)
