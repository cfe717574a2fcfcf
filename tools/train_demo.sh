#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets Loomix up and trains LeNet on Fashion-MNIST. Arguments go to the example.
set -euo pipefail
cd "$(dirname "$0")/.."
bash tools/setup.sh examples
exec "${VENV:-.venv}/bin/python" examples/train_fashion_mnist.py --network lenet "$@"
