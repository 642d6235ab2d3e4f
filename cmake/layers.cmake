# Full builds compile eight files of a room as one: parsing the same headers is most of the work. The dev build and the
# lint see every file by itself. phalanx_alone(cluster blame.cc): this file's private names clash with a neighbour's.
# phalanx_alone(dialect_slurm): so do most of this room's.
option(PHALANX_UNITY "Compile several files of a room at once" OFF)
if(PHALANX_UNITY)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>) # every file counts as a header there
endif()
function(phalanx_alone target)
  if(ARGN)
    set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  else()
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  endif()
endfunction()

# The house rules, enforced. A pure library may link only pure libraries, and its object code may not
# ask for a clock, a file, a socket, a thread, the environment or a random device: a test reads the
# symbols that each archive leaves undefined (purity.cmake).
function(phalanx_room name pure)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC ${arg_DEPENDS} ${arg_LINK})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  set_target_properties(${name} PROPERTIES PHALANX_PURE ${pure} OUTPUT_NAME phalanx_${name})
endfunction()

function(pure_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  foreach(dep IN LISTS arg_DEPENDS)
    get_target_property(dep_pure ${dep} PHALANX_PURE)
    if(NOT dep_pure)
      message(FATAL_ERROR "${name} is pure; it may not link ${dep}, which is not")
    endif()
  endforeach()
  phalanx_room(${name} TRUE ${ARGN})
  add_test(NAME purity.${name}
           COMMAND ${CMAKE_COMMAND} -DLIB=$<TARGET_FILE:${name}> -DNM=${CMAKE_NM}
                   -P ${PROJECT_SOURCE_DIR}/cmake/purity.cmake)
endfunction()

function(edge_library name)
  phalanx_room(${name} FALSE ${ARGN})
endfunction()

# room_test(place SOURCES fit_test.cc): builds place_test and registers each of its cases with CTest. PATHS lists those
# of the sources that ask where the tree is (PHALANX_SOURCE_DIR, PHALANX_BINARY_DIR): all others compile to the same
# object wherever the tree stands, so that a compiler cache serves every clone.
function(room_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;PATHS" ${ARGN})
  if(PHALANX_NO_TESTS)
    return()
  endif()
  add_executable(${name}_test ${arg_SOURCES})
  target_link_libraries(${name}_test PRIVATE ${name} ${arg_DEPENDS} GTest::gtest_main)
  if(arg_PATHS)
    phalanx_alone(${name}_test ${arg_PATHS})
    set_property(SOURCE ${arg_PATHS} APPEND PROPERTY COMPILE_DEFINITIONS PHALANX_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                 PHALANX_BINARY_DIR="${PROJECT_BINARY_DIR}")
  endif()
  gtest_discover_tests(${name}_test TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 120)
endfunction()

# fuzz_target(dialect_slurm hostlist SOURCES hostlist_fuzz.cc): LLVMFuzzerTestOneInput in a file beside the parser, its corpus in
# test/fuzz/<name>/. With clang and PHALANX_FUZZ it is a libFuzzer binary; otherwise it links a small driver
# (test/fuzz/driver.cc) that replays the corpus and a fixed number of seeded mutations of it, as a CTest case.
function(fuzz_target room name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name}_fuzz ${arg_SOURCES})
  target_link_libraries(${name}_fuzz PRIVATE ${room} ${arg_DEPENDS})
  if(PHALANX_FUZZ)
    target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${name}_fuzz PRIVATE ${PROJECT_SOURCE_DIR}/test/fuzz/driver.cc)
    add_test(NAME fuzz.${name} COMMAND ${name}_fuzz ${PROJECT_SOURCE_DIR}/test/fuzz/${name})
    set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT 120)
  endif()
endfunction()

# The house rules that neither CMake nor the compiler can see: sizes, includes between rooms, banned words, dead
# files, the code map (docs/style.md).
add_test(NAME tidy COMMAND ${PROJECT_SOURCE_DIR}/tools/tidy)
add_test(NAME tidy.self-test COMMAND ${PROJECT_SOURCE_DIR}/tools/tidy --self-test)
