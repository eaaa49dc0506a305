// Tables of nodes and edges with header lines.
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <limits>

#include "datasets/import.h"
#include "tests/datasets/folder.h"
#include "tests/datasets/parts.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo {
namespace {

using test::Ids;
using test::TempDir;
using test::wide;
using Names = std::vector<std::string>;
using Floats = std::vector<float>;

/// Two files in a folder, read with options.
struct Tables : test::Folder {
  CsvOptions options{dir / "nodes.csv", dir / "edges.csv"};

  explicit Tables(const std::string& nodes, const std::string& edges = "source,target\n") {
    if (nodes.empty()) options.nodes.clear();
    put("nodes.csv", nodes), put("edges.csv", edges);
  }
  Dataset read() const {
    Dataset d = read_csv(options);
    save_dataset(d, dir / "out.h5");
    EXPECT_EQ(validate_dataset(dir / "out.h5"), Names{});
    return d;
  }
  std::string error() const {
    return Folder::error([&] { read_csv(options); });
  }
};

std::string nodes_error(const std::string& nodes) {
  return Tables(nodes).error();
}
std::string edges_error(const std::string& edges) {
  return Tables("id\na\nb\n", edges).error();
}

TEST(DatasetsCsv, TablesOfNodesAndEdges) {
  const Tables t(
      "\xef\xbb\xbfid,label,split,x1, x2 \r\n"
      "\"a, the first\",cat,train,1,0.5\r\n"
      "b,\"big \"\"dog\"\"\",valid,2,-1e-3\r\n"
      "\r\n"
      " c ,cat,validation,0,true\r\n"
      "d,,,1,1\r\n",
      "source,note,target,weight\nb,x,\"a, the first\",0.5\nb,\"two\nlines, one field\",c,1\nd,,c,2");
  const Dataset d = t.read();
  EXPECT_EQ(d.num_nodes, 4);
  EXPECT_EQ(d.node_names, (Names{"a, the first", "b", "c", "d"}));
  EXPECT_FALSE(d.node_id.defined());
  EXPECT_EQ(wide(d.src), (Ids{1, 1, 3}));
  EXPECT_EQ(wide(d.dst), (Ids{0, 2, 2}));
  EXPECT_EQ(d.edge_weight.to_vector<float>(), (Floats{0.5f, 1, 2}));
  EXPECT_EQ(d.class_names, (Names{"big \"dog\"", "cat"}));
  EXPECT_EQ(wide(d.y), (Ids{1, 0, 1, -1}));
  EXPECT_EQ(d.x.to_vector<float>(), (Floats{1, 0.5f, 2, -1e-3f, 0, 1, 1, 1}));
  EXPECT_EQ(wide(d.split.train), (Ids{0}));
  EXPECT_EQ(wide(d.split.val), (Ids{1, 2}));
  EXPECT_EQ(wide(d.split.test), (Ids{}));
}

TEST(DatasetsCsv, OtherSeparatorsNamesAndCompression) {
  Tables t("paper;year;x_a;x_b;topic;note\n7;1990;1;2;9;\"a;b\"\n5;1991;3;4;7;\n",
           "citing\tcited\tw\n7\t5\t0.5\n");
  t.options.columns = "id=paper,label=topic,source=citing,target=cited,weight=w";
  t.options.features = "x_*";
  t.options.undirected = true;
  const Dataset d = t.read();
  EXPECT_EQ(wide(d.node_id), (Ids{7, 5}));
  EXPECT_TRUE(d.node_names.empty());
  EXPECT_EQ(d.x.to_vector<float>(), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(d.class_names, (Names{"7", "9"}));
  EXPECT_EQ(wide(d.y), (Ids{1, 0}));
  EXPECT_EQ(wide(d.src), (Ids{0, 1}));
  EXPECT_EQ(d.edge_weight.to_vector<float>(), (Floats{0.5f, 0.5f}));
  t.options.features = "x_b,year";
  EXPECT_EQ(t.read().x.to_vector<float>(), (Floats{1990, 2, 1991, 4}));
  const gzFile file = gzopen((t.dir / "edges.csv").c_str(), "wb");
  gzputs(file, "Source,Target\n5,7\n");
  gzclose(file);
  t.options.columns = "id=paper,label=topic";
  EXPECT_EQ(wide(t.read().src), (Ids{0, 1}));
}

TEST(DatasetsCsv, WithoutNodesTheyAreThoseOfTheEdges) {
  const Dataset numbers = Tables("", "src,dst\n10,9\n9,-1\n").read();
  EXPECT_EQ(wide(numbers.node_id), (Ids{-1, 9, 10}));
  EXPECT_EQ(wide(numbers.src), (Ids{2, 1}));
  EXPECT_EQ(wide(numbers.dst), (Ids{1, 0}));
  const Dataset names = Tables("", "from,to\nz,b\nb,07\n").read();
  EXPECT_EQ(names.node_names, (Names{"z", "b", "07"}));
  EXPECT_EQ(wide(names.dst), (Ids{1, 2}));
  EXPECT_EQ(Tables("", "from,to\n7,07\n").read().node_names, (Names{"7", "07"}));  // two nodes
  EXPECT_FALSE(Tables("", "id_1,Id_2\n0,1\n").read().node_id.defined());
  EXPECT_EQ(Tables("", "src,dst\n").error(),
            "edges.csv: has no edges below its header: expected a line for each");
}

TEST(DatasetsCsv, LabelsAreClassesOrGetThem) {
  const auto labels = [](const std::string& lines) {
    std::string nodes = "id,label\n0,";
    int id = 0;
    for (const char c : lines) nodes += c == '\n' ? str("\n", ++id, ",") : std::string(1, c);
    return Tables(nodes + "\n").read();
  };
  Dataset d = labels("1\n0\n2.0\n\n-1");
  EXPECT_EQ(wide(d.y), (Ids{1, 0, 2, -1, -1}));
  EXPECT_EQ(d.num_classes, 3);
  EXPECT_TRUE(d.class_names.empty());
  d = labels("1\n10\n2");
  EXPECT_EQ(wide(d.y), (Ids{0, 2, 1}));
  EXPECT_EQ(d.class_names, (Names{"1", "2", "10"}));
  d = labels("1\n10\nx\n-1");
  EXPECT_EQ(d.class_names, (Names{"-1", "1", "10", "x"}));
  EXPECT_EQ(d.num_classes, 4);
  EXPECT_EQ(
      nodes_error("id,label\na,-1\nb,1\n"),
      "nodes.csv: column 'label' has 1 class besides negative numbers, which mean unlabelled: write names "
      "of classes, and nothing for unlabelled nodes");
  EXPECT_EQ(nodes_error("id,label\na,\n"),
            "nodes.csv: column 'label' is empty: fill it, or leave the column out");
}

// karateclub's tables of nodes; of a table of edges it is an end.
TEST(DatasetsCsv, TargetOfANodeIsItsLabel) {
  const Dataset d = Tables("id,target,x\na,1,5\nb,0,6\n", "source,target\na,b\n").read();
  EXPECT_EQ(wide(d.y), (Ids{1, 0}));
  EXPECT_EQ(d.num_features, 1);
}

TEST(DatasetsCsv, WordsOfASplit) {
  const Dataset d = Tables("id,split\na,train\nb,val\nc,valid\nd,validation\ne,test\nf,\ng,none\n").read();
  EXPECT_EQ(wide(d.split.train), (Ids{0}));
  EXPECT_EQ(wide(d.split.val), (Ids{1, 2, 3}));
  EXPECT_EQ(wide(d.split.test), (Ids{4}));
  EXPECT_EQ(d.num_nodes, 7);
}

TEST(DatasetsCsv, SplitsAsThreeColumns) {
  const Dataset d = Tables("id,train,val,test\na,1,0,0\nb,,True,\nc,0,0,1\nd,0,0,0\n").read();
  EXPECT_EQ(wide(d.split.train), (Ids{0}));
  EXPECT_EQ(wide(d.split.val), (Ids{1}));
  EXPECT_EQ(wide(d.split.test), (Ids{2}));
  EXPECT_FALSE(d.has_features());
  EXPECT_EQ(nodes_error("id,train,test\na,1,0\n"),
            "nodes.csv: a split needs three columns of 0 and 1, train, val and test, got 2");
  EXPECT_EQ(nodes_error("id,train,val,test\na,1,1,0\n"),
            "nodes.csv: line 2: the node is in train and in val");
  EXPECT_EQ(nodes_error("id,train,val,test\na,2,0,0\n"),
            "nodes.csv: line 2: column 'train' must be 0 or 1, got '2'");
  EXPECT_EQ(nodes_error("id,split\na,tset\n"),
            "nodes.csv: line 2: column 'split' must be train, val, test or nothing, got 'tset'");
  EXPECT_EQ(nodes_error("id,label,split\na,0,train\nb,,val\n"),
            "nodes.csv: line 3: the node is in val and has no label: label it, or take it out of the split");
}

TEST(DatasetsCsv, WrongTablesAreNamed) {
  EXPECT_EQ(nodes_error(" \n\n"),
            "nodes.csv: is empty: expected a header line with the names of the columns");
  EXPECT_EQ(
      nodes_error("1,2\n"),
      "nodes.csv: line 1: expected a header with the names of the columns, got numbers: add one such as "
      "'source,target'");
  EXPECT_EQ(nodes_error("\xff\xfei"), "nodes.csv: is UTF-16: save it as UTF-8");
  EXPECT_EQ(nodes_error("id,a,a\n"), "nodes.csv: line 1: two columns are named 'a': rename one");
  EXPECT_EQ(
      nodes_error("name,a\n"),
      "nodes.csv: has no column 'id'; its columns are 'name', 'a': rename one, or say which by --columns "
      "id=NAME");
  EXPECT_EQ(nodes_error("id,node\n"),
            "nodes.csv: columns 'id' and 'node' could both be the id: choose by --columns id=NAME");
  EXPECT_EQ(nodes_error("id,a\nx,1\n\"y\nz\",2\nw\n"), "nodes.csv: line 3: the id 'y?z' has a line break");
  EXPECT_EQ(nodes_error("id,a\nx,1\n\nw\n"),
            "nodes.csv: line 4: has 1 field, the header has 2: quote fields that hold a separator");
  EXPECT_EQ(nodes_error("id,a\nx,1,\n"),
            "nodes.csv: line 2: has 3 fields, the header has 2: quote fields that hold a separator");
  EXPECT_EQ(nodes_error("id,a\nx,1\ny,\"1\nz,2\n"),
            "nodes.csv: line 3: a quote that opens in this record is never closed");
  EXPECT_EQ(
      nodes_error("id,a\n\"x\"y,1\n"),
      "nodes.csv: line 2: text after the closing quote of 'x': double the quotes inside a quoted field");
  EXPECT_EQ(nodes_error("id,a\nx,1\nx,2\n"),
            "nodes.csv: line 3: the id 'x' is already that of line 2: each node needs an id of its own");
  EXPECT_EQ(nodes_error("id,a\n,1\n"), "nodes.csv: line 2: column 'id' must be an id, got nothing");
  const std::string by = "choose features by --feature-columns, or give it a role by --columns",
                    hint = ": " + by;
  for (const std::string bad : {"inf", "1x", "0x1", "1e39", "1e999"})
    EXPECT_EQ(nodes_error("id;a\nw;1\nx;" + bad + "\n"),
              "nodes.csv: line 3: column 'a' must be a finite number, got '" + bad + "'" + hint);
  EXPECT_EQ(nodes_error("id,a\nx,red\ny,2\n"),
            "nodes.csv: line 3: column 'a' has the number '2' among texts such as 'red': leave a field empty "
            "where a value is missing, " +
                by);
  for (const std::string decimal : {"1,0", "-1234,5"})
    EXPECT_EQ(nodes_error("id;a\nw;" + decimal + "\nx;2\n"),
              "nodes.csv: line 2: column 'a' has '" + decimal +
                  "', which is a number with a comma: write a decimal point and no other separators, " + by);
  EXPECT_EQ(nodes_error("id,a\n"), "nodes.csv: has no nodes below its header: expected a line for each");
  EXPECT_EQ(nodes_error("id,a\nx,caf\xe9\n"),
            "nodes.csv: line 2: is no UTF-8 text: convert the file, such as by iconv -f latin1 -t utf-8, or "
            "decompress it");
  EXPECT_EQ(nodes_error("id,a\nx,\"1\n\xe9\"\n").substr(0, 36), "nodes.csv: line 3: is no UTF-8 text:");
  for (const std::string none : {"", "nan"})
    EXPECT_EQ(nodes_error("id,a\nx," + none + "\n"),
              "nodes.csv: line 2: column 'a' has no value: fill it, give --missing mean or --missing zero, "
              "or choose "
              "others by --feature-columns");

  EXPECT_EQ(edges_error("source\na\n"),
            "edges.csv: has no column 'target'; its columns are 'source' alone (commas, semicolons or tabs "
            "separate "
            "columns): rename one, or say which by --columns target=NAME");
  EXPECT_EQ(edges_error("source,target\na,b\na,x\n"),
            "edges.csv: line 3: column 'target': nodes.csv has no id 'x': add the node there, leave the edge "
            "out, or name another column of ids by --columns id=NAME");
  EXPECT_EQ(edges_error("source,target\na,\n"),
            "edges.csv: line 2: column 'target' must be an id, got nothing");
  EXPECT_EQ(edges_error("source,target,weight\na,b,heavy\n"),
            "edges.csv: line 2: column 'weight' must be a finite number, got 'heavy'");
}

TEST(DatasetsCsv, WrongOptionsAreNamed) {
  Tables t("id,a,b\nx,1,2\n");
  const auto error = [&](const std::string& columns, const std::string& features) {
    t.options.columns = columns, t.options.features = features;
    return t.error();
  };
  EXPECT_EQ(error("id", ""), "--columns must be ROLE=NAME,..., such as id=paper,label=topic, got 'id'");
  EXPECT_EQ(
      error("name=a", ""),
      "--columns: unknown role 'name': expected one of id, label, split, train, val, test, source, target, "
      "weight");
  EXPECT_EQ(error("id=c", ""),
            "nodes.csv: has no column 'c' (--columns id=...); its columns are 'id', 'a', 'b'");
  EXPECT_EQ(error("", "a,x*"),
            "nodes.csv: no column fits 'x*' of --feature-columns; its columns are 'id', 'a', 'b'");
  EXPECT_EQ(error("", "id"), "--feature-columns: 'id' is no feature: it has another role");
  t.options.nodes.clear();
  EXPECT_EQ(error("", "a"), "--feature-columns belongs to --nodes FILE");
  EXPECT_EQ(error("label=a", ""), "--columns label=... belongs to --nodes FILE");
  t.options.edges.clear();
  EXPECT_EQ(error("", ""), "a CSV import needs --edges FILE with columns source and target");
}

TEST(DatasetsCsv, NumbersToPredict) {
  Tables t("id,price,size,x\na,1.5,2,1\nb,,-3,2\nc,nan,1e3,3\n");
  t.options.regression = true;
  t.options.columns = "label=price,label=size";
  const Dataset two = t.read();
  EXPECT_TRUE(two.regression());
  EXPECT_EQ(two.num_classes, 2);
  EXPECT_EQ(two.num_features, 1);
  EXPECT_EQ(two.class_names, (Names{"price", "size"}));
  const float none = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(
      test::same_bits(two.y, Tensor::from(std::vector<float>{1.5F, 2, none, -3, none, 1000}, {3, 2})));
  t.options.columns = "label=size", t.options.features = "x";
  EXPECT_EQ(t.read().y.shape(), (Shape{3, 1}));  // whole numbers too
  t.options.columns = "label=cost", t.options.features = "";
  EXPECT_EQ(
      t.error(),
      "nodes.csv: has no column 'cost' (--columns label=...); its columns are 'id', 'price', 'size', 'x'");
  t.options.columns = "";
  EXPECT_EQ(
      t.error(),
      "nodes.csv: --regression needs a column with numbers to predict: name it by --columns label=NAME; its "
      "columns are 'id', 'price', 'size', 'x'");
  Tables text("id,label\na,1\nb,cat\n");
  text.options.regression = true;
  EXPECT_EQ(text.error(), "nodes.csv: line 3: column 'label' must be a finite number, got 'cat'");
  Tables none_known("id,label\na,\nb,nan\n");
  none_known.options.regression = true;
  EXPECT_EQ(none_known.error(), "nodes.csv: column 'label' is empty: fill it, or leave the column out");
  Tables split("id,label,split\na,1.5,train\nb,,test\n");  // an unknown target is left out of the loss
  split.options.regression = true;
  EXPECT_EQ(split.read().split.test.numel(), 1);
}

TEST(DatasetsCsv, TextsAreOneHotAndMissingValuesAreFilled) {
  Tables t("id,age,kind,tall\na,1,dog,true\nb,,cat,false\nc,4,,nan\nd,nan,dog,true\n");
  Names notes;
  t.options.notes = &notes;
  t.options.missing = "mean";
  const float third = 2.0F / 3;
  EXPECT_EQ(t.read().x.to_vector<float>(),
            (Floats{1, 0, 1, 1, 2.5F, 1, 0, 0, 4, 0, 0, third, 2.5F, 0, 1, 1}));  // age, cat, dog, tall
  EXPECT_EQ(notes,
            (Names{"labels: none",
                   "features: 2 columns of numbers, 'kind' one-hot of 2 texts; 4 missing values are the "
                   "mean of the column"}));
  t.options.missing = "zero";
  EXPECT_EQ(t.read().x.to_vector<float>(), (Floats{1, 0, 1, 1, 0, 1, 0, 0, 4, 0, 0, 0, 0, 0, 1, 1}));
  t.options.missing = "median";
  EXPECT_EQ(t.error(), "--missing must be error, zero or mean, got 'median'");
  std::string nodes = "id,name\n";
  for (int i = 0; i < 30; ++i) nodes += str(i, ",n", i, "\n");
  EXPECT_EQ(
      nodes_error(nodes),
      "nodes.csv: column 'name' has 30 texts for 30 nodes, too many for a column each: choose features by "
      "--feature-columns, or give it a role by --columns");
}

/// A table of 60 nodes whose label is a function of the row.
template <class F>
Tables labelled(F&& label) {
  std::string nodes = "id,label\n";
  for (int i = 0; i < 60; ++i) nodes += str(i, ",", label(i), "\n");
  return Tables(nodes);
}

TEST(DatasetsCsv, LabelsThatAreNoClassesAreRefused) {
  const std::string hint =
      " labelled nodes, which are no classes: give --regression if they are numbers to predict, or name the "
      "label by --columns label=NAME";
  EXPECT_EQ(labelled([](int i) { return 1000 + 7 * i; }).error(),
            "nodes.csv: column 'label' has 60 different values for 60" + hint);
  EXPECT_EQ(labelled([](int i) { return str("person ", i % 40); }).error(),
            "nodes.csv: column 'label' has 40 different values for 60" + hint);
  EXPECT_EQ(labelled([](int i) { return i % 18 + 0.5; }).error(),
            "nodes.csv: column 'label' has 18 different numbers, some of them fractions, for 60" + hint);
  for (const auto& [classes, note] :
       {std::pair{5, "labels: 'label', 5 classes of numbers; to predict the numbers give --regression"},
        std::pair{30, "labels: 'label', 30 classes of numbers; to predict the numbers give --regression"}}) {
    Tables t = labelled([&](int i) { return i % classes; });
    Names notes;
    t.options.notes = &notes;
    EXPECT_EQ(t.read().num_classes, classes);
    EXPECT_EQ(notes.at(0), note);
  }
}

TEST(DatasetsCsv, ColumnsOfExactlyOneLabelAreClasses) {
  Tables t("id,red,blue,x\na,1,0,1\nb,0,1,2\nc,,,3\n");
  Names notes;
  t.options.notes = &notes;
  t.options.columns = "label=red,label=blue";
  const Dataset d = t.read();
  EXPECT_EQ(wide(d.y), (Ids{0, 1, -1}));
  EXPECT_EQ(d.class_names, (Names{"red", "blue"}));
  EXPECT_EQ(notes.at(0),
            "labels: 2 classes, of 2 columns of which each node has exactly one; to keep them apart "
            "give --multi-label");
  t.options.multi_label = true;
  EXPECT_TRUE(t.read().multi_label());
  EXPECT_EQ(notes.at(2), "labels: 2 labels a node, each 0 or 1 (multi-label)");
  t.options.columns = "label=red";
  EXPECT_EQ(t.error(),
            "nodes.csv: --multi-label needs several columns of 0 and 1: name them by --columns "
            "label=NAME,label=NAME");
}

TEST(DatasetsCsv, SeveralLabelsOfANode) {
  Tables t("id,red,round,x\na,1,0,1\nb,true,,2\nc,-1,0,3\n");
  t.options.columns = "label=round,label=red";
  const Dataset d = t.read();
  EXPECT_TRUE(d.multi_label());
  EXPECT_EQ(d.class_names, (Names{"round", "red"}));
  EXPECT_EQ(d.num_features, 1);
  const std::uint8_t none = Dataset::kMissingLabel;
  EXPECT_EQ(d.y.to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 1, none, 1, 0, none}));
  t.options.columns = "label=red,label=red";
  EXPECT_EQ(t.error(), "--columns names 'red' twice as a label");
  t.options.columns = "id=id,id=x";
  EXPECT_EQ(t.error(), "--columns names two columns for id: only label may have several");
  t.options.columns = "label=red,label=x";
  EXPECT_EQ(
      t.error(),
      "nodes.csv: line 3: column 'x' must be 0, 1 or nothing, as one of several labels, got '2': or are they "
      "numbers to predict, --regression?");
}

}  // namespace
}  // namespace rodeo
