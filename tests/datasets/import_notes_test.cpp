// Names of columns that importers know, what they say that they understood, and the lines that they cannot
// read.
#include <gtest/gtest.h>

#include <filesystem>

#include "datasets/import.h"
#include "datasets/import/pickle.h"
#include "tests/datasets/folder.h"
#include "tests/datasets/parts.h"
#include "tests/datasets/pickles.h"
#include "tests/support/devices.h"
#include "tests/support/process.h"
#include "train/io/atomic_file.h"

namespace rodeo::test {
namespace {

struct DatasetsImportNotes : testing::Test, Folder {};

TEST_F(DatasetsImportNotes, UsualNamesOfColumnsNeedNoRole) {
  for (const char* id : {"id", "node", "node_id", "ID"})
    for (const char* label : {"label", "class", "Class"})
      for (const char* source : {"source", "src", "from", "id1", "id_1"}) {
        const Dataset d = read_csv({.nodes = put("n.csv", str(id, ",", label, ",x\na,u,1\nb,v,2\n")),
                                    .edges = put("e.csv", str(source, ",target,edge_weight\na,b,0.5\n"))});
        EXPECT_EQ(d.num_nodes, 2) << id << label << source;
        EXPECT_EQ(d.num_classes, 2);
        EXPECT_EQ(d.num_features, 1);
        EXPECT_EQ(d.edge_weight.to_vector<float>(), std::vector<float>{0.5f});
      }
  for (const char* target : {"target", "dst", "to", "id2", "id_2"}) {
    const Dataset d =
        read_csv({.nodes = {}, .edges = put("e.csv", str("source,", target, ",weight\n0,1,2\n"))});
    EXPECT_EQ(wide(d.dst), Ids{1}) << target;
    EXPECT_EQ(d.edge_weight.to_vector<float>(), std::vector<float>{2});
  }
  const std::string edges = put("e.csv", "source,target\na,b\n");
  for (const char* train : {"train", "train_mask"})
    for (const char* val : {"val", "valid", "validation", "val_mask"})
      for (const char* test : {"test", "test_mask"}) {
        const Dataset d = read_csv({.nodes = put("n.csv", str("id,label,", train, ",", val, ",", test,
                                                              "\na,0,1,0,0\nb,1,0,1,0\nc,0,0,0,1\n")),
                                    .edges = edges});
        EXPECT_EQ(wide(d.split.train), Ids{0}) << train << val << test;
        EXPECT_EQ(wide(d.split.val), Ids{1});
        EXPECT_EQ(wide(d.split.test), Ids{2});
        EXPECT_FALSE(d.has_features());
      }
}

TEST_F(DatasetsImportNotes, WhatWasUnderstoodIsSaid) {
  const std::string edges = put("e.csv", "source,target\na,b\n");
  const auto notes_of = [&](const std::string& nodes, bool regression = false) {
    std::vector<std::string> notes;
    CsvOptions options{.nodes = put("n.csv", nodes), .edges = edges};
    options.regression = regression, options.notes = &notes;
    read_csv(options);
    std::string all;
    for (const std::string& note : notes) all += note + "\n";
    return all;
  };
  EXPECT_EQ(notes_of("id\na\nb\n"), "labels: none\nfeatures: none\n");
  EXPECT_EQ(notes_of("id,label,x\na,0.5,1\nb,2.5,2\n", true),
            "labels: numbers to predict, 1 a node\nfeatures: 1 column of numbers\n");
  EXPECT_EQ(notes_of("id,kind,colour,x\na,u,red,1\nb,v,blue,2\nc,u,red,3\nd,v,green,3\ne,v,green,3\n"),
            "labels: none\nfeatures: 1 column of numbers, 'kind' one-hot of 2 texts, 'colour' one-hot of 3 "
            "texts\n");
  EXPECT_EQ(notes_of("id,x,y\na,1,2\nb,2,3\n"), "labels: none\nfeatures: 2 columns of numbers\n");
}

TEST_F(DatasetsImportNotes, NegativeLabelsAreUnlabelledBesideTwoClasses) {
  const std::string edges = put("e.csv", "source,target\na,b\n");
  const auto read = [&](const std::string& nodes) {
    return read_csv({.nodes = put("n.csv", nodes), .edges = edges});
  };
  EXPECT_EQ(wide(read("id,label\na,0\nb,1\nc,-1\n").y), (Ids{0, 1, -1}));
  const auto one = [&] { read("id,label\na,0\nb,0\nc,-1\n"); };
  EXPECT_TRUE(error(one).starts_with(
      "n.csv: column 'label' has 1 class besides negative numbers, which mean unlabelled: "));
  EXPECT_EQ(read("id,label\na,0\nb,0\nc,\n").num_classes, 1);
}

TEST_F(DatasetsImportNotes, LinesOfOgbThatCannotBeRead) {
  const auto mag = [&](const std::string& triplets, const std::string& edges) {
    put("m/raw/num-node-dict.csv", "a,b\n2,1\n");
    put("m/raw/triplet-type-list.csv", triplets);
    put("m/raw/relations/a___r___b/edge.csv", edges);
    return error([&] { read_ogb_hetero(dir / "m"); });
  };
  put("m/raw/node-label/a/node-label.csv", "0\n1\n");
  const std::string list = "m/raw/triplet-type-list.csv: line 1: ",
                    edge = "m/raw/relations/a___r___b/edge.csv: line 2: ";
  EXPECT_EQ(mag("a,r\n", ""), list + "expected a source type, a relation and a target type");
  EXPECT_EQ(mag("a,r,c\n", ""), list + "names a node type that m/raw/num-node-dict.csv has not");
  EXPECT_EQ(mag("c,r,b\n", ""), list + "names a node type that m/raw/num-node-dict.csv has not");
  EXPECT_EQ(mag("b,r,a\n", ""), "m/raw/relations/b___r___a/edge.csv.gz: no such file");
  EXPECT_EQ(mag("a,r,b\n", "0,0\n1\n"), edge + "expected a source and a target");
  EXPECT_EQ(mag("a,r,b\n", "0,0\n2,0\n"), edge + "node 2 is outside [0, 2)");
  EXPECT_EQ(mag("a,r,b\n", "0,0\n1,1\n"), edge + "node 1 is outside [0, 1)");
  put("m/raw/relations/a___r___b/edge.csv", "0,0\n");
  EXPECT_EQ(read_ogb_hetero(dir / "m").num_edges(), 1);
  std::filesystem::remove(dir / "m/raw/triplet-type-list.csv");
  EXPECT_EQ(error([&] { read_ogb_hetero(dir / "m"); }), "m/raw/triplet-type-list.csv.gz: no such file");
}

TEST_F(DatasetsImportNotes, PicklesThatAreDamaged) {
  const auto read = [](const std::string& pickle) {
    const std::string text = error_of([&] { parse_pickle(pickle, "p"); });
    return text.substr(text.rfind(": ", text.rfind(": the pickle is damaged") - 1) + 2);
  };
  EXPECT_EQ(read("."), "an empty stack: the pickle is damaged");
  EXPECT_EQ(read("u."), "no mark: the pickle is damaged");
  EXPECT_EQ(read("h\x05."), "unknown memo 5: the pickle is damaged");
}

TEST_F(DatasetsImportNotes, InspectOfSeveralTypes) {
  HeteroDataset d;
  d.name = "shop", d.target = 0;
  d.types.resize(3);
  for (std::size_t t = 0; t < 3; ++t)
    d.types[t].num_nodes = 4, d.types[t].name = std::string(1, static_cast<char>('a' + t));
  d.types[0].y = Tensor::zeros({4, 2}), d.types[0].num_classes = 2;
  d.types[1].y = Tensor::zeros({4, 3}, DType::kU8), d.types[1].num_classes = 3;
  d.types[1].num_features = 5;
  d.types[1].x_sparse = {ids({0, 1, 1, 1, 1}), ids({3}).to(DType::kI32), Tensor::full({1}, 1)};
  d.types[0].splits = {{ids({0}), ids({1}), ids({2, 3})}, {ids({1, 2}), ids({0}), ids({3})}};
  d.types[0].split = d.types[0].splits[0];
  d.relations = {{.name = "r", .source = 0, .target = 1, .src = ids({0, 0, 3}), .dst = ids({1, 2, 1})}};
  save_hetero_dataset(d, dir / "h.h5");
  EXPECT_EQ(wait_for(start({command("rodeo_data"), "inspect", dir / "h.h5"}, dir / "out", dir / "err")), 0);
  EXPECT_EQ(read_file(dir / "out", 10'000),
            "shop, 3 node types, 12 nodes, 1 relation, 3 edges; learns a, 2 targets of regression\n"
            "node type a                           4 nodes, no features, 2 targets of regression\n"
            "  2 splits, the first 1 train, 1 val, 2 test\n"
            "node type b                           4 nodes, 5 features, sparse, 3 classes, multi-label\n"
            "node type c                           4 nodes, no features, no labels\n"
            "relation a:r:b          3 edges\n"
            "  edges of a source: mean 0.75, max 2, 2 without; of a target: mean 0.75, max 2, 2 without\n");
}

}  // namespace
}  // namespace rodeo::test
