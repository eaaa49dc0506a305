/// A folder that always holds a checkpoint that can be loaded.
#pragma once

#include <optional>
#include <string>

#include "train/safetensors.h"

namespace rodeo {

/// A training run after some epoch.
struct Checkpoint {
  int epoch = 0;
  SafeTensors weights;  // after that epoch
  SafeTensors best;     // after the best epoch so far; empty before the first evaluation
  SafeTensors state;    // all else that the next epoch depends on
};

/// DIR/epoch-000020/{weights,best,state}.safetensors: one such folder, of the last checkpoint. It is written
/// under another name, synchronised and renamed, and only then is the one before removed: a process that is
/// killed at any moment, or a full disk, leaves one behind that is whole. Failures are Errors that name the
/// file.
class CheckpointFolder {
 public:
  /// Makes the folder, and removes what a killed process left unfinished there. Throws Error where it cannot
  /// be written to, and where another process uses it as long as this object lives.
  explicit CheckpointFolder(const std::string& folder);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  /// The epoch of the last checkpoint; nothing where there is none.
  std::optional<int> latest() const;
  /// The last checkpoint. Throws Error where there is none, or it is damaged.
  Checkpoint load() const;
  /// Replaces the last checkpoint, which must not be of a later epoch.
  void save(const Checkpoint& checkpoint);

 private:
  std::string folder_;
  int lock_ = -1;
};

/// The file itself; of a folder of checkpoints the best weights of the last one.
std::string find_weights(const std::string& path);

}  // namespace rodeo
