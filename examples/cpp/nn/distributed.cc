// SPDX-License-Identifier: Apache-2.0
// Several processes train one network, each with its part of Fashion-MNIST:
//   python -m loomix launch -n 2 -s 1 nn_distributed            by a parameter server
//   mpirun -n 2 nn_distributed dist_mpi                         by MPI
//   nn_distributed [store [epochs [folder of the data]]]        dist_sync, dist_async or dist_mpi
#include <cstdlib>
#include <iostream>

#include "loomix/nn.h"

using namespace loomix::nn;

int main(int argc, char** argv) {
  try {
    const char* const store = argc > 1 ? argv[1] : "dist_sync";
    const int epochs = argc > 2 ? std::atoi(argv[2]) : 1;
    const std::string folder = argc > 3 ? argv[3] : "/usr/share/datasets/fashion-mnist";
    Model model(Sequential(Flatten(), Dense(128, {.activation = "relu"}), Dense(10)),
                {.settings = {{"learning_rate", 0.1}}, .distributed = {.store = store}});
    const int64_t rank = model.trainer().rank(), workers = model.trainer().workers();
    FileLoader training =
        mnist(folder + "/train", {.batch = 100, .shuffle = true, .part = rank, .parts = workers});
    FileLoader test = mnist(folder + "/t10k", {.batch = 100});
    model.fit(training, {.epochs = epochs, .verbose = rank == 0});
    // All have the same network.
    std::cout << "rank " << rank << " of " << workers << ": accuracy " << model.evaluate(test).metric << '\n';
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
