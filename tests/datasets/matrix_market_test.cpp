#include "datasets/matrix_market.h"

#include <gtest/gtest.h>

#include <fstream>

#include "ops/convert.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/temp_dir.h"

namespace rodeo::test {
namespace {

using Indices = std::vector<std::int32_t>;
using Values = std::vector<double>;

void expect_entries(const MatrixMarket& m, const Indices& row, const Indices& col, const Values& value) {
  EXPECT_EQ(m.row.to_vector<std::int32_t>(), row);
  EXPECT_EQ(m.col.to_vector<std::int32_t>(), col);
  EXPECT_EQ(m.num_entries(), static_cast<std::int64_t>(row.size()));
  if (value.empty())
    EXPECT_FALSE(m.value.defined());
  else
    EXPECT_EQ(m.value.to_vector<double>(), value);
}

std::string banner(const std::string& rest) {
  return "%%MatrixMarket matrix coordinate " + rest + "\n";
}

TEST(DatasetsMatrixMarket, RealGeneralKeepsOrderAndRepeats) {
  const MatrixMarket m = parse_matrix_market(
      banner("real general") + "% a comment\n%\n\n3 4 5\n3 1 2.5\n1 4 -1e-3\n3 1 7\n2 2 +.5E+1\n1 1 0", "a");
  EXPECT_EQ(m.rows, 3);
  EXPECT_EQ(m.cols, 4);
  expect_entries(m, {2, 0, 2, 1, 0}, {0, 3, 0, 1, 0}, {2.5, -1e-3, 7, 5, 0});
}

TEST(DatasetsMatrixMarket, BlanksTabsCapitalsAndWindowsLines) {
  const std::string text =
      "%%matrixmarket MATRIX Coordinate Integer GENERAL\r\n  % indented\r\n\t2  2 2 \r\n\r\n 1\t2   -3\r\n"
      "%between\r\n+2 1 +4 \r\n  \r\n% at the end\r\n";
  expect_entries(parse_matrix_market(text, "a"), {0, 1}, {1, 0}, {-3, 4});
}

TEST(DatasetsMatrixMarket, SymmetricFilesGetTheirMirrorImages) {
  expect_entries(parse_matrix_market(banner("real symmetric") + "3 3 3\n1 1 4\n2 1 5\n3 2 6\n", "a"),
                 {0, 1, 0, 2, 1}, {0, 0, 1, 1, 2}, {4, 5, 5, 6, 6});
  expect_entries(parse_matrix_market(banner("real skew-symmetric") + "3 3 2\n2 1 5\n3 2 -6\n", "a"),
                 {1, 0, 2, 1}, {0, 1, 1, 2}, {5, -5, -6, 6});
  expect_entries(parse_matrix_market(banner("pattern symmetric") + "2 2 2\n2 1\n2 2\n", "a"), {1, 0, 1},
                 {0, 1, 1}, {});
}

TEST(DatasetsMatrixMarket, NoEntries) {
  const MatrixMarket m = parse_matrix_market(banner("pattern general") + "5 0 0\n", "a");
  EXPECT_EQ(m.rows, 5);
  EXPECT_EQ(m.cols, 0);
  EXPECT_EQ(m.num_entries(), 0);
  EXPECT_EQ(parse_matrix_market(banner("real general") + "0 0 0", "a").value.shape(), Shape{0});
}

TEST(DatasetsMatrixMarket, NumbersAtTheEdgeOfDouble) {
  const MatrixMarket m = parse_matrix_market(
      banner("real general") +
          "1 1 4\n1 1 1e308\n1 1 1e-320\n1 1 1e-400\n1 1 0.1000000000000000055511151231257827\n",
      "a");
  EXPECT_EQ(m.value.to_vector<double>(), (Values{1e308, 1e-320, 0, 0.1}));
}

TEST(DatasetsMatrixMarket, ErrorsOfTheHead) {
  const auto error = [](const std::string& text) {
    return error_of([&] { parse_matrix_market(text, "a.mtx"); });
  };
  EXPECT_EQ(error(""), "a.mtx: is empty, not a Matrix Market file");
  EXPECT_EQ(error("3 3 1\n1 1 1\n"), "a.mtx: line 1: must begin with '%%MatrixMarket matrix', got '3 3 1'");
  EXPECT_EQ(error(std::string("\x89HDF\r\n\0\n", 8)),
            "a.mtx: line 1: must begin with '%%MatrixMarket matrix', got '?HDF'");
  EXPECT_EQ(
      error("%%MatrixMarket vector coordinate real general\n"),
      "a.mtx: line 1: must begin with '%%MatrixMarket matrix', got '%%MatrixMarket vector coordinate real "
      "general'");
  EXPECT_EQ(error("%%MatrixMarket matrix array real general\n2 2\n"),
            "a.mtx: line 1: format must be coordinate, got 'array': dense matrices are not supported");
  EXPECT_EQ(error("%%MatrixMarket matrix\n"), "a.mtx: line 1: format must be coordinate, got ''");
  EXPECT_EQ(error(banner("complex general")),
            "a.mtx: line 1: field must be real, integer or pattern, got 'complex'");
  const std::string symmetry =
      "a.mtx: line 1: symmetry must be general, symmetric or (not of a pattern) skew-symmetric, got ";
  EXPECT_EQ(error(banner("real hermitian")), symmetry + "'hermitian'");
  EXPECT_EQ(error(banner("pattern skew-symmetric")), symmetry + "'skew-symmetric'");
  EXPECT_EQ(error(banner("real")), symmetry + "''");
  EXPECT_EQ(error(banner("real general please")),
            "a.mtx: line 1: expected nothing after the symmetry, got 'please'");
  EXPECT_EQ(error(banner("real general") + "% only comments\n"),
            "a.mtx: ends before the line 'rows columns entries'");
  for (const char* sizes : {"3 3", "3 3 1 1", "3 x 1", "3 3 1.0", "99999999999999999999 3 1"})
    EXPECT_EQ(error(banner("real general") + "%\n" + sizes + "\n"),
              str("a.mtx: line 3: expected 'rows columns entries', got '", sizes, "'"));
  EXPECT_EQ(error(banner("real general") + "-1 3 1\n"),
            "a.mtx: line 2: rows and columns must be in [0, 2^31 - 1], got -1 x 3");
  EXPECT_EQ(error(banner("real general") + "3 2147483648 1\n"),
            "a.mtx: line 2: rows and columns must be in [0, 2^31 - 1], got 3 x 2147483648");
  EXPECT_EQ(error(banner("real general") + "3 3 -1\n"),
            "a.mtx: line 2: the number of entries must not be negative, got -1");
  EXPECT_EQ(error(banner("real symmetric") + "3 4 1\n"),
            "a.mtx: line 2: a symmetric matrix must be square, got 3 x 4");
}

TEST(DatasetsMatrixMarket, ErrorsOfEntries) {
  const auto error = [](const std::string& field, const std::string& entries) {
    return error_of([&] { parse_matrix_market(banner(field) + "4 3 2\n% note\n" + entries, "a.mtx"); });
  };
  const std::string real = "a.mtx: line 4: expected 'row column value' with a finite value, got ";
  for (const char* entry : {"1 2", "1 2 3 4", "1 2 x", "1 2 3x", "x 2 3", "1.5 2 3", "1 2 nan", "1 2 inf",
                            "1 2 1e999", "1 2 +-3", "1 2 1,5", "1 2 -1e9999"})
    EXPECT_EQ(error("real general", str(entry, "\n")), real + "'" + entry + "'");
  EXPECT_EQ(error("integer general", "1 2 1.5\n"),
            "a.mtx: line 4: expected 'row column value' with an integer value, got '1 2 1.5'");
  EXPECT_EQ(error("pattern general", "1 2 1\n"), "a.mtx: line 4: expected 'row column', got '1 2 1'");
  EXPECT_EQ(error("real general", "1 2 " + std::string(80, 'z')),
            real + "'1 2 " + std::string(56, 'z') + "...'");
  EXPECT_EQ(error("pattern general", "1 1\n5 2\n"), "a.mtx: line 5: row 5 is outside [1, 4]");
  EXPECT_EQ(error("pattern general", "0 1\n"), "a.mtx: line 4: row 0 is outside [1, 4]");
  EXPECT_EQ(error("pattern general", "4 4294967297\n"), "a.mtx: line 4: column 4294967297 is outside [1, 3]");
  EXPECT_EQ(error("pattern general", "1 1\n\n"), "a.mtx: ends after 1 of the 2 entries that line 2 declares");
  EXPECT_EQ(error("pattern general", "1 1\n1 2\n\n1 3\n"),
            "a.mtx: line 7: expected the end after the 2 entries that line 2 declares, got '1 3'");
  EXPECT_ERROR(parse_matrix_market(banner("real skew-symmetric") + "3 3 1\n2 2 1\n", "a.mtx"),
               "a.mtx: line 3: a skew-symmetric matrix has no entry on its diagonal, got '2 2 1'");
}

TEST(DatasetsMatrixMarket, AnnouncedSizesTakeNoMemory) {
  EXPECT_ERROR(parse_matrix_market(
                   banner("real symmetric") + "2147483647 2147483647 9223372036854775807\n1 1 1\n", "a.mtx"),
               "a.mtx: ends after 1 of the 9223372036854775807 entries that line 2 declares");
}

TEST(DatasetsMatrixMarket, Files) {
  const TempDir dir;
  EXPECT_ERROR(read_matrix_market(dir / "none.mtx"), dir / "none.mtx" + ": no such file");
  EXPECT_ERROR(read_matrix_market(dir / ""), dir / "" + ": is a directory, not a text file");
  std::ofstream(dir / "a.mtx") << banner("pattern general") << "2 2 1\n2 3\n";
  EXPECT_ERROR(read_matrix_market(dir / "a.mtx"), dir / "a.mtx" + ": line 3: column 3 is outside [1, 2]");
  std::ofstream(dir / "b.mtx") << banner("pattern general") << "2 2 1\n2 1\n";
  expect_entries(read_matrix_market(dir / "b.mtx"), {1}, {0}, {});
  std::ofstream(dir / "c.mtx")
      << "\xef\xbb\xbf%%MatrixMarket matrix coordinate pattern general\r2 2 1\r2 1\r";
  expect_entries(read_matrix_market(dir / "c.mtx"), {1}, {0}, {});
}

struct MatrixFile {
  const char* name;
  std::int64_t size, entries;  // in the file
  bool symmetric, pattern;
};

TEST(DatasetsMatrixMarket, RealFiles) {
  const MatrixFile files[] = {
      {"bcsstk13", 2003, 42943, true, false},   {"bips98_606", 7135, 34738, false, false},
      {"ca-CondMat", 23133, 93497, true, true}, {"cryg2500", 2500, 12349, false, false},
      {"netscience", 1589, 2742, true, false},  {"p2p-Gnutella31", 62586, 147892, false, false}};
  int found = 0;
  for (const MatrixFile& file : files) {
    const std::string path = shared_data(str("mtx/", file.name, ".mtx"));
    if (path.empty()) continue;
    ++found;
    const MatrixMarket m = read_matrix_market(path);
    EXPECT_EQ(m.rows, file.size) << file.name;
    EXPECT_EQ(m.cols, file.size) << file.name;
    EXPECT_EQ(m.value.defined(), !file.pattern) << file.name;
    const auto row = m.row.to_vector<std::int32_t>(), col = m.col.to_vector<std::int32_t>();
    std::int64_t diagonal = 0;
    for (std::size_t e = 0; e < row.size(); ++e) diagonal += row[e] == col[e];
    // A symmetric file has each entry off the diagonal once: (entries here + diagonal) / 2.
    EXPECT_EQ(file.symmetric ? (m.num_entries() + diagonal) / 2 : m.num_entries(), file.entries) << file.name;
    const Adjacency adj = coo_to_csr(m.row, m.col, m.rows, m.cols).adj;
    EXPECT_EQ(adj.num_edges(), m.num_entries()) << file.name;
    EXPECT_EQ(transpose_pattern(adj) == adj, file.symmetric) << file.name;
  }
  if (found == 0) GTEST_SKIP() << "no shared data folder: set RODEO_SHARED_DATA";
}

TEST(DatasetsMatrixMarket, SameGraphAsItsHdf5) {
  const std::string mtx = shared_data("mtx/ca-CondMat.mtx"), h5 = shared_data("topology/ca-CondMat.h5");
  if (mtx.empty() || h5.empty()) GTEST_SKIP() << "no shared data folder: set RODEO_SHARED_DATA";
  const MatrixMarket m = read_matrix_market(mtx);
  const Adjacency ours = coo_to_csr(m.row, m.col, m.rows, m.cols, {.self_loops = SelfLoops::kDrop}).adj,
                  theirs = load_topology(h5);
  EXPECT_TRUE(same_bits(ours.csr().row_ptr, theirs.csr().row_ptr));
  EXPECT_TRUE(same_bits(ours.csr().col, theirs.csr().col));
}

}  // namespace
}  // namespace rodeo::test
