# SPDX-License-Identifier: Apache-2.0
"""Loomix for Conan 2: the C and C++ libraries with their headers. Other libraries (OpenBLAS, fmt, oneDNN, ...) are the
system's, as docs/start says.

conan create tools/recipes/conan                 builds from this tree
conan export-pkg tools/recipes/conan             packs what build/ has
"""

from pathlib import Path

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy

_COMPONENTS = ("predict", "c", "cpp", "config")
_TARGETS = ("loomix_predict", "loomix_c_api", "loomix", "loomix_network")


class Loomix(ConanFile):
    """Its own LoomixConfig.cmake is what find_package finds."""

    name = "loomix"
    version = "0.1.0"
    description = "A deep-learning framework on a dependency engine: training and prediction from C and C++"
    license = "Apache-2.0"
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"

    def export_sources(self):
        root = Path(self.recipe_folder).parents[2]
        for folder in sorted(p for p in root.iterdir() if p.is_dir()):
            if not folder.name.startswith((".", "build")):
                copy(self, "*", str(folder), str(Path(self.export_sources_folder) / folder.name))
        for pattern in (
            "CMakeLists.txt",
            "CMakePresets.json",
            "LICENSE",
            "NOTICE",
            "README.md",
            "pyproject.toml",
        ):
            copy(self, pattern, str(root), self.export_sources_folder)

    def layout(self):
        self.folders.root = "../../.."
        self.folders.source = "."
        self.folders.build = "build"
        self.folders.generators = "build/conan"

    def generate(self):
        toolchain = CMakeToolchain(self, generator="Ninja")
        toolchain.cache_variables["LOOMIX_TESTS"] = "OFF"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        for target in _TARGETS:
            cmake.build(target=target)

    def package(self):
        for component in _COMPONENTS:
            self.run(
                f'cmake --install "{self.build_folder}" --component {component} --prefix "{self.package_folder}"'
            )
        copy(self, "LICENSE", self.source_folder, str(Path(self.package_folder) / "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/Loomix"]
