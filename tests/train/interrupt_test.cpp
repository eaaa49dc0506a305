// Signals and terminals, with processes of their own.
#include "train/commands/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "tests/support/process.h"
#include "tests/support/temp_dir.h"
#include "train/checkpoint.h"
#include "train/io/atomic_file.h"

namespace rodeo {
namespace {

using test::command;
using test::start;
using test::TempDir;
using test::wait_for;
constexpr std::size_t kLimit = 10'000'000;

/// Runs with SIGINT as a shell in the foreground leaves it. In the background it is ignored, and children
/// inherit that.
class TrainInterrupt : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
  }
};

std::string make_dataset(const TempDir& dir) {
  const std::string path = dir / "tiny.h5";
  check(wait_for(start({command("rodeo_data"), "generate", "--preset", "cora", "--nodes", "2000", "--edges",
                        "4000", "--features", "20", "--seed", "3", path},
                       "/dev/null")) == 0,
        "rodeo_data failed");
  return path;
}

std::string text_of(const std::string& path) {
  return std::filesystem::exists(path) ? read_file(path, kLimit) : std::string();
}

void wait_for_lines(const std::string& path, std::size_t lines) {
  const auto begin = std::chrono::steady_clock::now();
  for (std::string text; static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) < lines;
       text = text_of(path)) {
    check(std::chrono::steady_clock::now() - begin < std::chrono::minutes(2),
          "no training within two minutes");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST_F(TrainInterrupt, ASignalEndsTheEpochAndTheRunIsWrittenWhole) {
  const TempDir dir;
  const std::string data = make_dataset(dir);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    SCOPED_TRACE(signal);
    const std::string at = dir / std::to_string(signal);
    const pid_t child =
        start({command("train_gcn"), "--dataset", data, "--device", "cpu", "--epochs", "100000000",
               "--checkpoint", at + "ck", "--checkpoint-every", "100000000", "--log", at + ".jsonl", "--csv",
               at + ".csv", "--report", at + ".html", "--export", at + ".safetensors"},
              at + ".out", at + ".err");
    wait_for_lines(at + ".jsonl", 4);
    ASSERT_EQ(kill(child, signal), 0);
    EXPECT_EQ(wait_for(child), 128 + signal);

    const std::string log = text_of(at + ".jsonl");
    const auto last = nlohmann::json::parse(log.substr(log.rfind('\n', log.size() - 2) + 1));
    EXPECT_EQ(last["event"], "end");
    EXPECT_EQ(last["stopped"], true);
    const int epochs = last["epochs"];
    EXPECT_GE(epochs, 3);
    EXPECT_EQ(CheckpointFolder(at + "ck").latest(), epochs);
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), epochs + 2);
    for (const char* written : {".html", ".safetensors"})
      EXPECT_GT(std::filesystem::file_size(at + written), 0u);
    EXPECT_NE(text_of(at + ".out").find("test accuracy"), std::string::npos);
    EXPECT_NE(text_of(at + ".out")
                  .find(str("stopped         by ",
                            signal == SIGINT   ? "Ctrl-C"
                            : signal == SIGHUP ? "SIGHUP"
                                               : "SIGTERM",
                            " after epoch ", epochs, "\n")),
              std::string::npos)
        << text_of(at + ".out");
    EXPECT_EQ(text_of(at + ".err"), "\nstopping after this epoch; interrupt again to stop at once\n");
  }
}

/// The columns of a CSV that are no times: epoch, loss, metrics and validation loss.
std::vector<std::string> results_of(const std::string& path) {
  std::vector<std::string> rows;
  std::string row;
  int column = 0;
  for (const char c : text_of(path)) {
    if (c == '\n') rows.push_back(std::exchange(row, {})), column = 0;
    column += c == ',';
    if (c != '\n' && column < 6) row += c;
  }
  return rows;
}

