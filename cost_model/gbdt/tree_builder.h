// Grows one regression tree on gradients.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/cost_model/gbdt/forest.h"
#include "espalier/cost_model/gbdt/histogram.h"

namespace espalier::gbdt {

enum class Growth : uint8_t {
  Level,  // all nodes of a level, those of the highest gain first where leaves run out
  Leaf,   // the node of the highest gain, wherever it is
};

// As in Chen and Guestrin, "XGBoost" (2016), section 2.2: a leaf with gradients G and Hessians H
// gets -eta * G / (H + lambda), and a split gains
// (GL^2/(HL+lambda) + GR^2/(HR+lambda) - G^2/(H+lambda)) / 2 - gamma.
struct TreeOptions {
  int max_depth = 6;            // splits from the root to a leaf, at least 1
  int max_leaves = 64;          // at least 2
  double min_child_weight = 1;  // the least sum of Hessians in a child
  double lambda = 1;            // > 0
  double gamma = 0;
  double eta = 0.1;
  Growth growth = Growth::Level;
};

// One for a fit: it keeps its memory from tree to tree. The tree is the same for any number of
// threads: split gains come from exact integer sums, leaf values from double sums in row order.
class TreeBuilder {
 public:
  TreeBuilder(const BinnedTable& table, const TreeOptions& options, int threads);

  // Appends the tree to the forest and adds its values to margins of all rows of the table.
  // `rows`, ascending, are those that it is grown on, and `blocks` the columns that it may use
  // (make_blocks of this table). Gradients and Hessians (> 0) are one a row of the table. Returns
  // false, and does nothing, if no split gains anything.
  bool grow(std::span<const Block> blocks, std::span<const uint32_t> rows,
            std::span<const float> gradients, std::span<const float> hessians, Forest& forest,
            std::span<double> margins);

 private:
  struct Leaf {
    uint32_t node = 0;  // within the tree
    size_t begin = 0, end = 0;
    uint32_t depth = 0;
    Packed total = 0;
    int slot = -1;  // where its histogram is kept, -1: nowhere
    BlockSplit split;
    double gain = 0;  // of the split, in units of the loss; 0 or less: it stays a leaf
    size_t size() const { return end - begin; }
  };
  // Two siblings whose splits are wanted; the first is the smaller one.
  struct Pair {
    size_t small = 0, large = 0;  // in leaves_
    int parent_slot = -1;
  };

  void quantise(std::span<const uint32_t> rows, std::span<const float> gradients,
                std::span<const float> hessians);
  std::vector<size_t> choose_leaves() const;
  void split_leaf(size_t leaf, std::vector<Pair>& pairs);
  struct Parted {
    size_t middle;  // the first row that goes right
    bool missing;   // whether a row lacks the value
  };
  Parted partition(const Leaf& leaf);
  void search(std::span<const Pair> pairs);
  void search_block(size_t block, std::span<const Pair> pairs, size_t worker,
                    std::vector<BlockSplit>& found);
  SplitRule rule_of(const Leaf& leaf) const;
  double real_gain(const Leaf& leaf) const;
  int take_slot();
  BinSums* histogram(int slot, size_t block);
  void write_tree(std::span<const float> gradients, std::span<const float> hessians, Forest& forest,
                  std::span<double> margins);

  const BinnedTable& table_;
  TreeOptions options_;
  int threads_;

  std::span<const Block> blocks_;
  std::vector<size_t> block_starts_;  // in a slot; the last one is the slot's size
  std::vector<std::vector<BinSums>> slots_;
  std::vector<int> free_slots_;
  std::vector<std::vector<BinSums>> scratch_;  // two histograms a worker

  double g_scale_ = 1, h_scale_ = 1;         // real number to integer
  std::vector<uint32_t> rows_, rows_right_;  // those of a leaf lie together, ascending
  std::vector<Packed> packed_, packed_right_;
  std::vector<Leaf> leaves_;
  std::vector<Node> nodes_;
  std::vector<NodeStats> stats_;
  std::vector<uint8_t> codes_;  // of each split node: up to it rows go left
};

}  // namespace espalier::gbdt
