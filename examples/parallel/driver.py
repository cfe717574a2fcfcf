# SPDX-License-Identifier: Apache-2.0
"""The largest singular value of a matrix that lies on several ranks, by a serial program on rank 0.

mpirun -n 4 python driver.py
"""

import argparse

import loomix as mx
from loomix import parallel


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="a small matrix")
    return parser.parse_args()


def main():
    args = parse_args()
    size = 200 if args.quick else args.size
    with parallel.driver():  # other ranks do what these operations tell them
        mx.random.seed(3)
        a = parallel.Matrix.random((size, size), "rows", seed=None)
        x = parallel.Matrix.full((size, 1), 1, "rows")
        for _ in range(args.steps):
            x = a.dot(a.dot(x), transpose_a=True)
            x = x / x.norm().asscalar()
        print(f"the largest singular value is about {a.dot(x).norm().asscalar():.4f}")


if __name__ == "__main__":
    main()
