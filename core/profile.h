/// How much time a thread spends in which part of a step.
#pragma once

#include <array>
#include <memory>

#include "core/device.h"

namespace rodeo {

enum class Part {
  kSpmm,  // sparse products and attention
  kGemm,
};

/// While one lives, ProfileScopes of this thread are timed: by CUDA events on the device's stream, or by the
/// clock on the CPU. One at a time per thread.
class Profile {
 public:
  explicit Profile(Device device);
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// Milliseconds spent in `part` so far. Waits for the device.
  double milliseconds(Part part) const;

 private:
  friend class ProfileScope;
  struct Timer;
  std::unique_ptr<Timer> timer_;
};

/// Marks the work between its construction and destruction as `part`. Costs nothing without a Profile.
class ProfileScope {
 public:
  explicit ProfileScope(Part part);
  ~ProfileScope();
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  Part part_;
};

}  // namespace rodeo
