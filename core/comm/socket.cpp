#include "core/comm/socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <thread>

#include "core/comm/keyed_hash.h"
#include "core/error.h"
#include "core/quoting.h"

namespace rodeo::comm {
namespace {

struct Address {
  Address() = default;
  explicit Address(Endpoint endpoint) {
    if (endpoint.address == Endpoint::kThisHost) {
      // The zero byte before it: the name is in no folder, and vanishes with the socket.
      const std::string name = str("rodeo-", endpoint.port);
      local.sun_family = AF_UNIX;
      name.copy(local.sun_path + 1, sizeof(local.sun_path) - 1);
      length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    } else {
      host.sin_family = AF_INET;
      host.sin_addr.s_addr = endpoint.address;
      host.sin_port = htons(static_cast<std::uint16_t>(endpoint.port));
      length = sizeof(host);
    }
  }
  Endpoint endpoint() const {
    if (any.sa_family == AF_INET) return {host.sin_addr.s_addr, ntohs(host.sin_port)};
    constexpr std::size_t kBefore = offsetof(sockaddr_un, sun_path) + 1 + std::string_view("rodeo-").size();
    Endpoint found;
    if (length > kBefore)
      std::from_chars(local.sun_path + 7, local.sun_path + 7 + (length - kBefore), found.port);
    return found;
  }

  union {
    sockaddr any = {};
    sockaddr_in host;
    sockaddr_un local;
  };
  socklen_t length = sizeof(sockaddr_un);
};

bool is_local(const FileDescriptor& socket) {
  int domain = 0;
  socklen_t length = sizeof(domain);
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == AF_UNIX;
}

/// Whether the process at the other end may be of this run: between hosts nothing is known of it.
bool is_trusted(const FileDescriptor& socket) {
  if (!is_local(socket)) return true;
  ucred peer = {};
  socklen_t length = sizeof(peer);
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == ::geteuid();
}

bool wait_for(const FileDescriptor& socket, short events, Clock::time_point deadline) {
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
void set_options(const FileDescriptor& socket) {
  const auto set = [&](int level, int option, int value) {
    ::setsockopt(socket.get(), level, option, &value, sizeof(value));
  };
  if (is_local(socket)) return set(SOL_SOCKET, SO_SNDBUF, 4 << 20);  // as much as the host allows
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 2);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 15000);
}

FileDescriptor new_socket(bool local) {
  FileDescriptor file(::socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  check(file.get() >= 0, "[communicator] cannot make a socket: ", std::strerror(errno));
  return file;
}

template <class Move>
bool move_all(const FileDescriptor& socket, std::size_t bytes, short events, Clock::time_point deadline,
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

FileDescriptor listen_on(int port, bool local) {
  FileDescriptor file = new_socket(local);
  Endpoint own{local ? Endpoint::kThisHost : htonl(INADDR_ANY), static_cast<std::uint32_t>(port)};
  // No port of TCP, and not negative.
  if (local && port == 0) own.port = (static_cast<std::uint32_t>(random_bits()) >> 1) | 0x10000;
  const int yes = 1;
  ::setsockopt(file.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  const Address address(own);
  if (::bind(file.get(), &address.any, address.length) == 0 && ::listen(file.get(), SOMAXCONN) == 0)
    return file;
  check(errno == EADDRINUSE || errno == EACCES, "[communicator] cannot listen on port ", port, ": ",
        std::strerror(errno));
  return {};
}

int port_of(const FileDescriptor& socket) {
  Address address;
  const bool named = ::getsockname(socket.get(), &address.any, &address.length) == 0;
  check(named, "[communicator] not a socket: ", std::strerror(errno));
  return static_cast<int>(address.endpoint().port);
}

bool is_listening(int file) {
  int listens = 0;
  socklen_t length = sizeof(listens);
  return ::getsockopt(file, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens != 0;
}

FileDescriptor accept_from(const FileDescriptor& listener, Endpoint& peer) {
  Address address;
  FileDescriptor file(::accept4(listener.get(), &address.any, &address.length, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (file.get() < 0 || !is_trusted(file)) return {};
  set_options(file);
  peer = is_local(file) ? Endpoint{} : address.endpoint();
  return file;
}

FileDescriptor connect_to(Endpoint endpoint, Clock::time_point deadline) {
  FileDescriptor file = new_socket(endpoint.address == Endpoint::kThisHost);
  const Address address(endpoint);
  while (::connect(file.get(), &address.any, address.length) != 0) {
    if (errno == EAGAIN && Clock::now() < deadline) {  // AF_UNIX: many connect at once
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    if (errno != EINPROGRESS || !wait_for(file, POLLOUT, deadline)) return {};
    int error = 0;
    socklen_t length = sizeof(error);
    ::getsockopt(file.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return {};
    break;
  }
  if (!is_trusted(file)) return {};
  set_options(file);
  return file;
}

bool read_all(const FileDescriptor& socket, void* data, std::size_t bytes, Clock::time_point deadline) {
  return move_all(socket, bytes, POLLIN, deadline, [&](std::size_t done) {
    return ::recv(socket.get(), static_cast<char*>(data) + done, bytes - done, 0);
  });
}

bool write_all(const FileDescriptor& socket, const void* data, std::size_t bytes,
               Clock::time_point deadline) {
  return move_all(socket, bytes, POLLOUT, deadline, [&](std::size_t done) {
    return ::send(socket.get(), static_cast<const char*>(data) + done, bytes - done, MSG_NOSIGNAL);
  });
}

}  // namespace rodeo::comm
