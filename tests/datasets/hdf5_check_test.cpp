/// Files whose damaged metadata makes the HDF5 library crash or allocate gigabytes: the commands end with one
/// line and exit code 2, and the child process that finds it inherits nothing.
#include "datasets/hdf5_check.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <regex>

#include "tests/datasets/parts.h"
#include "tests/support/devices.h"
#include "tests/support/process.h"
#include "train/io/atomic_file.h"

namespace rodeo {
namespace {

using test::TempDir;

/// An environment variable for the time of a test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

class DatasetsHdf5Check : public testing::Test {
 protected:
  static constexpr std::int64_t kMost = 1'000'000;

  /// A valid file. Superblock version 0: metadata without checksums.
  std::string valid() const {
    test::Parts().write(dir_ / "a.h5");
    return read_file(dir_ / "a.h5", kMost);
  }
  static void set_word(std::string& file, std::size_t at, std::uint64_t value) {
    std::memcpy(&file.at(at), &value, sizeof value);
  }
  /// HDF5 reads the names of the root group from memory that it never got.
  std::string crashing() const {
    constexpr std::size_t kHeapOfRoot = 120;  // the address of the local heap in its symbol table entry
    std::string file = valid();
    set_word(file, kHeapOfRoot, ~std::uint64_t{0});
    write_file(dir_ / "crash.h5", file);
    return dir_ / "crash.h5";
  }
  /// The superblock names a driver information block that claims 3 GiB. HDF5 allocates before it reads.
  std::string allocating() const {
    constexpr std::size_t kEnd = 40, kDriver = 48;
    std::string file = valid();
    set_word(file, kDriver, file.size());
    file += std::string("\0\0\0\0\0\0\0\xc0", 8) + "NCSAfami";
    set_word(file, kEnd, file.size());
    write_file(dir_ / "memory.h5", file);
    return dir_ / "memory.h5";
  }
  /// The exit code of a command, and what it wrote to stderr.
  std::pair<int, std::string> run(std::vector<std::string> arguments) const {
    const int code = test::wait_for(test::start(arguments, dir_ / "out", dir_ / "err"));
    return {code, read_file(dir_ / "err", kMost)};
  }
  /// A program that takes the place of rodeo_h5_check.
  std::string program(const std::string& script) const {
    write_file(dir_ / "program", "#!/bin/sh\n" + script);
    ::chmod((dir_ / "program").c_str(), 0755);
    return dir_ / "program";
  }
  TempDir dir_;
};

TEST_F(DatasetsHdf5Check, CommandsEndWithOneLineWhereHdf5Crashes) {
  const std::string file = crashing();
  const std::string line =
      file + ": its structure is damaged: the HDF5 library crashes on it (Segmentation fault)";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"rodeo_data", "inspect", file},
        {"rodeo_data", "validate", file},
        {"rodeo_data", "subset", "--nodes", "3", file, dir_ / "out.h5"},
        {"rodeo_data", "reorder", "--by", "degree", file, dir_ / "out.h5"},
        {"train_gcn", "--dataset", file, "--device", "cpu", "--epochs", "1"}}) {
    std::vector<std::string> command = arguments;
    command[0] = test::command(arguments[0].c_str());
    const auto [code, error] = run(command);
    EXPECT_EQ(code, 2) << arguments[0] << " " << arguments[1];
    if (!test::sanitized()) {  // a sanitizer names no signal
      EXPECT_EQ(error, arguments[0] + ": " + line + "\n");
    }
    EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 1) << error;
  }
}

TEST_F(DatasetsHdf5Check, MemoryIsLimited) {
  const std::string text = test::error_of([&] { check_hdf5_file(allocating()); });
  if (!test::sanitized()) {  // a sanitizer has limits of its own
    EXPECT_EQ(text, dir_ / "memory.h5" +
                        ": its structure is damaged: the HDF5 library needs more than 1024 MiB of memory to "
                        "read it");
  }
}

// 16 MiB are less than the libraries of the process have, and more than a small file needs.
TEST_F(DatasetsHdf5Check, LibrariesAreBesideTheLimit) {
  valid();
  EXPECT_EQ(run({test::command("rodeo_h5_check"), dir_ / "a.h5", "5", "16"}).first, 0);
}

TEST_F(DatasetsHdf5Check, AcceptsWhatTheReaderReportsItself) {
  valid();
  check_hdf5_file(dir_ / "a.h5");
  check_hdf5_file(dir_ / "none.h5");
  check_hdf5_file(dir_ / ".");
  check_hdf5_file("/dev/null");
  write_file(dir_ / "text.h5", "text");
  check_hdf5_file(dir_ / "text.h5");
  write_file(dir_ / "cut.h5", read_file(dir_ / "a.h5", kMost).substr(0, 900));
  check_hdf5_file(dir_ / "cut.h5");
}

