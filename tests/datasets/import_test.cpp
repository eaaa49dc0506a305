#include "datasets/import.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "datasets/import/edges.h"
#include "datasets/import/pickle.h"
#include "tests/datasets/parts.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo {
namespace {

using test::ids;
using test::Ids;
using test::same_bits;
using test::TempDir;
using test::wide;

std::string put(const std::string& path, const std::string& text) {
  if (path.ends_with(".gz")) {
    const gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
  } else {
    std::ofstream(path, std::ios::binary) << text;
  }
  return path;
}

TEST(DatasetsImport, EdgeLists) {
  const TempDir dir;
  const std::string text = "# a comment\n\n0 1\r\n2,1\n 3\t0 \n% another\n0 1";
  for (const char* name : {"a.txt", "a.txt.gz"}) {
    const Dataset d = read_edge_list(put(dir / name, text));
    EXPECT_EQ(d.name, "a");
    EXPECT_EQ(d.num_nodes, 4);
    EXPECT_EQ(wide(d.src), (Ids{0, 2, 3, 0}));
    EXPECT_EQ(wide(d.dst), (Ids{1, 1, 0, 1}));
  }
  const Dataset both = read_edge_list(dir / "a.txt", {.undirected = true, .nodes = 9});
  EXPECT_EQ(both.num_nodes, 9);
  EXPECT_EQ(wide(both.src), (Ids{0, 0, 1, 1, 2, 3}));
  EXPECT_EQ(wide(both.dst), (Ids{1, 3, 0, 2, 1, 0}));
  const Dataset named =
      read_edge_list(put(dir / "b.csv", "700,5000000000,2.5\n5000000000,3,-1e-3\n"), {.relabel = true});
  EXPECT_EQ(wide(named.src), (Ids{1, 2}));
  EXPECT_EQ(wide(named.dst), (Ids{2, 0}));
  EXPECT_EQ(wide(named.node_id), (Ids{3, 700, 5000000000}));
  EXPECT_EQ(named.edge_weight.to_vector<float>(), (std::vector<float>{2.5f, -1e-3f}));
  EXPECT_EQ(read_edge_list(put(dir / "c.txt", ""), {.nodes = 3}).num_nodes, 3);
  const Dataset texts =
      read_edge_list(put(dir / "d.txt", "# of SNAP\nann 7 0.5\n7\tbob 2\n"), {.relabel = true});
  EXPECT_EQ(texts.node_names, (std::vector<std::string>{"ann", "7", "bob"}));
  EXPECT_EQ(wide(texts.src), (Ids{0, 1}));
  EXPECT_EQ(wide(texts.dst), (Ids{1, 2}));
  EXPECT_EQ(texts.edge_weight.to_vector<float>(), (std::vector<float>{0.5f, 2}));
  const Dataset negative = read_edge_list(put(dir / "e.txt", "-1 2\n2 7\n"), {.relabel = true});
  EXPECT_EQ(wide(negative.node_id), (Ids{-1, 2, 7}));
}

TEST(DatasetsImport, NodesWithoutEdgesAreCounted) {
  const TempDir dir;
  const auto notes = [&](const std::string& text, EdgeListOptions options) {
    std::vector<std::string> out;
    options.notes = &out;
    read_edge_list(put(dir / "a.txt", text), options);
    return out;
  };
  const std::string why = " no edge, because ids are numbers from 0 on: --relabel numbers those that occur";
  EXPECT_EQ(notes("1 2\n2 3\n", {}), (std::vector<std::string>{"1 of 4 nodes has" + why}));
  EXPECT_EQ(notes("1 5\n7 9\n", {}), (std::vector<std::string>{"6 of 10 nodes have" + why}));
  EXPECT_TRUE(notes("0 2\n1 0\n", {}).empty());
  EXPECT_TRUE(notes("1 2\n", {.relabel = true}).empty());
  EXPECT_TRUE(notes("1 2\n", {.nodes = 5}).empty());
}

TEST(DatasetsImport, FirstLineThatMayBeAHeaderIsNoted) {
  const TempDir dir;
  const auto notes = [&](const std::string& text) {
    std::vector<std::string> out;
    read_edge_list(put(dir / "a.txt", text), {.relabel = true, .notes = &out});
    return out;
  };
  EXPECT_EQ(notes("paper cites\nann bob\nbob eve\n"),
            (std::vector<std::string>{
                "the two ids of the first line are in no other: if it is a header, begin it with #"}));
  for (const std::string edges : {"ann bob\n", "ann bob\nbob eve\n", "ann bob\neve ann\n", "7 8\n9 10\n"})
    EXPECT_TRUE(notes(edges).empty()) << edges;
}

TEST(DatasetsImport, TextOfOtherSystems) {
  const TempDir dir;
  const auto edges = [&](const std::string& text) {
    const Dataset d = read_edge_list(put(dir / "a.txt", text));
    std::vector<Ids> both{wide(d.src), wide(d.dst)};
    return both;
  };
  const std::vector<Ids> expected{{0, 1, 2}, {1, 2, 0}};
  for (const std::string end : {"\n", "\r\n", "\r"})
    for (const std::string mark : {"", "\xef\xbb\xbf"})
      for (const std::string& last : {end, std::string()})
        EXPECT_EQ(edges(mark + "0 1" + end + "1 2" + end + end + "2 0" + last), expected);
  for (const std::size_t piece :
       {std::size_t{1} << 20, (std::size_t{1} << 20) - 1})  // what is read at a time
    for (const std::string end : {"\n", "\r\n", "\r"})
      EXPECT_EQ(edges("#" + std::string(piece - 1, 'x') + end + "0 1" + end + "1 2" + end + "2 0"), expected);
  EXPECT_EQ(edges("# by Andr\xe9\n0 1\n1 2\n2 0\n"), expected);
}

TEST(DatasetsImport, WhatIsNoTextIsNamed) {
  const TempDir dir;
  const std::string path = dir / "a.txt";
  const auto error = [&](const std::string& text) {
    put(path, text);
    return test::error_of([&] { read_edge_list(path, {.relabel = true}); }).substr(path.size());
  };
  const std::string latin = "convert the file, such as by iconv -f latin1 -t utf-8, or decompress it";
  EXPECT_EQ(read_edge_list(put(path, "a caf\xc3\xa9 1\na \xf0\x9f\x98\x80 1\n"), {.relabel = true}).num_nodes,
            3);
  for (const std::string bad : {"caf\xe9", "\xc3", "\xc0\x80", "\xe2\x82", "\xf5\x80\x80\x80", "\x80"})
    EXPECT_EQ(error("a b\na " + bad + "\n"), ": line 2: is no UTF-8 text: " + latin);
  EXPECT_EQ(error(std::string("a b\nc\0 d\n", 10)),
            ": line 2: has a zero byte: this is no text, or UTF-16 text: save the file as UTF-8");
  for (const std::string mark : {"\xff\xfe", "\xfe\xff"})
    EXPECT_EQ(error(mark + "0"), ": is UTF-16: save it as UTF-8");
  EXPECT_EQ(error("version https://git-lfs.github.com/spec/v1\noid sha256:41\nsize 17\n"),
            ": is a pointer of Git LFS, not the file itself: fetch it by git lfs pull");
  for (const std::string nothing : {"", "\n\n", "# a\n", "\xef\xbb\xbf"})
    EXPECT_EQ(error(nothing), ": has no edges: expected lines 'source destination'");
  put(path, "# a\n");
  EXPECT_EQ(test::error_of([&] { read_triples(path); }),
            path + ": has no triples: expected lines of head, relation and tail");
}

TEST(DatasetsImport, WrongEdgeListsAreNamed) {
  const TempDir dir;
  const std::string path = dir / "a.txt";
  const auto error = [&](const std::string& text, const EdgeListOptions& options = {}) {
    put(path, text);
    return test::error_of([&] { read_edge_list(path, options); }).substr(path.size());
  };
  EXPECT_EQ(error("0 1\n0 x\n"),
            ": line 2: expected an integer of at least 0, got 'x': other ids need --relabel, and a "
            "header `import csv`");
  for (const std::string edges : {"\n0,1\n1,2\n", "\nann,bob\nbob,eve\n", ",weight\nann,bob,2\n"})
    EXPECT_EQ(error("From,To" + edges, {.relabel = true}),
              ": line 1: is a header, 'From' and 'To': `import csv` reads it, or begin it with #");
  EXPECT_EQ(error("paper,cites\n0,1\n1,2\n", {.relabel = true}),
            ": only its first line has texts as ids: a header, which `import csv` reads, or begin it with #");
  const std::string separate = ": blanks, commas, semicolons and tabs separate";
  EXPECT_EQ(error("a b\nb c x\n", {.relabel = true}),
            ": line 2: expected 'source destination', got 3 fields" + separate);
  EXPECT_EQ(error("0 -1\n"), ": line 1: expected an integer of at least 0, got '-1'");
  EXPECT_EQ(error("0 1\n2\n"), ": line 2: expected 'source destination', got 1 field" + separate);
  EXPECT_EQ(error("0 1 2 3\n"),
            ": line 1: expected 'source destination' and an optional weight, got 4 fields" + separate);
  EXPECT_EQ(error("0 1 nan\n"), ": line 1: expected a finite number, got 'nan'");
  EXPECT_EQ(error("0 2147483647\n"), ": line 1: node 2147483647 is outside [0, 2147483647)");
  EXPECT_EQ(error("0 1\n3 4\n", {.nodes = 4}), ": line 2: node 4 is outside [0, 4)");
  EXPECT_EQ(error("0 1 1e308\n"), ": line 1: expected a number in the range of f32, got '1e308'");
  EXPECT_EQ(error("0 3000000000\n", {.nodes = 4000000000}),
            ": a graph has at most 2147483647 nodes, got 4000000000");
  EXPECT_ERROR(read_edge_list(dir / "none"), dir / "none: no such file");
  EXPECT_ERROR(read_edge_list(dir / "."), dir / ".: is a directory, not a text file");
  put(path + ".gz", std::string(100000, '1'));
  std::filesystem::resize_file(path + ".gz", 60);
  EXPECT_ERROR(read_edge_list(path + ".gz"), path + ".gz: is truncated or damaged");
}

TEST(DatasetsImport, OgbFolders) {
  const TempDir dir;
  const std::string root = dir / "arxiv";
  for (const char* folder : {"raw", "split/time"}) std::filesystem::create_directories(root + "/" + folder);
  put(root + "/raw/edge.csv.gz", "0,1\n1,2\n");
  put(root + "/raw/num-node-list.csv.gz", "4\n");
  put(root + "/raw/node-feat.csv", "1,2\n0.5,0\n3,4\n5,6\n");
  put(root + "/raw/node-label.csv.gz", "0\n2.0\nnan\n1\n");
  put(root + "/split/time/train.csv.gz", "3\n0\n");
  put(root + "/split/time/valid.csv.gz", "1\n");
  put(root + "/split/time/test.csv.gz", "");
  const Dataset d = read_ogb_csv(root, false);
  EXPECT_EQ(d.name, "arxiv");
  EXPECT_EQ(d.num_nodes, 4);
  EXPECT_EQ(wide(d.y), (Ids{0, 2, -1, 1}));
  EXPECT_EQ(d.num_classes, 3);
  EXPECT_EQ(d.x.to_vector<float>(), (std::vector<float>{1, 2, 0.5f, 0, 3, 4, 5, 6}));
  EXPECT_EQ(wide(d.split.train), (Ids{0, 3}));
  EXPECT_EQ(read_ogb_csv(root + "/", true).num_edges(), 4);
  put(root + "/raw/node-label.csv.gz", "0,1\n1,1\n0,0\n1,0\n");
  EXPECT_TRUE(read_ogb_csv(root, false).multi_label());
  put(root + "/raw/node-label.csv.gz", "0,1\n1,nan\n0,0\n1,0\n");
  EXPECT_EQ(wide(read_ogb_csv(root, false).y), (Ids{0, 1, 1, Dataset::kMissingLabel, 0, 0, 1, 0}));
  put(root + "/raw/node-label.csv.gz", "0\n1\n");
  EXPECT_ERROR(read_ogb_csv(root, false), root + "/raw/node-label.csv.gz: has 2 nodes, expected 4");
  const auto label_error = [&](const std::string& text) {
    put(root + "/raw/node-label.csv.gz", text);
    return test::error_of([&] { read_ogb_csv(root, false); })
        .substr((root + "/raw/node-label.csv.gz").size());
  };
  EXPECT_EQ(label_error("0\n1\n0\n1e10\n"), ": line 4: expected a class, got '1e10'");
  EXPECT_EQ(label_error("0\n0.5\n0\n1\n"), ": line 2: expected a class, got '0.5'");
  EXPECT_EQ(label_error("0,1\n0,2\n0,0\n1,0\n"), ": line 2: expected 0 or 1, got '2'");
  put(root + "/raw/node-label.csv.gz", "0\n1\n0\n1\n");
  put(root + "/split/time/valid.csv.gz", "3\n4\n");
  EXPECT_ERROR(read_ogb_csv(root, false),
               root + "/split/time/valid.csv.gz: line 2: node 4 is outside [0, 4)");
  // What training would refuse later.
  const auto split_error = [&](const std::string& valid) {
    put(root + "/split/time/valid.csv.gz", valid);
    return test::error_of([&] { read_ogb_csv(root, false); })
        .substr((root + "/split/time/valid.csv.gz").size());
  };
  EXPECT_EQ(split_error("1\n3\n"), ": node 3 is in train too");
  EXPECT_EQ(split_error("1\n2\n1\n"), ": names node 1 twice");
  put(root + "/raw/node-label.csv.gz", "0\nnan\n0\n1\n");
  EXPECT_EQ(split_error("1\n"), ": node 1 has no label");
  const std::string by = ": `rodeo_data import ogb:NAME --root FOLDER` reads it by the Python package ogb";
  put(root + "/raw/node-label.csv.gz", "0\n1\n70000\n1\n");
  EXPECT_ERROR(read_ogb_csv(root, false),
               root +
                   "/raw/node-label.csv.gz: the largest class is 70000, of 4 nodes: "
                   "expected classes 0, 1, 2 and so on");
  put(root + "/raw/node-label.csv.gz", "0\n1\n0\n1\n");
  put(root + "/split/time/train.pt", "");
  std::filesystem::remove(root + "/split/time/train.csv.gz");
  EXPECT_ERROR(read_ogb_csv(root, false),
               root + "/split/time/train.csv.gz: no such file, but one of links" + by);
  put(root + "/raw/num-node-list.csv.gz", "2\n2\n");
  EXPECT_ERROR(read_ogb_csv(root, false),
               root + "/raw/num-node-list.csv.gz: holds several graphs, expected one" + by);
  put(root + "/raw/num-node-list.csv.gz", "4\n");
  put(root + "/raw/edge.csv.gz", "0,1\n1,4\n");
  EXPECT_ERROR(read_ogb_csv(root, false), root + "/raw/edge.csv.gz: line 2: node 4 is outside [0, 4)");
  put(root + "/raw/data.npz", "");
  std::filesystem::remove(root + "/raw/edge.csv.gz");
  EXPECT_ERROR(read_ogb_csv(root, false),
               root + "/raw/edge.csv.gz: no such file, but one in OGB's binary form" + by);
  EXPECT_ERROR(read_ogb_csv(dir / ".", false),
               dir / ".: has no folder raw: expected an unpacked OGB dataset");
}

// ogbn-proteins has features of edges and none of nodes.
TEST(DatasetsImport, OgbFoldersWithFeaturesOfEdges) {
  const TempDir dir;
  const std::string root = dir / "proteins", features = root + "/raw/edge-feat.csv.gz";
  std::filesystem::create_directories(root + "/raw");
  put(root + "/raw/edge.csv.gz", "2,1\n0,1\n2,2\n");
  put(root + "/raw/num-node-list.csv.gz", "3\n");
  put(root + "/raw/num-edge-list.csv.gz", "3\n");
  put(features, "0.5,1\n0.25,2\n4,5\n");
  Dataset d = read_ogb_csv(root, false);
  EXPECT_FALSE(d.has_features());
  EXPECT_EQ(d.edge_attr.shape(), (Shape{3, 2}));
  EXPECT_EQ(d.edge_attr.to_vector<float>(), (std::vector<float>{0.5f, 1, 0.25f, 2, 4, 5}));
  drop_self_loops(d);
  EXPECT_EQ(d.num_edges(), 2);
  EXPECT_EQ(d.edge_attr.to_vector<float>(), (std::vector<float>{0.5f, 1, 0.25f, 2}));
  // The reverse of an edge has its features. Edges are sorted by source.
  d = read_ogb_csv(root, true);
  EXPECT_EQ(wide(d.src), (Ids{0, 1, 1, 2, 2}));
  EXPECT_EQ(wide(d.dst), (Ids{1, 0, 2, 1, 2}));
  EXPECT_EQ(d.edge_attr.to_vector<float>(), (std::vector<float>{0.25f, 2, 0.25f, 2, 0.5f, 1, 0.5f, 1, 4, 5}));
  save_dataset(d, dir / "proteins.h5");
  EXPECT_EQ(load_dataset(dir / "proteins.h5").edge_attr.to_vector<float>(), d.edge_attr.to_vector<float>());
  put(features, "0.5,1\n0.25,2\n");
  EXPECT_ERROR(read_ogb_csv(root, false), features + ": has 2 edges, expected 3");
  put(features, "0.5,1\n0.25\n4,5\n");
  EXPECT_ERROR(read_ogb_csv(root, false), features + ": line 2: expected 2 features, got 1");
}

TEST(DatasetsImport, TheTableReadsEveryFormat) {
  const TempDir dir;
  const std::string edges = put(dir / "a.txt", "0 1\n"),
                    matrix =
                        put(dir / "a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 0.5\n");
  for (const Importer& importer : kImporters) {
    if (importer.format == "edgelist") {
      EXPECT_TRUE(importer.accepts("relabel"));
      EXPECT_EQ(importer.read(edges, {.undirected = true, .nodes = 7}).num_nodes, 7);
      EXPECT_EQ(importer.read(edges, {.undirected = true}).num_edges(), 2);
    } else if (importer.format == "mtx") {
      EXPECT_FALSE(importer.accepts("relabel"));
      EXPECT_TRUE(importer.read(matrix, {}).edge_weight.defined());
      EXPECT_FALSE(importer.read(matrix, {.weights = false}).edge_weight.defined());
    } else if (importer.format == "triples") {
      EXPECT_THROW(importer.read_hetero(dir / "none", {}), Error);
    } else {
      EXPECT_THROW(importer.read(dir / "none", {}), Error) << importer.format;
    }
  }
}

TEST(DatasetsImport, PlanetoidEqualsTheReference) {
  const std::string folder = test::shared_data("raw/cora"), reference = test::shared_data("cora.h5");
  if (folder.empty() || reference.empty()) GTEST_SKIP() << "no shared data: raw/cora";
  const Dataset got = read_planetoid(folder), want = load_dataset(reference);
  EXPECT_EQ(got.name, "cora");
  EXPECT_EQ(got.num_classes, want.num_classes);
  EXPECT_TRUE(same_bits(got.src, want.src));
  EXPECT_TRUE(same_bits(got.dst, want.dst));
  EXPECT_TRUE(same_bits(got.y, want.y));
  EXPECT_TRUE(same_bits(got.split.train, want.split.train));
  EXPECT_TRUE(same_bits(got.split.val, want.split.val));
  EXPECT_TRUE(same_bits(got.split.test, want.split.test));
  EXPECT_TRUE(same_bits(dense_features(got), want.x));
}

TEST(DatasetsImport, MatrixMarketEqualsTheReference) {
  int found = 0;
  for (const char* name : {"p2p-Gnutella31", "ca-CondMat"}) {
    const std::string mtx = test::shared_data(str("mtx/", name, ".mtx"));
    const std::string reference = test::shared_data(str("topology/", name, ".h5"));
    if (mtx.empty() || reference.empty()) continue;
    ++found;
    const Dataset got = read_matrix_market_graph(mtx, true, false);
    const CooOptions no_loops{.self_loops = SelfLoops::kDrop};  // the reference has none
    const Adjacency a = to_graph(got, kCpu, no_loops).adj, b = to_graph(load_dataset(reference), kCpu).adj;
    EXPECT_TRUE(same_bits(a.csr().row_ptr, b.csr().row_ptr)) << name;
    EXPECT_TRUE(same_bits(a.csr().col, b.csr().col)) << name;
  }
  if (found == 0) GTEST_SKIP() << "no shared data: mtx";
}

TEST(DatasetsImport, MatrixMarketKeepsValuesAndDirections) {
  const TempDir dir;
  const std::string path =
      put(dir / "a.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 0.5\n3 1 -2\n");
  const Dataset d = read_matrix_market_graph(path, false, true);
  EXPECT_EQ(wide(d.src), (Ids{0, 2}));
  EXPECT_EQ(wide(d.dst), (Ids{1, 0}));
  EXPECT_EQ(d.edge_weight.to_vector<float>(), (std::vector<float>{0.5f, -2}));
  EXPECT_EQ(read_matrix_market_graph(path, true, true).edge_weight.to_vector<float>(),
            (std::vector<float>{0.5f, -2, 0.5f, -2}));
  put(path, "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 0.5\n3 1 1e300\n");
  EXPECT_ERROR(read_matrix_market_graph(path, false, true),
               path + ": entry 1 is too large for an edge weight in f32");
  put(path, "%%MatrixMarket matrix coordinate pattern general\n3 4 1\n1 2\n");
  EXPECT_ERROR(read_matrix_market_graph(path, false, true),
               path + ": a graph needs a square matrix, got 3 x 4");
}

TEST(DatasetsPickle, IntegersHaveTheirSigns) {
  const auto integer = [](const std::string& opcode) {
    return parse_pickle(opcode + ".", "p").root->integer;
  };
  using namespace std::string_literals;
  EXPECT_EQ(integer("K\xff"), 255);        // one byte, unsigned
  EXPECT_EQ(integer("M\xff\xff"), 65535);  // two bytes, unsigned
  EXPECT_EQ(integer("J\xff\xff\xff\xff"), -1);
  EXPECT_EQ(integer("J\x00\x00\x00\x80"s), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(integer("\x8a\x00"s), 0);  // as many bytes as the first says, signed
  EXPECT_EQ(integer("\x8a\x01\xff"), -1);
  EXPECT_EQ(integer("\x8a\x01\x7f"), 127);
  EXPECT_EQ(integer("\x8a\x02\x00\x80"s), -32768);
  EXPECT_EQ(integer("\x8a\x05\x00\x00\x00\x00\x01"s), std::int64_t{1} << 32);
  EXPECT_EQ(integer("\x8a\x08\xfe\xff\xff\xff\xff\xff\xff\xff"), -2);
  EXPECT_ERROR(integer("\x8a\x09" + std::string(9, '\0')), "p: byte 2: an integer of more than 64 bits");
}

TEST(DatasetsPickle, ValuesAreReadAndNothingElse) {
  // pickle.dumps({"a": [1, -2, 70000, 2.5, None, True], "b": ("x", b"yz")}, protocol=2), with other common
  // opcodes
  constexpr char kBytes[] =
      "\x80\x02}q\x00(X\x01\x00\x00\x00"
      "aq\x01]q\x02(K\x01J\xfe\xff\xff\xffJp\x11\x01\x00G@\x04\x00\x00\x00\x00\x00\x00N\x88"
      "eU\x01"
      "bh\x01U\x02yz\x86u.";
  const std::string text(kBytes, sizeof kBytes - 1);
  const PickleFile file = parse_pickle(text, "p");
  const Pickle a = file.root->find("a"), b = file.root->find("b");
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->items.size(), 6u);
  EXPECT_EQ(a->items[1]->integer, -2);
  EXPECT_EQ(a->items[2]->integer, 70000);
  EXPECT_EQ(a->items[3]->number, 2.5);
  EXPECT_EQ(b->items[1]->text, "yz");
  EXPECT_EQ(file.root->find("c"), nullptr);
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_NE(
        test::error_of([&] { parse_pickle(std::string_view(text).substr(0, size), "p"); }).find("p: byte"),
        std::string::npos);
  EXPECT_ERROR(parse_pickle("cos\nsystem\n(U\x02lst\x81P.", "p"), "p: byte 19: opcode 80 is not supported");
  EXPECT_ERROR(parse_pickle("tN.", "p"), "p: byte 1: no mark: the pickle is damaged");
  EXPECT_ERROR(parse_pickle("(N0.", "p"), "p: byte 3: opcode 48 is not supported");
  EXPECT_ERROR(parse_pickle("\x80\x05\x96.", "p"),
               "p: byte 3: has arrays of pickle protocol 5: write the file with protocol 4");
  EXPECT_ERROR(parse_pickle("T\xff\xff\xff\xffx", "p"), "p: byte 5: the pickle is truncated");
  // A list that contains itself, and a million nested lists: no recursion and no leak.
  parse_pickle("]q\001h\001a.", "p");
  parse_pickle(std::string(1000000, ']') + std::string(999999, 'a') + ".", "p");
}

}  // namespace
}  // namespace rodeo
