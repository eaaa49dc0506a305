# Compiler options of all targets, and the generated core/version.h.
execute_process(COMMAND git describe --always --dirty --abbrev=12 WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/core/version.h CONTENT [[
/// The version of the library: MAJOR.MINOR.PATCH as in https://semver.org. Before 1.0.0 a new MINOR may break sources.
#pragma once
#define RODEO_VERSION "@PROJECT_VERSION@"
#define RODEO_VERSION_MAJOR @PROJECT_VERSION_MAJOR@
#define RODEO_VERSION_MINOR @PROJECT_VERSION_MINOR@
#define RODEO_VERSION_PATCH @PROJECT_VERSION_PATCH@
#define RODEO_COMMIT "@commit@"
]] @ONLY)

function(rodeo_compile_options target)
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/generated)
  # GCC fuses a product and a sum in one version of a loop and not in another, and addresses choose the version. Without fusion
  # results do not depend on addresses. Loops that gain from it call multiply_add() (ops/cpu/loops.h).
  set(host -Wall -Wextra -ffp-contract=off)
  if(RODEO_WERROR)
    list(APPEND host -Werror)
  endif()
  if(RODEO_SANITIZE)
    list(APPEND host -fsanitize=${RODEO_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    if(NOT CMAKE_CXX_FLAGS_RELEASE MATCHES "-g0")  # lines in reports, for a tenth of the compile time
      list(APPEND host -g1)
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # false alarms in the standard library under sanitizers
      list(APPEND host -Wno-maybe-uninitialized)
    else()  # Clang warns of loops that instrumentation keeps from being vectorised
      list(APPEND host -Wno-pass-failed)
    endif()
    target_link_options(${target} PRIVATE -fsanitize=${RODEO_SANITIZE})
  endif()
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${host}>")
  if(RODEO_NATIVE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-march=native>)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-march=x86-64-v2>)
  endif()
  if(RODEO_CPU_LEVELS)
    target_compile_definitions(${target} PRIVATE RODEO_CPU_LEVELS=1)
  endif()
  if(RODEO_WITH_CUDA)
    if(NOT target MATCHES "^rodeo(_glue|_cpu_v[34])?$")  # there it is a property of sources
      target_compile_definitions(${target} PRIVATE RODEO_WITH_CUDA=1)
    endif()
    set(cuda --expt-relaxed-constexpr --expt-extended-lambda -Xcompiler=-Wall,-ffp-contract=off)
    if(RODEO_WERROR)
      list(APPEND cuda -Werror=all-warnings)
    endif()
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${cuda}>")
  endif()
endfunction()

# rodeo_precompile(target headers...): precompiles headers that most sources of the target include. Off by default: it hides a
# missing #include. Only headers from outside the project: ccache takes a header whose comments alone changed for the one that
# it has precompiled, but the compiler does not, and #pragma once fails.
function(rodeo_precompile target)
  if(RODEO_PCH)
    list(TRANSFORM ARGN REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:\\1>" OUTPUT_VARIABLE headers)
    target_precompile_headers(${target} PRIVATE ${headers})
  endif()
endfunction()

# rodeo_reuse_precompiled(target from): the precompiled headers of another target with the same options.
function(rodeo_reuse_precompiled target from)
  if(RODEO_PCH)
    target_precompile_headers(${target} REUSE_FROM ${from})
  endif()
endfunction()

# rodeo_unite(target sources...): with RODEO_UNITY, the sources of a folder are compiled in four groups. A group depends on the name
# of the source alone: a new one joins a group and leaves the others as they are. A name that is defined in the unnamed namespaces
# of two sources of a group is an error: give it a better one, or name a source here, which is compiled alone then. So are sources
# that rodeo_h5_check links: a group would bring in the whole library, whose address space is more than the limit of that process.
set(rodeo_compiled_alone
    core/random.cpp datasets/subgraph.cpp datasets/subset.cpp datasets/synthetic_edges.cpp datasets/synthetic_presets.cpp
    datasets/import/text_lines.cpp ops/segment_reduce.cpp ops/segment_sum.cpp ops/cpu/sddmm.cpp
    ops/plan/dense_config.cpp ops/plan/sddmm_config.cpp ops/plan/spmm_config.cpp ops/sparse/halo_form.cpp)
function(rodeo_unite target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${RODEO_UNITY} UNITY_BUILD_MODE GROUP)
  list(FILTER ARGN INCLUDE REGEX "\\.cpp$")
  foreach(path ${ARGN})
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE source)
    if(NOT source IN_LIST rodeo_compiled_alone AND NOT source MATCHES "^(core/[a-z_]+|datasets/hdf5/(hdf5|hetero)_[a-z]+)[.]cpp$")
      cmake_path(GET source PARENT_PATH folder)
      string(MD5 hash ${source})
      string(SUBSTRING ${hash} 0 1 digit)
      math(EXPR number "0x${digit} % 4")
      string(MAKE_C_IDENTIFIER ${folder}_${number} group)
      set_property(SOURCE ${path} PROPERTY UNITY_GROUP ${group})
    endif()
  endforeach()
endfunction()
