// SPDX-License-Identifier: Apache-2.0
//
// MXNet's engine through its C functions, which its library exports: arrays stand for Vars, and a task is a C function
// with a pointer to the 32 bytes that our closures hold.
#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <utility>

#include "benchmarks/engine/peer.h"

namespace engine_cases {
namespace {

struct Context {
  int device_type = 1;  // cpu
  int device_id = 0;
};

class MxNet {
 public:
  explicit MxNet(const std::string& path) : library_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    find(create_, "MXNDArrayCreate");
    find(copy_in_, "MXNDArraySyncCopyFromCPU");
    find(wait_all_, "MXNDArrayWaitAll");
    find(push_, "MXEnginePushSyncND");
    find(invoke_, "MXImperativeInvoke");
    find(operator_, "NNGetOpHandle");
    find(error_, "MXGetLastError");
  }
  void* array() {
    const uint32_t shape = 2;
    const float zeros[2] = {0, 0};
    void* made = nullptr;
    check(create_(&shape, 1, 1, 0, 0, &made));
    check(copy_in_(made, zeros, 2));
    return made;
  }
  void push(void (*run)(void*, void*), void* argument, void** reads, int read_count, void** writes,
            int write_count) {
    check(push_(run, argument, nullptr, &context_, reads, read_count, writes, write_count, nullptr, 0,
                nullptr));
  }
  void add(void* a, void* b, void* sum) {
    if (add_ == nullptr) check(operator_("elemwise_add", &add_));
    void* inputs[] = {a, b};
    void* outputs[] = {sum};
    void** given = outputs;
    int count = 1;
    check(invoke_(add_, 2, inputs, &count, &given, 0, nullptr, nullptr));
  }
  void wait_all() { check(wait_all_()); }

 private:
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr) throw std::runtime_error(std::string("the library has no ") + name);
  }
  void check(int failed) {
    if (failed) throw std::runtime_error(error_());
  }

  void* const library_;
  const Context context_;
  int (*create_)(const uint32_t*, uint32_t, int, int, int, void**) = nullptr;
  int (*copy_in_)(void*, const void*, size_t) = nullptr;
  int (*wait_all_)() = nullptr;
  int (*push_)(void (*)(void*, void*), void*, void (*)(void*), const void*, void**, int, void**, int,
               const void*, int, const char*) = nullptr;
  int (*invoke_)(void*, int, void**, int*, void***, int, const char**, const char**) = nullptr;
  int (*operator_)(const char*, void**) = nullptr;
  const char* (*error_)() = nullptr;
  void* add_ = nullptr;
};

struct Argument {
  int64_t* value;
  int64_t a, b, c;
};
void look(void*, void* opaque) {
  const Argument& argument = *static_cast<const Argument*>(opaque);
  if (*argument.value + argument.a + argument.b + argument.c < 0) std::abort();
}

// Arrays, values and arguments, made before the timing and kept.
struct Cells {
  Cells(MxNet& mxnet, size_t count) : values(count * 8), arguments(count) {
    for (size_t i = 0; i < count; ++i) {
      arrays.push_back(mxnet.array());
      arguments[i] = {&values[i * 8], static_cast<int64_t>(i), 1, 2};
    }
  }
  std::vector<void*> arrays;
  std::vector<int64_t> values;
  std::vector<Argument> arguments;
};

double one_array(MxNet& mxnet, Cells& cells, bool writes) {
  return rate(
      kTasks,
      [&](uint32_t i) {
        const size_t k = i % cells.arrays.size();
        void** const array = &cells.arrays[k];
        mxnet.push(look, &cells.arguments[k], array, writes ? 0 : 1, array, writes ? 1 : 0);
      },
      [&] { mxnet.wait_all(); });
}

double no_arrays(MxNet& mxnet, Cells& cells) {
  return rate(
      kTasks, [&](uint32_t i) { mxnet.push(look, &cells.arguments[i % kVars], nullptr, 0, nullptr, 0); },
      [&] { mxnet.wait_all(); });
}

// Arrays that a task reads must differ from each other and from the one that it writes.
double random_three(MxNet& mxnet, Cells& cells) {
  static const std::vector<uint32_t> choice = random_choice();
  return rate(
      kTasks,
      [&](uint32_t i) {
        const uint32_t x = choice[3 * i], y = choice[3 * i + 1], z = choice[3 * i + 2];
        void* reads[2];
        int count = 0;
        if (x != z) reads[count++] = cells.arrays[x];
        if (y != z && y != x) reads[count++] = cells.arrays[y];
        mxnet.push(look, &cells.arguments[z], reads, count, &cells.arrays[z], 1);
      },
      [&] { mxnet.wait_all(); });
}

double additions(MxNet& mxnet, Cells& cells) {
  constexpr int kAdditions = 200'000;
  return rate(
      kAdditions,
      [&](uint32_t i) {
        mxnet.add(cells.arrays[i % kVars], cells.arrays[(i + 1) % kVars], cells.arrays[(i + 2) % kVars]);
      },
      [&] { mxnet.wait_all(); });
}

}  // namespace

std::vector<Case> mxnet_cases(const std::string& path) {
  const auto mxnet = std::make_shared<MxNet>(path);
  const auto some = std::make_shared<Cells>(*mxnet, kVars);
  const auto one = std::make_shared<Cells>(*mxnet, 1);
  const auto many = std::make_shared<Cells>(*mxnet, kTasks);
  return {
      {"128 Vars, one write", [=] { return one_array(*mxnet, *some, true); }, "M tasks/s", {}},
      {"128 Vars, one read", [=] { return one_array(*mxnet, *some, false); }, "M tasks/s", {}},
      {"a Var a task, one write", [=] { return one_array(*mxnet, *many, true); }, "M tasks/s", {}},
      {"no tags", [=] { return no_arrays(*mxnet, *some); }, "M tasks/s", {}},
      {"one chain", [=] { return one_array(*mxnet, *one, true); }, "M tasks/s", {}},
      {"128 Vars, 2 reads + 1 write", [=] { return random_three(*mxnet, *some); }, "M tasks/s", {}},
      {"prepared additions on 128 arrays", [=] { return additions(*mxnet, *some); }, "M tasks/s", {}},
  };
}

}  // namespace engine_cases
