# SPDX-License-Identifier: Apache-2.0
# Finds the libraries behind the backends. A backend NAME owns the sources *_name.cc; where it is off, the
# stubs no_name.cc are built instead. After this file LOOMIX_<NAME>_FOUND and LOOMIX_<NAME>_LIBRARIES are set.

set(LOOMIX_BACKENDS dnnl cblas openmp cuda cudnn cublas nccl mpi jpeg png zlib curl)
set(LOOMIX_MODULE_FOLDERS network cluster mpi)  # folders <folder>/network/ and so on are in modules of their own, too
set(LOOMIX_CUDA_BACKENDS cuda cudnn cublas nccl)  # built into a module of their own

# A library that the build cannot do without, and Debian's package that has it.
macro(loomix_need name package)
  find_package(${name} QUIET)
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "${name} was not found; install ${package}. `bash tools/setup.sh` installs all that is needed.")
  endif()
endmacro()

loomix_need(Threads libc6-dev)
loomix_need(fmt libfmt-dev)
loomix_need(spdlog libspdlog-dev)
loomix_need(nlohmann_json nlohmann-json3-dev)

# Sets LOOMIX_<NAME>_FOUND from the option AUTO|ON|OFF and whether `found` is true. Says what to install if it is not.
macro(loomix_decide name found hint)
  set(LOOMIX_${name}_FOUND FALSE)
  set(missing "")
  if(NOT "${LOOMIX_${name}}" STREQUAL "OFF")
    if(${found})
      set(LOOMIX_${name}_FOUND TRUE)
    elseif(NOT "${LOOMIX_${name}}" STREQUAL "AUTO")
      message(FATAL_ERROR "LOOMIX_${name}=${LOOMIX_${name}}, but it was not found: ${hint}.")
    else()
      set(missing " (to have it, ${hint})")
    endif()
  endif()
  message(STATUS "Loomix ${name}: ${LOOMIX_${name}_FOUND}${missing}")
endmacro()

# Header and library by hand: Debian's dnnl-config.cmake asks for OpenCL's headers. CUDA's relatives may be in its folders.
function(loomix_import target header library)
  find_path(${target}_INCLUDE_DIR ${header} HINTS ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES ${ARGN})
  find_library(${target}_LIBRARY ${library} HINTS ${CUDAToolkit_LIBRARY_DIR} PATH_SUFFIXES ${ARGN})
  mark_as_advanced(${target}_INCLUDE_DIR ${target}_LIBRARY)
  if(${target}_INCLUDE_DIR AND ${target}_LIBRARY)
    add_library(${target} UNKNOWN IMPORTED)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${${target}_LIBRARY}")
    target_include_directories(${target} SYSTEM INTERFACE "${${target}_INCLUDE_DIR}")
  endif()
endfunction()

# OpenBLAS, the OpenMP flavour: it shares one thread pool with oneDNN and our kernels. Both flavours have the
# same SONAME, so an rpath to the flavour's own folder decides which one loads.
loomix_import(loomix_openblas cblas.h openblas openblas-openmp)
if(NOT TARGET loomix_openblas)
  message(FATAL_ERROR "OpenBLAS was not found; install libopenblas-openmp-dev.")
endif()
cmake_path(GET loomix_openblas_LIBRARY PARENT_PATH LOOMIX_OPENBLAS_FOLDER)
set(LOOMIX_CBLAS_FOUND TRUE)
set(LOOMIX_CBLAS_LIBRARIES loomix_openblas)

loomix_import(loomix_dnnl oneapi/dnnl/dnnl.hpp dnnl)
loomix_decide(DNNL "TARGET;loomix_dnnl" "install libdnnl-dev")
set(LOOMIX_DNNL_LIBRARIES loomix_dnnl)

# LLVM's run-time hangs in children that fork while other threads are in it.
if(NOT LOOMIX_OPENMP STREQUAL "OFF" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  find_package(OpenMP)
endif()
loomix_decide(OPENMP OpenMP_CXX_FOUND "use g++")
if(LOOMIX_OPENMP_FOUND)
  set(LOOMIX_OPENMP_LIBRARIES OpenMP::OpenMP_CXX)
  if(LOOMIX_QUICK_BUILD)  # everywhere, so that all folders can share their precompiled headers
    target_compile_options(loomix_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${OpenMP_CXX_FLAGS}>)
  endif()
else()
  # Our pragmas are ignored then, but BLAS still brings its OpenMP runtime and is told how many threads to use.
  list(APPEND LOOMIX_CBLAS_LIBRARIES gomp)
endif()

# libcurl's headers only: io/record/ loads the library when the first address is opened.
find_path(LOOMIX_CURL_INCLUDE curl/curl.h)
mark_as_advanced(LOOMIX_CURL_INCLUDE)
loomix_decide(CURL LOOMIX_CURL_INCLUDE "install libcurl4-openssl-dev")
set(LOOMIX_CURL_LIBRARIES ${CMAKE_DL_LIBS})

# The network module: OpenSSL and Protocol Buffers, both or none.
loomix_import(loomix_ssl openssl/ssl.h ssl)
loomix_import(loomix_crypto openssl/evp.h crypto)
find_package(Protobuf QUIET)
set(LOOMIX_NETWORK_CANDIDATE FALSE)
if(TARGET loomix_ssl AND TARGET loomix_crypto AND TARGET protobuf::libprotobuf-lite AND TARGET protobuf::protoc)
  set(LOOMIX_NETWORK_CANDIDATE TRUE)
endif()
loomix_decide(NETWORK LOOMIX_NETWORK_CANDIDATE "install libssl-dev, libprotobuf-dev and protobuf-compiler")
set(LOOMIX_NETWORK_LIBRARIES loomix_ssl loomix_crypto protobuf::libprotobuf-lite)
set(LOOMIX_CLUSTER_FOUND ${LOOMIX_NETWORK_FOUND})  # is in the same module
set(LOOMIX_CLUSTER_LIBRARIES protobuf::libprotobuf-lite)

# MPI: a module, too; the libraries that its compiler wrapper would link.
set(LOOMIX_MPI_CANDIDATE FALSE)
if(NOT LOOMIX_MPI STREQUAL "OFF")
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI QUIET COMPONENTS CXX)
  set(LOOMIX_MPI_CANDIDATE ${MPI_CXX_FOUND})
