/// TCP sockets whose calls end in time. Errors are texts for "[communicator] ...".
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/comm/file.h"

namespace rodeo::comm {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// An IPv4 address, in the byte order of the network.
struct Endpoint {
  std::uint32_t address = 0;
  std::uint16_t port = 0;

  bool is_loopback() const;
};

/// The address of a host name or of "1.2.3.4". Throws Error if there is none.
std::uint32_t resolve(const std::string& host);

/// Listens on `port`, or on a free one if it is 0, of the loopback interface or of all. No descriptor if the
/// port is taken.
File listen_on(int port, bool loopback);
int port_of(const File& socket);

/// Whether the descriptor is an open socket that listens.
bool is_listening(int file);
/// Waits for a connection until `deadline`. No descriptor: none came, or the listener is closed.
File accept_from(const File& listener, Clock::time_point deadline, Endpoint& peer);
/// Tries once. No descriptor: nobody listens there, or the answer takes longer than to `deadline`.
File connect_to(Endpoint endpoint, Clock::time_point deadline);

/// All bytes, until `deadline`. False: the other side has closed the connection, or is late.
bool read_all(const File& socket, void* data, std::size_t bytes, Clock::time_point deadline);
bool write_all(const File& socket, const void* data, std::size_t bytes, Clock::time_point deadline);

}  // namespace rodeo::comm
