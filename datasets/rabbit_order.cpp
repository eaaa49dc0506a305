#include <algorithm>
#include <numeric>
#include <vector>

#include "datasets/reorder.h"

namespace rodeo {
namespace {

using Ids = std::vector<std::int32_t>;

/// Nodes are merged into communities. A community is a tree of nodes, identified by its root.
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
      nodes_[v].parent = static_cast<std::int32_t>(v);
      degree_[v] =
          static_cast<double>(ptr_[v + 1] - ptr_[v] -
                              std::count(col_ + ptr_[v], col_ + ptr_[v + 1], static_cast<std::int32_t>(v)));
    }
    for (const double degree : degree_) total_ += degree;  // integers: exact in any order
  }

  Tensor run() {
    Ids by_degree(nodes_.size());
    std::iota(by_degree.begin(), by_degree.end(), 0);
    // By degree in the graph, before merging changes degree_ to the degrees of communities.
    std::stable_sort(by_degree.begin(), by_degree.end(),
                     [&](std::int32_t a, std::int32_t b) { return degree_[a] < degree_[b]; });
    for (const std::int32_t v : by_degree) visit(v);
    return depth_first(by_degree);
  }

 private:
  struct Node {
    std::int32_t parent;  // the node it was merged into; itself for a root
    float weight = 0;     // of the links between the visited community and this one
  };
  struct Branch {
    std::int32_t first = -1, last = -1;  // children: the nodes merged into this one
    std::int32_t next = -1;              // next child of the same parent
  };
  struct Link {
    std::int32_t to;
    float weight;
  };

  std::int32_t root(std::int32_t v) {
    while (nodes_[v].parent != v) v = nodes_[v].parent = nodes_[nodes_[v].parent].parent;
    return v;
  }

  void add(std::int32_t v, std::int32_t to, float weight) {
    to = root(to);
    if (to == v) return;
    Node& node = nodes_[to];
    if (node.weight == 0) neighbours_.push_back(to);
    node.weight += weight;
  }

  void add_row(std::int32_t v, std::int32_t row) {
    for (std::int64_t e = ptr_[row]; e < ptr_[row + 1]; ++e) add(v, col_[e], 1);
  }

  // Collects the links of the community of v to others in neighbours_ and Node::weight. A merged community
  // has stored its links; a merged node without children has the links of its row.
  void collect_links(std::int32_t v) {
    neighbours_.clear();
    add_row(v, v);
    for (std::int32_t child = tree_[v].first; child >= 0; child = tree_[child].next) {
      if (tree_[child].first < 0) add_row(v, child);
      for (const Link& link : links_[child]) add(v, link.to, link.weight);
      std::vector<Link>().swap(links_[child]);
    }
  }

  void visit(std::int32_t v) {
    collect_links(v);
    // The gain in modularity, multiplied by (sum of degrees)^2 / 2.
    double most = 0;
    std::int32_t best = -1;
    for (const std::int32_t u : neighbours_) {
      const double gain = nodes_[u].weight * total_ - degree_[v] * degree_[u];
      if (gain > most || (gain == most && u < best)) most = gain, best = u;
    }
    if (best >= 0 && tree_[v].first >= 0) {
      links_[v].reserve(neighbours_.size());
      for (const std::int32_t u : neighbours_) links_[v].push_back({u, nodes_[u].weight});
    }
    for (const std::int32_t u : neighbours_) nodes_[u].weight = 0;
    if (best >= 0) merge(v, best);
  }

  void merge(std::int32_t v, std::int32_t u) {
    nodes_[v].parent = u;
    degree_[u] += degree_[v];
    (tree_[u].first < 0 ? tree_[u].first : tree_[tree_[u].last].next) = v;
    tree_[u].last = v;
  }

  Tensor depth_first(const Ids& by_degree) const {
    std::vector<std::int64_t> order;
    order.reserve(nodes_.size());
    Ids open;
    for (auto at = by_degree.rbegin(); at != by_degree.rend(); ++at) {
      if (nodes_[*at].parent != *at) continue;
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
  std::vector<double> degree_;  // of communities, indexed by root
  std::vector<std::vector<Link>> links_;
  Ids neighbours_;
  double total_ = 0;
};

}  // namespace

Tensor rabbit_order(const Adjacency& adj) {
  check(adj.rows() == adj.cols(), "[rabbit_order] needs a square graph, got ", adj.rows(), " x ", adj.cols());
  return Rabbit(adj).run();
}

}  // namespace rodeo
