# CPU kernels for every x86-64 processor, where RODEO_NATIVE is off: all code is for x86-64-v2 (SSE4.2, 2009), and the sources of
# ops/cpu are compiled again for x86-64-v3 (AVX2 and FMA) and x86-64-v4 (AVX-512). ops/kernels/registry.h declares the functions
# of each level, and core/cpu_level.h chooses one when the program runs.
set(RODEO_CPU_LEVELS OFF)
if(NOT RODEO_NATIVE AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS "-march=x86-64-v4 -fno-gnu-unique")
  check_cxx_source_compiles("int main() { return __builtin_cpu_supports(\"x86-64-v4\"); }" RODEO_COMPILER_KNOWS_CPU_LEVELS)
  unset(CMAKE_REQUIRED_FLAGS)
  if(RODEO_COMPILER_KNOWS_CPU_LEVELS AND NOT RODEO_SANITIZE)
    set(RODEO_CPU_LEVELS ON)
  else()
    message(STATUS "CPU kernels are for x86-64-v2 alone: GCC 12 also compiles them for AVX2 and AVX-512")
  endif()
endif()

# rodeo_cpu_level(level sources...): an object file with the kernels of one level, for the library. Its functions are in the
# namespace cpu_${level} instead of cpu. All other symbols become local: an inline function, such as one of std::vector, has a
# copy in many object files, and a program that took the one with AVX for all would not run without AVX.
function(rodeo_cpu_level level)
  set(name rodeo_cpu_${level})
  add_library(${name} OBJECT ${ARGN})
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${libraries})
  rodeo_compile_options(${name})
  target_compile_options(${name} PRIVATE -march=x86-64-${level} -Dcpu=cpu_${level}
                         -fno-gnu-unique)  # a unique symbol cannot become local
  set(object ${PROJECT_BINARY_DIR}/${name}.o)
  add_custom_command(
    OUTPUT ${object} VERBATIM COMMAND_EXPAND_LISTS
    COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${object} $<TARGET_OBJECTS:${name}>
    COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=_ZN5rodeo7kernels6cpu_${level}* ${object}
    DEPENDS ${name} $<TARGET_OBJECTS:${name}>
    COMMENT "Linking the CPU kernels for x86-64-${level}")
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  target_sources(rodeo PRIVATE ${object})
endfunction()