// The names are those in the sources of the loader.
TEST_F(DatasetsHdf5Check, ReadsAllThatLoadingReads) {
  valid();
  ASSERT_EQ(run({test::command("rodeo_h5_check"), dir_ / "a.h5", "5", "1024"}).first, 0);
  const std::string steps = str("\n", read_file(dir_ / "out", kMost));
  const std::regex name(R"re((?:file_\.(has|text|integer)|(open))\("(\w+)")re");
  std::size_t found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(RODEO_SOURCE_DIR "/datasets/hdf5")) {
    const std::string source = read_file(entry.path(), kMost);
    for (std::sregex_iterator it(source.begin(), source.end(), name); it != std::sregex_iterator(); ++it) {
      const bool attribute = (*it)[1] == "text" || (*it)[1] == "integer";
      const std::string step = str("\n", attribute ? "attribute " : "/", (*it)[3].str(), "\n");
      EXPECT_NE(steps.find(step), std::string::npos) << entry.path() << " reads" << step;
      ++found;
    }
  }
  EXPECT_GE(found, 15u);
}

TEST_F(DatasetsHdf5Check, StatusOfChildrenIsNotNeeded) {
  const std::string good = (valid(), dir_ / "a.h5"), bad = crashing();
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  check_hdf5_file(good);
  const std::string text = test::error_of([&] { check_hdf5_file(bad); });
  std::signal(SIGCHLD, before);
  EXPECT_EQ(text, bad + ": its structure is damaged: the HDF5 library crashes on it");
}

TEST_F(DatasetsHdf5Check, ChildInheritsNoFileDescriptor) {
  valid();
  const int descriptor = ::open((dir_ / "a.h5").c_str(), O_RDONLY);  // without O_CLOEXEC
  ASSERT_GT(descriptor, 2);
  const Variable variable("RODEO_H5_CHECK", program("ls -l /proc/$$/fd >" + dir_ / "list" + "\necho done\n"));
  check_hdf5_file(dir_ / "a.h5");
  ::close(descriptor);
  const std::string list = read_file(dir_ / "list", kMost);
  EXPECT_EQ(list.find("a.h5"), std::string::npos) << list;
  EXPECT_NE(list.find("0 -> /dev/null"), std::string::npos) << list;
}

TEST_F(DatasetsHdf5Check, ChildHasOneThreadOfOpenBlas) {
  valid();
  const Variable threads("OPENBLAS_NUM_THREADS", "16");
  const Variable variable("RODEO_H5_CHECK", program("env >" + dir_ / "list" + "\necho done\n"));
  check_hdf5_file(dir_ / "a.h5");
  const std::string list = str("\n", read_file(dir_ / "list", kMost));
  EXPECT_NE(list.find("\nOPENBLAS_NUM_THREADS=1\n"), std::string::npos) << list;
  EXPECT_EQ(list.find("OPENBLAS_NUM_THREADS=16"), std::string::npos) << list;
}

TEST_F(DatasetsHdf5Check, SaysWhatTheChildWasReading) {
  valid();
  const Variable variable("RODEO_H5_CHECK", program("echo its structure\necho /x\nkill -ILL $$\n"));
  EXPECT_ERROR(check_hdf5_file(dir_ / "a.h5"),
               dir_ / "a.h5" + ": /x is damaged: the HDF5 library crashes on it (Illegal instruction)");
  program("echo /y\nkill -XCPU $$\n");
  EXPECT_ERROR(check_hdf5_file(dir_ / "a.h5"),
               dir_ / "a.h5" +
                   ": /y is damaged: the HDF5 library does not finish reading it (limit: 5 s of CPU time)");
}

TEST_F(DatasetsHdf5Check, ProgramThatIsNamedMustWork) {
  valid();
  {
    const Variable variable("RODEO_H5_CHECK", dir_ / "none");
    EXPECT_ERROR(check_hdf5_file(dir_ / "a.h5"), "RODEO_H5_CHECK=" + dir_ / "none" + ": " + dir_ / "none" +
                                                     " cannot start: No such file or directory");
  }
  const Variable variable("RODEO_H5_CHECK", program("exit 127\n"));
  EXPECT_ERROR(check_hdf5_file(dir_ / "a.h5"),
               "RODEO_H5_CHECK=" + dir_ / "program" + ": " + dir_ / "program" + " does not run");
}

TEST_F(DatasetsHdf5Check, MissingProgramIsNamedOnce) {
  valid();
  std::filesystem::copy(test::command("rodeo_data"), dir_ / "rodeo_data");
  const auto [code, error] = run({dir_ / "rodeo_data", "validate", dir_ / "a.h5"});
  EXPECT_EQ(code, 0);
  EXPECT_EQ(error, "warning: " + dir_ / "a.h5" +
                       " is opened without the check for damage that crashes the HDF5 library: the program "
                       "rodeo_h5_check is neither beside this program nor in ../libexec/rodeo; set "
                       "RODEO_H5_CHECK to its path\n");
}

}  // namespace
}  // namespace rodeo
