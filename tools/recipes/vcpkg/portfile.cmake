# SPDX-License-Identifier: Apache-2.0
# An overlay port: vcpkg install loomix --overlay-ports=tools/recipes/vcpkg. It builds from this tree with the system's
# libraries (OpenBLAS, fmt, oneDNN, ...).
set(SOURCE_PATH "${CURRENT_PORT_DIR}/../../..")
set(VCPKG_POLICY_SKIP_CRT_LINKAGE_CHECK enabled)

vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS -DLOOMIX_TESTS=OFF)
foreach(target loomix_predict loomix_c_api loomix loomix_network)
  vcpkg_cmake_build(TARGET ${target})
endforeach()
foreach(config dbg rel)
  set(prefix "${CURRENT_PACKAGES_DIR}")
  if(config STREQUAL dbg)
    string(APPEND prefix "/debug")
  endif()
  foreach(component predict c cpp config)
    vcpkg_execute_required_process(
      COMMAND "${CMAKE_COMMAND}" --install "${CURRENT_BUILDTREES_DIR}/${TARGET_TRIPLET}-${config}"
              --component ${component} --prefix "${prefix}"
      WORKING_DIRECTORY "${CURRENT_BUILDTREES_DIR}" LOGNAME "install-${component}-${config}")
  endforeach()
endforeach()
vcpkg_cmake_config_fixup(PACKAGE_NAME Loomix CONFIG_PATH lib/cmake/Loomix)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
