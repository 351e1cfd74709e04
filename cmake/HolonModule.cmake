# One folder, one target, one namespace. holon_module(NAME [ROOMS ...] [DEPS ...] [LABELS ...]) builds the
# *.cc of the current folder into a library NAME and its *_test.cc into NAME_tests, registered with CTest.
# ROOMS are subfolders that belong to the same target and namespace. The label `threads` asks for a run
# under TSan, too.

# Warnings fail CI, not the build of somebody whose compiler or libraries are newer than ours.
set(holon_warnings -Wall -Wextra)
if("$ENV{HOLON_WARNINGS_ARE_ERRORS}")
  list(APPEND holon_warnings -Werror)
endif()

add_library(holon_options INTERFACE)
target_compile_options(holon_options INTERFACE
  ${holon_warnings} -Wno-missing-designated-field-initializers -Wno-missing-field-initializers
  -pthread "SHELL:-Xclang -fno-pch-timestamp")  # re2 brings -pthread, and one PCH serves all.
target_compile_definitions(holon_options INTERFACE
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED HOLON_VERSION="${PROJECT_VERSION}")
target_link_options(holon_options INTERFACE -fuse-ld=lld)
# What is in memory of a run is mostly the program's own text: less of it is less memory.
target_compile_options(holon_options INTERFACE
  $<$<CONFIG:Release>:-ffunction-sections> $<$<CONFIG:Release>:-fdata-sections>)
target_link_options(holon_options INTERFACE
  $<$<CONFIG:Release>:-Wl,--gc-sections,--icf=safe,-z,pack-relative-relocs>)
# Few functions are worth a copy at each call: without the copies the program is a third smaller and builds
# in two thirds of the time. A target whose loops are measured (bench/) sets HOLON_HOT and keeps them.
target_compile_options(holon_options INTERFACE
  "$<$<AND:$<CONFIG:Release>,$<NOT:$<BOOL:$<TARGET_PROPERTY:HOLON_HOT>>>>:SHELL:-mllvm -inline-threshold=25>")
