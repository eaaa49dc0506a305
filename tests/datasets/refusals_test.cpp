// What readers, importers and samplers refuse: each rule beside the nearest input that it accepts.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "datasets/feature_file.h"
#include "datasets/feature_rows.h"
#include "datasets/import.h"
#include "datasets/import/pickle.h"
#include "datasets/neighbor_sampler.h"
#include "datasets/node_parts.h"
#include "datasets/reorder.h"
#include "datasets/split.h"
#include "datasets/subset.h"
#include "datasets/synthetic_graphs.h"
#include "ops/hetero_graph.h"
#include "tests/datasets/folder.h"
#include "tests/datasets/parts.h"
#include "tests/datasets/pickles.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "train/io/atomic_file.h"

namespace rodeo::test {
namespace {

struct DatasetsRefusals : testing::Test, Folder {
  /// The error of a file of Parts with more in it.
  std::string error_with(const std::function<void(Hdf5Writer&)>& add, const Parts& parts = Parts()) const {
    Hdf5Writer file(dir / "a.h5");
    parts.write(file);
    add(file);
    file.commit();
    return error([&] { load_dataset(dir / "a.h5"); });
  }
};

TEST_F(DatasetsRefusals, CountsThatContradict) {
  Parts parts;
  parts.num_nodes = 0;
  const auto nothing = [](Hdf5Writer&) {};
  EXPECT_EQ(error_with(nothing, parts), "a.h5: /x implies 6 nodes, attribute num_nodes implies 0");
  const auto features = [](Hdf5Writer& file) { file.attribute("num_features", std::int64_t{3}); };
  EXPECT_EQ(error_with(features), "a.h5: /x has 2 features, attribute num_features is 3");
  parts = Parts();
  parts.num_classes = {};
  parts.y = Tensor::zeros({6, 0}, DType::kI64);
  EXPECT_EQ(error_with(nothing, parts), "a.h5: /y must have at least one class");
  parts.y = Tensor::zeros({6, 0});
  EXPECT_EQ(error_with(nothing, parts), "a.h5: /y must have at least one target");
}

TEST_F(DatasetsRefusals, SetsOfGraphsThatAreNotWhole) {
  Parts parts;
  parts.use_edges_only();
  parts.num_classes = {};
  const auto with = [&](const Tensor& ptr) {
    return error_with(
        [&](Hdf5Writer& file) {
          if (ptr.defined()) file.write("graph_ptr", ptr);
          file.write("graph_y", ids({0}));
        },
        parts);
  };
  EXPECT_EQ(with({}), "a.h5: has /graph_y without /graph_ptr, the nodes of each graph");
  EXPECT_EQ(with(ids({})), "a.h5: /graph_ptr must be integer [graphs + 1], got [0]");
  EXPECT_EQ(with(ids({1, 6})), "a.h5: /graph_ptr must start at 0, got 1");
}

TEST_F(DatasetsRefusals, RowsThatAreNotThere) {
  Parts parts;
  parts.write(dir / "a.h5");
  const auto rows = [&](std::int64_t begin, std::int64_t count) {
    return error([&] { load_feature_rows(dir / "a.h5", begin, count); });
  };
  EXPECT_EQ(load_feature_rows(dir / "a.h5", 4, 2).to_vector<float>(), (std::vector<float>{9, 10, 11, 12}));
  EXPECT_EQ(load_feature_rows(dir / "a.h5", 6, 0).shape(), (Shape{0, 2}));
  EXPECT_EQ(rows(5, 2), "a.h5: /x has 6 rows: rows 5 to 7 are not all there");
  EXPECT_EQ(rows(-1, 2), "a.h5: /x has 6 rows: rows -1 to 1 are not all there");
  EXPECT_EQ(rows(2, -1), "a.h5: /x has 6 rows: rows 2 to 1 are not all there");
  parts.x = {};
  Hdf5Writer file(dir / "sparse.h5");
  parts.write(file);
  file.write("x_indptr", ids({0, 0, 0, 0, 0, 0, 0}));
  file.commit();
  EXPECT_EQ(error([&] { FeatureFile(dir / "sparse.h5"); }),
            "sparse.h5: rows are read from dense features, /x, and those of the file are sparse, /x_indptr");
}

TEST_F(DatasetsRefusals, TablesAndTheirOptions) {
  const std::string edges = put("e.csv", "source,target\na,b\n");
  const auto csv = [&](const std::function<void(CsvOptions&)>& change) {
    CsvOptions options{.nodes = {}, .edges = edges};
    change(options);
    return error([&] { read_csv(options); });
  };
  const std::string belong = "--regression, --multi-label and --missing belong to --nodes FILE";
  EXPECT_EQ(csv([](CsvOptions& o) { o.regression = true; }), belong);
  EXPECT_EQ(csv([](CsvOptions& o) { o.multi_label = true; }), belong);
  EXPECT_EQ(csv([](CsvOptions& o) { o.missing = "mean"; }), belong);
  EXPECT_EQ(csv([](CsvOptions& o) { o.features = "x*"; }), "--feature-columns belongs to --nodes FILE");
  put("n.csv", "id,split,train,val,test\na,train,1,0,0\nb,val,0,1,0\n");
  EXPECT_EQ(csv([&](CsvOptions& o) { o.nodes = dir / "n.csv"; }),
            "n.csv: has a split twice, a column of words and columns of train, val and test");
  put("n.csv", "id,train,val\na,1,0\nb,0,1\n");
  EXPECT_EQ(csv([&](CsvOptions& o) { o.nodes = dir / "n.csv"; }),
            "n.csv: a split needs three columns of 0 and 1, train, val and test, got 2");

  put("p.csv", "id,label\na,0\nb,1\n");
  const auto hetero = [&](const std::function<void(HeteroCsvOptions&)>& change) {
    HeteroCsvOptions options{.nodes = {"p=" + (dir / "p.csv")}, .edges = {"p:to:p=" + edges}};
    change(options);
    return error([&] { read_hetero_csv(options); });
  };
  const std::string target =
      "--regression and --multi-label need --target TYPE in a graph of several node types";
  EXPECT_EQ(hetero([](HeteroCsvOptions& o) { o.regression = true; }), target);
  EXPECT_EQ(hetero([](HeteroCsvOptions& o) { o.multi_label = true; }), target);
  EXPECT_EQ(hetero([](HeteroCsvOptions& o) { o.target = "q"; }), "--target: there is no node type 'q'");
  put("p.csv", "id\na\nb\n");
  EXPECT_EQ(hetero([](HeteroCsvOptions& o) { o.target = "p"; }), "--target: the node type p has no labels");
}

TEST_F(DatasetsRefusals, EdgeListsAndMatrices) {
  const std::string list = put("e.txt", "0 1\n");
  EXPECT_EQ(error([&] { read_edge_list(list, {.relabel = true, .nodes = 2}); }),
            "the number of nodes and relabel exclude each other");
  const std::string header = "%%MatrixMarket matrix coordinate pattern general\n";
  EXPECT_EQ(read_matrix_market_graph(put("one.mtx", header + "1 1 0\n"), false, false).num_nodes, 1);
  EXPECT_EQ(error([&] { read_matrix_market_graph(put("none.mtx", header + "0 0 0\n"), false, false); }),
            "none.mtx: has 0 rows: expected one for each node");
  EXPECT_EQ(error([&] { read_matrix_market_graph(put("wide.mtx", header + "1 2 0\n"), false, false); }),
            "wide.mtx: a graph needs a square matrix, got 1 x 2");
}

TEST_F(DatasetsRefusals, FoldersOfOgb) {
  put("o/raw/edge.csv", "0,1\n");
  const auto read = [&] { return error([&] { read_ogb_csv(dir / "o", false); }); };
  put("o/raw/num-node-list.csv", "");
  EXPECT_EQ(read(), "o/raw/num-node-list.csv: must hold one number, the number of nodes");
  put("o/raw/num-node-list.csv", "2,3\n");
  EXPECT_EQ(read(), "o/raw/num-node-list.csv: must hold one number, the number of nodes");
  put("o/raw/num-node-list.csv", "2\n");
  EXPECT_EQ(read_ogb_csv(dir / "o", false).num_nodes, 2);
  put("o/raw/edge.csv", "");
  EXPECT_EQ(read(), "o/raw/edge.csv: is empty: expected a line for each edge");
  put("o/raw/edge.csv", "0,1\n");
  put("o/raw/node-label.csv", "0\n1\n");
  for (const char* scheme : {"a", "b"})
    for (const char* part : {"train", "valid", "test"})
      put(str("o/split/", scheme, "/", part, ".csv"), "0\n");
  EXPECT_EQ(read(), "o/split: must have exactly one folder with a split, got 2");

  const auto hetero = [&](const std::string& counts) {
    put("m/raw/num-node-dict.csv", counts);
    put("m/raw/triplet-type-list.csv", "");
    return error([&] { read_ogb_hetero(dir / "m"); });
  };
  EXPECT_EQ(hetero(""),
            "m/raw/num-node-dict.csv: is empty: expected a line with the names of the node types");
  EXPECT_EQ(hetero("a,b\n"), "m/raw/num-node-dict.csv: must hold 2 numbers of nodes");
  EXPECT_EQ(hetero("a,b\n1\n"), "m/raw/num-node-dict.csv: must hold 2 numbers of nodes");
}

TEST_F(DatasetsRefusals, FoldersOfTuGraphs) {
  const auto read = [&] { return error([&] { read_tudataset(dir / "t"); }); };
  EXPECT_EQ(read(), "t: no such folder or file");
  put("t/readme", "");
  EXPECT_EQ(read(), "t: has no file NAME_A.txt");
  put("t/T_A.txt", "1, 2\n");
  put("t/T_graph_indicator.txt", "1\n1\n2\n");
  EXPECT_EQ(read(),
            "t/T_graph_labels.txt: no such file, and no t/T_graph_attributes.txt: expected the labels of "
            "the graphs");
  put("t/T_graph_labels.txt", "1\n2\n");
  EXPECT_EQ(read_tudataset(dir / "t").num_graphs(), 2);
  put("t/T_node_attributes.txt", "1\n2\n");
  EXPECT_EQ(read(), "t/T_node_attributes.txt: has 2 lines, expected one for each of 3 nodes");
  std::filesystem::remove(dir / "t/T_node_attributes.txt");
  put("t/T_node_labels.txt", "1\n2\n");
  EXPECT_EQ(read(), "t/T_node_labels.txt: has 2 lines, expected one for each of 3 nodes");
  for (const int columns : {4096, 4097}) {  // 2 graphs of so many nodes with labels of their own
    std::string graph, label;
    for (int i = 0; i < columns; ++i) graph += i == 0 ? "1\n" : "2\n", label += str(i, "\n");
    put("t/T_graph_indicator.txt", graph);
    put("t/T_A.txt", "2, 3\n");
    put("t/T_node_labels.txt", label);
    if (columns == 4096)
      EXPECT_EQ(read_tudataset(dir / "t").num_features, 4096);
    else
      EXPECT_EQ(read(), "t/T_node_labels.txt: has 4097 labels, at most 4096 become columns");
  }
}

TEST_F(DatasetsRefusals, FilesOfPlanetoid) {
  const auto read = [&] { return error([&] { read_planetoid(dir / "p"); }); };
  EXPECT_EQ(read(), "p: is not a folder of Planetoid files");
  put("p/ind.a.x", "");
  EXPECT_EQ(read(), "p: has no file ind.NAME.graph");
  put("p/ind.a.graph", "}.");
  put("p/ind.b.graph", "}.");
  EXPECT_TRUE(read().starts_with("p: has Planetoid files of several datasets, ")) << read();
  std::filesystem::remove(dir / "p/ind.b.graph");
  for (const char* part : {"x", "tx", "allx"}) put(str("p/ind.a.", part), "}.");
  EXPECT_TRUE(read().ends_with(": must hold a SciPy csr_matrix")) << read();
  const std::string whole = matrix({0, 1}, 3);
  std::string other = whole;
  other.replace(other.find("_shape"), 6, "_shapf");
  for (const char* part : {"x", "tx", "allx"}) put(str("p/ind.a.", part), other);
  EXPECT_TRUE(read().ends_with(": the matrix has no shape")) << read();
  other = whole;
  other.replace(other.find(integer(2) + integer(3)), 5, integer(3));  // rows that indptr has not
  for (const char* part : {"x", "tx", "allx"}) put(str("p/ind.a.", part), other);
  EXPECT_TRUE(read().ends_with(": the parts of the matrix are inconsistent")) << read();
}

TEST_F(DatasetsRefusals, ArraysOfPickles) {
  const auto read = [&](const std::string& pickle) {
    return error([&] {
      const PickleFile file = parse_pickle(pickle + ".", "p");
      pickled_array(file.root, "p");
    });
  };
  const std::string rule = "p must be a NumPy array of numbers, in C order";
  EXPECT_EQ(read(array<float>({1, 2}, {2}, "c8")), "p has NumPy type 'c8', expected i4, i8, u1, f4 or f8");
  EXPECT_EQ(read(array<float>({1, 2}, {3}, "f4")), rule) << "fewer bytes than numbers";
  EXPECT_EQ(read(array<float>({1, 2}, {1}, "f4")), rule) << "more";
  EXPECT_EQ(read(array<float>({1, 2}, {1, 2, 1}, "f4")), rule);
  EXPECT_EQ(read("}"), rule);
  EXPECT_EQ(error([&] { read_pickle(dir / "none"); }), "none: no such file");
  EXPECT_EQ(error([&] { read_pickle(dir / "."); }), ".: cannot be opened for reading");
}

TEST_F(DatasetsRefusals, SamplersAndBatches) {
  const Adjacency graph = graph_with_lengths({1, 2, 0, 1}, 4);
  const Tensor two = ids({0, 1});
  const NeighborSampler sampler(graph, {{2}});
  const std::string negative = "[neighbor_sampler] epoch and batch must not be negative";
  EXPECT_NO_THROW(sampler.sample_checked(two, 0, 0));
  EXPECT_ERROR(sampler.sample_checked(two, -1, 0), negative);
  EXPECT_ERROR(sampler.sample_checked(two, 0, -1), negative);
  EXPECT_ERROR(MiniBatches(two, 4, 0, 0), "[mini_batches] the batch size must be at least 1, got 0");
  EXPECT_ERROR(MiniBatches(two, 4, 3, 0, kCpu, 0),
               "[mini_batches] the least nodes of a batch must be in [1, 3], got 0");
  EXPECT_NO_THROW(MiniBatches(two, 4, 3, 0, kCpu, 3));
  EXPECT_ERROR(MiniBatches(two, 4, 1, 0).epoch(-1), "[mini_batches] epoch must not be negative, got -1");
  EXPECT_EQ(MiniBatches(two, 4, 1, 0).epoch(0).size(), 2u);
  EXPECT_ERROR(NodeParts(graph, two.to(DType::kI32), 2, 1, 0), "[node_parts] targets must be i64 [t]");
  EXPECT_ERROR(NodeParts(graph, two, 0, 1, 0),
               "[node_parts] part_size and layers must be at least 1, got 0 and 1");
  EXPECT_ERROR(NodeParts(graph, two, 1, 0, 0),
               "[node_parts] part_size and layers must be at least 1, got 1 and 0");
  EXPECT_ERROR(NodeParts(graph, two, 1, 1, 0).epoch(-1), "[node_parts] epoch must not be negative, got -1");
  EXPECT_EQ(NodeParts(graph, two, 1, 1, 0).epoch(0).size(), 2u) << "parts without targets are left out";
  const std::string order = "[inverse_order] order must be i64 [nodes] on the host";
  EXPECT_ERROR(inverse_order({}), order);
  EXPECT_ERROR(inverse_order(two.to(DType::kI32)), order);
  EXPECT_ERROR(inverse_order(two.reshape({2, 1})), order);
  EXPECT_ERROR(random_split(Tensor::zeros({4, 2}, DType::kU8), "class:1/1/1", 0),
               "split class:1/1/1 is for one label per node, and y is [4, 2]");
}

TEST_F(DatasetsRefusals, TypesThatNobodyLearns) {
  HeteroDataset d;
  d.name = "web";
  d.types.resize(2);
  d.types[0].name = "user", d.types[0].num_nodes = 2;
  d.types[1].name = "item", d.types[1].num_nodes = 1;
  d.relations = {{.name = "buys", .source = 0, .target = 1, .src = ids({0}), .dst = ids({0})}};
  const auto load = [&](bool training) {
    save_hetero_dataset(d, dir / "h.h5");
    return error(
        [&] { load_hetero_dataset(dir / "h.h5", {.need = training ? Need::kTraining : Need::kGraph}); });
  };
  save_hetero_dataset(d, dir / "h.h5");
  EXPECT_NO_THROW(load_hetero_dataset(dir / "h.h5"));
  EXPECT_EQ(load(true), "h.h5: no node type has labels, /nodes/TYPE/y, to learn");
  d.types[0].y = ids({0, 1}), d.types[0].num_classes = 2;
  EXPECT_EQ(load(true),
            "h.h5: /nodes/user/train_mask is missing: training needs masks, or a split such as 60/20/20")
      << "the only type with labels is learned";
  d.types[1].y = ids({0}), d.types[1].num_classes = 1;
  EXPECT_EQ(load(true),
            "h.h5: attribute target_type is missing: it must name the node type whose labels are learned");
  d.target = 2;
  EXPECT_NE(error([&] { save_hetero_dataset(d, dir / "h.h5"); }).find("the target type is not there"),
            std::string::npos);
  const HeteroGraph graph({{.name = "a", .count = 1}},
                          {{.src = "a", .name = "r", .dst = "a", .src_ids = ids({0}), .dst_ids = ids({0})}});
  EXPECT_NO_THROW(NeighborSampler(graph, -1, {{2}}));
  EXPECT_NO_THROW(NeighborSampler(graph, 0, {{2}}));
  for (const int target : {-2, 1})
    EXPECT_ERROR(NeighborSampler(graph, target, {{2}}),
                 str("[neighbor_sampler] target must be -1 or a node type of 1, got ", target));
}

TEST_F(DatasetsRefusals, SizesOfGeneratedGraphs) {
  const auto graphs = [&](const std::function<void(GraphSetOptions&)>& change) {
    GraphSetOptions options{.graphs = 1, .min_nodes = 6, .max_nodes = 6, .features = 1};
    change(options);
    return error([&] { synthesize_graphs(options); });
  };
  const std::string nodes = "[synthesize_graphs] nodes must be from 6 to 1000000, got ";
  EXPECT_EQ(synthesize_graphs({.graphs = 1, .min_nodes = 6, .max_nodes = 6, .features = 1}).num_nodes, 6);
  EXPECT_EQ(graphs([](auto& o) { o.graphs = 0; }), "[synthesize_graphs] graphs must be at least 1, got 0");
  EXPECT_EQ(graphs([](auto& o) { o.features = 0; }),
            "[synthesize_graphs] features must be at least 1, got 0");
  EXPECT_EQ(graphs([](auto& o) { o.classes = 1; }), "[synthesize_graphs] classes must be 2 or 3, got 1");
  EXPECT_EQ(graphs([](auto& o) { o.classes = 4; }), "[synthesize_graphs] classes must be 2 or 3, got 4");
  EXPECT_EQ(graphs([](auto& o) { o.min_nodes = 5; }), nodes + "5 to 6");
  EXPECT_EQ(graphs([](auto& o) { o.min_nodes = 7; }), nodes + "7 to 6");
  EXPECT_EQ(graphs([](auto& o) { o.max_nodes = 1000001; }), nodes + "6 to 1000001");
}

}  // namespace
}  // namespace rodeo::test
