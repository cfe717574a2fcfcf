# SPDX-License-Identifier: Apache-2.0
# Build type, flags and the options that a user may set.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or Sanitize" FORCE)
endif()
# -g1 keeps line numbers for back-traces and costs little time and space.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g -D_GLIBCXX_ASSERTIONS")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

option(LOOMIX_TESTS "Build the C++ tests" ON)
option(LOOMIX_WERROR "Treat warnings in our sources as errors" ON)
option(LOOMIX_QUICK_BUILD "Precompile headers that are not ours, and compile tests with -Og" OFF)
option(LOOMIX_ISA_VARIANTS "Compile the SIMD kernels for x86-64-v3 and -v4, too" ON)
set(LOOMIX_SANITIZE "" CACHE STRING "Sanitizers, as in -fsanitize=: 'address,undefined' or 'thread'")
# clang's -O0 takes a quarter of the time of g++'s -Og to compile what the address sanitizer instruments, and that half of its -O1's.
# Loops then run slower, which costs less than it saves.
set(LOOMIX_SANITIZE_LEVEL -O1)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(LOOMIX_SANITIZE_LEVEL -O0)
elseif(LOOMIX_SANITIZE MATCHES "address")
  set(LOOMIX_SANITIZE_LEVEL -Og)
endif()
set(CMAKE_CXX_FLAGS_SANITIZE "${LOOMIX_SANITIZE_LEVEL} -g1 -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS")
option(LOOMIX_STANDIN "Build the CUDA module for the host, too, to test it without a GPU; needs CUDA's headers and Boost.Context" OFF)
option(LOOMIX_FUZZ "Build the fuzzers; needs clang" OFF)
set(LOOMIX_TEST_TIMEOUT 60 CACHE STRING "Seconds that one C++ test may take")
foreach(backend DNNL OPENMP CUDA NETWORK MPI JPEG PNG ZLIB CURL PYTHON)
  set(LOOMIX_${backend} AUTO CACHE STRING "AUTO (when found), ON (required) or OFF")
  set_property(CACHE LOOMIX_${backend} PROPERTY STRINGS AUTO ON OFF)
endforeach()

find_program(LOOMIX_CCACHE ccache)
mark_as_advanced(LOOMIX_CCACHE)
if(LOOMIX_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${LOOMIX_CCACHE}")
  if(LOOMIX_QUICK_BUILD)  # without these, ccache refuses to keep what is compiled with precompiled headers
    list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros)
  endif()
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${LOOMIX_CCACHE}")
endif()

# Flags of all our own targets.
add_library(loomix_flags INTERFACE)
target_include_directories(loomix_flags INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_features(loomix_flags INTERFACE cxx_std_20)
target_compile_options(loomix_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wnon-virtual-dtor -Woverloaded-virtual -Wsuggest-override -Wvla>
  $<$<COMPILE_LANGUAGE:CXX>:-fopenmp-simd -fno-math-errno -fno-semantic-interposition>)
if(LOOMIX_FUZZ)
  target_compile_options(loomix_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(LOOMIX_SANITIZE)
  # Instrumentation confuses some of g++'s flow warnings, so they are errors only in the plain builds.
  target_compile_options(loomix_flags INTERFACE -fsanitize=${LOOMIX_SANITIZE} -fno-sanitize-recover=all)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")  # g++ defines these itself
    if(LOOMIX_SANITIZE MATCHES "thread")
      target_compile_definitions(loomix_flags INTERFACE __SANITIZE_THREAD__)
    elseif(LOOMIX_SANITIZE MATCHES "address")
      target_compile_definitions(loomix_flags INTERFACE __SANITIZE_ADDRESS__)
    endif()
  endif()
  target_link_options(loomix_flags INTERFACE -fsanitize=${LOOMIX_SANITIZE})
elseif(LOOMIX_WERROR)
  target_compile_options(loomix_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
