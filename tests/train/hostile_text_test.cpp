// Names in files, and paths, do not reach a terminal, log or report as they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/quoting.h"
#include "datasets/dataset.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny.h"
#include "train/io/atomic_file.h"

namespace rodeo {
namespace {

// Sets the title of a terminal, colours, hides text, ends a line and a <pre>.
const std::string kHostile =
    "\x1b]0;owned\x07\x1b[31mred\n\r\xc2\x9b"
    "7m\xe2\x80\xaetxt\xff\x7f</pre><script>|,\"";

class TrainHostileText : public testing::Test {
 protected:
  /// Runs a command, and checks what it prints.
  std::string run(int code, const std::vector<std::string>& arguments) {
    EXPECT_EQ(test::wait_for(test::start(arguments, dir_ / "out", dir_ / "err")), code) << arguments[1];
    const std::string printed = read(dir_ / "out") + read(dir_ / "err");
    expect_harmless(printed, arguments[0] + " " + arguments[1]);
    return printed;
  }
  static std::string read(const std::string& file) { return read_file(file, 1 << 24); }
  static void expect_harmless(const std::string& text, const std::string& what) {
    EXPECT_NE(text, "") << what;
    std::string line;
    for (std::istringstream lines(text); std::getline(lines, line);) ASSERT_EQ(printable(line), line) << what;
  }

  const test::TempDir dir_;
};

TEST_F(TrainHostileText, OfADatasetsName) {
  Dataset dataset = test::tiny_dataset();
  dataset.name = kHostile;
  for (std::int64_t c = 0; c < dataset.num_classes; ++c) {  // a name has no line break
    dataset.class_names.push_back(str(c, kHostile));
    std::erase(dataset.class_names.back(), '\n');
  }
  const std::string file = dir_ / "tiny.h5", train = test::command("train_gcn"),
                    data = test::command("rodeo_data");
  save_dataset(dataset, file);
  const std::string printed =
      run(0, {train, "--dataset", file, "--device", "cpu", "--epochs", "3", "--report", dir_ / "r.html",
              "--log", dir_ / "r.jsonl", "--csv", dir_ / "r.csv", "--trace", dir_ / "r.json"});
  EXPECT_NE(printed.find("\\x1b]0;owned\\x07"), std::string::npos) << printed;
  for (const char* name : {"r.html", "r.jsonl", "r.csv", "r.json"}) expect_harmless(read(dir_ / name), name);
  EXPECT_EQ(read(dir_ / "r.html").find("<script"), std::string::npos);
  std::istringstream log(read(dir_ / "r.jsonl"));
  for (std::string line; std::getline(log, line);) EXPECT_TRUE(nlohmann::json::accept(line)) << line;
  for (const char* command : {"inspect", "validate"}) run(0, {data, command, file});
  run(0, {data, "reorder", "--by", "degree", file, dir_ / "o.h5"});
  run(0, {data, "subset", "--share", "50", file, dir_ / "s.h5"});
}

TEST_F(TrainHostileText, OfAPathAndAnOption) {
  const std::string train = test::command("train_gcn"), data = test::command("rodeo_data");
  const std::string path = dir_ / "\x1b[31m\n.h5";
  const std::vector<std::vector<std::string>> wrong = {{train, "--dataset", path},
                                                       {train, "--dataset", "x", "--\x1b[7m"},
                                                       {data, "inspect", path},
                                                       {data, "\x1b[7m"}};
  for (const std::vector<std::string>& command : wrong) {
    run(2, command);
    EXPECT_EQ(std::ranges::count(read(dir_ / "err"), '\n'), 1) << command.back();
  }
  const Dataset dataset = test::tiny_dataset();
  save_dataset(dataset, path);
  for (const char* command : {"inspect", "validate"}) run(0, {data, command, path});
  run(0, {train, "--dataset", path, "--epochs", "2", "--log", dir_ / "r.jsonl", "--report", dir_ / "r.html"});
  expect_harmless(read(dir_ / "r.jsonl"), "log");
  expect_harmless(read(dir_ / "r.html"), "report");
}

}  // namespace
}  // namespace rodeo
