# SPDX-License-Identifier: Apache-2.0
# What is installed for programs in C and C++, find_package(Loomix), pkg-config, and Debian packages by `cpack -G DEB`:
#   predict  libloomix_predict.so and predict.h
#   c        libloomix_c.so, with libloomix.so and the modules that it loads in a folder of their own
#   mpi      the module for stores of type dist_mpi, where MPI was found: it needs much that others do without
#   cpp      the headers over libloomix_c.so
#   config   what find_package(Loomix) reads first
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(private "${CMAKE_INSTALL_LIBDIR}/loomix")
set(LOOMIX_CONFIG_FOLDER "${CMAKE_INSTALL_LIBDIR}/cmake/Loomix")
get_directory_property(LOOMIX_MXNET_FOLDER DIRECTORY bindings/c DEFINITION LOOMIX_MXNET_FOLDER)

install(TARGETS loomix_c_api LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT c NAMELINK_COMPONENT cpp)
install(TARGETS loomix LIBRARY DESTINATION "${private}" COMPONENT c)
foreach(module loomix_network loomix_cuda)
  if(TARGET ${module})
    install(TARGETS ${module} LIBRARY DESTINATION "${private}" COMPONENT c)
  endif()
endforeach()
if(TARGET loomix_mpi)
  install(TARGETS loomix_mpi LIBRARY DESTINATION "${private}" COMPONENT mpi)
endif()

install(FILES bindings/c/include/loomix/c_api.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/loomix" COMPONENT cpp)
install(DIRECTORY bindings/cpp/include/loomix DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT cpp)
install(DIRECTORY bindings/cpp/mxnet/ DESTINATION "${LOOMIX_MXNET_FOLDER}/include" COMPONENT cpp)
file(CREATE_LINK ../../../libloomix_c.so "${CMAKE_CURRENT_BINARY_DIR}/libmxnet.so" SYMBOLIC)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/libmxnet.so" DESTINATION "${LOOMIX_MXNET_FOLDER}/lib" COMPONENT cpp)

function(loomix_package_file name destination component)
  configure_package_config_file("cmake/package/${name}.in" "${CMAKE_CURRENT_BINARY_DIR}/package/${name}"
    INSTALL_DESTINATION "${destination}" PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR LOOMIX_MXNET_FOLDER)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/package/${name}" DESTINATION "${destination}" COMPONENT ${component})
endfunction()
loomix_package_file(LoomixConfig.cmake "${LOOMIX_CONFIG_FOLDER}" config)
loomix_package_file(LoomixPredict.cmake "${LOOMIX_CONFIG_FOLDER}" predict)
loomix_package_file(LoomixCpp.cmake "${LOOMIX_CONFIG_FOLDER}" cpp)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/package/LoomixConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/package/LoomixConfigVersion.cmake" DESTINATION "${LOOMIX_CONFIG_FOLDER}"
  COMPONENT config)

file(RELATIVE_PATH LOOMIX_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" /)
foreach(pair "loomix-predict;predict" "loomix;cpp")
  list(GET pair 0 name)
  list(GET pair 1 component)
  configure_file("cmake/package/${name}.pc.in" "${CMAKE_CURRENT_BINARY_DIR}/package/${name}.pc" @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/package/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
    COMPONENT ${component})
endforeach()

set(CPACK_PACKAGE_NAME loomix)
set(CPACK_PACKAGE_VENDOR Loomix)
set(CPACK_PACKAGE_CONTACT "The Loomix developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL predict c cpp config)
if(TARGET loomix_mpi)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
endif()
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
foreach(component PREDICT C MPI)  # each knows the libraries that it is linked with
  set(CPACK_DEBIAN_${component}_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_${component}_PACKAGE_SECTION libs)
endforeach()
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "$<TARGET_FILE_DIR:loomix>")
set(CPACK_DEBIAN_PREDICT_PACKAGE_NAME libloomix-predict0)
set(CPACK_DEBIAN_C_PACKAGE_NAME libloomix0)
set(CPACK_DEBIAN_CPP_PACKAGE_NAME libloomix-dev)
set(CPACK_DEBIAN_CONFIG_PACKAGE_NAME libloomix-cmake)
set(CPACK_DEBIAN_CONFIG_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_MPI_PACKAGE_NAME libloomix-mpi0)
# The flavour of OpenBLAS is the one that was built with; what else is loaded, dpkg-shlibdeps finds out.
set(CPACK_DEBIAN_PREDICT_PACKAGE_DEPENDS "libloomix-cmake, libopenblas0-openmp")
if(LOOMIX_PACKED_RELOCATIONS)  # which dpkg-shlibdeps overlooks
  string(APPEND CPACK_DEBIAN_PREDICT_PACKAGE_DEPENDS ", libc6 (>= 2.36)")
endif()
set(CPACK_DEBIAN_C_PACKAGE_DEPENDS libopenblas0-openmp)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "libloomix0 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_CPP_PACKAGE_DEPENDS "libloomix0 (= ${PROJECT_VERSION}), libloomix-cmake")
foreach(component "PREDICT;Prediction with trained models, from C" "C;Training and prediction: the library"
    "MPI;Stores of parameters by MPI"
    "CPP;Training and prediction from C and C++: headers" "CONFIG;Loomix for CMake")
  list(GET component 0 name)
  list(GET component 1 text)
  set(CPACK_COMPONENT_${name}_DESCRIPTION "Loomix, a deep-learning framework on a dependency engine.\n${text}.")
endforeach()
include(CPack)
