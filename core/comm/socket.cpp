#include "core/comm/socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/quoting.h"

namespace rodeo::comm {
namespace {

sockaddr_in address_of(Endpoint endpoint) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = endpoint.address;
  address.sin_port = htons(endpoint.port);
  return address;
}

bool wait_for(const File& socket, short events, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd entry = {socket.get(), events, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(std::clamp<long long>(left + 1, 0, 60000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
    if (left <= 0) return false;
  }
}

/// Small messages at once; a host that vanishes is noticed in 15 s.
void set_options(const File& socket) {
  const auto set = [&](int level, int option, int value) {
    ::setsockopt(socket.get(), level, option, &value, sizeof(value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 2);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 15000);
}

File new_socket() {
  File file(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  check(file.get() >= 0, "[communicator] cannot make a socket: ", std::strerror(errno));
  return file;
}

template <class Move>
bool move_all(const File& socket, std::size_t bytes, short events, Clock::time_point deadline,
              const Move& move) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t count = move(done);
    if (count > 0) {
      done += static_cast<std::size_t>(count);
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      return false;
    } else if (!wait_for(socket, events, deadline)) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool Endpoint::is_loopback() const {
  return (ntohl(address) >> 24) == 127;
}

std::uint32_t resolve(const std::string& host) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  const int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  check(code == 0, "[communicator] the host of rank 0, ", printable(host),
        ", has no IPv4 address: ", ::gai_strerror(code), ". Set MASTER_ADDR to one that all ranks reach");
  const std::uint32_t address = reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr.s_addr;
  ::freeaddrinfo(found);
  return address;
}

File listen_on(int port, bool loopback) {
  File file = new_socket();
  const int yes = 1;
  ::setsockopt(file.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  const Endpoint own{htonl(loopback ? INADDR_LOOPBACK : INADDR_ANY), static_cast<std::uint16_t>(port)};
  const sockaddr_in address = address_of(own);
  if (::bind(file.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
      ::listen(file.get(), SOMAXCONN) == 0)
    return file;
  check(errno == EADDRINUSE || errno == EACCES, "[communicator] cannot listen on port ", port, ": ",
        std::strerror(errno));
  return {};
}

int port_of(const File& socket) {
  sockaddr_in address = {};
  socklen_t length = sizeof(address);
  check(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0,
        "[communicator] not a socket: ", std::strerror(errno));
  return ntohs(address.sin_port);
}

bool is_listening(int file) {
  int listens = 0;
  socklen_t length = sizeof(listens);
  return ::getsockopt(file, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens != 0;
}

File accept_from(const File& listener, Clock::time_point deadline, Endpoint& peer) {
  while (wait_for(listener, POLLIN, deadline)) {
    sockaddr_in address = {};
    socklen_t length = sizeof(address);
    File file(::accept4(listener.get(), reinterpret_cast<sockaddr*>(&address), &length,
                        SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (file.get() < 0) {
      const bool gone_away = errno != EBADF && errno != ENOTSOCK && errno != EINVAL && errno != EOPNOTSUPP;
      if (gone_away && Clock::now() < deadline) continue;
      return {};
    }
    set_options(file);
    peer = {address.sin_addr.s_addr, ntohs(address.sin_port)};
    return file;
  }
  return {};
}

File connect_to(Endpoint endpoint, Clock::time_point deadline) {
  File file = new_socket();
  const sockaddr_in address = address_of(endpoint);
  if (::connect(file.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    if (errno != EINPROGRESS || !wait_for(file, POLLOUT, deadline)) return {};
    int error = 0;
    socklen_t length = sizeof(error);
    ::getsockopt(file.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return {};
  }
  set_options(file);
  return file;
}

bool read_all(const File& socket, void* data, std::size_t bytes, Clock::time_point deadline) {
  return move_all(socket, bytes, POLLIN, deadline, [&](std::size_t done) {
    return ::recv(socket.get(), static_cast<char*>(data) + done, bytes - done, 0);
  });
}

bool write_all(const File& socket, const void* data, std::size_t bytes, Clock::time_point deadline) {
  return move_all(socket, bytes, POLLOUT, deadline, [&](std::size_t done) {
    return ::send(socket.get(), static_cast<const char*>(data) + done, bytes - done, MSG_NOSIGNAL);
  });
}

}  // namespace rodeo::comm
