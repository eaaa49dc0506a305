#include "train/checkpoint.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "core/random.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"
#include "train/io/atomic_file.h"

namespace rodeo {
namespace {

namespace fs = std::filesystem;
using test::command;
using test::start;
using test::TempDir;
using test::wait_for;

Checkpoint checkpoint_of(int epoch) {
  const auto one = [&](double value) {
    return SafeTensors{{{"x", Tensor::full({3}, value)}}, {{"epoch", std::to_string(epoch)}}};
  };
  return {epoch, one(epoch), one(epoch + 0.25), one(epoch + 0.5)};
}

TEST(TrainCheckpoint, TheLastOneIsKeptAndRead) {
  const TempDir dir;
  const std::string path = dir / "new/folder";
  {
    CheckpointFolder folder(path);
    EXPECT_EQ(folder.latest(), std::nullopt);
    EXPECT_ERROR(folder.load(), path + ": there is no checkpoint");
    for (const int epoch : {1, 10, 1'234'567}) folder.save(checkpoint_of(epoch));
    EXPECT_ERROR(folder.save(checkpoint_of(9)),
                 path + ": has a checkpoint of epoch 1234567, which is later than 9");
  }
  const CheckpointFolder folder(path);
  EXPECT_EQ(folder.latest(), 1'234'567);
  const Checkpoint read = folder.load();
  EXPECT_EQ(read.epoch, 1'234'567);
  EXPECT_EQ(read.weights.at("x").to_vector<float>()[2], 1'234'567);
  EXPECT_EQ(read.best.metadata.at("epoch"), "1234567");
  EXPECT_EQ(read.state.at("x").to_vector<float>()[0], 1'234'567.5F);
  EXPECT_EQ(std::distance(fs::directory_iterator(path), fs::directory_iterator()), 1);
  EXPECT_EQ(find_weights(path), path + "/epoch-1234567/best.safetensors");
  EXPECT_EQ(find_weights(dir / "file"), dir / "file");
}

TEST(TrainCheckpoint, WithoutABestEpochTheOtherWeightsAreNamed) {
  const TempDir dir;
  const std::string path = dir / "run", epoch = path + "/epoch-000000/";
  Checkpoint checkpoint = checkpoint_of(0);
  checkpoint.best = {};
  CheckpointFolder(path).save(checkpoint);
  EXPECT_ERROR(read_weights(find_weights(path)),
               epoch +
                   "best.safetensors: there is no best epoch yet: the checkpoint was written before the "
                   "first evaluation. --resume the training, or give --weights " +
                   epoch + "weights.safetensors, the weights after its last step");
  EXPECT_EQ(read_weights(epoch + "weights.safetensors").tensors.size(), checkpoint.weights.tensors.size());
  write_safetensors(dir / "best.safetensors", {});
  EXPECT_ERROR(read_weights(dir / "best.safetensors"), dir / "best.safetensors" + ": has no tensors");
}

TEST(TrainCheckpoint, TheSameEpochAgainReplacesIt) {
  const TempDir dir;
  CheckpointFolder folder(dir / "");
  folder.save(checkpoint_of(5));
  Checkpoint other = checkpoint_of(6);
  other.epoch = 5;
  folder.save(other);
  EXPECT_EQ(folder.load().weights.at("x").to_vector<float>()[0], 6);
  EXPECT_EQ(dir.size(), 1u);
}

TEST(TrainCheckpoint, WhatWasNotFinishedIsRemovedAndNothingElse) {
  const TempDir dir;
  { CheckpointFolder(dir / "").save(checkpoint_of(3)); }
  fs::create_directories(dir / "epoch-000004.part");
  write_file(dir / "epoch-000004.part/weights.safetensors", "half");
  write_file(dir / "notes.part", "the user's");
  const CheckpointFolder folder(dir / "");
  EXPECT_EQ(folder.latest(), 3);
  EXPECT_FALSE(fs::exists(dir / "epoch-000004.part"));
  EXPECT_TRUE(fs::exists(dir / "notes.part"));
}

TEST(TrainCheckpoint, TwoRunsDoNotShareAFolder) {
  const TempDir dir;
  const CheckpointFolder folder(dir / "");
  EXPECT_ERROR(CheckpointFolder(dir / ""), dir / "" + ": another run writes its checkpoints there");
}

TEST(TrainCheckpoint, DamageIsNamed) {
  const TempDir dir;
  CheckpointFolder folder(dir / "ck");
  folder.save(checkpoint_of(3));
  const std::string file = dir / "ck/epoch-000003/state.safetensors";
  fs::resize_file(file, fs::file_size(file) - 1);
  EXPECT_ERROR(folder.load(), file + ": is cut off: 12 bytes of values expected, got 11");
  fs::remove(file);
  EXPECT_ERROR(folder.load(), file + ": cannot be read: No such file or directory");
  write_file(dir / "plain", "");
  EXPECT_ERROR(CheckpointFolder(dir / "plain"), dir / "plain" + ": cannot be made: Not a directory");
}

// Each bit of each file counts. Without the file of checksums, as earlier versions wrote it, most flips in
// values would be read.
TEST(TrainCheckpoint, EveryChangedByteIsNoticed) {
  const TempDir dir;
  CheckpointFolder folder(dir / "ck");
  folder.save(checkpoint_of(3));
  EXPECT_TRUE(folder.load().checked);
  const std::string epoch = dir / "ck/epoch-000003/";
  int noticed = 0, tried = 0;
  for (const char* name : {"weights", "best", "state"}) {
    const std::string file = epoch + name + ".safetensors", whole = read_file(file, 1 << 20);
    for (std::size_t at = 0; at < whole.size(); ++at, ++tried) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
      write_file(file, changed);
      try {
        folder.load();
      } catch (const Error&) {
        ++noticed;
      }
    }
    std::string last = whole;
    last.back() ^= 1;
    write_file(file, last);
    EXPECT_ERROR(folder.load(), file + ": is damaged: its checksum is not that of " + epoch +
                                    "checksums: take a copy of the checkpoint, or start again");
    if (file.ends_with("best.safetensors")) {
      EXPECT_THROW(find_weights(dir / "ck"), Error);
    }
    write_file(file, whole);
  }
  EXPECT_EQ(noticed, tried);
  fs::remove(epoch + "checksums");
  EXPECT_FALSE(folder.load().checked);
}

// A failed save leaves the checkpoint before as it was.
TEST(TrainCheckpoint, AFailedSaveLosesNothing) {
  const TempDir dir;
  CheckpointFolder folder(dir / "");
  folder.save(checkpoint_of(3));
  Checkpoint bad = checkpoint_of(4);
  bad.state.tensors.emplace_back("undefined", Tensor());
  EXPECT_THROW(folder.save(bad), Error);
  EXPECT_EQ(folder.load().epoch, 3);
  EXPECT_EQ(dir.size(), 1u);
}

// A child of a killed run, which has not executed its program yet, holds such a lock.
TEST(TrainCheckpoint, ALockThatIsSoonReleasedIsAwaited) {
  const TempDir dir;
  const int other = ::open((dir / "").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_EX | LOCK_NB), 0);
  std::thread release([other] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ::close(other);
  });
  EXPECT_NO_THROW(CheckpointFolder(dir / ""));
  release.join();
}