target_include_directories(holon_options INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
target_link_libraries(holon_options INTERFACE Boost::json fmt::fmt Threads::Threads)
if(HOLON_SANITIZE)
  # A null pointer is seen without a check at each use, and those checks are a seventh of the build.
  set(flags -fsanitize=${HOLON_SANITIZE} -fno-sanitize=null,alignment,vptr -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_compile_options(holon_options INTERFACE ${flags})
  target_link_options(holon_options INTERFACE ${flags})
endif()
if(HOLON_FUZZ)
  target_compile_options(holon_options INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(holon_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# For builds that are made whole: sources share the cost of what their headers bring, which takes about a
# third of the time. The others leave it out, so that a change of one file makes only what includes it.
set(HOLON_UNITY 0 CACHE STRING
  "Compile up to so many sources of a target as one, with more headers precompiled; 0: each by itself")

set(pch_headers ${CMAKE_SOURCE_DIR}/cmake/pch.h)
if(HOLON_UNITY)
  file(GLOB shared_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/domain/*.h)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${shared_headers})
  set(typed_header ${CMAKE_BINARY_DIR}/generated/typed_tables.h)
  set(typed_source ${CMAKE_BINARY_DIR}/generated/typed_tables.cc)  # Of the target `domain`.
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/typed_tables ${typed_header} ${typed_source}
    ${shared_headers} COMMAND_ERROR_IS_FATAL ANY)
  list(APPEND pch_headers ${typed_header}
    ${CMAKE_SOURCE_DIR}/src/store/store.h ${CMAKE_SOURCE_DIR}/src/record/events/events.h)
endif()
add_library(holon_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/pch.cc)
target_link_libraries(holon_pch PUBLIC holon_options)
target_precompile_headers(holon_pch PRIVATE ${pch_headers})
add_library(holon_test_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/pch.cc)
target_link_libraries(holon_test_pch PUBLIC holon_options GTest::gmock)
target_precompile_headers(holon_test_pch PRIVATE ${pch_headers} <gmock/gmock.h> <gtest/gtest.h>)

# With HOLON_UNITY, a target's sources compile in groups of up to `size` as one file each.
function(holon_unity target size)
  if(NOT HOLON_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/unity_groups ${size} ${sources}
    OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" " " lines "${lines}")
  separate_arguments(lines)
  foreach(line ${lines})
    string(REPLACE "|" ";" line ${line})
    list(GET line 0 group)
    list(GET line 1 source)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${group}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

function(holon_module name)
  cmake_parse_arguments(ARG "" "" "ROOMS;DEPS;LABELS" ${ARGN})
  list(TRANSFORM ARG_ROOMS APPEND "/*.cc" OUTPUT_VARIABLE room_sources)
  list(TRANSFORM ARG_ROOMS APPEND "/*_test.cc" OUTPUT_VARIABLE room_tests)
  file(GLOB sources CONFIGURE_DEPENDS *.cc ${room_sources})
  file(GLOB tests CONFIGURE_DEPENDS *_test.cc ${room_tests})
  list(REMOVE_ITEM sources ${tests} "")
  if(sources)
    add_library(${name} STATIC ${sources})
    holon_unity(${name} ${HOLON_UNITY})
    target_precompile_headers(${name} REUSE_FROM holon_pch)
    target_link_libraries(${name} PUBLIC holon_options ${ARG_DEPS})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE holon_options ${ARG_DEPS})
  endif()
  if(tests)
    holon_test(${name}_tests SOURCES ${tests} DEPS ${name} LABELS ${ARG_LABELS})
  endif()
endfunction()

# holon_test(NAME SOURCES ... DEPS ... [LABELS ...] [SHARDS n] [COST n]): one GoogleTest program, one CTest
# entry; with SHARDS, n entries NAME.1 to NAME.n that share its tests, so that none of them takes long. Those
# of the highest COST start first, so that no core waits for a long one at the end.
function(holon_test name)
  cmake_parse_arguments(ARG "" "SHARDS;COST" "SOURCES;DEPS;LABELS" ${ARGN})
  if(HOLON_FUZZ)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  holon_unity(${name} 8)  # Tests repeat names more often than sources do.
  target_precompile_headers(${name} REUSE_FROM holon_test_pch)
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  set(entries ${name})
  if(ARG_SHARDS)
    set(entries "")
    foreach(shard RANGE 1 ${ARG_SHARDS})
      math(EXPR index "${shard} - 1")
      add_test(NAME ${name}.${shard} COMMAND ${name})
      set_tests_properties(${name}.${shard} PROPERTIES
        ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${index}")
      list(APPEND entries ${name}.${shard})
    endforeach()
  else()
    add_test(NAME ${name} COMMAND ${name})
  endif()
  if(ARG_LABELS)
    set_tests_properties(${entries} PROPERTIES LABELS "${ARG_LABELS}")
  endif()
  if(ARG_COST)
    set_tests_properties(${entries} PROPERTIES COST ${ARG_COST})
  endif()
endfunction()

# holon_fuzzer(NAME SOURCE DEPS ...): a libFuzzer program of the fuzz preset. The others only compile its
# source, so that a change that breaks it is seen by `make test`.
function(holon_fuzzer name source)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  if(HOLON_FUZZ)
    add_executable(${name} ${source})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    add_library(${name} OBJECT ${source})
    target_precompile_headers(${name} REUSE_FROM holon_pch)
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
endfunction()

# holon_embeds(SOURCE FILE ...): SOURCE has these files in it by #embed. ccache does not look into
# #embed, so the command line has to change when one of them does.
function(holon_embeds source)
  set(digests "")
  foreach(file ${ARGN})
    file(SHA256 ${CMAKE_CURRENT_SOURCE_DIR}/${file} digest)
    string(APPEND digests ${digest})
  endforeach()
  string(SHA256 digest "${digests}")
  set_source_files_properties(${source} PROPERTIES
    COMPILE_DEFINITIONS HOLON_EMBEDDED_${digest} COMPILE_OPTIONS -Wno-c23-extensions)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
endfunction()

# holon_prepared_rules(TARGET SOURCE FILE ...): SOURCE has the engine of the rules in these files in it,
# as HOLON_RULES. It is built here because that takes a second, and the first search would wait for it.
function(holon_prepared_rules target source)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${target}.rules)
  set(files "")
  foreach(file ${ARGN})
    cmake_path(ABSOLUTE_PATH file)
    list(APPEND files ${file})
  endforeach()
  add_custom_command(OUTPUT ${out} COMMAND holon_prepare_rules ${out} ${files}
    DEPENDS holon_prepare_rules ${files} VERBATIM)
  target_sources(${target} PRIVATE ${out})
  set_source_files_properties(${source} PROPERTIES
    COMPILE_DEFINITIONS HOLON_RULES="${out}" OBJECT_DEPENDS ${out} SKIP_PRECOMPILE_HEADERS ON)
endfunction()
