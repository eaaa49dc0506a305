# Rules of the source tree, and the commands run as a user runs them.
# Only the tests that read files of the source tree: the path would keep a compiler cache from serving two clones.
set_source_files_properties(
  datasets/hdf5_check_test.cpp layers/pyg_reference_test.cpp models/pyg_trunk_test.cpp ops/pytorch_reference_test.cpp
  support/cases.cpp datasets/array_names_test.cpp train/recipes_test.cpp train/ogb_reference_test.cpp
  PROPERTIES COMPILE_DEFINITIONS RODEO_SOURCE_DIR="${PROJECT_SOURCE_DIR}")

# add_python_test(name script arguments...): exit code 77 of the script means skipped, and so does a missing Python.
find_package(Python3 QUIET COMPONENTS Interpreter)
function(add_python_test name)
  if(Python3_FOUND)
    add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} -B ${ARGN})
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  else()
    add_skipped_test(${name} "Python 3 is not installed")
  endif()
endfunction()
function(add_skipped_test name reason)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${reason}")
  set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: ")
endfunction()

add_python_test(Rules ${CMAKE_CURRENT_LIST_DIR}/rules_test.py ${PROJECT_SOURCE_DIR})
add_python_test(RulesCatch ${CMAKE_CURRENT_LIST_DIR}/rules_catch_test.py)
add_python_test(ToH5 ${CMAKE_CURRENT_LIST_DIR}/datasets/to_h5_test.py ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/bin/rodeo_data)
add_python_test(DblpCsv ${CMAKE_CURRENT_LIST_DIR}/dblp_csv_test.py ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/bin/rodeo_data)
add_python_test(Mutants ${CMAKE_CURRENT_LIST_DIR}/mutants_test.py ${PROJECT_SOURCE_DIR})
add_python_test(DrawMutants ${CMAKE_CURRENT_LIST_DIR}/draw_mutants_test.py ${PROJECT_SOURCE_DIR})
add_python_test(PublishedSplits ${CMAKE_CURRENT_LIST_DIR}/published_splits_test.py ${PROJECT_SOURCE_DIR})
add_test(NAME Release COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/release_test.sh ${PROJECT_SOURCE_DIR})
set_tests_properties(Release PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME Skips COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/skips_test.sh)
add_test(NAME Format COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/format_test.sh ${PROJECT_SOURCE_DIR})
set_tests_properties(Format PROPERTIES SKIP_RETURN_CODE 77)
add_python_test(Terminal ${CMAKE_CURRENT_LIST_DIR}/terminal_test.py ${PROJECT_BINARY_DIR}/bin)
add_test(NAME Commands COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/commands_test.sh ${PROJECT_BINARY_DIR}/bin)

# Reads damaged files of every kind for some seconds. .ci/run does it under sanitizers for a minute, scripts/fuzz.sh for hours.
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/fuzz/*.cpp)
add_executable(fuzz ${fuzz_sources} support/hdf5_checksums.cpp)
target_include_directories(fuzz PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(fuzz PRIVATE rodeo rodeo::hdf5)
rodeo_compile_options(fuzz)
rodeo_unite(fuzz ${fuzz_sources})
add_dependencies(fuzz rodeo_h5_check)
add_test(NAME Fuzz COMMAND fuzz all 12 1 ${PROJECT_BINARY_DIR})
