# SPDX-License-Identifier: Apache-2.0

# convoy_module(NAME SOURCES a.cpp ... [DEPENDS module ...] [PRIVATE target ...])
# One static library a module of libcore/, target convoy::NAME. DEPENDS names modules whose headers ours include; PRIVATE
# names third-party targets, which only .cpp files may include.
function(convoy_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(convoy_${name} STATIC ${arg_SOURCES})
  add_library(convoy::${name} ALIAS convoy_${name})
  target_link_libraries(convoy_${name} PUBLIC convoy_options)
  foreach(module IN LISTS arg_DEPENDS)
    target_link_libraries(convoy_${name} PUBLIC convoy::${module})
  endforeach()
  target_link_libraries(convoy_${name} PRIVATE ${arg_PRIVATE})
endfunction()

# convoy_program(NAME SOURCES main.cpp ... MODULES app ...) builds and installs convoy-NAME.
function(convoy_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;MODULES;PRIVATE" ${ARGN})
  add_executable(convoy-${name} ${arg_SOURCES})
  set_target_properties(convoy-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  target_link_libraries(convoy-${name} PRIVATE convoy_options ${arg_PRIVATE})
  foreach(module IN LISTS arg_MODULES)
    target_link_libraries(convoy-${name} PRIVATE convoy::${module})
  endforeach()
  install(TARGETS convoy-${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# What a sanitizer build's tests have in their environment. The suppressions name frames of run-times that we do not build.
set(CONVOY_SANITIZER_ENVIRONMENT "")
if(CONVOY_SANITIZE MATCHES "thread")
  # libgomp is not instrumented: with more than one thread correct code is reported.
  set(CONVOY_SANITIZER_ENVIRONMENT OMP_NUM_THREADS=1 "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp")
elseif(CONVOY_SANITIZE)
  # abort_on_error: a finding is a signal, which death tests and the fuzz driver see.
  set(CONVOY_SANITIZER_ENVIRONMENT "ASAN_OPTIONS=abort_on_error=1:allocator_may_return_null=1"
    "UBSAN_OPTIONS=abort_on_error=1:print_stacktrace=1" "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/lsan.supp")
endif()

# A test waits for the compiler more than for its own code: -O1 takes two thirds of -O3's time. What is tested keeps its flags.
set(CONVOY_TEST_OPTIONS $<$<CONFIG:Release>:-O1>)

# The program whose precompiled gtest every test program uses: compiled once, not once a program.
function(convoy_precompiled_gtest)
  if(TARGET convoy_gtest)
    return()
  endif()
  set(_source "${PROJECT_BINARY_DIR}/precompiled_gtest.cpp")
  file(GENERATE OUTPUT "${_source}" CONTENT "// Its headers alone matter.\n")
  add_executable(convoy_gtest "${_source}")
  target_link_libraries(convoy_gtest PRIVATE convoy_options GTest::gmock GTest::gtest_main)
  target_compile_options(convoy_gtest PRIVATE ${CONVOY_TEST_OPTIONS})
  target_precompile_headers(convoy_gtest PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
endfunction()

# convoy_test(NAME SOURCES a_test.cpp ... MODULES base ... [LABEL fast|ci|long] [TIMEOUT seconds] [PRIVATE target ...]
#             [ENVIRONMENT VAR=value ...])
# One gtest executable, registered as one ctest case under its label (default fast). A label that CONVOY_TEST_LABELS leaves
# out is not registered, and its executable is not built.
function(convoy_test name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "SOURCES;MODULES;PRIVATE;ENVIRONMENT" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL fast)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(CONVOY_SANITIZE)
    math(EXPR arg_TIMEOUT "5 * ${arg_TIMEOUT}")  # what the thread sanitizer costs
  endif()
  if(NOT arg_LABEL IN_LIST CONVOY_TEST_LABELS)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_link_libraries(${name} PRIVATE convoy_options GTest::gmock GTest::gtest_main ${arg_PRIVATE})
  target_compile_definitions(${name} PRIVATE CONVOY_GOLDEN_DIR="${PROJECT_SOURCE_DIR}/tests/golden")
  foreach(module IN LISTS arg_MODULES)
    target_link_libraries(${name} PRIVATE convoy::${module})
  endforeach()
  target_compile_options(${name} PRIVATE ${CONVOY_TEST_OPTIONS})
  convoy_precompiled_gtest()
  target_precompile_headers(${name} REUSE_FROM convoy_gtest)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT}
    ENVIRONMENT "${arg_ENVIRONMENT};${CONVOY_SANITIZER_ENVIRONMENT}")
endfunction()

# convoy_fuzzer(NAME SOURCES a_fuzz.cpp ... MODULES base ... CORPUS directory [PRIVATE target ...])
# A fuzz target (LLVMFuzzerTestOneInput) with tests/support/fuzz_main.cpp as its driver, registered under label ci. It runs for
# CONVOY_FUZZ_SECONDS: 20 under the address sanitizer, 3 elsewhere.
function(convoy_fuzzer name)
  cmake_parse_arguments(arg "" "CORPUS" "SOURCES;MODULES;PRIVATE" ${ARGN})
  if(NOT "ci" IN_LIST CONVOY_TEST_LABELS OR CONVOY_SANITIZE MATCHES "thread")
    return()
  endif()
  if(CONVOY_FUZZ_SECONDS)
    set(_seconds "${CONVOY_FUZZ_SECONDS}")
  elseif(CONVOY_SANITIZE MATCHES "address")
    set(_seconds 20)
  else()
    set(_seconds 3)
  endif()
  get_filename_component(_corpus "${arg_CORPUS}" ABSOLUTE)
  add_executable(${name} ${arg_SOURCES} "${PROJECT_SOURCE_DIR}/tests/support/fuzz_main.cpp")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_link_libraries(${name} PRIVATE convoy_options ${arg_PRIVATE})
  foreach(module IN LISTS arg_MODULES)
    target_link_libraries(${name} PRIVATE convoy::${module})
  endforeach()
  add_test(NAME ${name} COMMAND ${name} --seconds ${_seconds} "${_corpus}")
  math(EXPR _timeout "${_seconds} + 120")
  set_tests_properties(${name} PROPERTIES LABELS ci TIMEOUT ${_timeout} ENVIRONMENT "${CONVOY_SANITIZER_ENVIRONMENT}")
endfunction()
