#include <algorithm>
#include <numeric>
#include <vector>

#include "datasets/reorder.h"

namespace rodeo {
namespace {

using Ids = std::vector<std::int32_t>;

/// Nodes join each other; a community is a tree of them, named by its root.
class Rabbit {
 public:
  explicit Rabbit(const Adjacency& adj)
      : ptr_(adj.csr().row_ptr.data<std::int64_t>()),
        col_(adj.csr().col.data<std::int32_t>()),
        nodes_(static_cast<std::size_t>(adj.rows())),
        tree_(nodes_.size()),
        degree_(nodes_.size()),
        links_(nodes_.size()) {
    const auto n = static_cast<std::int64_t>(nodes_.size());
#pragma omp parallel for schedule(static, 4096)
    for (std::int64_t v = 0; v < n; ++v) {
      nodes_[v].joined = static_cast<std::int32_t>(v);
      degree_[v] =
          static_cast<double>(ptr_[v + 1] - ptr_[v] -
                              std::count(col_ + ptr_[v], col_ + ptr_[v + 1], static_cast<std::int32_t>(v)));
    }
    for (const double degree : degree_) total_ += degree;  // whole numbers: exact in any order
  }

  Tensor run() {
    Ids by_degree(nodes_.size());
    std::iota(by_degree.begin(), by_degree.end(), 0);
    // By those of the graph: degree_ will be that of communities.
    std::stable_sort(by_degree.begin(), by_degree.end(),
                     [&](std::int32_t a, std::int32_t b) { return degree_[a] < degree_[b]; });
    for (const std::int32_t v : by_degree) visit(v);
    return depth_first(by_degree);
  }

 private:
  struct Node {
    std::int32_t joined;  // whom; itself: nobody
    float weight = 0;     // of the links between the visited community and this one
  };
  struct Branch {
    std::int32_t first = -1, last = -1, next = -1;  // of those who joined it; of those who joined the same
  };
  struct Link {
    std::int32_t to;
    float weight;
  };

  std::int32_t root(std::int32_t v) {
    while (nodes_[v].joined != v) v = nodes_[v].joined = nodes_[nodes_[v].joined].joined;
    return v;
  }

  void add(std::int32_t v, std::int32_t to, float weight) {
    to = root(to);
    if (to == v) return;
    Node& node = nodes_[to];
    if (node.weight == 0) met_.push_back(to);
    node.weight += weight;
  }

  void add_row(std::int32_t v, std::int32_t row) {
    for (std::int64_t e = ptr_[row]; e < ptr_[row + 1]; ++e) add(v, col_[e], 1);
  }

  // The links of v's community to others. Who joined has kept its own; one that nobody had joined has its
  // row.
  void meet(std::int32_t v) {
    met_.clear();
    add_row(v, v);
    for (std::int32_t child = tree_[v].first; child >= 0; child = tree_[child].next) {
      if (tree_[child].first < 0) add_row(v, child);
      for (const Link& link : links_[child]) add(v, link.to, link.weight);
      std::vector<Link>().swap(links_[child]);
    }
  }

  void visit(std::int32_t v) {
    meet(v);
    // The gain in modularity times (sum of degrees)^2 / 2.
    double most = 0;
    std::int32_t best = -1;
    for (const std::int32_t u : met_) {
      const double gain = nodes_[u].weight * total_ - degree_[v] * degree_[u];
      if (gain > most || (gain == most && u < best)) most = gain, best = u;
    }
    if (best >= 0 && tree_[v].first >= 0) {
      links_[v].reserve(met_.size());
      for (const std::int32_t u : met_) links_[v].push_back({u, nodes_[u].weight});
    }
    for (const std::int32_t u : met_) nodes_[u].weight = 0;
    if (best >= 0) join(v, best);
  }

  void join(std::int32_t v, std::int32_t u) {
    nodes_[v].joined = u;
    degree_[u] += degree_[v];
    (tree_[u].first < 0 ? tree_[u].first : tree_[tree_[u].last].next) = v;
    tree_[u].last = v;
  }

  Tensor depth_first(const Ids& by_degree) const {
    std::vector<std::int64_t> order;
    order.reserve(nodes_.size());
    Ids open;
    for (auto at = by_degree.rbegin(); at != by_degree.rend(); ++at) {
      if (nodes_[*at].joined != *at) continue;
      open.push_back(*at);
      while (!open.empty()) {
        const std::int32_t v = open.back();
        open.pop_back();
        order.push_back(v);
        if (tree_[v].next >= 0) open.push_back(tree_[v].next);
        if (tree_[v].first >= 0) open.push_back(tree_[v].first);
      }
    }
    return Tensor::from(order);
  }

  const std::int64_t* ptr_;
  const std::int32_t* col_;
  std::vector<Node> nodes_;
  std::vector<Branch> tree_;
  std::vector<double> degree_;  // of communities, by their roots
  std::vector<std::vector<Link>> links_;
  Ids met_;
  double total_ = 0;
};

}  // namespace

Tensor rabbit_order(const Adjacency& adj) {
  check(adj.rows() == adj.cols(), "[rabbit_order] needs a square graph, got ", adj.rows(), " x ", adj.cols());
  return Rabbit(adj).run();
}

}  // namespace rodeo
