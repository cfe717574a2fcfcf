// SPDX-License-Identifier: Apache-2.0
// Loads a network of pictures by loomix/predict.h and prints what that took: time, memory, time of a prediction.
//
//     bench_prediction PREFIX [BATCH [THREADS]]        PREFIX-symbol.json, PREFIX-0000.params; (BATCH, 3, 224, 224)
//
// With THREADS, as many predictors with shared weights, each in a thread of its own, predict at the same time.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "loomix/predict.h"

namespace {

constexpr mx_uint kSide = 224, kChannels = 3;
constexpr int kTimes = 20;

void check(int code) {
  if (code == 0) return;
  std::fprintf(stderr, "%s\n", MXGetLastError());
  std::exit(1);
}

double milliseconds(clockid_t clock = CLOCK_MONOTONIC) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::exit(1);
  }
  file.seekg(0, std::ios::end);
  std::string bytes(static_cast<size_t>(file.tellg()), '\0');
  file.seekg(0);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

// Of this process now: "RssAnon" are its own pages, "RssFile" those of libraries and other files.
double megabytes(const std::string& line) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0;
    if (word == line + ":" && status >> kilobytes) return kilobytes / 1024;
  }
  return 0;
}

void print_memory(const char* when, double weights) {
  std::printf("%-22s %7.1f MB resident (%.1f its own, %.1f of files); weights in the file: %.1f MB\n", when,
              megabytes("VmRSS"), megabytes("RssAnon"), megabytes("RssFile"), weights);
}

void predict(PredictorHandle predictor, mx_uint batch) {
  const std::vector<float> data(static_cast<size_t>(batch) * kChannels * kSide * kSide, 0.5f);
  mx_uint *shape = nullptr, axes = 0, size = 1;
  check(MXPredGetOutputShape(predictor, 0, &shape, &axes));
  for (mx_uint i = 0; i < axes; ++i) size *= shape[i];
  std::vector<float> output(size);
  std::vector<double> times;
  for (int i = 0; i < kTimes; ++i) {
    const double start = milliseconds();
    check(MXPredSetInput(predictor, "data", data.data(), static_cast<mx_uint>(data.size())));
    check(MXPredForward(predictor));
    check(MXPredGetOutput(predictor, 0, output.data(), size));
    times.push_back(milliseconds() - start);
  }
  const double first = times[0];
  std::sort(times.begin(), times.end());
  std::printf("prediction             %7.2f ms at first, %.2f median, %.2f at best\n", first,
              times[times.size() / 2], times[0]);
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::fprintf(stderr, "usage: %s PREFIX [BATCH [THREADS]]\n", words[0]);
    return 1;
  }
  const std::string prefix = words[1];
  const auto batch = static_cast<mx_uint>(count > 2 ? std::atoi(words[2]) : 1);
  std::vector<PredictorHandle> predictors(
      static_cast<size_t>(count > 3 ? std::max(1, std::atoi(words[3])) : 1));
  const char* const names[] = {"data"};
  const mx_uint bounds[] = {0, 4}, shape[] = {batch, kChannels, kSide, kSide};
  print_memory("start", 0);
  double weights = 0;
  {
    const std::string json = content(prefix + "-symbol.json"), params = content(prefix + "-0000.params");
    weights = static_cast<double>(params.size()) / (1 << 20);
    const double start = milliseconds(), computed = milliseconds(CLOCK_PROCESS_CPUTIME_ID);
    check(MXPredCreateMultiThread(json.c_str(), params.data(), static_cast<int>(params.size()), 1, 0, 1,
                                  const_cast<const char**>(names), bounds, shape,
                                  static_cast<int>(predictors.size()), predictors.data()));
    std::printf("load and create        %7.1f ms, %.1f ms of computing\n", milliseconds() - start,
                milliseconds(CLOCK_PROCESS_CPUTIME_ID) - computed);
  }
  print_memory("created", weights);
  std::vector<std::thread> threads;
  const double start = milliseconds(), computed = milliseconds(CLOCK_PROCESS_CPUTIME_ID);
  for (const PredictorHandle predictor : predictors) threads.emplace_back(predict, predictor, batch);
  for (std::thread& thread : threads) thread.join();
  const auto count_all = static_cast<double>(predictors.size() * kTimes);
  std::printf("all %3zu threads        %7.2f predictions a second, %.2f ms of computing each\n",
              predictors.size(), 1e3 * count_all / (milliseconds() - start),
              (milliseconds(CLOCK_PROCESS_CPUTIME_ID) - computed) / count_all);
  print_memory("after predictions", weights);
  for (const PredictorHandle predictor : predictors) check(MXPredFree(predictor));
  return 0;
}