endif()
loomix_decide(MPI LOOMIX_MPI_CANDIDATE "install libopenmpi-dev and openmpi-bin")
set(LOOMIX_MPI_LIBRARIES MPI::MPI_CXX)

loomix_import(loomix_jpeg jpeglib.h jpeg)
loomix_decide(JPEG "TARGET;loomix_jpeg" "install libjpeg62-turbo-dev (libturbojpeg0-dev has it, too)")
set(LOOMIX_JPEG_LIBRARIES loomix_jpeg)
loomix_import(loomix_png png.h png)
loomix_decide(PNG "TARGET;loomix_png" "install libpng-dev")
set(LOOMIX_PNG_LIBRARIES loomix_png)
loomix_import(loomix_zlib zlib.h z)
loomix_decide(ZLIB "TARGET;loomix_zlib" "install zlib1g-dev")
set(LOOMIX_ZLIB_LIBRARIES loomix_zlib)

# CUDA: the toolkit on PATH, in CUDA_PATH or /usr/local/cuda.
set(LOOMIX_CUDA_CANDIDATE FALSE)
if(NOT LOOMIX_CUDA STREQUAL "OFF")
  if(NOT CMAKE_CUDA_COMPILER)
    find_program(LOOMIX_NVCC nvcc HINTS ENV CUDACXX PATHS ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
    mark_as_advanced(LOOMIX_NVCC)
    if(LOOMIX_NVCC)
      set(CMAKE_CUDA_COMPILER "${LOOMIX_NVCC}")
    endif()
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90 CACHE STRING "GPU generations to compile for")
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(LOOMIX_CUDA_CANDIDATE TRUE)
  endif()
endif()
loomix_decide(CUDA LOOMIX_CUDA_CANDIDATE "put nvcc on PATH or in /usr/local/cuda; install nvidia-cuda-toolkit")
if(LOOMIX_CUDA_FOUND)
  # fmt would not be constexpr there by itself.
  string(APPEND CMAKE_CUDA_FLAGS " --expt-relaxed-constexpr --extended-lambda -DFMT_USE_CONSTEXPR=1")
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake before 3.26 does not know that nvcc has it
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  # CMake 3.25.1 marks this target as deprecated whether it exists or not, and CUDA 13 does not have it.
  if(CMAKE_VERSION VERSION_LESS 3.26 AND NOT TARGET CUDA::nvToolsExt)
    add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
  endif()
  find_package(CUDAToolkit REQUIRED)
  set(LOOMIX_CUDA_LIBRARIES CUDA::cudart CUDA::cublas CUDA::cublasLt)
  foreach(library curand cusolver cufft)
    if(TARGET CUDA::${library})
      list(APPEND LOOMIX_CUDA_LIBRARIES CUDA::${library})
    endif()
  endforeach()
  loomix_import(loomix_cudnn cudnn.h cudnn)
  loomix_import(loomix_nccl nccl.h nccl)
endif()
foreach(library cudnn nccl)
  string(TOUPPER ${library} NAME)
  if(TARGET loomix_${library})
    set(LOOMIX_${NAME}_FOUND TRUE)
    list(APPEND LOOMIX_CUDA_LIBRARIES loomix_${library})
  else()
    set(LOOMIX_${NAME}_FOUND FALSE)
  endif()
endforeach()
set(LOOMIX_CUBLAS_FOUND ${LOOMIX_CUDA_FOUND})
# CUPTI's header only: the library is opened when a profile meets a GPU.
set(LOOMIX_CUPTI_FOUND FALSE)
if(LOOMIX_CUDA_FOUND OR LOOMIX_STANDIN)
  find_path(LOOMIX_CUPTI_INCLUDE_DIR cupti.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ENV CUDA_PATH
    PATHS /usr/local/cuda PATH_SUFFIXES include extras/CUPTI/include ../extras/CUPTI/include)
  mark_as_advanced(LOOMIX_CUPTI_INCLUDE_DIR)
  if(LOOMIX_CUPTI_INCLUDE_DIR)
    set(LOOMIX_CUPTI_FOUND TRUE)
  endif()
endif()

# Python: always the pybind11 of the build environment, for Debian's is older than NumPy 2.
set(LOOMIX_PYTHON_CANDIDATE FALSE)
if(NOT LOOMIX_PYTHON STREQUAL "OFF")
  find_package(Python 3.10 COMPONENTS Interpreter Development.Module QUIET)
  if(Python_FOUND)
    execute_process(COMMAND "${Python_EXECUTABLE}" -m pybind11 --cmakedir OUTPUT_VARIABLE pybind11_folder
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE pybind11_failed)
    if(NOT pybind11_failed)
      find_package(pybind11 2.12 CONFIG PATHS "${pybind11_folder}" NO_DEFAULT_PATH)
      set(LOOMIX_PYTHON_CANDIDATE ${pybind11_FOUND})
    endif()
  endif()
endif()
loomix_decide(PYTHON LOOMIX_PYTHON_CANDIDATE "install python3-dev, and pybind11 2.12 or later with pip")
