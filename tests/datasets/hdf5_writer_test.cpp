#include "datasets/hdf5_writer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/devices.h"
#include "tests/support/temp_dir.h"
#include "train/io/atomic_file.h"

namespace rodeo {
namespace {

using test::TempDir;
using Packing = Hdf5Writer::Storage;
constexpr std::size_t kLimit = 1 << 20;

TEST(DatasetsHdf5Writer, AppearsCompleteOrNotAtAll) {
  const TempDir dir;
  const std::string path = dir / "a.h5";
  write_file(path, "old");
  {
    Hdf5Writer writer(path);
    writer.write("x", Tensor::full({5}, 1));
    EXPECT_EQ(read_file(path, kLimit), "old");
    EXPECT_EQ(dir.size(), 2u);
  }
  EXPECT_EQ(read_file(path, kLimit), "old");
  EXPECT_EQ(dir.size(), 1u);

  Hdf5Writer writer(path);
  writer.write("x", Tensor::full({5}, 1));
  writer.commit();
  EXPECT_EQ(dir.size(), 1u);
  EXPECT_EQ(Hdf5File(path).array("x").shape(), (Shape{5}));
}

TEST(DatasetsHdf5Writer, FollowsLinksAndReplacesFilesAlone) {
  const TempDir dir;
  write_file(dir / "a.h5", "old");
  std::filesystem::create_symlink("a.h5", dir / "link.h5");
  ASSERT_EQ(::mkfifo((dir / "fifo.h5").c_str(), 0600), 0);
  const auto write = [&](const char* name) {
    Hdf5Writer writer(dir / name);
    writer.write("x", Tensor::full({5}, 1));
    writer.commit();
  };
  write("link.h5");
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link.h5"));
  EXPECT_EQ(Hdf5File(dir / "a.h5").array("x").shape(), (Shape{5}));
  EXPECT_ERROR(write("fifo.h5"),
               dir / "fifo.h5: cannot be written: is a device or pipe, and HDF5 needs a file");
  EXPECT_TRUE(std::filesystem::is_fifo(dir / "fifo.h5"));
}

TEST(DatasetsHdf5Writer, TheSameDataIsTheSameFile) {
  const TempDir dir;
  for (const char* name : {"a.h5", "b.h5"}) {
    Hdf5Writer writer(dir / name);
    writer.write("x", Tensor::full({50, 3}, 2), Packing::kCompressed);
    writer.attribute("name", std::string("x"));
    writer.commit();
    ::sleep(name[0] == 'a' ? 1 : 0);  // HDF5 keeps times in seconds
  }
  EXPECT_EQ(read_file(dir / "a.h5", kLimit), read_file(dir / "b.h5", kLimit));
}

TEST(DatasetsHdf5Writer, WhereItCannotWriteIsNamed) {
  const TempDir dir;
  EXPECT_ERROR(Hdf5Writer(dir / "absent" + "/a.h5"), dir / "absent/a.h5: cannot be written: no such folder");
  EXPECT_ERROR(Hdf5Writer(dir / "."), dir / ".: is a directory");
  Hdf5Writer writer(dir / "a.h5");
  writer.write("x", Tensor::full({5}, 1));
  EXPECT_EQ(test::error_of([&] {
              writer.write("x", Tensor::full({5}, 1));
            }).find(dir / "a.h5: /x cannot be created"),
            0u);
  EXPECT_ERROR(writer.write("y", Tensor()), dir / "a.h5: /y must be written from a host tensor");
}

}  // namespace
}  // namespace rodeo
