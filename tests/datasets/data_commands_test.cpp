// What rodeo_data prints and refuses, as a user sees it.
#include <gtest/gtest.h>

#include "datasets/graph_facts.h"
#include "datasets/hetero_dataset.h"
#include "tests/datasets/parts.h"
#include "tests/support/process.h"
#include "train/io/atomic_file.h"

namespace rodeo::test {
namespace {

constexpr std::size_t kMost = 1 << 20;

class DatasetsCommands : public testing::Test {
 protected:
  /// What a command that ends well prints.
  std::string printed(std::vector<std::string> words) const {
    EXPECT_EQ(run(std::move(words)), 0) << read_file(dir_ / "err", kMost);
    return read_file(dir_ / "out", kMost);
  }
  /// The line of a command that is refused, without its name.
  std::string refused(std::vector<std::string> words) const {
    EXPECT_EQ(run(std::move(words)), 2);
    const std::string line = read_file(dir_ / "err", kMost), name = "rodeo_data: ";
    return line.starts_with(name) ? line.substr(name.size(), line.find('\n') - name.size()) : line;
  }
  int run(std::vector<std::string> words) const {
    words.insert(words.begin(), command("rodeo_data"));
    return wait_for(start(words, dir_ / "out", dir_ / "err"));
  }
  std::string put(const std::string& name, const std::string& text) const {
    write_file(dir_ / name, text);
    return dir_ / name;
  }
  std::string line_of(const std::string& text, const std::string& subject) const {
    const std::size_t at = ("\n" + text).find("\n" + subject);
    return at == std::string::npos ? "no line " + subject : text.substr(at, text.find('\n', at) - at);
  }
  const TempDir dir_;
};

TEST_F(DatasetsCommands, InspectShowsEachNumberOfAFile) {
  Parts().write(dir_ / "a.h5");
  const std::string bar = std::string(50, '#');
  EXPECT_EQ(printed({"inspect", dir_ / "a.h5"}),
            "name            a\n"
            "nodes           6\n"
            "edges           5\n"
            "symmetric       no\n"
            "self loops      0\n"
            "duplicates      0\n"
            "isolated        0 (0.00 %)\n"
            "in-degrees      mean 0.83, median 1, max 1\n"
            "                      0           1 ##########\n"
            "                      1           5 " +
                bar +
                "\n"
                "features        2, 100.00 % nonzero\n"
                "labels          3 classes, 1 unlabelled node\n"
                "                class 0           2 (33.33 %)\n"
                "                class 1           2 (33.33 %)\n"
                "                class 2           1 (16.67 %)\n"
                "homophily       0.0000 of the edges join equal labels\n"
                "split           2 train, 1 val, 2 test\n"
                "training memory     GCN 2 x 16  GAT 2 x 8 x 8   estimated, on the device\n"
                // Graph and transpose 2 (8 * 7 + 4 * 11), features 2 * 12 values, labels 48, and of each node
                // 8 * 16 + 7 * 3 and 9 * 64 + 6 * 8 + 7 * 3 values.
                "  f32                 3.83 KiB      15.45 KiB\n"
                "  bf16, f16           2.04 KiB       7.85 KiB\n");
}

TEST_F(DatasetsCommands, InspectOfOtherKindsOfGraphs) {
  Dataset d;
  d.name = "web", d.num_nodes = 4;
  d.src = ids({0, 0, 1, 2, 3, 3, 3, 3, 1}), d.dst = ids({1, 1, 1, 3, 2, 1, 1, 1, 1});
  d.edge_weight = Tensor::full({9}, 2), d.edge_attr = Tensor::zeros({9, 3});
  save_dataset(d, dir_ / "a.h5");
  EXPECT_EQ(printed({"inspect", dir_ / "a.h5"}),
            "name            web\n"
            "nodes           4\n"
            "edges           9, weighted\n"
            "symmetric       no\n"
            "self loops      2\n"
            "duplicates      4\n"
            "isolated        0 (0.00 %)\n"
            "in-degrees      mean 2.25, median 1, max 7\n"
            "                      0           1 #########################\n"
            "                      1           2 " +
                std::string(50, '#') +
                "\n"
                "                   2..3           0 \n"
                "                   4..7           1 #########################\n"
                "features        none\n"
                "edge features   3\n"
                "labels          none\n");

  d.num_classes = 2, d.y = Tensor::from(std::vector<float>{1, NAN, 2, 3, NAN, 5, 6, 7}, {4, 2});
  save_dataset(d, dir_ / "a.h5");
  EXPECT_EQ(line_of(printed({"inspect", dir_ / "a.h5"}), "targets"),
            "targets         2 of regression, 2 values missing");
  d.y = Tensor::from(std::vector<std::uint8_t>{1, 0, 255, 1, 1, 1, 0, 1}, {4, 2});
  d.class_names = {"red", "blue"};
  save_dataset(d, dir_ / "a.h5");
  const std::string several = printed({"inspect", dir_ / "a.h5"});
  EXPECT_EQ(line_of(several, "labels"),
            "labels          2 classes, multi-label, 1 missing, 0 unlabelled nodes");
  EXPECT_EQ(line_of(several, "                class 1"),
            "                class 1           3 (75.00 %)  blue");
}

TEST_F(DatasetsCommands, InspectListsFiftyClasses) {
  for (const std::int64_t classes : {50, 51}) {
    Dataset d;
    d.num_nodes = d.num_classes = classes;
    d.src = d.dst = ids({0});
    Ids y(static_cast<std::size_t>(classes));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<std::int64_t>(i);
    d.y = ids(y);
    save_dataset(d, dir_ / "a.h5");
    const std::string text = printed({"inspect", dir_ / "a.h5"});
    EXPECT_EQ(text.find("class 49 ") != std::string::npos, true) << text;
    EXPECT_EQ(text.find("class 50 ") != std::string::npos, false) << text;
    EXPECT_EQ(text.find("                    ...\n") != std::string::npos, classes == 51) << text;
  }
}

TEST_F(DatasetsCommands, InspectOfASetOfGraphs) {
  Dataset d;
  d.num_nodes = 10, d.num_classes = 2;
  d.src = d.dst = ids({0});
  d.graph_ptr = ids({0, 5, 6, 10}), d.graph_label = ids({1, 1, 0});
  d.graph_split = {ids({2}), ids({0}), ids({1})};
  save_dataset(d, dir_ / "a.h5");
  const std::string text = printed({"inspect", dir_ / "a.h5"});
  EXPECT_EQ(line_of(text, "graphs"), "graphs          3 of 1 to 5 nodes, median 4");
  EXPECT_EQ(line_of(text, "labels"), "labels          2 classes of graphs");
  EXPECT_EQ(line_of(text, "                class 1"), "                class 1           2 (66.67 %)");
  EXPECT_EQ(line_of(text, "split of graphs"), "split of graphs 1 train, 1 val, 1 test");
}

TEST_F(DatasetsCommands, TablesOfSeveralTypes) {
  const std::string papers = put("p.csv", "id,label,x\np1,a,1\np2,b,2\np3,b,3\n"),
                    writes = put("w.csv", "source,target\nw,p1\nv,p2\nw,p2\n"), file = dir_ / "mine.h5";
  const std::vector<std::string> words = {"import",          "csv",     "--nodes",
                                          "paper=" + papers, "--edges", "author:writes:paper=" + writes};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return more;
  };
  const std::string sizes = ", 2 node types, 5 nodes, 1 relation, 3 edges; learns paper, 2 classes\n";
  const std::string text = printed(with({file}));
  EXPECT_TRUE(text.ends_with("\n" + file + ": mine" + sizes)) << text << "the file names the graph";
  EXPECT_TRUE(printed(with({"--name", "own", file})).ends_with(": own" + sizes));
  EXPECT_EQ(
      printed({"inspect", file}),
      "own" + sizes +
          "node type paper                       3 nodes, 1 feature, 2 classes\n"
          "node type author                      2 nodes, no features, no labels\n"
          "relation author:writes:paper          3 edges\n"
          "  edges of a source: mean 1.50, max 2, 0 without; of a target: mean 1.00, max 2, 1 without\n");
  for (const char* option : {"undirected", "drop-self-loops"})
    EXPECT_EQ(refused(with({str("--", option), file})),
              str("--", option, " is for a graph of one node type"));
  for (const char* option : {"columns", "feature-columns", "input-features"})
    EXPECT_EQ(refused(with({str("--", option), "ones", file})),
              str("--", option, " is for a graph of one node type"));
  const std::string one = put("e.csv", "source,target\na,b\n");
  EXPECT_EQ(refused({"import", "csv", "--edges", one, "--target", "paper", file}),
            "--target is for a graph of several node types");
  EXPECT_EQ(refused({"import", "csv", "--edges", one, "--edges", one, file}),
            "several --nodes or --edges are for several node types: --nodes author=FILE --edges "
            "author:writes:paper=FILE");
}

TEST_F(DatasetsCommands, ImportNamesItsFormatsAndWhatBelongsToThem) {
  const std::string help = printed({"import", "--help"}), edges = put("e.txt", "0 1\n1 1\n"),
                    out = dir_ / "x.h5";
  for (const char* format :
       {"planetoid  SOURCE is a folder with ind.NAME.x, ", "edgelist   lines 'source ",
        "mtx        a square Matrix Market file", "csv        --edges FILE, --nodes FILE",
        "SOURCE     what python3 to_h5.py reads"})
    EXPECT_NE(help.find(str("\n  ", format)), std::string::npos) << format << "\n" << help;
  EXPECT_EQ(
      refused({"import", "none", edges, out}),
      "unknown format 'none': expected one of planetoid, edgelist, mtx, csv, tu, csv-ogb, triples, or a "
      "source that to_h5.py reads, such as pyg:Reddit or FILE.npz");
  EXPECT_EQ(refused({"import", "mtx", edges, out, "--relabel"}), "--relabel belongs to edgelist");
  EXPECT_EQ(refused({"import", "edgelist", edges, out, "--no-weights"}), "--no-weights belongs to mtx");
  EXPECT_EQ(refused({"import", "edgelist", edges, out, "--nodes=-1"}), "--nodes must be at least 0, got -1");
  EXPECT_EQ(refused({"import", "edgelist", edges, out, "--trust"}),
            "--trust belongs to sources that to_h5.py reads; see import --help");
  EXPECT_EQ(refused({"import", "edgelist", out}),
            "import edgelist takes SOURCE FILE, got 1 argument; see import --help");
  EXPECT_EQ(refused({"import", "csv", edges, out}),
            "import csv takes --edges FILE, --nodes FILE and the FILE to write, got 2 arguments; see import "
            "--help");
  EXPECT_EQ(printed({"import", "edgelist", edges, out}),
            out + ": e, 2 nodes, 2 edges, 0 features, 0 classes\n");
  EXPECT_EQ(printed({"import", "edgelist", edges, out, "--nodes", "3", "--drop-self-loops", "--undirected",
                     "--name", "own", "--input-features", "ones"}),
            out + ": own, 3 nodes, 2 edges, 1 feature, 0 classes\n");
}

TEST_F(DatasetsCommands, PartsOfAGraph) {
  Parts().write(dir_ / "a.h5");
  const std::string file = dir_ / "a.h5", out = dir_ / "x.h5";
  const auto part = [&](const char* option, const char* value) {
    return std::vector<std::string>{"subset", file, out, str("--", option, "=", value)};
  };
  EXPECT_EQ(printed(part("first", "6")), out + ": 6 of 6 nodes, 5 of 5 edges\n");
  EXPECT_EQ(printed(part("first", "2")), out + ": 2 of 6 nodes, 1 of 5 edges\n");
  EXPECT_EQ(printed(part("first", "0")), out + ": 0 of 6 nodes, 0 of 5 edges\n");
  EXPECT_EQ(refused(part("first", "7")), "--first must be in [0, 6], got 7");
  EXPECT_EQ(refused(part("first", "-1")), "--first must be in [0, 6], got -1");
  EXPECT_EQ(printed(part("share", "100")), out + ": 6 of 6 nodes, 5 of 5 edges\n");
  EXPECT_EQ(printed(part("share", "0")), out + ": 0 of 6 nodes, 0 of 5 edges\n");
  EXPECT_EQ(printed(part("share", "25")).find(out + ": 2 of 6 nodes, "), 0u) << "1.5 nodes";
  EXPECT_EQ(refused(part("share", "100.5")), "--share must be in [0, 100] percent, got 100.5");
  EXPECT_EQ(refused(part("share", "-0.5")), "--share must be in [0, 100] percent, got -0.5");
  EXPECT_EQ(printed(part("nodes", put("list", "3\n2 1\n").c_str())), out + ": 3 of 6 nodes, 2 of 5 edges\n");
  EXPECT_EQ(load_dataset(out).node_id.to_vector<std::int64_t>(), (Ids{3, 2, 1})) << "the order of the list";
  const std::string one = "subset takes one of --nodes, --first and --share";
  EXPECT_EQ(refused({"subset", file, out}), one);
  EXPECT_EQ(refused({"subset", file, out, "--first", "2", "--share", "2"}), one);
  EXPECT_EQ(refused({"subset", file, out, "--first", "2", "--seed", "1"}), "--seed belongs to --share");
}

TEST_F(DatasetsCommands, ASplitOfEdgesIsNotLost) {
  Hdf5Writer file(dir_ / "a.h5");
  Parts().write(file);
  file.write("val_edges", Tensor::from<std::int64_t>({0, 1}, {2, 1}));
  file.write("test_edges", Tensor::from<std::int64_t>({1, 2}, {2, 1}));
  file.commit();
  const std::string path = dir_ / "a.h5", out = dir_ / "x.h5",
                    has = path + ": has a split of the edges, /val_edges and /test_edges, which ";
  EXPECT_EQ(refused({"subset", path, out, "--first", "2"}), has + "subset does not keep: leave it out first");
  EXPECT_EQ(refused({"reorder", path, out, "--by", "rcm"}),
            has + "reorder does not keep: --reorder of training keeps it");
  EXPECT_EQ(refused({"reorder", path, out, "--by", "size"}),
            "--by must be degree, rcm, rabbit or random, got 'size'");
  EXPECT_EQ(line_of(printed({"inspect", path}), "split of edges"), "split of edges  3 train, 1 val, 1 test");
}

TEST_F(DatasetsCommands, EncodingsAndCopies) {
  Parts().write(dir_ / "a.h5");
  const std::string file = dir_ / "a.h5", out = dir_ / "x.h5";
  EXPECT_EQ(printed({"features", file, out, "--random-walk-pe", "1024"}),
            out + ": 6 nodes, 2 features and 1024 columns of positional encodings\n");
  EXPECT_EQ(refused({"features", file, out, "--random-walk-pe", "1025"}),
            "--random-walk-pe must be in [1, 1024], got 1025");
  EXPECT_EQ(refused({"features", file, out, "--laplacian-pe", "0"}),
            "--laplacian-pe must be in [1, 128], got 0");
  EXPECT_EQ(printed({"features", file, out, "--random-walk-pe", "1", "--laplacian-pe", "1", "--undirected"}),
            out + ": 6 nodes, 2 features and 2 columns of positional encodings\n");
  EXPECT_NE(
      refused({"features", file, out, "--laplacian-pe", "1"}).find("5 of 5 edges have no reverse edge, "),
      std::string::npos);
  EXPECT_EQ(printed({"features", file, out, "--random-walk-pe", "1"}),
            out + ": 6 nodes, 2 features and 1 column of positional encodings\n");
  EXPECT_EQ(printed({"unpack", file, out}), out + ": features 6 x 2, f32, not compressed\n");
  EXPECT_TRUE(
      printed({"reorder", file, out, "--by", "rcm"}).starts_with(out + ": 6 nodes, 5 edges, by rcm in "));
  EXPECT_EQ(refused({"reorder", file, out, "--by", "rcm", "--seed", "1"}), "--seed belongs to --by random");
}

TEST_F(DatasetsCommands, GeneratedSizesAndWhatIsNotForThem) {
  const std::string out = dir_ / "x.h5";
  EXPECT_EQ(printed({"generate", out, "--nodes", "60", "--edges", "100", "--features", "3", "--classes", "2",
                     "--split", "50/25/25"}),
            out + ": cora-like, 60 nodes, 100 edges, 3 features, 2 classes, split 30/15/15\n");
  EXPECT_TRUE(printed({"generate", out, "--graphs", "4", "--features", "1", "--classes", "2"})
                  .starts_with(out + ": 4 graphs, "));
  EXPECT_TRUE(load_dataset(out).num_classes == 2 && load_dataset(out).num_features == 1);
  for (const char* option : {"preset", "nodes", "edges", "skew", "homophily", "split", "node-order"})
    EXPECT_EQ(refused({"generate", out, "--graphs", "4", str("--", option), "arxiv"}),
              str("--", option, " is for one graph, not for --graphs"));
  for (const char* option : {"edges", "skew", "homophily", "split", "node-order", "graphs"})
    EXPECT_EQ(refused({"generate", out, "--preset", "mag", str("--", option), "4"}),
              str("--", option, " is not for --preset mag, a graph of several node types"));
  EXPECT_EQ(
      printed({"generate", out, "--preset", "mag", "--nodes", "2000", "--features", "2", "--classes", "3"})
          .find(out + ": mag-like, 4 node types, "),
      0u);
  EXPECT_EQ(load_hetero_dataset(out).types[0].num_classes, 3);
}

TEST_F(DatasetsCommands, WordsThatAreMissingOrWrong) {
  Parts().write(dir_ / "a.h5");
  const std::string file = dir_ / "a.h5", commands =
                                              "inspect, validate, generate, import, reorder, subset, "
                                              "features, unpack; see --help";
  EXPECT_EQ(refused({}), "a command is required: " + commands);
  EXPECT_EQ(refused({"look"}), "unknown command 'look': " + commands);
  EXPECT_EQ(refused({"inspect"}), "inspect takes FILE, got 0 arguments; see inspect --help");
  EXPECT_EQ(refused({"unpack", file}), "unpack takes FILE OUT, got 1 argument; see unpack --help");
  EXPECT_EQ(refused({"inspect", file, file}), "inspect takes FILE, got 2 arguments; see inspect --help");
  EXPECT_EQ(refused({"inspect", "--thread=2", file}),
            "unknown option '--thread': did you mean --threads?; see inspect --help");
  EXPECT_EQ(printed({"validate", file}), file + ": valid\n");
  Parts wrong;
  wrong.y = ids({0, 1, 2, 3, 1, -1});
  wrong.write(file);
  EXPECT_EQ(run({"validate", file}), 1);
  EXPECT_TRUE(read_file(dir_ / "out", kMost).ends_with("\n" + file + ": 1 violation\n"));
}

}  // namespace
}  // namespace rodeo::test
