# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` lays down: the library, the program and its models, the headers, and a package that find_package(weft) finds.
include(CMakePackageConfigHelpers)
set(WEFT_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

include(WeftHeaders)

install(TARGETS weft_core_lib EXPORT weft-core-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT weft-core-targets NAMESPACE weft:: DESTINATION ${WEFT_PACKAGE_DIR})
if(WEFT_TORCH)
  install(TARGETS weft_lib EXPORT weft-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT weft-targets NAMESPACE weft:: DESTINATION ${WEFT_PACKAGE_DIR})
  install(TARGETS weft RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # Manual pages and completions, made by the program itself, which is the one that was built.
  install(CODE "execute_process(COMMAND $<TARGET_FILE:weft> manual \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}\"
                                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)")
  # `weft restore` looks for them beside the folder of the program, under this name.
  if(EXISTS ${PROJECT_SOURCE_DIR}/share/weft/models)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/share/weft/models DESTINATION share/weft)
  endif()
endif()
foreach(header IN LISTS weft_core_headers weft_torch_headers)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${PROJECT_SOURCE_DIR}/src/weft/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft/${folder})
endforeach()

string(REGEX MATCH "^[0-9]+\\.[0-9]+" weft_torch_interface "${WEFT_TORCH_VERSION}")
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/weft-config.cmake.in ${PROJECT_BINARY_DIR}/weft-config.cmake
                              INSTALL_DESTINATION ${WEFT_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weft-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weft-config.cmake ${PROJECT_BINARY_DIR}/weft-config-version.cmake
              ${CMAKE_CURRENT_LIST_DIR}/WeftTorch.cmake DESTINATION ${WEFT_PACKAGE_DIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/weft)
