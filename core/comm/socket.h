/// Sockets whose calls end in time: TCP between hosts; within a host AF_UNIX, where the kernel tells whose
/// process is at the other end, and others than this user's are turned away. Errors are texts for
/// "[communicator] ...".
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/file_descriptor.h"

namespace rodeo::comm {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Where a process listens.
struct Endpoint {
  static constexpr std::uint32_t kThisHost = 0xffffffff;

  std::uint32_t address = kThisHost;  // IPv4, in the byte order of the network; kThisHost: AF_UNIX
  std::uint32_t port = 0;             // of AF_UNIX: a part of the name

  bool is_loopback() const;
};

/// The address of a host name or of "1.2.3.4". Throws Error if there is none.
std::uint32_t resolve(const std::string& host);

/// Listens on `port`, or on a free one if it is 0, for processes of this user on this host (`local`) or for
/// anybody. No descriptor if the port is taken.
FileDescriptor listen_on(int port, bool local);
int port_of(const FileDescriptor& socket);

/// Whether the descriptor is an open socket that listens.
bool is_listening(int file);
/// Accepts a connection that has come. No descriptor: there is none, or it was of another user.
FileDescriptor accept_from(const FileDescriptor& listener, Endpoint& peer);
/// Tries once. No descriptor: nobody listens there, or the answer takes longer than to `deadline`.
FileDescriptor connect_to(Endpoint endpoint, Clock::time_point deadline);

/// All bytes, until `deadline`. False: the other side has closed the connection, or is late.
bool read_all(const FileDescriptor& socket, void* data, std::size_t bytes, Clock::time_point deadline);
bool write_all(const FileDescriptor& socket, const void* data, std::size_t bytes, Clock::time_point deadline);

}  // namespace rodeo::comm
