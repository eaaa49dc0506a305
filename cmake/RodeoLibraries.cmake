# Finds the libraries that programs with librodeo.a link to. The build of Rodeo includes this file, and so does the installed
# rodeoConfig.cmake. rodeo_missing becomes a list of error texts, one for each library that was not found.
macro(rodeo_find_libraries with_cuda with_cudnn with_mpi)
  set(rodeo_missing "")
  find_package(OpenMP QUIET COMPONENTS CXX)
  if(NOT TARGET OpenMP::OpenMP_CXX)
    list(APPEND rodeo_missing "OpenMP for C++ was not found: use a compiler with OpenMP, such as GCC, and enable the language CXX.")
  endif()
  find_package(fmt QUIET)
  if(NOT TARGET fmt::fmt)
    list(APPEND rodeo_missing "fmt was not found: install libfmt-dev.")
  endif()

  # Not FindHDF5: it needs the language C, and every library that HDF5 itself links to.
  find_path(RODEO_HDF5_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial)
  find_library(RODEO_HDF5_LIBRARY NAMES hdf5_serial hdf5)
  rodeo_import_library(hdf5 RODEO_HDF5 "HDF5 was not found: install libhdf5-dev.")

  # datasets/hdf5 decompresses chunks itself, with all threads.
  find_path(RODEO_ZLIB_INCLUDE_DIR zlib.h)
  find_library(RODEO_ZLIB_LIBRARY z)
  rodeo_import_library(zlib RODEO_ZLIB "zlib was not found: install zlib1g-dev.")

  # The OpenMP build of OpenBLAS comes first: it shares its thread pool with the library's own loops.
  find_path(RODEO_OPENBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas-openmp openblas openblas-pthread)
  find_library(RODEO_OPENBLAS_LIBRARY openblas PATH_SUFFIXES openblas-openmp openblas-pthread)
  rodeo_import_library(openblas RODEO_OPENBLAS "OpenBLAS was not found: install libopenblas-openmp-dev.")

  if(${with_cuda})
    rodeo_find_cuda_toolkit(QUIET)
    if(NOT TARGET CUDA::cudart_static OR NOT TARGET CUDA::cublasLt OR NOT TARGET CUDA::cusparse)
      list(APPEND rodeo_missing
           "The CUDA libraries cudart_static, cublasLt and cusparse were not found: set CUDAToolkit_ROOT to the folder of the CUDA toolkit.")
    endif()
  endif()
  if(${with_mpi})
    rodeo_find_mpi()
    if(NOT TARGET rodeo::mpi)
      list(APPEND rodeo_missing "MPI was not found: install libopenmpi-dev.")
    endif()
  endif()
  if(${with_cudnn})
    find_path(RODEO_CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
    find_library(RODEO_CUDNN_LIBRARY cudnn HINTS ${CUDAToolkit_LIBRARY_DIR})
    rodeo_import_library(cudnn RODEO_CUDNN "cuDNN was not found: set RODEO_CUDNN_LIBRARY and RODEO_CUDNN_INCLUDE_DIR.")
  endif()
endmacro()

# CMake 3.25 fails with toolkits that have no libnvToolsExt, as CUDA 13, in projects that require CMake 3.25: it marks that library
# as deprecated for them.
macro(rodeo_find_cuda_toolkit)
  set(rodeo_required_cmake ${CMAKE_MINIMUM_REQUIRED_VERSION})
  set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
  find_package(CUDAToolkit ${ARGN})
  set(CMAKE_MINIMUM_REQUIRED_VERSION ${rodeo_required_cmake})
endmacro()

# Makes the target rodeo::mpi where MPI's C library is found: on Debian the one that update-alternatives has chosen. Programs that
# use no Communicator do not load it: the linker drops a library that is not needed.
macro(rodeo_find_mpi)
  find_path(RODEO_MPI_INCLUDE_DIR mpi.h PATH_SUFFIXES mpi openmpi openmpi-x86_64)
  find_library(RODEO_MPI_LIBRARY mpi PATH_SUFFIXES openmpi/lib)
  mark_as_advanced(RODEO_MPI_INCLUDE_DIR RODEO_MPI_LIBRARY)
  if(RODEO_MPI_INCLUDE_DIR AND RODEO_MPI_LIBRARY AND NOT TARGET rodeo::mpi)
    add_library(rodeo::mpi INTERFACE IMPORTED GLOBAL)
    target_link_libraries(rodeo::mpi INTERFACE "-Wl,--push-state,--as-needed,${RODEO_MPI_LIBRARY},--pop-state")
  endif()
endmacro()

# Makes the target rodeo::name from ${variable}_LIBRARY and ${variable}_INCLUDE_DIR, or appends the error text to rodeo_missing.
macro(rodeo_import_library name variable error)
  mark_as_advanced(${variable}_LIBRARY ${variable}_INCLUDE_DIR)
  if(NOT ${variable}_LIBRARY OR NOT ${variable}_INCLUDE_DIR)
    list(APPEND rodeo_missing "${error}")
  elseif(NOT TARGET rodeo::${name})
    add_library(rodeo::${name} INTERFACE IMPORTED GLOBAL)
    target_include_directories(rodeo::${name} SYSTEM INTERFACE ${${variable}_INCLUDE_DIR})
    target_link_libraries(rodeo::${name} INTERFACE ${${variable}_LIBRARY})
  endif()
endmacro()
