// Forest: trees of numbers, and their sum as a score.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/cost_model/gbdt/training_set.h"

namespace espalier::gbdt {

// A split sends a row to `left` or to the node after it; a leaf points at itself, so that walking
// on from it stays there.
struct Node {
  float threshold = 0;  // values up to it go left; +inf in a leaf
  float value = 0;      // of a leaf
  uint32_t left = 0;
  uint32_t column : 31 = 0;        // in a leaf 0
  uint32_t missing_right : 1 = 0;  // where missing values go

  friend bool operator==(const Node&, const Node&) = default;
};

// Statistics of a node from its training, for importances; walking does not need them.
struct NodeStats {
  float gain = 0;   // reduction of the loss by the split
  float cover = 0;  // sum of Hessians

  friend bool operator==(const NodeStats&, const NodeStats&) = default;
};

struct TreeRange {
  uint32_t root = 0, end = 0;  // nodes
  uint32_t depth = 0;          // splits on the longest way to a leaf

  friend bool operator==(const TreeRange&, const TreeRange&) = default;
};

struct Forest {
  uint32_t columns = 0;  // of the tables it scores
  double base_score = 0;
  double eta = 1;  // what leaf values were scaled by when they were fitted
  std::vector<Node> nodes;
  std::vector<NodeStats> stats;  // one a node
  std::vector<TreeRange> trees;

  bool is_leaf(uint32_t node) const { return nodes[node].left == node; }

  // scores[i] = margins[i] + base_score + the sum over trees, in double precision and the order of
  // the trees. Margins may be empty. The table has `columns` columns.
  void predict(const Table& table, std::span<const float> margins, int threads,
               std::span<float> scores) const;

  // The leaf of each row in one tree.
  void find_leaves(const Table& table, size_t tree, std::span<uint32_t> leaves) const;

  // Another forest's trees after these: scores add up. Both must be for the same columns.
  void append(const Forest& more);
  // Keeps the first `count` trees.
  void truncate(size_t count);

  friend bool operator==(const Forest&, const Forest&) = default;
};

// One a column, in order: what the splits on it have gained together, and how many there are.
struct Importance {
  double gain = 0;
  int64_t splits = 0;
};
std::vector<Importance> importances(const Forest& forest);

// target moves toward `learnt`, which has the same structure, by a share of 1 - momentum: leaf
// values and base score become momentum * target + (1 - momentum) * learnt. This is the slow update
// of the source model in Pruner's MoA (its section 4.3), on leaf values in place of weights.
void move_toward(Forest& target, const Forest& learnt, double momentum);

}  // namespace espalier::gbdt