TEST_F(TrainInterrupt, ASignalEndsAMiniBatchAndTheRunGoesOnThere) {
  const TempDir dir;
  const std::string data = make_dataset(dir), at = dir / "run";
  const auto arguments = [&](int epochs, const std::string& csv) {
    return std::vector<std::string>{command("rodeo_train"),
                                    "--model",
                                    "sage",
                                    "--dataset",
                                    data,
                                    "--device",
                                    "cpu",
                                    "--batch",
                                    "1",
                                    "--fanout",
                                    "5,5",
                                    "--epochs",
                                    std::to_string(epochs),
                                    "--csv",
                                    csv};
  };
  const auto with = [](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const pid_t child = start(with(arguments(100'000, at + ".csv"), {"--checkpoint", at, "--log", at + ".jsonl",
                                                                   "--checkpoint-every", "100000"}),
                            at + ".out", at + ".err");
  wait_for_lines(at + ".jsonl", 3);
  ASSERT_EQ(kill(child, SIGINT), 0);
  EXPECT_EQ(wait_for(child), 128 + SIGINT);
  EXPECT_EQ(text_of(at + ".err"), "\nstopping after this batch; interrupt again to stop at once\n");
  const std::string log = text_of(at + ".jsonl");
  const auto last = nlohmann::json::parse(log.substr(log.rfind('\n', log.size() - 2) + 1));
  EXPECT_EQ(last["stopped"], true);
  const int epochs = last["epochs"], batch = last.value("batch", 0);
  // An epoch has about a hundred batches: the signal may have come with the last of them.
  const std::string place =
      batch > 0 ? str("after batch ", batch, " of epoch ", epochs + 1) : str("after epoch ", epochs);
  EXPECT_NE(text_of(at + ".out").find("stopped         by Ctrl-C " + place), std::string::npos)
      << text_of(at + ".out");
  ASSERT_EQ(wait_for(start(with(arguments(epochs + 2, at + ".csv"), {"--checkpoint", at, "--resume"}),
                           at + ".out2", at + ".err2")),
            0);
  EXPECT_NE(text_of(at + ".out2").find("resumed         " + place), std::string::npos);
  ASSERT_EQ(wait_for(start(arguments(epochs + 2, at + "whole.csv"), "/dev/null")), 0);
  EXPECT_EQ(results_of(at + ".csv"), results_of(at + "whole.csv"));
}

/// The exit code of a process that sends itself `signals`, `pause_ms` apart, while it listens to them; 7: it
/// heard the first.
int exit_code_after(const std::vector<int>& signals, bool ignored = false, int pause_ms = 350) {
  const pid_t child = fork();
  if (child == 0) {
    if (ignored) ::signal(signals[0], SIG_IGN);
    ::close(STDERR_FILENO);
    const StopOnSignal listener;
    for (const int signal : signals) {
      raise(signal);
      if (signals.size() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    }
    _exit(listener.signal() == signals[0] ? 7 : 8);
  }
  return wait_for(child);
}

TEST_F(TrainInterrupt, TheSecondSignalEndsTheProcess) {
  if (test::thread_sanitized()) GTEST_SKIP() << "ThreadSanitizer delays signals";
  EXPECT_EQ(exit_code_after({SIGINT}), 7);
  EXPECT_EQ(exit_code_after({SIGTERM}), 7);
  EXPECT_EQ(exit_code_after({SIGINT, SIGINT}), 130);
  EXPECT_EQ(exit_code_after({SIGINT, SIGTERM}), 143);
  EXPECT_EQ(exit_code_after({SIGINT, SIGINT}, /*ignored=*/true), 8);  // as under nohup
}

TEST_F(TrainInterrupt, OneSignalThatArrivesTwiceDoesNotEndTheProcess) {
  if (test::thread_sanitized()) GTEST_SKIP() << "ThreadSanitizer delays signals";
  EXPECT_EQ(exit_code_after({SIGINT, SIGINT}, false, 0), 7);
  EXPECT_EQ(exit_code_after({SIGTERM, SIGTERM, SIGINT}, false, 50), 7);
}

// A launcher passes on a signal that the rank has had from the group, as late as a busy host lets it.
TEST_F(TrainInterrupt, OneOfTheGroupAndOfTheLauncherDoesNotEndARank) {
  if (test::thread_sanitized()) GTEST_SKIP() << "ThreadSanitizer delays signals";
  for (const bool twice : {false, true}) {
    int open_until_end[2];
    ASSERT_EQ(pipe(open_until_end), 0);
    const pid_t rank = fork();
    if (rank == 0) {
      setenv("RODEO_RANK", "0", 1), setenv("RODEO_RANKS", "2", 1), setenv("RODEO_MEETING", "1", 1);
      ::close(STDERR_FILENO), ::close(open_until_end[1]);
      const StopOnSignal listener;
      raise(SIGINT);
      char none;
      while (::read(open_until_end[0], &none, 1) != 0) continue;
      _exit(listener.signal() == SIGINT ? 7 : 8);
    }
    int status = 0;
    do {
      std::this_thread::sleep_for(std::chrono::milliseconds(400));
      kill(rank, SIGINT);
    } while (twice && waitpid(rank, &status, WNOHANG) == 0);
    ::close(open_until_end[1]);
    EXPECT_EQ(twice ? WEXITSTATUS(status) : wait_for(rank), twice ? 130 : 7);
    ::close(open_until_end[0]);
  }
}

// The terminal is closed: what is printed from then on has nowhere to go.
TEST_F(TrainInterrupt, AHangupKeepsTheRun) {
  const TempDir dir;
  const std::string data = make_dataset(dir), log = dir / "run.jsonl", weights = dir / "w.safetensors";
  const std::string program = command("train_gcn");
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  check(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0, "no terminal");
  const std::string name = ptsname(terminal);
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    const int own = open(name.c_str(), O_RDWR);  // becomes the terminal of the session
    for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(own, file);
    execl(program.c_str(), program.c_str(), "--dataset", data.c_str(), "--device", "cpu", "--epochs",
          "100000000", "--log", log.c_str(), "--export", weights.c_str(), static_cast<char*>(nullptr));
    _exit(99);
  }
  wait_for_lines(log, 4);
  close(terminal);
  EXPECT_EQ(wait_for(child), 128 + SIGHUP);
  const std::string text = text_of(log);
  EXPECT_NE(text.find("\"event\":\"end\""), std::string::npos) << text.substr(text.size() - 300);
  EXPECT_TRUE(std::filesystem::exists(weights));
}

TEST_F(TrainInterrupt, SignalsAreAsBeforeAfterwards) {
  { const StopOnSignal listener; }
  struct sigaction now = {};
  sigaction(SIGINT, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

/// What train_gcn writes to a terminal.
std::string on_terminal(const std::string& data, const std::vector<std::string>& environment) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  check(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0, "no terminal");
  const std::string name = ptsname(terminal);
  const int kept = open(name.c_str(), O_RDWR | O_NOCTTY);  // open for as long as it is read
  std::vector<std::string> arguments = {"/usr/bin/env", "-u", "NO_COLOR"};
  arguments.insert(arguments.end(), environment.begin(), environment.end());
  arguments.insert(arguments.end(), {command("train_gcn"), "--dataset", data, "--device", "cpu"});
  const pid_t child = start(arguments, name);
  std::string text;
  char buffer[4096];
  while (text.find("after the last epoch") == std::string::npos) {
    const ssize_t count = read(terminal, buffer, sizeof buffer);
    if (count <= 0) break;
    text.append(buffer, static_cast<std::size_t>(count));
  }
  close(terminal);
  close(kept);
  wait_for(child);
  return text;
}

TEST(TrainTerminal, HasOneLiveLineAndColoursUnlessTheyAreRefused) {
  const TempDir dir;
  const std::string data = make_dataset(dir);
  const std::string coloured = on_terminal(data, {"TERM=xterm"});
  EXPECT_NE(coloured.find("\r\x1b[2K"), std::string::npos);
  EXPECT_NE(coloured.find(" epochs/s, 0:"), std::string::npos);
  EXPECT_NE(coloured.find("\x1b[32m"), std::string::npos);
  for (const std::vector<std::string>& plain :
       {std::vector<std::string>{"TERM=xterm", "NO_COLOR=1"}, std::vector<std::string>{"TERM=dumb"}}) {
    const std::string text = on_terminal(data, plain);
    EXPECT_NE(text.find(" epochs/s, 0:"), std::string::npos);
    EXPECT_EQ(text.find("\x1b[32m"), std::string::npos) << text;
    EXPECT_EQ(text.find("\x1b[2m"), std::string::npos);
  }
}

}  // namespace
}  // namespace rodeo
