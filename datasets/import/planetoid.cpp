#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include "datasets/import.h"
#include "datasets/import/pickle.h"
#include "datasets/import/text_lines.h"

namespace rodeo {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<std::int64_t>;

std::string name_in(const std::string& folder) {
  check(fs::is_directory(folder), folder, ": is not a folder of Planetoid files");
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with("ind.") && file.ends_with(".graph"))
      names.push_back(file.substr(4, file.size() - 10));
  }
  check(!names.empty(), folder, ": has no file ind.NAME.graph");
  check(names.size() == 1, folder, ": has Planetoid files of several datasets, ", names.front(), " and ",
        names.back(), ": keep each in its own folder");
  return names.front();
}

struct Rows {
  Tensor indptr, indices, data;  // of a SciPy CSR matrix
  std::int64_t width = 0;
  std::int64_t count() const { return indptr.numel() - 1; }
};

Rows read_matrix(const std::string& path) {
  const PickleFile file = read_pickle(path);
  const Pickle value = file.root;
  const bool made = value->kind == PickleValue::Kind::kObject && value->state &&
                    value->text.find("csr_matrix") != std::string::npos;
  check(made, path, ": must hold a SciPy csr_matrix");
  Pickle shape = value->state->find("_shape");
  if (!shape) shape = value->state->find("shape");
  check(shape && shape->items.size() == 2, path, ": the matrix has no shape");
  Rows rows{pickled_array(value->state->find("indptr"), path + ": indptr"),
            pickled_array(value->state->find("indices"), path + ": indices"),
            pickled_array(value->state->find("data"), path + ": data").to(DType::kF32),
            shape->items[1]->integer};
  check(rows.indptr.dtype() == DType::kI64 && rows.indices.dtype() == DType::kI64 && rows.count() >= 0 &&
            rows.width >= 0 && rows.width < (std::int64_t{1} << 31) &&
            rows.count() == shape->items[0]->integer && rows.indices.numel() == rows.data.numel(),
        path, ": the parts of the matrix are inconsistent");
  const auto* p = rows.indptr.data<std::int64_t>();
  const auto* j = rows.indices.data<std::int64_t>();
  check(p[0] == 0 && std::is_sorted(p, p + rows.indptr.numel()) && p[rows.count()] == rows.indices.numel() &&
            std::all_of(j, j + rows.indices.numel(), [&](auto id) { return id >= 0 && id < rows.width; }),
        path, ": the matrix has entries outside of its shape");
  const auto* v = rows.data.data<float>();
  check(std::all_of(v, v + rows.data.numel(), [](float value) { return std::isfinite(value); }), path,
        ": the matrix has values that are not finite in f32");
  return rows;
}

/// Converts one-hot rows to classes.
Ids read_classes(const std::string& path, std::int64_t& classes) {
  const PickleFile file = read_pickle(path);
  const Tensor y = pickled_array(file.root, path);
  check(y.rank() == 2 && y.dim(1) >= 1, path, ": must be [nodes, classes], got ", y.shape());
  const std::vector<double> v = y.to(DType::kF64).to_vector<double>();
  classes = y.dim(1);
  Ids out;
  for (std::int64_t i = 0; i < y.dim(0); ++i) {
    const auto row = v.begin() + i * classes;
    out.push_back(std::max_element(row, row + classes) - row);
  }
  return out;
}

Ids read_test_nodes(const std::string& path) {
  TextLines lines(path);
  Ids nodes;
  std::vector<std::string_view> fields;
  while (lines.next(fields)) {
    if (fields.size() != 1) lines.wrong("expected one node");
    nodes.push_back(lines.id(fields[0]));
  }
  return nodes;
}

