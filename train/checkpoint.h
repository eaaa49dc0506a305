/// Checkpoints that survive a killed process: the folder always holds one that can be loaded.
#pragma once

#include <optional>
#include <string>

#include "core/file_descriptor.h"
#include "train/safetensors.h"

namespace rodeo {

/// A training run after an epoch.
struct Checkpoint {
  int epoch = 0;
  SafeTensors weights;  // after that epoch
  SafeTensors best;     // after the best epoch so far; empty before the first evaluation
  SafeTensors state;    // the optimiser, the schedule and the history
  bool checked = true;  // after reading: the files have their checksums; earlier versions wrote none
};

/// Holds the latest checkpoint as DIR/epoch-000020/{weights,best,state}.safetensors, with their CRC-32
/// in a file `checksums`. A new one is written under a temporary name, synced and renamed; then the previous
/// one is removed. A process that is killed at any moment, or a full disk, leaves a complete checkpoint.
/// Errors name the file.
class CheckpointFolder {
 public:
  /// Creates the folder, removes unfinished checkpoints of killed processes, and locks the folder until
  /// destruction. Throws Error if it cannot be written to, or if another process holds the lock.
  explicit CheckpointFolder(const std::string& folder);

  /// The epoch of the latest checkpoint, if there is one.
  std::optional<int> latest() const;
  /// latest() without a lock, of a folder that may not be there.
  static std::optional<int> latest_in(const std::string& folder);
  /// Loads the latest checkpoint. Throws Error if there is none, or if a file has not its checksum.
  Checkpoint load() const;
  /// Loads the latest checkpoint of `folder` without a lock, if there is one.
  static std::optional<Checkpoint> read(const std::string& folder);
  /// Replaces the latest checkpoint, which must not be of a later epoch.
  void save(const Checkpoint& checkpoint);

 private:
  std::string folder_;
  FileDescriptor lock_;
};

/// `path` itself if it is a file; for a folder of checkpoints, the best weights of the latest one. Throws
/// Error as CheckpointFolder::load().
std::string find_weights(const std::string& path);
/// The weights in `file`. Throws Error if it is damaged or has none: best weights of a checkpoint that was
/// written before the first evaluation; the message names the others.
SafeTensors read_weights(const std::string& file);

}  // namespace rodeo
