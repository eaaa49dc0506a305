/// All formats of `rodeo_data import`. A format of one file is its row; one of several files replaces one of
/// them by the input.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "core/error.h"
#include "datasets/import.h"
#include "tests/datasets/pickles.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/target.h"

namespace rodeo::fuzz {
namespace {

using Files = std::map<std::string, std::string>;  // contents by path in a folder

void put(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Reads `source` with the options that `number` says, and writes it to `file`.
void import(std::string_view format, const std::string& source, std::uint64_t number,
            const std::string& file) {
  for (const Importer& importer : kImporters) {
    if (importer.format != format) continue;
    const auto takes = [&](std::string_view option) {
      return importer.options.find(option) != std::string::npos;
    };
    ImportOptions options;
    options.undirected = takes("undirected") && (number >> 3) % 2 == 1;
    options.relabel = takes("relabel") && (number >> 4) % 2 == 1;
    options.weights = !takes("no-weights") || (number >> 5) % 2 == 1;
    if (!importer.has_source) {  // csv, of a folder here
      options.csv.edges = source + "/edges.csv";
      options.csv.undirected = options.undirected;
      if ((number >> 5) % 4 > 0) options.csv.nodes = source + "/nodes.csv";
      if ((number >> 7) % 4 > 1) options.csv.columns = "label=age,label=x1";
      options.csv.regression = (number >> 7) % 4 == 3;
      options.hetero.nodes = {"a=" + source + "/nodes.csv"};
      if ((number >> 9) % 2 == 1) options.hetero.edges = {"a:r:a=" + options.csv.edges};
    }
    try {
      if (importer.is_hetero && importer.is_hetero(source, options)) {
        const HeteroDataset dataset = importer.read_hetero(source, options);
        if (dataset.num_nodes() > 100000) return;
        save_hetero_dataset(dataset, file);
        for (const std::string& finding : validate_hetero_dataset(file)) {
          std::fprintf(stderr, "an importer made an invalid dataset: %s\n", finding.c_str());
          std::abort();
        }
        return;
      }
      const Dataset dataset = importer.read(source, options);
      if (dataset.num_nodes > 100000) return;
      save_dataset(dataset, file);  // what was accepted must be valid
      for (const std::string& finding : validate_dataset(file)) {
        std::fprintf(stderr, "an importer made an invalid dataset: %s\n", finding.c_str());
        std::abort();
      }
    } catch (const OutOfMemory&) {  // one line of text can ask for 2^31 nodes
    }
  }
}

/// Writes all files, the one that `number` says with the input's bytes.
void write(const Files& files, const std::string& input, std::uint64_t number, const std::string& folder) {
  std::uint64_t left = number % files.size();
  for (const auto& [name, bytes] : files) {
    const std::filesystem::path path = str(folder, "/", name);
    std::filesystem::create_directories(path.parent_path());
    put(path, left-- == 0 ? input : bytes);
  }
}
const std::string& chosen(const Files& files, std::uint64_t number) {
  return std::next(files.begin(), static_cast<std::ptrdiff_t>(number % files.size()))->second;
}

std::string edge_list(std::uint64_t seed, std::uint64_t number) {
  Draws draws(seed, number);
  return mutate_text(
      draws.below(2) ? "# a comment\n0 1\n1 2 \n2 3\r\n3 0\n4 4\n" : "0,1,0.5\n1,2,-1\n2,0,1e3\n", draws);
}

std::string matrix_market(std::uint64_t seed, std::uint64_t number) {
  static const std::vector<std::string> kKinds{"real general", "integer symmetric", "pattern general",
                                               "real skew-symmetric", "pattern symmetric"};
  Draws draws(seed, number);
  const std::string& kind = draws.of(kKinds);
  std::string text = str("%%MatrixMarket matrix coordinate ", kind, "\n% a comment\n5 5 4\n");
  for (const char* entry : {"2 1", "3 1", "4 2", "5 4"})
    text += str(entry, kind.find("pattern") == 0 ? "\n" : " 7\n");
  return mutate_text(text, draws);
}

std::string triples(std::uint64_t seed, std::uint64_t number) {
  Draws draws(seed, number);
  return mutate_text(draws.below(2) ? "ann\tknows\tbob\nbob\tis a\teve\r\neve\tknows\tann\n"
                                    : "<a> <x/knows> <b> .\n<b> <is> \"text\" .\n<b> <is> <a> .\n",
                     draws);
}

const Files& planetoid_files() {
  static const Files files = [] {
    using test::integer, test::matrix, test::one_hot;
    const std::vector<std::int32_t> columns(502, 1);
    return Files{{"ind.a.allx", matrix(columns, 3)},
                 {"ind.a.ally", one_hot(test::Ids(502, 1), 3)},
                 {"ind.a.x", matrix({0, 1}, 3)},
                 {"ind.a.y", one_hot({0, 2}, 3)},
                 {"ind.a.tx", matrix({0, 2}, 3)},
                 {"ind.a.ty", one_hot({1, 2}, 3)},
                 {"ind.a.test.index", "503\n502\n"},
                 {"ind.a.graph", str("}(", integer(0), "](", integer(1), integer(503), "e", integer(1), "](",
                                     integer(0), "eu.")}};
  }();
  return files;
}

const Files& ogb_files() {
  static const Files files{{"raw/edge.csv", "0,1\n1,2\n3,0\n"},
                           {"raw/num-node-list.csv", "4\n"},
                           {"raw/node-feat.csv", "1,2\n0.5,-3\n1e3,4\n5,6\n"},
                           {"raw/node-label.csv", "0\n2.0\nnan\n1\n"},
                           {"split/time/train.csv", "3\n0\n"},
                           {"split/time/valid.csv", "1\n"},
                           {"split/time/test.csv", "2\n"}};
  return files;
}

const Files& tu_files() {
  static const Files files{{"T.txt", "2\n2 5\n7 1 1 0.5\n3 1 0 1\n3 -1\n3 0 2\n7 1 2 3\n7 1 1 4\n"},
                           {"T_A.txt", "1, 2\n2, 1\n3, 4\n4, 3\n"},
                           {"T_graph_indicator.txt", "1\n1\n2\n2\n2\n"},
                           {"T_graph_labels.txt", "1\n-1\n"},
                           {"T_node_labels.txt", "7\n3\n3\n7\n9\n"},
                           {"T_node_attributes.txt", "0.5, 1\n1, 2\n1.5, 3\n2, 4\n2.5, 5\n"},
                           {"T_edge_labels.txt", "0\n0\n1\n1\n"},
                           {"T_edge_attributes.txt", "1\n2\n3\n4\n"}};
  return files;
}

const Files& csv_files() {
  static const Files files{
      {"nodes.csv",
       "id,label,split,age,x1\r\nann,cat,train,3,0.25\r\nbob,\"dog, \"\"big\"\"\",val,5,-1e3\r\n"
       "eve,,,1,0\r\njoe,cat,test,8,1\r\n"},
      {"edges.csv", "source,target,weight\nann,eve,1\nbob,joe,0.5\njoe,eve,-2\n"}};
  return files;
}

template <const Files& (*files)()>
std::string one_of(std::uint64_t seed, std::uint64_t number) {
  Draws draws(seed, number);
  const std::string& text = chosen(files(), number);
  const bool binary = text.find('\0') != std::string::npos;
  return binary ? mutate_bytes(text, draws) : mutate_text(text, draws);
}

}  // namespace

std::span<const Target> import_targets() {
  static constexpr Target kTargets[] = {
      {"edgelist", edge_list,
       [](const std::string& input, std::uint64_t number, const std::string& folder) {
         put(folder + "/a.txt", input);
         import("edgelist", folder + "/a.txt", number, folder + "/out.h5");
       }},
      {"mtx", matrix_market,
       [](const std::string& input, std::uint64_t number, const std::string& folder) {
         put(folder + "/a.mtx", input);
         import("mtx", folder + "/a.mtx", number, folder + "/out.h5");
       }},
      {"planetoid", one_of<planetoid_files>,
       [](const std::string& input, std::uint64_t number, const std::string& folder) {
         write(planetoid_files(), input, number, folder);
         import("planetoid", folder, number, folder + "/out.h5");
       }},
      {"csv-ogb", one_of<ogb_files>,
       [](const std::string& input, std::uint64_t number, const std::string& folder) {
         write(ogb_files(), input, number, folder);
         import("csv-ogb", folder, number, folder + "/out.h5");
       }},
      {"tu", one_of<tu_files>,
       [](const std::string& input, std::uint64_t number, const std::string& folder) {
         write(tu_files(), input, number, folder);
         import("tu", folder, number, folder + "/out.h5");
         import("tu", folder + "/T.txt", number, folder + "/out.h5");
       }},
      {"csv", one_of<csv_files>,
       [](const std::string& input, std::uint64_t number, const std::string& folder) {
         write(csv_files(), input, number, folder);
         import("csv", folder, number, folder + "/out.h5");
       }},
      {"triples", triples,
       [](const std::string& input, std::uint64_t number, const std::string& folder) {
         put(folder + "/a.tsv", input);
         import("triples", folder + "/a.tsv", number, folder + "/out.h5");
       }},
      // A new importer: its row here, named as in kImporters.
  };
  return kTargets;
}

}  // namespace rodeo::fuzz
