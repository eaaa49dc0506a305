# Whether the Python package (python/) is built: RODEO_WITH_PYTHON. Its extension is a shared library with librodeo.a inside, so
# that all code must be position-independent then. A wheel has librodeo.so.
set(RODEO_WITH_PYTHON OFF)
set(RODEO_LIBRARY_TYPE STATIC)
if(SKBUILD)  # pip
  set(RODEO_LIBRARY_TYPE SHARED)  # one librodeo.so in the wheel, for the extension and the programs
  # there is no Makefile that names the compiler cache
  find_program(ccache ccache)
  if(ccache)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${ccache})
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${ccache})
  endif()
endif()
if(RODEO_SANITIZE AND RODEO_PYTHON STREQUAL "ON")
  message(FATAL_ERROR "RODEO_PYTHON=ON is not possible with RODEO_SANITIZE: the sanitizer would have to be in Python itself")
endif()
if(NOT RODEO_PYTHON STREQUAL "OFF" AND NOT RODEO_SANITIZE)
  if(CMAKE_VERSION VERSION_LESS 3.26)
    set(python_components Interpreter Development.Module)
  else()
    set(python_components Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule)
  endif()
  find_package(Python 3.9 COMPONENTS ${python_components})
  if(Python_FOUND)
    execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_ROOT
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE no_nanobind)
    find_package(nanobind CONFIG QUIET)
  endif()
  if(Python_FOUND AND nanobind_FOUND AND nanobind_VERSION VERSION_GREATER_EQUAL 2.2)
    set(RODEO_WITH_PYTHON ON)
    set(CMAKE_POSITION_INDEPENDENT_CODE ON)
    message(STATUS "Python package: for Python ${Python_VERSION}, nanobind ${nanobind_VERSION}")
  elseif(RODEO_PYTHON STREQUAL "ON")
    message(FATAL_ERROR "RODEO_PYTHON=ON, but Python 3.9 or later with headers, or nanobind 2.2 or later, was not found: "
                        "install python3-dev, and nanobind by `pip install nanobind`; or `pip install ./python`, which does both")
  endif()
endif()
