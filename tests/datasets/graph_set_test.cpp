// Sets of graphs: the schema, the TU importer, the generator.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "datasets/graph_facts.h"
#include "datasets/hdf5_writer.h"
#include "datasets/import.h"
#include "datasets/subset.h"
#include "datasets/synthetic_graphs.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/temp_dir.h"

namespace rodeo {
namespace {

using Ids = std::vector<std::int64_t>;
using test::same_bits;
using test::TempDir;

TEST(DatasetsGraphSet, SavedAndLoaded) {
  const TempDir dir;
  Dataset data = synthesize_graphs({.graphs = 7});
  data.edge_attr = test::random_tensor({data.num_edges(), 3}, DType::kF32, kCpu);
  save_dataset(data, dir / "g.h5");
  const Dataset again = load_dataset(dir / "g.h5");
  EXPECT_EQ(again.num_graphs(), 7);
  EXPECT_EQ(again.num_classes, 3);
  EXPECT_TRUE(same_bits(again.graph_ptr, data.graph_ptr));
  EXPECT_TRUE(same_bits(again.graph_label, data.graph_label));
  EXPECT_TRUE(same_bits(again.edge_attr, data.edge_attr));
  EXPECT_TRUE(validate_dataset(dir / "g.h5").empty());
  const Graph graph = to_graph(data, kCpu);
  const auto col = graph.adj.csr().col.to_vector<std::int32_t>(), src = data.src.to_vector<std::int32_t>(),
             dst = data.dst.to_vector<std::int32_t>();
  for (std::size_t e = 0; e < src.size(); ++e)  // each edge keeps its features
    for (std::int64_t at = graph.adj.csr().row_ptr.data<std::int64_t>()[dst[e]];
         at < graph.adj.csr().row_ptr.data<std::int64_t>()[dst[e] + 1]; ++at)
      if (col[at] == src[e]) {
        EXPECT_EQ(graph.attr.data<float>()[3 * at + 1], data.edge_attr.data<float>()[3 * e + 1]);
      }
  EXPECT_ERROR(
      select_nodes(data, Tensor::from(Ids{0, 1})),
      "[select_nodes] a set of graphs, or a graph with edge features, keeps the order of its nodes and all "
      "of them");
}

TEST(DatasetsGraphSet, InvalidFiles) {
  const TempDir dir;
  const std::string path = dir / "g.h5", where = path + ": ";
  const auto error = [&](const Ids& ptr, const Ids& label, std::int64_t attr_rows = 0) {
    Hdf5Writer file(path);
    file.write("edge_index", Tensor::from(Ids{0, 1, 2, 3, 1, 0, 3, 2}, {2, 4}));
    if (!ptr.empty()) file.write("graph_ptr", Tensor::from(ptr));
    if (!label.empty()) file.write("graph_y", Tensor::from(label));
    if (attr_rows > 0) file.write("edge_attr", Tensor::full({attr_rows, 2}, attr_rows == 4 ? NAN : 1));
    file.commit();
    return test::error_of([&] { load_dataset(path); });
  };
  EXPECT_EQ(error({0, 1, 4}, {0, 1}),
            where + "/graph_ptr: the edge from node 0 to node 1 is between graphs 0 and 1");
  EXPECT_EQ(error({0, 2, 3}, {0, 1}), where + "/graph_ptr must end at the number of nodes, 4, got 3");
  EXPECT_EQ(error({0, 3, 2, 4}, {}), where + "/graph_ptr must not decrease, but [2] is 2 after 3");
  EXPECT_EQ(error({1, 4}, {}), where + "/graph_ptr must start at 0, got 1");
  EXPECT_EQ(error({0, 2, 4}, {0, 1, 1}), where + "/graph_y must have a label for each of 2 graphs, got 3");
  EXPECT_EQ(
      error({0, 2, 4}, {0, -1}),
      where + "/graph_y[1] is -1: labels of graphs must be at least 0; leave graphs without a label out");
  EXPECT_EQ(error({}, {0}), where + "has /graph_y without /graph_ptr, the nodes of each graph");
  EXPECT_EQ(error({}, {}, 3), where + "/edge_attr must have a row for each of 4 edges, got 3");
  EXPECT_EQ(error({}, {}, 4), where + "/edge_attr[0, 0] is nan: must be finite");
}

TEST(DatasetsGraphSet, TuFilesThatAreEmptyOrTooShortAreNamed) {
  const TempDir dir;
  const std::vector<std::pair<std::string, std::string>> files{{"T_A.txt", "1, 2\n3, 4\n"},
                                                               {"T_graph_indicator.txt", "1\n1\n2\n2\n"},
                                                               {"T_graph_labels.txt", "1\n-1\n"}};
  const auto error = [&](const std::string& changed, const std::string& to) {
    for (const auto& [name, text] : files) std::ofstream(dir / name) << (name == changed ? to : text);
    const std::string text = test::error_of([&] { read_tudataset(dir / ""); });
    return text.substr(text.find("T_"));
  };
  EXPECT_EQ(error("T_A.txt", ""), "T_A.txt: has no edges: expected lines 'node, node'");
  EXPECT_EQ(error("T_graph_indicator.txt", ""),
            "T_graph_indicator.txt: is empty: expected a line with the number of its graph for each node");
  for (const std::string nothing : {"", "\n"})
    EXPECT_EQ(error("T_graph_labels.txt", nothing),
              "T_graph_labels.txt: is empty: expected a line with the label of each graph");
  EXPECT_EQ(
      error("T_graph_labels.txt", "1\n-1\n1\n"),
      "T_graph_indicator.txt: has nodes of 2 graphs, the file of labels has 3: expected a label for each "
      "graph");
  EXPECT_EQ(
      error("T_graph_labels.txt", "1\n"),
      "T_graph_indicator.txt: line 3: graph 2 is outside [1, 1]: graphs are numbered from 1, and each has "
      "a label");
}

TEST(DatasetsGraphSet, TuImporter) {
  const TempDir dir;
  const auto put = [&](const std::string& name, const std::string& text) {
    std::ofstream(dir / name) << text;
  };
  put("T_A.txt", "1, 2\n2, 1\n3, 4\n4, 3\n");
  put("T_graph_indicator.txt", "1\n1\n2\n2\n2\n");
  put("T_graph_labels.txt", "1\n-1\n");
  put("T_node_labels.txt", "7\n3\n3\n7\n9\n");
  put("T_node_attributes.txt", "0.5, 1\n1, 2\n1.5, 3\n2, 4\n2.5, 5\n");
  put("T_edge_labels.txt", "0\n0\n1\n1\n");
  const Dataset data = read_tudataset(dir / "");
  EXPECT_EQ(data.name, "T");
  EXPECT_EQ(data.num_nodes, 5);
  EXPECT_EQ(data.num_classes, 2);
  EXPECT_EQ(data.graph_ptr.to_vector<std::int64_t>(), (Ids{0, 2, 5}));
  EXPECT_EQ(data.graph_label.to_vector<std::int64_t>(), (Ids{1, 0}));
  EXPECT_EQ(data.src.to(DType::kI64).to_vector<std::int64_t>(), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(data.x.to_vector<float>(), (std::vector<float>{0,   1, 0, 0.5, 1, 1, 0, 0, 1, 2, 1,   0, 0,
                                                           1.5, 3, 0, 1,   0, 2, 4, 0, 0, 1, 2.5, 5}));
  EXPECT_EQ(data.edge_attr.to_vector<float>(), (std::vector<float>{1, 0, 1, 0, 0, 1, 0, 1}));

  std::filesystem::remove(dir / "T_graph_labels.txt");
  const auto error = [&] { return test::error_of([&] { read_tudataset(dir / ""); }); };
  EXPECT_NE(error().find("T_graph_labels.txt"), std::string::npos);
  put("T_graph_attributes.txt", "0.5, -1\n1e3, 2\n");
  const Dataset numbers = read_tudataset(dir / "");
  EXPECT_TRUE(numbers.regression());
  EXPECT_TRUE(same_bits(numbers.graph_label, Tensor::from(std::vector<float>{0.5F, -1, 1000, 2}, {2, 2})));
  put("T_graph_attributes.txt", "0.5, -1\n1e3\n");
  EXPECT_EQ(error(), str(dir / "T_graph_attributes.txt", ": line 2: expected 2 numbers as before, got 1"));
  put("T_graph_attributes.txt", "");
  EXPECT_EQ(error(),
            str(dir / "T_graph_attributes.txt", ": is empty: expected a line of numbers for each graph"));
  put("T_graph_labels.txt", "1\n-1\n");

  put("T_A.txt", "1, 2\n2, 3\n");
  EXPECT_EQ(error(), str(dir / "T_A.txt", ": line 2: the edge is between graphs 1 and 2"));
  put("T_A.txt", "1, 6\n");
  EXPECT_EQ(error(), str(dir / "T_A.txt", ": line 1: node 6 is outside [1, 5]"));
  put("T_graph_indicator.txt", "1\n2\n1\n2\n2\n");
  EXPECT_EQ(error(), str(dir / "T_graph_indicator.txt",
                         ": line 3: graph 1 after graph 2: nodes must be sorted by graph"));
  put("T_graph_indicator.txt", "1\n1\n2\n2\n2\n");
  put("T_A.txt", "1, 2\n");
  put("T_edge_labels.txt", "0\n");
  std::filesystem::remove(dir / "T_node_attributes.txt");
  put("T_node_labels.txt", "0, 5\n2, 4\n0, 5\n1, 5\n0, 4\n");  // as Cuneiform has them
  EXPECT_EQ(read_tudataset(dir / "").x.to_vector<float>(),
            (std::vector<float>{1, 0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0}));
  put("T_node_labels.txt", "0, 5\n2\n");
  EXPECT_EQ(error(), str(dir / "T_node_labels.txt", ": line 2: expected 2 labels as before, got 1"));
  put("U_A.txt", "");
  EXPECT_NE(error().find("expected one data set"), std::string::npos);
}

// The repositories of DGCNN and GIN have such files.
TEST(DatasetsGraphSet, OneTextFile) {
  const TempDir dir;
  const std::string path = dir / "T.txt";
  const auto read = [&](const std::string& text) {
    std::ofstream(path) << text;
    return read_tudataset(path);
  };
  const auto error = [&](const std::string& text) {
    return test::error_of([&] { read(text); }).substr(path.size());
  };
  const Dataset data = read("2\n2 5\n7 1 1 0.5\n3 1 0 1\n3 -1\n3 0 2\n7 1 2 3\n7 1 1 4\n");
  EXPECT_EQ(data.name, "T");
  EXPECT_EQ(data.graph_ptr.to_vector<std::int64_t>(), (Ids{0, 2, 5}));
  EXPECT_EQ(data.graph_label.to_vector<std::int64_t>(), (Ids{1, 0}));
  EXPECT_EQ(data.src.to(DType::kI64).to_vector<std::int64_t>(), (Ids{1, 0, 4, 3}));
  EXPECT_EQ(data.dst.to(DType::kI64).to_vector<std::int64_t>(), (Ids{0, 1, 3, 4}));
  EXPECT_EQ(data.x.to_vector<float>(), (std::vector<float>{0, 1, 0.5F, 1, 0, 1, 1, 0, 2, 0, 1, 3, 0, 1, 4}));
  const Dataset equal = read("1\n2 0\n0 1 1\n0 1 0\n");
  EXPECT_FALSE(equal.x.defined());
  EXPECT_EQ(equal.num_features, 0);
  EXPECT_EQ(error("0\n"), ": line 1: expected at least one graph");
  EXPECT_EQ(error("1 2\n"), ": line 1: expected the number of graphs alone, got 2 fields");
  EXPECT_EQ(error("2\n1 0\n0 0\n"), ": ends after line 3: expected 'nodes label' of a graph");
  EXPECT_EQ(error("1\n1\n"), ": line 2: expected 'nodes label' of a graph, got 1 fields");
  EXPECT_EQ(error("1\n1 0\n"), ": ends after line 2: expected 'tag degree neighbours' of a node");
  EXPECT_EQ(error("1\n1 0\n0\n"), ": line 3: expected 'tag degree neighbours' of a node, got 1 field");
  EXPECT_EQ(error("1\n2 0\n0 2 1\n"), ": line 3: expected 2 neighbours, got 1");
  EXPECT_EQ(error("1\n2 0\n0 1 2\n"), ": line 3: neighbour 2 is above 1");
  EXPECT_EQ(error("1\n2 0\n0 1 1\n0 1 0 9\n"),
            ": line 4: expected 0 attributes after the neighbours as before, got 1");
  EXPECT_EQ(error("1\n1 0\n0 0\n1 0\n"), ": line 4: expected the end of the file after 1 graphs");
  EXPECT_EQ(error("1\n1 0\n0 0\n"), ": has no edges");
}

TEST(DatasetsGraphSet, LastNodesWithoutEdges) {
  const TempDir dir;
  Hdf5Writer file(dir / "s.h5");
  file.write("edge_index", Tensor::from(Ids{0, 1}, {2, 1}));
  file.write("graph_ptr", Tensor::from(Ids{0, 2, 5}));
  file.write("graph_y", Tensor::from(Ids{0, 1}));
  file.commit();
  EXPECT_EQ(load_dataset(dir / "s.h5").num_nodes, 5);
  EXPECT_EQ(validate_dataset(dir / "s.h5"), (std::vector<std::string>{}));
}

TEST(DatasetsGraphSet, SplitOfTheFile) {
  const TempDir dir;
  const std::string path = dir / "s.h5", where = path + ": ";
  Dataset set = synthesize_graphs({.graphs = 4});
  set.graph_split = {Tensor::from(Ids{0, 3}), Tensor::from(Ids{1}), Tensor::from(Ids{2})};
  save_dataset(set, path);
  EXPECT_EQ(validate_dataset(path), (std::vector<std::string>{}));
  const Split split = load_dataset(path).graph_split;
  EXPECT_EQ(split.train.to_vector<std::int64_t>(), (Ids{0, 3}));
  EXPECT_EQ(split.test.to_vector<std::int64_t>(), (Ids{2}));
  const auto error = [&](const Tensor& train, const Tensor& val) {
    Hdf5Writer file(path);
    file.write("edge_index", Tensor::from(Ids{0, 1}, {2, 1}));
    file.write("graph_ptr", Tensor::from(Ids{0, 2, 2}));
    file.write("graph_train_mask", train);
    file.write("graph_val_mask", val);
    file.commit();
    return test::error_of([&] { load_dataset(path); });
  };
  const Tensor first = Tensor::from(Ids{1, 0});
  EXPECT_EQ(error(first, first), where + "/graph_train_mask and /graph_val_mask both have graph 0");
  EXPECT_EQ(error(first, Tensor::from(Ids{0, 2})), where + "/graph_val_mask[1] must be 0 or 1, got 2");
  EXPECT_EQ(error(first, Tensor::from(Ids{0, 1})),
            where + "/graph_test_mask is missing: train, val and test masks are all required");
  EXPECT_EQ(error(Tensor::from(Ids{1, 0, 0}), first),
            where + "/graph_train_mask must have a value for each of 2 graphs, got [3]");
  EXPECT_EQ(error(Tensor::full({2}, 1), first),
            where + "/graph_train_mask must be integer or bool [graphs], got f32 [2]");
}

TEST(DatasetsGraphSet, TargetsOfGraphsAreNumbers) {
  const TempDir dir;
  const std::string path = dir / "t.h5", where = path + ": /graph_y";
  const auto write = [&](const Tensor& y, bool nodes = false) {
    Hdf5Writer file(path);
    file.write("edge_index", Tensor::from(Ids{0, 1, 2, 3, 1, 0, 3, 2}, {2, 4}));
    file.write("graph_ptr", Tensor::from(Ids{0, 2, 4}));
    file.write("graph_y", y);
    if (nodes) file.write("y", Tensor::from(Ids{0, 1, 0, 1}));
    file.commit();
  };
  const std::vector<float> values{1.5F, NAN, 2, -3};
  write(Tensor::from(values, {2, 2}));
  const Dataset two = load_dataset(path);
  EXPECT_TRUE(two.regression());
  EXPECT_EQ(two.num_classes, 2);
  EXPECT_TRUE(same_bits(two.graph_label, Tensor::from(values, {2, 2})));
  write(Tensor::from(std::vector<float>{4, 5}));
  EXPECT_EQ(load_dataset(path).graph_label.shape(), (Shape{2, 1}));
  const auto error = [&](const Tensor& y, bool nodes = false) {
    write(y, nodes);
    return test::error_of([&] { load_dataset(path); });
  };
  EXPECT_EQ(error(Tensor::from(std::vector<float>{1, INFINITY})),
            where + "[1] is inf: targets must be finite, or NaN where they are missing");
  EXPECT_EQ(error(Tensor::from(std::vector<float>{1, 2, 3})),
            where + " must have a label for each of 2 graphs, got 3");
  EXPECT_EQ(error(Tensor::from(Ids{0, 1}), true), where + " and /y: a file has labels of graphs or of nodes");
  EXPECT_EQ(
      error(Tensor::from(Ids{0, 1, 0, 1}, {2, 2, 1})),
      where + " must be integer or float [graphs], [graphs, tasks] or [graphs, targets], got i64 [2, 2, 1]");

  write(Tensor::from(Ids{0, -1, 1, 1}, {2, 2}));  // tasks, of which one is not known
  const Dataset tasks = load_dataset(path);
  EXPECT_TRUE(tasks.multi_label());
  EXPECT_EQ(tasks.num_classes, 2);
  EXPECT_EQ(tasks.graph_label.to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 255, 1, 1}));
  save_dataset(tasks, path);
  EXPECT_TRUE(same_bits(load_dataset(path).graph_label, tasks.graph_label));
  const GraphFacts facts = graph_facts(tasks);
  EXPECT_EQ(facts.class_sizes, (Ids{1, 1}));
  EXPECT_EQ(facts.missing, 1);
  EXPECT_EQ(error(Tensor::from(Ids{0, 1, 2, 1}, {2, 2})),
            where + "[1, 0] must be 0, 1, or -1 where it is not known, got 2");
}

// The number of edges must not tell the classes apart.
TEST(DatasetsGraphSet, GeneratedClassesHaveAboutAsManyEdges) {
  const Dataset set = synthesize_graphs({.graphs = 60, .classes = 3, .min_nodes = 10, .max_nodes = 30});
  const Ids ptr = set.graph_ptr.to_vector<std::int64_t>(),
            dst = set.dst.to(DType::kI64).to_vector<std::int64_t>();
  for (std::size_t g = 0; g + 1 < ptr.size(); ++g) {
    const auto is_inside = [&](std::int64_t node) { return node >= ptr[g] && node < ptr[g + 1]; };
    const std::int64_t nodes = ptr[g + 1] - ptr[g], edges = std::ranges::count_if(dst, is_inside) / 2;
    const bool drawn_until_enough = g % 3 == 1;
    EXPECT_GE(edges, drawn_until_enough ? 2 * nodes - 3 : nodes) << g;
    EXPECT_LE(edges, drawn_until_enough ? 2 * nodes - 3 : 2 * nodes) << g;
  }
}

TEST(DatasetsGraphSet, GeneratorIsAFunctionOfItsOptions) {
  const Dataset one = synthesize_graphs({.graphs = 30, .seed = 1}),
                two = synthesize_graphs({.graphs = 30, .seed = 1}),
                other = synthesize_graphs({.graphs = 30, .seed = 2});
  EXPECT_TRUE(same_bits(one.src, two.src));
  EXPECT_TRUE(same_bits(one.x, two.x));
  EXPECT_FALSE(one.num_nodes == other.num_nodes && same_bits(one.src, other.src));
  EXPECT_EQ(count_one_way_edges(to_graph(one, kCpu).adj), 0);
  EXPECT_ERROR(synthesize_graphs({.classes = 4}), "[synthesize_graphs] classes must be 2 or 3, got 4");
}

}  // namespace
}  // namespace rodeo
