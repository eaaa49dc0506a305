/// Untrusted HDF5 files. Damaged metadata with valid checksums makes the HDF5 library crash, loop without end
/// or allocate all memory. A child process with limits opens the file first.
#pragma once

#include <string>

namespace rodeo {

/// Reads the structure of a dataset file in a child process, by the same calls of the HDF5 library as
/// load_dataset() and validate_dataset() make. The commands call it for every file that they open. The
/// library trusts its caller: call it before loading a file from others. It takes some milliseconds; arrays
/// that HDF5 itself decompresses or converts (filters other than gzip and shuffle, gzip with another type
/// than the reader's) are read twice.
///
/// The child is the program rodeo_h5_check, found by the environment variable RODEO_H5_CHECK, else beside the
/// running program or in its ../libexec/rodeo. It may use 1 GiB of memory plus the size of the file, and
/// 5 s of CPU time plus 1 s for each 10 MB of the file. It inherits no file descriptor.
///
/// Throws Error, one line, if the child crashes or passes a limit:
///   cora.h5: /x is damaged: the HDF5 library crashes on it (Segmentation fault)
/// Anything else about the file is left to the reader: no error for a missing file or a wrong shape.
/// If the program is not found or cannot start, one line on stderr says so, once, and the file is accepted. A
/// program named by RODEO_H5_CHECK that does not work is an Error.
/// A file that changes between this call and loading is not protected against. Thread-safe.
void check_hdf5_file(const std::string& path);

}  // namespace rodeo
