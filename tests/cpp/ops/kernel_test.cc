// SPDX-License-Identifier: Apache-2.0
#include "ops/kernel_choice.h"
#include "ops/kernel_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/error.h"
#include "engine/parallel_for.h"
#include "ops/scratch_slots.h"

namespace loomix::ops {
namespace {

using ::testing::HasSubstr;

struct ScaleParams {
  double factor = 2;
  static void fields(FieldList<ScaleParams>& f) { f("factor", &ScaleParams::factor, "Multiplies."); }
};

int prepared = 0;

class Scale final : public KernelState {
 public:
  Scale(const ScaleParams& p, const KernelSpec& spec) : factor(p.factor), cores(spec.cores) {
    ++prepared;
    scratch_bytes = static_cast<size_t>(spec.in[0].bytes());
    cost_ns = 1e6;
  }
  void run(const ScaleParams&, const KernelArgs&) const {}
  const double factor;
  const int cores;
};

void plain(const ScaleParams&, const KernelArgs&) {}
void sparse_only(const AttrsBase&, const KernelArgs&) {}

class PreparedKernels : public ::testing::Test {
 protected:
  PreparedKernels() {
    table_.add<ScaleParams>("scale")
        .doc("A multiple.")
        .input("data")
        .output("output")
        .one_shape()
        .cost([](const ScaleParams&, const KernelSpec& s) {
          return 1000.0 * static_cast<double>(s.in[0].size());
        });
    table_.prepared_kernel<ScaleParams, Scale, float_only>("scale", "scale_fast");
    table_.kernel<plain>("scale", "scale_cpu");
    table_.validate();
  }
  static Support float_only(const ScaleParams&, const KernelSpec& spec) {
    return spec.in[0].dtype == DType::float32 ? Support::yes() : Support::no("it is for float32");
  }
  KernelChoice choose(KernelCache& cache, Shape shape, DType dtype = DType::float32, bool training = false,
                      const TextPairs& attrs = {}) {
    const OpDef& op = table_.at("scale");
    const TensorView view{nullptr, dtype, std::move(shape)};
    const Req req = Req::write;
    return cache.get(op, table_.parse(op, attrs), {{&view, 1}, {&view, 1}, {&req, 1}, training},
                     {DeviceType::cpu, 4});
  }
  OpTable table_;
};

TEST_F(PreparedKernels, AreFoundAgainByGeometryAttributesTypesAndMode) {
  KernelCache cache;
  prepared = 0;
  const KernelChoice first = choose(cache, {40});
  EXPECT_STREQ(first.kernel->name, "scale_fast");
  EXPECT_EQ(first.scratch_bytes, 160u);
  EXPECT_EQ(first.cost_ns, 1e6);
  EXPECT_EQ(choose(cache, {40}).state.get(), first.state.get());
  EXPECT_EQ(prepared, 1);
  EXPECT_NE(choose(cache, {41}).state.get(), first.state.get());
  EXPECT_NE(choose(cache, {4, 10}).state.get(), first.state.get());
  EXPECT_NE(choose(cache, {40}, DType::float32, true).state.get(), first.state.get());
  const KernelChoice other = choose(cache, {40}, DType::float32, false, {{"factor", "3"}});
  EXPECT_EQ(static_cast<const Scale&>(*other.state).factor, 3);
  EXPECT_EQ(prepared, 5);
  EXPECT_FALSE(choose(cache, {40}, DType::float64).state) << "the plain kernel has none";
}

TEST_F(PreparedKernels, GetAsManyCoresAsTheWorkIsWorth) {
  KernelCache cache;
  EXPECT_EQ(static_cast<const Scale&>(*choose(cache, {10}).state).cores, 1);    // 10 us
  EXPECT_EQ(static_cast<const Scale&>(*choose(cache, {30}).state).cores, 3);    // 30 us
  EXPECT_EQ(static_cast<const Scale&>(*choose(cache, {4000}).state).cores, 4);  // all that there are
}

TEST_F(PreparedKernels, AreForgottenInTheEnd) {
  KernelCache cache;
  prepared = 0;
  const Ref<const KernelState> kept = choose(cache, {1}).state;
  for (int64_t size = 2; size < 4000; ++size) choose(cache, {size});
  const int before = prepared;
  choose(cache, {1});
  EXPECT_EQ(prepared, before + 1);
  EXPECT_EQ(static_cast<const Scale&>(*kept).factor, 2) << "who holds it keeps it";
}

TEST_F(PreparedKernels, SparseArraysGoToKernelsThatTakeThem) {
  const OpDef& op = table_.at("scale");
  Kernel kernel;
  kernel.name = "scale_rows";
  kernel.run = sparse_only;
  kernel.sparse = true;
  kernel.support = [](const AttrsBase&, const KernelSpec& spec) {
    return spec.in_stype(0) == StorageType::row_sparse ? Support::yes() : Support::no("it is for rows");
  };
  table_.add_kernel("scale", kernel);
  const TensorView view{nullptr, DType::float32, Shape{4}};
  const Req req = Req::write;
  const auto attrs = table_.parse(op, {});
  KernelSpec spec{{&view, 1}, {&view, 1}, {&req, 1}};
  std::vector<StorageType> stypes = {StorageType::row_sparse, StorageType::row_sparse};
  spec.stypes = stypes;
  std::string heard;
  const DispatchListener listener = [&](const std::string& line) { heard += line + '\n'; };
  EXPECT_STREQ(prepare_kernel(op, *attrs, spec, {DeviceType::cpu, 1, &listener}).kernel->name, "scale_rows");
  EXPECT_EQ(heard,
            "scale: scale_fast refuses: it takes dense arrays only\nscale: scale_rows runs (float32 (4,) "
            "row_sparse)\n");
  stypes = {StorageType::csr, StorageType::dense};
  EXPECT_EQ(prepare_kernel(op, *attrs, spec, {DeviceType::cpu, 1}).kernel, nullptr);
}

// A module's kernel for the null device: a stand-in for an accelerator's.
void add_scale(KernelList& list) { list.kernel<plain>("scale", "scale_null", DeviceType::null); }
void add_for_host(KernelList& list) { list.kernel<plain>("scale", "scale_x"); }
void add_unknown(KernelList& list) {
  list.kernel<plain>("scale", "scale_null", DeviceType::null);
  list.kernel<plain>("skale", "skale_null", DeviceType::null);
}

std::string refusal(const OpTable& table, const KernelModule& module) {
  try {
    add_kernel_module(table, module);
  } catch (const ValueError& error) {
    return error.what();
  }
  return "taken";
}

TEST_F(PreparedKernels, ModulesBringKernelsForTheirDevice) {
  const OpDef& op = table_.at("scale");
  const TensorView view{nullptr, DType::float32, Shape{4}};
  const Req req = Req::write;
  const auto attrs = table_.parse(op, {});
  const KernelSpec spec{{&view, 1}, {&view, 1}, {&req, 1}};
  EXPECT_THROW(op.choose(*attrs, spec, DeviceType::null), NotImplementedError);
  const uint32_t version = kKernelInterface, size = kKernelInterfaceSize;
  EXPECT_THAT(refusal(table_, {version + 1, size, "npu", "0.9", DeviceType::null, add_scale}),
              HasSubstr("[kernel module 'npu' 0.9] it was built for version 2"));
  EXPECT_THAT(refusal(table_, {version, size + 8, "npu", "0.9", DeviceType::null, add_scale}),
              HasSubstr("kernel module 'npu' 0.9"));
  EXPECT_THAT(refusal(table_, {version, size, "npu", "0.9", DeviceType::null, add_for_host}),
              HasSubstr("may add kernels for null(0) only"));
  EXPECT_THAT(refusal(table_, {version, size, "npu", "0.9", DeviceType::null, add_unknown}),
              HasSubstr("'skale', which is no operator"));
  EXPECT_THROW(op.choose(*attrs, spec, DeviceType::null), NotImplementedError) << "all or none";
  EXPECT_EQ(refusal(table_, {version, size, "npu", "0.9", DeviceType::null, add_scale}), "taken");
  EXPECT_STREQ(op.choose(*attrs, spec, DeviceType::null).name, "scale_null");
}

TEST_F(PreparedKernels, FilesThatAreNoModuleAreRefused) {
  try {
    load_kernel_module(table_, "/nowhere/libnpu.so");
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'/nowhere/libnpu.so' cannot be loaded"));
  }
}

TEST(ScratchSlotsTest, ThreadsNeverShareOne) {
  constexpr int kThreads = 8, kRounds = 20'000;
  std::vector<std::byte> memory(kThreads * 64);
  ScratchSlots slots(memory, 64, kThreads);
  std::atomic<int> inside[kThreads] = {};
  std::atomic<bool> shared = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        const ScratchSlots::Use slot(slots);
        if (inside[slot.index].fetch_add(1) != 0) shared = true;
        *slot.as<int>() = round;
        inside[slot.index].fetch_sub(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(shared);
}

}  // namespace
}  // namespace loomix::ops