void read_edges(const std::string& path, Dataset& out) {
  const PickleFile file = read_pickle(path);
  const Pickle graph = file.root;
  Ids row, col;
  for (std::size_t i = 0; i + 1 < graph->items.size(); i += 2)
    for (const Pickle other : graph->items[i + 1]->items) {
      row.push_back(graph->items[i]->integer);
      col.push_back(other->integer);
    }
  const auto bad = [&](std::int64_t id) { return id < 0 || id >= out.num_nodes; };
  check(std::none_of(row.begin(), row.end(), bad) && std::none_of(col.begin(), col.end(), bad), path,
        ": has nodes outside [0, ", out.num_nodes, ")");
  const Adjacency adj = coo_to_csr(Tensor::from(row), Tensor::from(col), out.num_nodes, out.num_nodes,
                                   {.symmetrize = true, .self_loops = SelfLoops::kDrop})
                            .adj;
  out.src = edge_rows(adj);  // symmetric: sorted by source as well as by destination
  out.dst = adj.csr().col;
}

}  // namespace

Dataset read_planetoid(const std::string& folder) {
  constexpr std::int64_t kValidate = 500;
  Dataset out;
  out.name = name_in(folder);
  const auto path = [&](const char* part) {
    return (fs::path(folder) / ("ind." + out.name + "." + part)).string();
  };
  const Rows allx = read_matrix(path("allx")), tx = read_matrix(path("tx"));
  std::int64_t classes = 0, train_classes = 0, test_classes = 0;
  const Ids ally = read_classes(path("ally"), classes), ty = read_classes(path("ty"), test_classes);
  const auto train = static_cast<std::int64_t>(read_classes(path("y"), train_classes).size());
  const Ids test = read_test_nodes(path("test.index"));
  const std::int64_t known = allx.count();
  const auto as_int = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  check(allx.width == tx.width && classes == test_classes && classes == train_classes &&
            as_int(ally.size()) == known && as_int(ty.size()) == tx.count() &&
            as_int(test.size()) == tx.count() && train + kValidate <= known,
        folder, ": the files of ", out.name, " are inconsistent");
  out.num_nodes = known;
  for (const std::int64_t node : test) {
    check(node < 2 * (known + as_int(test.size())), path("test.index"), ": names node ", node, " of ",
          known + as_int(test.size()));
    out.num_nodes = std::max(out.num_nodes, node + 1);
  }
  out.num_features = allx.width;
  out.num_classes = classes;

  // The row of each node: below `known` in allx, else in tx; -1 if it has none.
  Ids from(static_cast<std::size_t>(out.num_nodes), -1);
  for (std::int64_t i = 0; i < known; ++i) from[i] = i;
  for (std::size_t i = 0; i < test.size(); ++i) {
    check(test[i] >= known, path("test.index"), ": line ", i + 1, ": node ", test[i], " is already in allx");
    check(from[test[i]] < 0, path("test.index"), ": line ", i + 1, ": node ", test[i], " is a duplicate");
    from[test[i]] = known + as_int(i);
  }
  Ids indptr{0}, indices, label;
  std::vector<float> data;
  for (const std::int64_t place : from) {
    const Rows& rows = place < known ? allx : tx;
    const std::int64_t row = place < known ? place : place - known;
    label.push_back(place < 0 ? 0 : place < known ? ally[row] : ty[row]);
    if (place >= 0) {
      const auto* p = rows.indptr.data<std::int64_t>();
      indices.insert(indices.end(), rows.indices.data<std::int64_t>() + p[row],
                     rows.indices.data<std::int64_t>() + p[row + 1]);
      data.insert(data.end(), rows.data.data<float>() + p[row], rows.data.data<float>() + p[row + 1]);
    }
    indptr.push_back(as_int(indices.size()));
  }
  out.x_sparse = {Tensor::from(indptr), Tensor::from(indices).to(DType::kI32), Tensor::from(data)};
  out.y = Tensor::from(label);
  const auto range = [](std::int64_t begin, std::int64_t end) {
    Ids ids;
    for (; begin < end; ++begin) ids.push_back(begin);
    return Tensor::from(ids);
  };
  Ids tested = test;
  std::sort(tested.begin(), tested.end());
  out.split = {range(0, train), range(train, train + kValidate), Tensor::from(tested)};
  read_edges(path("graph"), out);
  return out;
}

}  // namespace rodeo
