# SPDX-License-Identifier: Apache-2.0
# How every target of ours is compiled: C++20, warnings as errors, the sanitizers of the preset.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(CONVOY_CCACHE ccache)
if(CONVOY_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CONVOY_CCACHE}")
endif()

add_library(convoy_options INTERFACE)
target_include_directories(convoy_options INTERFACE "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/generated")
target_compile_options(convoy_options INTERFACE -Wall -Wextra -Wpedantic -Werror -Wshadow -Wnon-virtual-dtor)

if(CONVOY_SANITIZE)
  string(REPLACE ";" "," _sanitizers "${CONVOY_SANITIZE}")
  target_compile_options(convoy_options INTERFACE -fsanitize=${_sanitizers} -fno-omit-frame-pointer)
  target_link_options(convoy_options INTERFACE -fsanitize=${_sanitizers})
  if(CONVOY_SANITIZE MATCHES "undefined")
    # These four checks triple the compile time; scripts/test.sh --all builds with them.
    option(CONVOY_SANITIZE_FULL "Keep the slow undefined-behaviour checks" OFF)
    if(NOT CONVOY_SANITIZE_FULL)
      target_compile_options(convoy_options INTERFACE -fno-sanitize=null,alignment,object-size,vptr)
    endif()
    target_compile_options(convoy_options INTERFACE -fno-sanitize-recover=all)
  endif()
endif()
