#include "train/io/sweep_results.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/quoting.h"
#include "train/io/atomic_file.h"
#include "train/io/json_text.h"
#include "train/io/run_log.h"

namespace rodeo {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kAnother = "delete the file, or name another with --sweep-results";

std::string key_of(const SweepRun& run) {
  std::map<std::string, std::string> sorted;  // the order of options in the sweep does not matter
  for (const GivenOption& value : run.trial) sorted[value.name] = value.text;
  Json key = {{"options", Json::object()}};
  for (const auto& [name, text] : sorted) key["options"][name] = text;
  key["seed"] = run.seed;
  if (!run.split.empty()) key["split"] = run.split;
  if (run.fold >= 0) key["fold"] = run.fold;
  return json_text(key);
}

std::string line_of(const std::string& key, const SweepOutcome& outcome) {
  Json line = {{"run", Json::parse(key)}};
  if (!outcome.failure.empty()) {
    line["failed"] = outcome.failure;
    line["exit_code"] = outcome.exit_code;
  } else {
    const Evaluation& e = outcome.best;
    line.update({{"val", e.val}, {"test", e.test}, {"train", e.train}, {"val_loss", e.val_loss}});
    line["best_epoch"] = outcome.best_epoch;
    line["epochs"] = outcome.epochs;
  }
  line["seconds"] = std::round(outcome.seconds * 1000) / 1000;
  return json_text(line);
}

/// Null, of a value that was not finite, becomes NaN. Throws a Json::exception for anything else.
double number(const Json& value) {
  return value.is_null() ? std::nan("") : value.get<double>();
}

int integer(const Json& value) {
  check(value.is_number_integer(), "must be a whole number");
  return static_cast<int>(value.get<std::int64_t>());
}

SweepOutcome outcome_of(const Json& line) {
  SweepOutcome outcome;
  outcome.seconds = number(line.at("seconds"));
  if (line.contains("failed")) {
    outcome.failure = line["failed"].get<std::string>();
    outcome.exit_code = integer(line.at("exit_code"));
    check(!outcome.failure.empty(), "a failure has no text");
    return outcome;
  }
  outcome.best = {number(line.at("train")), number(line.at("val")), number(line.at("test")),
                  number(line.at("val_loss"))};
  outcome.best_epoch = integer(line.at("best_epoch"));
  outcome.epochs = integer(line.at("epochs"));
  return outcome;
}

std::string first_line(const SweepResults::Shared& shared) {
  Json line = {{"sweep", Json::object()}, {"versions", Json::object()}};
  for (const auto& [name, text] : shared) line["sweep"][name] = text;
  for (const auto& [name, version] : versions()) line["versions"][name] = version;
  return json_text(line);
}

/// "--lr 0.1", or "no --lr".
std::string describe(const std::string& option, const SweepResults::Shared& shared) {
  const auto found = shared.find(option);
  return found == shared.end() ? str("no --", printable(option))
                               : str("--", printable(option), " ", printable(found->second));
}

}  // namespace

SweepResults::SweepResults(const std::string& path, const Shared& shared) : path_(path) {
  open();
  try {
    constexpr std::size_t kMostBytes = std::size_t{1} << 30;
    std::string text = read_file(path_, kMostBytes);
    const std::size_t whole = text.rfind('\n') + 1;  // 0 if there is none
    // Without a whole line the file is one that we began, or it is something else.
    check(whole > 0 || text.empty() || text.starts_with("{\"sweep\"") ||
              std::string_view("{\"sweep\"").starts_with(text),
          path_, ":1: is no result of a sweep: ", kAnother);
    const bool cut = whole < text.size();
    text.resize(whole);
    read(text, shared);
    check(!cut || ::ftruncate(file_, static_cast<off_t>(whole)) == 0, path_,
          ": cannot be written: ", std::strerror(errno));
    if (text.empty()) write(first_line(shared));
  } catch (...) {
    ::close(file_);
    throw;
  }
}

SweepResults::~SweepResults() {
  ::close(file_);
}

void SweepResults::open() {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0666);
  check(file_ >= 0, path_, ": cannot be written: ", std::strerror(errno));
  if (::flock(file_, LOCK_EX | LOCK_NB) == 0) return;
  const int reason = errno;
  ::close(file_);
  check(reason != EWOULDBLOCK, path_,
        ": another sweep is writing it: wait for its end, or name another file with --sweep-results");
  fail(path_, ": cannot be locked: ", std::strerror(reason));
}

void SweepResults::read(const std::string& text, const Shared& shared) {
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string_view line(text.data() + begin, end - begin);
    begin = end + 1;
    const std::string where = str(path_, ":", ++number);
    Shared then;
    try {
      const Json json = Json::parse(line);
      if (number > 1) {
        check(json.at("run").is_object(), "a run must be an object");
        outcomes_[json_text(json["run"])] = outcome_of(json);
        continue;
      }
      for (const auto& [name, value] : json.at("sweep").items()) then[name] = value.get<std::string>();
    } catch (const std::exception&) {
      fail(where, ": is no result of a sweep: ", kAnother);
    }
    Shared all = then;
    all.insert(shared.begin(), shared.end());
    for (const auto& [name, ignored] : all)
      check(describe(name, then) == describe(name, shared), path_, ": is of trials with ",
            describe(name, then), ", and these have ", describe(name, shared), ": ", kAnother);
  }
}

const SweepOutcome* SweepResults::find(const SweepRun& run) const {
  const auto found = outcomes_.find(key_of(run));
  return found == outcomes_.end() ? nullptr : &found->second;
}

void SweepResults::add(const SweepRun& run, const SweepOutcome& outcome) {
  const std::string key = key_of(run);
  write(line_of(key, outcome));
  outcomes_[key] = outcome;
}

void SweepResults::write(const std::string& line) const {
  const std::string whole = line + "\n";
  const off_t before = ::lseek(file_, 0, SEEK_END);
  const ssize_t written = ::write(file_, whole.data(), whole.size());
  const std::string why = written < 0 ? std::strerror(errno) : "the disk is full";
  const bool done = written == static_cast<ssize_t>(whole.size());
  // A run that ends later must not continue a part of a line.
  if (!done && ::ftruncate(file_, before) != 0) fail(path_, ": writing failed: ", why);
  check(done, path_, ": writing failed: ", why);
  // Special files cannot be synchronised, and return EINVAL.
  check(::fdatasync(file_) == 0 || errno == EINVAL, path_, ": writing failed: ", std::strerror(errno));
}

}  // namespace rodeo
