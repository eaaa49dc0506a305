# cmake --install, find_package(rodeo), pkg-config and cpack.
#
# Programs include installed headers as "rodeo/ops/spmm.h", with only the prefix's include/ on the include path. In the source
# tree the headers include each other as "ops/spmm.h". cmake/InstallHeaders.cmake.in adds "rodeo/" when it installs them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Headers directly in a layer are public. Headers in its subfolders are private and not installed.
file(GLOB public_headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
     core/*.h ops/*.h layers/*.h models/*.h datasets/*.h train/*.h)

list(TRANSFORM public_headers REPLACE "(.+)" "#include \"\\1\"" OUTPUT_VARIABLE includes)
list(JOIN includes "\n" includes)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/rodeo.h @ONLY CONTENT [[
/// Includes every public header of Rodeo.
#pragma once

#include "core/version.h"
@includes@
]])

# Symbolic links to the sources give projects that use add_subdirectory(rodeo) the installed include paths.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/include/rodeo)
foreach(folder core ops layers models datasets train)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${folder} ${PROJECT_BINARY_DIR}/include/rodeo/${folder} SYMBOLIC)
endforeach()
file(CREATE_LINK ${PROJECT_BINARY_DIR}/generated/core/version.h ${PROJECT_BINARY_DIR}/include/rodeo/version.h SYMBOLIC)
file(CREATE_LINK ${PROJECT_BINARY_DIR}/generated/rodeo.h ${PROJECT_BINARY_DIR}/include/rodeo/rodeo.h SYMBOLIC)
target_include_directories(rodeo INTERFACE $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
                                           $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>)

configure_file(${PROJECT_SOURCE_DIR}/cmake/InstallHeaders.cmake.in ${PROJECT_BINARY_DIR}/InstallHeaders.cmake @ONLY)
install(SCRIPT ${PROJECT_BINARY_DIR}/InstallHeaders.cmake COMPONENT dev)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/rodeo)
install(TARGETS rodeo EXPORT rodeoTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT rodeoTargets NAMESPACE rodeo:: DESTINATION ${package_folder} COMPONENT dev)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/rodeoConfig.cmake.in ${PROJECT_BINARY_DIR}/rodeoConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rodeoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rodeoConfig.cmake ${PROJECT_BINARY_DIR}/rodeoConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/RodeoLibraries.cmake DESTINATION ${package_folder} COMPONENT dev)

# to_h5.py finds its parts in ../share/rodeo/scripts, or beside itself. rodeo_data finds it beside itself.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/datasets/to_h5.py ${PROJECT_BINARY_DIR}/bin/to_h5.py SYMBOLIC)
install(PROGRAMS datasets/to_h5.py DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT commands)
install(DIRECTORY datasets/to_h5_parts DESTINATION ${CMAKE_INSTALL_DATADIR}/rodeo/scripts COMPONENT commands
        PATTERN "__pycache__" EXCLUDE)

file(RELATIVE_PATH libraries_from_bin /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_LIBDIR}/rodeo)
install(TARGETS ${commands} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT commands)
if(RODEO_SHARED_COMMANDS)
  install(TARGETS rodeo_commands LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/rodeo COMPONENT commands)
  set_target_properties(${commands} PROPERTIES INSTALL_RPATH $ORIGIN/${libraries_from_bin})
endif()
install(TARGETS rodeo_h5_check RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/rodeo COMPONENT commands)

# Documents keep their places, so that their links work; tests/installed_test.sh follows them.
set(document_folder ${CMAKE_INSTALL_DATADIR}/doc/rodeo)
install(FILES CHANGELOG.md CONTRIBUTING.md LICENSE README.md DESTINATION ${document_folder} COMPONENT commands)
install(FILES datasets/README.md DESTINATION ${document_folder}/datasets COMPONENT commands)
install(DIRECTORY examples DESTINATION ${document_folder} COMPONENT commands)
install(DIRECTORY docs DESTINATION ${document_folder} COMPONENT commands
        PATTERN "*.py" EXCLUDE PATTERN "*.in" EXCLUDE PATTERN "*.dox" EXCLUDE)
install(FILES LICENSE DESTINATION ${document_folder} COMPONENT commands RENAME copyright)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/librodeo-dev COMPONENT dev RENAME copyright)

foreach(command ${commands})  # bash-completion loads the file with the name of the command
  install(FILES scripts/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          COMPONENT commands RENAME ${command})
endforeach()

# Manual pages are the help texts of the commands that were built.
configure_file(${PROJECT_SOURCE_DIR}/cmake/InstallManPages.cmake.in ${PROJECT_BINARY_DIR}/InstallManPages.cmake @ONLY)
install(SCRIPT ${PROJECT_BINARY_DIR}/InstallManPages.cmake COMPONENT commands)

# pkg-config: libraries after librodeo.a, which needs them. Linkers resolve static libraries from left to right.
set(pkg_config_libs "-L\${libdir} -lrodeo")
function(append_library file)
  get_filename_component(folder ${file} DIRECTORY)
  get_filename_component(name ${file} NAME_WE)
  string(REGEX REPLACE "^lib" "" name ${name})
  set(pkg_config_libs "${pkg_config_libs} -L${folder} -l${name}" PARENT_SCOPE)
endfunction()
append_library(${RODEO_OPENBLAS_LIBRARY})
append_library(${RODEO_HDF5_LIBRARY})
append_library(${RODEO_ZLIB_LIBRARY})
if(RODEO_WITH_MPI)
  string(APPEND pkg_config_libs " -Wl,--push-state,--as-needed")  # see rodeo_find_mpi
  append_library(${RODEO_MPI_LIBRARY})
  string(APPEND pkg_config_libs " -Wl,--pop-state")
endif()
if(RODEO_WITH_CUDA)
  append_library(${CUDA_cudart_static_LIBRARY})
  string(APPEND pkg_config_libs " -lrt -ldl")
endif()
string(APPEND pkg_config_libs " -lfmt -lgomp -lpthread")
file(RELATIVE_PATH prefix_from_pc /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${PROJECT_SOURCE_DIR}/cmake/rodeo.pc.in ${PROJECT_BINARY_DIR}/rodeo.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/rodeo.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

# cpack: rodeo-VERSION-Linux.tar.gz, and for Debian rodeo (the commands) and librodeo-dev.
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_NAME rodeo)
set(CPACK_PACKAGE_VENDOR "the Rodeo authors")
set(CPACK_PACKAGE_CONTACT "the Rodeo authors <rodeo@localhost>")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL commands dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_COMMANDS_PACKAGE_NAME rodeo)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_COMMANDS_PACKAGE_SHLIBDEPS ON)  # finds the shared libraries that the commands need
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})  # has that of RODEO_SHARED_COMMANDS
# OpenBLAS with OpenMP shares its thread pool with the library's own loops.
set(CPACK_DEBIAN_COMMANDS_PACKAGE_DEPENDS "libopenblas0-openmp | libopenblas0")
set(CPACK_DEBIAN_COMMANDS_PACKAGE_SUGGESTS "librodeo-dev, python3-h5py, python3-numpy")  # to_h5.py needs the Python packages
set(CPACK_COMPONENT_COMMANDS_DESCRIPTION "Trains graph neural networks: the commands")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME librodeo-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libc6-dev, libfmt-dev, libhdf5-dev, zlib1g-dev, libopenblas-openmp-dev | libopenblas-pthread-dev | libopenblas-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS "rodeo")  # documents and examples
if(RODEO_WITH_MPI)
  string(APPEND CPACK_DEBIAN_DEV_PACKAGE_DEPENDS ", libopenmpi-dev")
endif()
set(CPACK_COMPONENT_DEV_DESCRIPTION "Trains graph neural networks: the library and its headers")
# Packages are for other machines: code for this processor or GPU alone may not run there.
if(RODEO_NATIVE)
  set(CPACK_RODEO_REFUSE "This build uses all instructions of this machine's processor: configure with -DRODEO_NATIVE=OFF to package it.")
elseif(RODEO_SANITIZE)
  set(CPACK_RODEO_REFUSE "This build has sanitizers: configure with -DRODEO_SANITIZE= to package it.")
elseif(RODEO_WITH_CUDA AND CMAKE_CUDA_ARCHITECTURES STREQUAL "native")
  set(CPACK_RODEO_REFUSE "This build has code for this machine's GPU only: name the architectures to package it, for example -DCMAKE_CUDA_ARCHITECTURES=90.")
endif()
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/CheckPackage.cmake)
include(CPack)