// RODEO_KILLS names another number; the is 100.
TEST(TrainCheckpoint, SurvivesKillsAtRandomMoments) {
  if (!fs::exists(command("train_gcn"))) GTEST_SKIP() << "train_gcn is not built";
  const char* given = std::getenv("RODEO_KILLS");
  const int kills = given ? std::atoi(given) : 10;
  const TempDir dir;
  ASSERT_EQ(wait_for(start({command("rodeo_data"), "generate", "--preset", "cora", "--nodes", "2000",
                            "--edges", "4000", "--features", "20", "--seed", "3", dir / "tiny.h5"})),
            0);
  constexpr const char* kEpochs = "1000000";
  const auto train = [&](const std::string& folder, const std::string& epochs) {
    // One thread: waiting for others' cores is no moment to kill at.
    return start({"/usr/bin/env", "OMP_NUM_THREADS=1", command("train_gcn"), "--dataset", dir / "tiny.h5",
                  "--device", "cpu", "--quiet", "--epochs", epochs, "--checkpoint", folder,
                  "--checkpoint-every", "1", "--resume"});
  };
  auto began = std::chrono::steady_clock::now();
  const auto elapsed = [&began] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  ASSERT_EQ(wait_for(train(dir / "first", "1")), 0);
  const double spread = 500 + 2e3 * elapsed();  // what is slow to start is killed later
  began = std::chrono::steady_clock::now();
  int epoch = 0, loaded = 0, advanced = 0;
  for (int i = 0; i < kills; ++i) {
    const pid_t child = train(dir / "killed", kEpochs);
    // The first ones until there is something to lose, the others at a moment of a checkpoint's making.
    const double ms = 60 + spread * to_unit(random_word(5, 0, static_cast<std::uint64_t>(i)));
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
    ASSERT_EQ(kill(child, SIGKILL), 0);
    ASSERT_EQ(wait_for(child), -SIGKILL) << "it ended by itself";
    if (!fs::exists(dir / "killed")) continue;
    const CheckpointFolder folder(dir / "killed");
    if (!folder.latest()) {
      ASSERT_EQ(epoch, 0) << "kill " << i << " lost the checkpoint";
      continue;
    }
    const Checkpoint left = folder.load();
    ASSERT_GE(left.epoch, epoch) << "kill " << i;
    advanced += left.epoch > epoch;
    epoch = left.epoch;
    ++loaded;
  }
  RecordProperty("loaded", loaded);
  EXPECT_GE(loaded, kills / 4) << "the machine is too slow: almost no run came to its first checkpoint";
  EXPECT_GE(advanced, loaded / 4);
  std::printf("%d kills in %.1f s: %d checkpoints loaded, the last of epoch %d\n", kills, elapsed(), loaded,
              epoch);

  // All these pieces together have the bits of one run.
  const std::string last = std::to_string(epoch + 5);
  ASSERT_EQ(wait_for(train(dir / "killed", last)), 0);
  ASSERT_EQ(wait_for(start({"/usr/bin/env", "OMP_NUM_THREADS=1", command("train_gcn"), "--dataset",
                            dir / "tiny.h5", "--device", "cpu", "--quiet", "--epochs", last, "--checkpoint",
                            dir / "whole", "--checkpoint-every", last})),
            0);
  const Checkpoint pieces = CheckpointFolder(dir / "killed").load(),
                   whole = CheckpointFolder(dir / "whole").load();
  ASSERT_EQ(pieces.epoch, whole.epoch);
  for (const auto& [name, tensor] : whole.weights.tensors)
    EXPECT_TRUE(test::same_bits(tensor, pieces.weights.at(name))) << name;
  for (const auto& [name, tensor] : whole.best.tensors)
    EXPECT_TRUE(test::same_bits(tensor, pieces.best.at(name))) << name;
  for (const auto& [name, tensor] : whole.state.tensors) {
    if (name == "history") continue;  // it has times
    EXPECT_TRUE(test::same_bits(tensor, pieces.state.at(name))) << name;
  }
}

}  // namespace
}  // namespace rodeo
