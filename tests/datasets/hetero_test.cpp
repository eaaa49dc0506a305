/// Files of several node types and relations, and their importers.
#include "datasets/hetero_dataset.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <optional>

#include "datasets/hdf5_check.h"
#include "datasets/import.h"
#include "datasets/synthetic_hetero.h"
#include "tests/datasets/folder.h"
#include "tests/datasets/parts.h"
#include "tests/datasets/raw_hdf5.h"
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
using Names = std::vector<std::string>;

/// The error of loading a file; empty where it loads.
std::string load_error(const std::string& path, const LoadOptions& options = {}) {
  try {
    load_hetero_dataset(path, options);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

/// Four authors, of whom three have labels, three papers with features, and two venues without anything.
HeteroDataset small_hetero() {
  HeteroDataset d;
  d.name = "small";
  d.types.resize(3);
  d.types[0].name = "author", d.types[0].num_nodes = 4;
  d.types[0].y = ids({0, 1, 1, -1}), d.types[0].num_classes = 2, d.types[0].class_names = {"db", "ml"};
  d.types[0].split = {ids({0}), ids({1}), ids({2})};
  d.types[0].node_names = {"ann", "bob", "eve", "joe"};
  d.types[1].name = "paper", d.types[1].num_nodes = 3;
  d.types[1].x = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {3, 2}), d.types[1].num_features = 2;
  d.types[1].node_id = ids({7, 5, 6});
  d.types[2].name = "venue", d.types[2].num_nodes = 2;
  d.relations = {{"writes", 0, 1, ids({0, 1, 3}), ids({0, 0, 2})},
                 {"in", 1, 2, ids({0, 2}), ids({1, 1})},
                 {"cites", 1, 1, Tensor::zeros({0}, DType::kI64), Tensor::zeros({0}, DType::kI64)}};
  d.target = 0;
  return d;
}

TEST(DatasetsHetero, ComesBackAsItWas) {
  const TempDir dir;
  const HeteroDataset a = small_hetero();
  save_hetero_dataset(a, dir / "a.h5");
  check_hdf5_file(dir / "a.h5");
  EXPECT_EQ(validate_hetero_dataset(dir / "a.h5"), Names{});
  EXPECT_TRUE(is_hetero_file(dir / "a.h5"));
  const HeteroDataset b = load_hetero_dataset(dir / "a.h5", {.need = Need::kTraining});
  EXPECT_EQ(b.name, "small");
  EXPECT_EQ(b.target, 0);
  EXPECT_EQ(b.num_nodes(), 9);
  EXPECT_EQ(b.num_edges(), 5);
  EXPECT_EQ(b.type_index("venue"), 2);
  EXPECT_EQ(b.type_index("term"), -1);
  ASSERT_EQ(b.types.size(), 3u);
  EXPECT_TRUE(same_bits(b.types[0].y, a.types[0].y));
  EXPECT_EQ(b.types[0].class_names, a.types[0].class_names);
  EXPECT_EQ(b.types[0].node_names, a.types[0].node_names);
  EXPECT_EQ(wide(b.types[0].split.test), (Ids{2}));
  EXPECT_TRUE(same_bits(b.types[1].x, a.types[1].x));
  EXPECT_EQ(wide(b.types[1].node_id), (Ids{7, 5, 6}));
  EXPECT_FALSE(b.types[2].has_features());
  ASSERT_EQ(b.relations.size(), 3u);
  EXPECT_EQ(b.relation_name(b.relations[0]), "author:writes:paper");
  EXPECT_EQ(wide(b.relations[0].src), (Ids{0, 1, 3}));
  EXPECT_EQ(wide(b.relations[0].dst), (Ids{0, 0, 2}));
  EXPECT_EQ(b.relations[2].num_edges(), 0);
  save_hetero_dataset(b, dir / "b.h5");
  save_hetero_dataset(load_hetero_dataset(dir / "b.h5"), dir / "c.h5");
  EXPECT_TRUE(test::bytes_of(dir / "b.h5") == test::bytes_of(dir / "c.h5"));  // equal data, equal file
}

TEST(DatasetsHetero, ReadersOfOneNodeTypeSayWhatItIs) {
  const TempDir dir;
  save_hetero_dataset(small_hetero(), dir / "a.h5");
  EXPECT_ERROR(load_dataset(dir / "a.h5"),
               dir /
                   "a.h5: holds node types and relations, and one type of nodes was expected: train on it "
                   "with rodeo_train --model rgcn, rgat, hgt or hetero-sage");
  test::Parts().write(dir / "one.h5");
  EXPECT_FALSE(is_hetero_file(dir / "one.h5"));
  EXPECT_ERROR(load_hetero_dataset(dir / "one.h5"),
               dir / "one.h5: attribute rodeo_schema must be 2 for node types and relations, got 1");
}

TEST(DatasetsHetero, NamesThatFilesCannotHaveAreNotWritten) {
  const TempDir dir;
  const auto error = [&](const std::function<void(HeteroDataset&)>& change) {
    HeteroDataset d = small_hetero();
    change(d);
    const std::string text = test::error_of([&] { save_hetero_dataset(d, dir / "a.h5"); });
    return text.substr(std::min((dir / "a.h5: ").size(), text.size()));
  };
  const std::string name_rule =
      " must have 1 to 200 characters, without blanks, dots, colons, slashes and quotes, got ";
  EXPECT_EQ(error([](auto& d) { d.types[1].name = "author"; }), "names the node type 'author' twice");
  EXPECT_EQ(error([](auto& d) { d.types[1].name = "a/b"; }), "the name of a node type" + name_rule + "'a/b'");
  EXPECT_EQ(error([](auto& d) { d.relations[0].name = ""; }), "the name of a relation" + name_rule + "''");
  EXPECT_EQ(error([](auto& d) { d.relations[2] = d.relations[0]; }),
            "names the relation 'author:writes:paper' twice");
  EXPECT_EQ(error([](auto& d) { d.relations[0].source = 3; }),
            "the relation 'writes' is of a type that is not there");
  EXPECT_EQ(error([](auto& d) { d.relations[0].src = {}; }),
            "the relation author:writes:paper has no edges: make them tensors of no elements");
}

/// A file of authors and papers, changed by the tests.
struct Hostile {
  std::int64_t schema = 2, authors = 3;
  std::string types = "author\npaper", target = "author";
  std::optional<std::string> relations = "author:writes:paper";
  Tensor edges = ids({0, 2, 1, 0}).reshape({2, 2});
  Tensor y = ids({0, 1, -1});
  bool paper_group = true;

  void write(const std::string& path) const {
    Hdf5Writer file(path);
    file.attribute("rodeo_schema", schema);
    if (!types.empty()) file.attribute("node_types", types);
    if (relations) file.attribute("relations", *relations);
    file.attribute("target_type", target);
    file.enter("nodes/author");
    if (authors >= 0) file.attribute("num_nodes", authors);
    if (y.defined()) file.write("y", y);
    if (paper_group) {
      file.enter("nodes/paper");
      file.attribute("num_nodes", std::int64_t{2});
    }
    file.enter("edges/author:writes:paper");
    if (edges.defined()) file.write("edge_index", edges);
    file.commit();
  }
};

TEST(DatasetsHetero, HostileFilesAreRefused) {
  struct Case {
    const char* error;  // after the path and ": "
    std::function<void(Hostile&)> change;
  };
  const Case cases[] = {
      {"", [](Hostile&) {}},
      {"", [](Hostile& f) { f.types += "\n", *f.relations += "\n"; }},
      {"", [](Hostile& f) { f.relations = ""; }},
      {"attribute rodeo_schema must be 2 for node types and relations, got 3",
       [](Hostile& f) { f.schema = 3; }},
      {"attribute node_types is missing: write one text with a line for each node type",
       [](Hostile& f) { f.types = ""; }},
      {"attribute relations is missing: write one text with a line for each relation",
       [](Hostile& f) { f.relations = {}; }},
      {"names the node type 'author' twice", [](Hostile& f) { f.types += "\nauthor"; }},
      {"names the relation 'author:writes:paper' twice",
       [](Hostile& f) { *f.relations += "\nauthor:writes:paper"; }},
      {"attribute relations: 'author:writes:term' names a type that attribute node_types has not",
       [](Hostile& f) { f.relations = "author:writes:term"; }},
      {"attribute relations must have lines such as author:writes:paper, got 'writes'",
       [](Hostile& f) { f.relations = "writes"; }},
      {"attribute target_type is 'term', which attribute node_types has not",
       [](Hostile& f) { f.target = "term"; }},
      {"the name of a node type must have 1 to 200 characters, without blanks, dots, colons, slashes and "
       "quotes, got '..'",
       [](Hostile& f) { f.types += "\n.."; }},
      {"/nodes/paper is missing", [](Hostile& f) { f.paper_group = false; }},
      {"/nodes/author: attribute num_nodes is missing: every node type needs it",
       [](Hostile& f) { f.authors = -1; }},
      {"/nodes/author/y implies 3 nodes, attribute num_nodes implies 4", [](Hostile& f) { f.authors = 4; }},
      {"/edges/author:writes:paper/edge_index is missing", [](Hostile& f) { f.edges = {}; }},
      {"/edges/author:writes:paper/edge_index must be integer [2, edges], got i64 [4]",
       [](Hostile& f) { f.edges = f.edges.reshape({4}); }},
      {"/edges/author:writes:paper/edge_index[0, 1] is 3, outside [0, 3)",
       [](Hostile& f) {
         f.edges = ids({0, 3, 1, 0}).reshape({2, 2});
       }},
      {"/edges/author:writes:paper/edge_index[1, 0] is 2, outside [0, 2)",
       [](Hostile& f) {
         f.edges = ids({0, 2, 2, 0}).reshape({2, 2});
       }},
      {"/edges/author:writes:paper/edge_index[1, 1] is -1, outside [0, 2)",
       [](Hostile& f) {
         f.edges = ids({0, 2, 1, -1}).reshape({2, 2});
       }},
      {"has 2147483649 nodes of all types, more than 2^31 - 1",
       [](Hostile& f) { f.authors = 2147483647, f.y = {}; }},
  };
  const TempDir dir;
  for (const Case& c : cases) {
    Hostile file;
    c.change(file);
    file.write(dir / "a.h5");
    EXPECT_NO_THROW(check_hdf5_file(dir / "a.h5"));
    const std::string want = *c.error ? str(dir / "a.h5: ", c.error) : "";
    EXPECT_EQ(load_error(dir / "a.h5"), want);
    EXPECT_EQ(validate_hetero_dataset(dir / "a.h5"), want.empty() ? Names{} : Names{want});
  }
}

TEST(DatasetsHetero, LinksToOtherFilesAreRefused) {
  const TempDir dir;
  Hostile().write(dir / "a.h5");
  test::make_raw(dir / "b.h5", [&](hid_t file) {
    H5Lcreate_external((dir / "a.h5").c_str(), "/nodes", file, "nodes", H5P_DEFAULT, H5P_DEFAULT);
  });
  const Hdf5File file(dir / "b.h5");
  EXPECT_FALSE(file.has("nodes/author/y"));
  EXPECT_ERROR(file.group("nodes/author"), dir / "b.h5: /nodes/author is missing");
  EXPECT_ERROR(file.group("nodes"), dir / "b.h5: /nodes must be a group of this file");
}

TEST(DatasetsHetero, TrainingNeedsLabelsAndASplit) {
  const TempDir dir;
  const auto error = [&](const std::function<void(HeteroDataset&)>& change, const std::string& split = "") {
    HeteroDataset d = small_hetero();
    change(d);
    save_hetero_dataset(d, dir / "a.h5");
    const std::string text = load_error(dir / "a.h5", {.need = Need::kTraining, .split = split});
    return text.substr(std::min((dir / "a.h5: ").size(), text.size()));
  };
  EXPECT_EQ(error([](auto&) {}), "");
  EXPECT_EQ(error([](auto& d) { d.target = -1; }), "");  // the only type with labels
  EXPECT_EQ(error([](auto& d) {
              d.target = -1, d.types[2].y = ids({0, 0}), d.types[2].num_classes = 1;
            }),
            "attribute target_type is missing: it must name the node type whose labels are learned");
  EXPECT_EQ(error([](auto& d) { d.types[0].y = {}, d.types[0].class_names = {}; }),
            "/nodes/author/y is missing: training needs labels [nodes]");
  EXPECT_EQ(error([](auto& d) { d.target = -1, d.types[0].y = {}, d.types[0].class_names = {}; }),
            "no node type has labels, /nodes/TYPE/y, to learn");
  EXPECT_EQ(error([](auto& d) { d.types[0].split = {}; }),
            "/nodes/author/train_mask is missing: training needs masks, or a split such as 60/20/20");
  EXPECT_EQ(error([](auto& d) { d.types[0].split = {}; }, "34/33/33"), "");
  EXPECT_EQ(error([](auto& d) { d.types[0].split.val = ids({}); }),
            "/nodes/author: the split leaves no node for val");
}

struct Folder : test::Folder {
  void check_saved(const HeteroDataset& dataset) const {
    save_hetero_dataset(dataset, dir / "out.h5");
    EXPECT_EQ(validate_hetero_dataset(dir / "out.h5"), Names{});
  }
};

TEST(DatasetsHetero, CsvTablesOfSeveralTypes) {
  Folder f;
  f.put("authors.csv", "id,label,split,age\nann,ml,train,30\nbob,db,val,40\neve,ml,test,50\n");
  f.put("papers.csv", "id,words\n17,3\n4,5\n");
  f.put("writes.csv", "author,paper\nann,17\nbob,4\neve,4\n");
  f.put("venues.csv", "paper,venue,weight\n17,icml,1\n4,vldb,1\n");
  f.put("in.csv", "source,target\n17,9\n4,7\n17,7\n");
  Names notes;
  const auto options = [&](Names nodes, Names edges) {
    for (Names* files : {&nodes, &edges})
      for (std::string& file : *files) file.insert(file.find('=') + 1, f.dir / "");
    return HeteroCsvOptions{.nodes = std::move(nodes), .edges = std::move(edges), .notes = &notes};
  };
  const HeteroDataset d =
      read_hetero_csv(options({"author=authors.csv", "paper=papers.csv"},
                              {"author:writes:paper=writes.csv", "paper:in:venue=in.csv"}));
  f.check_saved(d);
  ASSERT_EQ(d.types.size(), 3u);
  EXPECT_EQ(d.target, 0);
  EXPECT_EQ(wide(d.types[0].y), (Ids{1, 0, 1}));
  EXPECT_EQ(d.types[0].node_names, (Names{"ann", "bob", "eve"}));
  EXPECT_EQ(d.types[0].x.to_vector<float>(), (std::vector<float>{30, 40, 50}));
  EXPECT_EQ(wide(d.types[1].node_id), (Ids{17, 4}));
  EXPECT_EQ(d.types[2].num_nodes, 2);  // of the edges, in ascending order
  EXPECT_EQ(wide(d.types[2].node_id), (Ids{7, 9}));
  EXPECT_EQ(wide(d.relations[0].src), (Ids{0, 1, 2}));
  EXPECT_EQ(wide(d.relations[0].dst), (Ids{0, 1, 1}));
  EXPECT_EQ(wide(d.relations[1].src), (Ids{0, 1, 0}));
  EXPECT_EQ(wide(d.relations[1].dst), (Ids{1, 0, 0}));
  EXPECT_EQ(notes.front(), "author: labels: 'label', 2 classes of texts");

  const auto error = [&](const Names& nodes, const Names& edges) {
    return f.error([&] { read_hetero_csv(options(nodes, edges)); });
  };
  EXPECT_EQ(error({"paper=papers.csv"}, {"paper:in:venue=venues.csv"}),
            "venues.csv: has no column 'source'; its columns are 'paper', 'venue', 'weight': rename one, or "
            "leave two columns, source and target");
  EXPECT_EQ(error({"author=authors.csv", "author=papers.csv"}, {}), "--nodes names the type 'author' twice");
  EXPECT_EQ(error({"paper=papers.csv"}, {"author:writes:paper=in.csv"}),
            "in.csv: line 2: column 'target': papers.csv has no id '9': add the node there, leave the edge "
            "out, or name another column of ids by --columns id=NAME");
  EXPECT_TRUE(error({}, {"writes=in.csv"})
                  .starts_with("--edges must be author:writes:paper=writes.csv for a graph of several node "
                               "types, got 'writes="));  // the rest of a long path is left out
  // Two types have labels: none is the target, unless named, and --regression is for that one.
  f.put("papers.csv", "id,label\n17,3\n4,5\n");
  HeteroCsvOptions two =
      options({"author=authors.csv", "paper=papers.csv"}, {"author:writes:paper=writes.csv"});
  EXPECT_EQ(read_hetero_csv(two).target, -1);
  two.target = "paper", two.regression = true;
  const HeteroDataset numbers = read_hetero_csv(two);
  EXPECT_EQ(numbers.target, 1);
  EXPECT_EQ(numbers.types[1].y.to_vector<float>(), (std::vector<float>{3, 5}));
  EXPECT_EQ(wide(numbers.types[0].y), (Ids{1, 0, 1}));
  EXPECT_TRUE(names_relations({"a:b:c=d.csv"}));
  EXPECT_FALSE(names_relations({"a=b.csv", "b:c.csv"}));
}

TEST(DatasetsHetero, Triples) {
  Folder f;
  f.put("kg.tsv", "ann\tlikes a/b\tbob\r\n# comment\nbob\tlikes a/b\teve\neve\tis.a\tann\n");
  const HeteroDataset d = read_triples(f.dir / "kg.tsv");
  f.check_saved(d);
  EXPECT_EQ(d.types.at(0).node_names, (Names{"ann", "bob", "eve"}));
  EXPECT_EQ(d.relation_name(d.relations.at(0)), "entity:likes_a_b:entity");
  EXPECT_EQ(d.relation_name(d.relations.at(1)), "entity:is_a:entity");
  EXPECT_EQ(wide(d.relations[0].src), (Ids{0, 1}));
  EXPECT_EQ(wide(d.relations[0].dst), (Ids{1, 2}));
  f.put("kg.nt", "<x:a> <x:knows> <x:b> .\n<x:a> <x:name> \"Ann Ax\" .\n<x:b> <x:knows> <x:a> .\n");
  const HeteroDataset nt = read_triples(f.dir / "kg.nt");
  EXPECT_EQ(nt.num_edges(), 2);
  EXPECT_EQ(nt.types[0].node_names, (Names{"<x:a>", "<x:b>"}));
  EXPECT_EQ(nt.relations.at(0).name, "x_knows");
  f.put("dots.tsv", "a\tb\tMr .\n");  // only N-Triples end with a dot
  EXPECT_EQ(read_triples(f.dir / "dots.tsv").types[0].node_names, (Names{"a", "Mr ."}));
  f.put("bad.tsv", "a\tb\tc\na\tb\n");
  EXPECT_EQ(f.error([&] { read_triples(f.dir / "bad.tsv"); }),
            "bad.tsv: line 2: expected head, relation and tail, separated by tabs");
}

TEST(DatasetsHetero, OgbFolderOfSeveralTypes) {
  Folder f;
  f.put("mag/raw/num-node-dict.csv", "author,paper\n2,3\n");
  f.put("mag/raw/triplet-type-list.csv", "author,writes,paper\npaper,cites,paper\n");
  f.put("mag/raw/relations/author___writes___paper/edge.csv", "0,2\n1,0\n");
  f.put("mag/raw/relations/paper___cites___paper/edge.csv", "2,1\n");
  f.put("mag/raw/node-feat/paper/node-feat.csv", "1,2\n3,4\n5,6\n");
  f.put("mag/raw/node-label/paper/node-label.csv", "0\n1\n1\n");
  for (const char* part : {"train", "valid", "test"})
    f.put(str("mag/split/time/paper/", part, ".csv"),
          str(part[0] == 't' ? (part[1] == 'r' ? 0 : 2) : 1, "\n"));
  ASSERT_TRUE(is_ogb_hetero(f.dir / "mag"));
  const HeteroDataset d = read_ogb_hetero(f.dir / "mag");
  f.check_saved(d);
  EXPECT_EQ(d.name, "mag");
  EXPECT_EQ(d.target, 1);
  EXPECT_EQ(d.types[1].num_features, 2);
  EXPECT_EQ(wide(d.types[1].split.val), (Ids{1}));
  EXPECT_EQ(wide(d.relations.at(0).dst), (Ids{2, 0}));
  EXPECT_EQ(d.relation_name(d.relations.at(1)), "paper:cites:paper");
  f.put("mag/raw/relations/paper___cites___paper/edge.csv", "2,3\n");
  EXPECT_EQ(f.error([&] { read_ogb_hetero(f.dir / "mag"); }),
            "mag/raw/relations/paper___cites___paper/edge.csv: line 1: node 3 is outside [0, 3)");
}

TEST(DatasetsHetero, SyntheticGraphsHaveTheirShape) {
  const HeteroDataset d = synthesize_hetero({.preset = "mag", .nodes = 2000, .classes = 5});
  ASSERT_EQ(d.types.size(), 4u);
  EXPECT_EQ(d.types[0].num_nodes, 759);
  EXPECT_EQ(d.types[1].num_nodes, 1170);
  EXPECT_EQ(d.types[0].x.shape(), (Shape{759, 128}));
  EXPECT_FALSE(d.types[1].has_features());
  EXPECT_NEAR(static_cast<double>(d.num_edges()), 21111007 * 2000.0 / 1939743, 4);
  const TempDir dir;
  save_hetero_dataset(d, dir / "a.h5");
  EXPECT_EQ(validate_hetero_dataset(dir / "a.h5"), Names{});
  EXPECT_EQ(synthesize_hetero({.preset = "igbh-tiny", .nodes = 500, .features = 8}).types[3].x.dim(1), 8);
  EXPECT_EQ(hetero_preset_nodes("igbh-small"), 3131266);
  EXPECT_EQ(
      synthesize_hetero({.preset = "igbh-small", .nodes = 1000, .features = 4}).relations[0].num_edges(),
      std::llround(12070502 * 1000.0 / 3131266));
  EXPECT_ERROR(synthesize_hetero({.nodes = 5}), "--nodes must be in [100, 193974300], got 5");
}

}  // namespace
}  // namespace rodeo
