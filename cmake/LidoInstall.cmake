# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
#
# `cmake --install`: libraries, headers, bin/lido, pkg-config files (lido, lido-malloc) and a CMake package whose targets
# are lido::lido, lido::lido_static, lido::malloc and lido::malloc_static.
include(CMakePackageConfigHelpers)

set(lido_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/lido")
install(TARGETS lido_shared lido_static lido_malloc_shared lido_malloc_static EXPORT lido-targets)
install(EXPORT lido-targets NAMESPACE lido:: DESTINATION "${lido_package_dir}")
install(DIRECTORY include/lido TYPE INCLUDE FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
if(TARGET lido)
  install(TARGETS lido RUNTIME)
endif()

configure_package_config_file(cmake/lido-config.cmake.in lido-config.cmake INSTALL_DESTINATION "${lido_package_dir}")
write_basic_package_version_file(lido-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/lido-config.cmake" "${CMAKE_BINARY_DIR}/lido-config-version.cmake"
  DESTINATION "${lido_package_dir}")

# The prefix is relative to the .pc file, so that `cmake --install --prefix` and a moved folder keep working.
set(lido_pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH LIDO_PC_PREFIX "/prefix/${lido_pc_dir}" "/prefix")
foreach(name lido lido-malloc)
  set(LIDO_PC_NAME ${name})
  configure_file(cmake/lido.pc.in ${name}.pc @ONLY)
  install(FILES "${CMAKE_BINARY_DIR}/${name}.pc" DESTINATION "${lido_pc_dir}")
endforeach()
