#include "espalier/cost_model/gbdt/tree_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "espalier/support/check.h"
#include "espalier/support/parallel.h"

namespace espalier::gbdt {
namespace {

// Nodes of up to so many rows get their histogram from their rows, larger ones from their parent's
// and sibling's where that is kept: reading two histograms costs about as much as so many rows.
constexpr size_t kDirectRows = 128;

// Work (codes added and scanned) below which starting threads costs more than it saves.
constexpr size_t kWorkPerThread = 400'000;

double to_gain(double g, double h, double lambda) { return g * g / (h + lambda); }

}  // namespace

TreeBuilder::TreeBuilder(const BinnedTable& table, const TreeOptions& options, int threads)
    : table_(table), options_(options), threads_(std::max(threads, 1)) {
  ESP_CHECK(options.lambda > 0 && options.max_depth >= 1 && options.max_leaves >= 2);
  scratch_.assign(static_cast<size_t>(threads_), std::vector<BinSums>(2 * (kMaxBins + 1)));
}

// Scales so that the sums of |g| and of h stay below 2^31 whichever rows are added.
void TreeBuilder::quantise(std::span<const uint32_t> rows, std::span<const float> gradients,
                           std::span<const float> hessians) {
  double g_sum = 0, h_sum = 0;
  for (uint32_t i : rows) {
    g_sum += std::abs(static_cast<double>(gradients[i]));
    h_sum += static_cast<double>(hessians[i]);
  }
  // Rounding adds at most 1 a row.
  const double room = 0x1p31 - 1 - 2 * static_cast<double>(rows.size());
  ESP_CHECK(room > 0, "too many rows for one tree: ", rows.size());
  g_scale_ = g_sum > 0 ? room / g_sum : 1;
  h_scale_ = h_sum > 0 ? room / h_sum : 1;
  rows_.assign(rows.begin(), rows.end());
  packed_.resize(rows.size());
  Packed total = 0;
  for (size_t k = 0; k < rows.size(); ++k) {
    const double g = static_cast<double>(gradients[rows[k]]) * g_scale_;
    const double h = static_cast<double>(hessians[rows[k]]) * h_scale_;
    // At least 1, so that a child without rows is told apart.
    packed_[k] =
        pack(static_cast<int32_t>(std::lrint(g)), std::max(static_cast<int32_t>(std::lrint(h)), 1));
    total += packed_[k];
  }
  rows_right_.resize(rows.size());
  packed_right_.resize(rows.size());
  leaves_.assign(1, Leaf{});
  leaves_[0].end = rows.size();
  leaves_[0].total = total;
  nodes_.assign(1, Node{});
  stats_.assign(1, NodeStats{});
  codes_.assign(1, 0);
}

SplitRule TreeBuilder::rule_of(const Leaf& leaf) const {
  const double least = std::ceil(options_.min_child_weight * h_scale_);
  const double limit = std::numeric_limits<int32_t>::max();
  return {leaf.total, static_cast<float>(options_.lambda * h_scale_),
          static_cast<int32_t>(std::clamp(least, 1.0, limit))};
}

double TreeBuilder::real_gain(const Leaf& leaf) const {
  const double unit = h_scale_ / (g_scale_ * g_scale_);
  const double whole =
      to_gain(packed_g(leaf.total), packed_h(leaf.total), options_.lambda * h_scale_);
  return 0.5 * unit * (static_cast<double>(leaf.split.gain) - whole) - options_.gamma;
}

int TreeBuilder::take_slot() {
  if (!free_slots_.empty()) {
    const int slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }
  slots_.emplace_back();
  return static_cast<int>(slots_.size()) - 1;
}

BinSums* TreeBuilder::histogram(int slot, size_t block) {
  return slots_[static_cast<size_t>(slot)].data() + block_starts_[block];
}

void TreeBuilder::search_block(size_t b, std::span<const Pair> pairs, size_t worker,
                               std::vector<BlockSplit>& found) {
  const Block& block = blocks_[b];
  const size_t codes = block.codes_per_column();
  const auto build = [&](const Leaf& leaf, BinSums* into) {
    std::fill_n(into, codes, BinSums{});
    add_rows(block, std::span(rows_).subspan(leaf.begin, leaf.size()), packed_.data() + leaf.begin,
             into);
  };
  for (size_t p = 0; p < pairs.size(); ++p) {
    const Pair& pair = pairs[p];
    const Leaf &small = leaves_[pair.small], &large = leaves_[pair.large];
    BinSums* scratch = scratch_[worker].data();
    BinSums* of_small = small.slot >= 0 ? histogram(small.slot, b) : scratch;
    build(small, of_small);
    found[(2 * p) * blocks_.size() + b] = find_split(block, of_small, rule_of(small));
    if (pair.large == pair.small) continue;  // the root
    BinSums* of_large = scratch + kMaxBins + 1;
    if (pair.parent_slot >= 0 && pair.parent_slot == large.slot) {
      of_large = histogram(large.slot, b);
      subtract(of_large, of_small, codes);
    } else {
      build(large, of_large);
    }
    found[(2 * p + 1) * blocks_.size() + b] = find_split(block, of_large, rule_of(large));
  }
}

// The best splits of the leaves of these pairs.
void TreeBuilder::search(std::span<const Pair> pairs) {
  size_t work = 0;
  for (const Pair& pair : pairs) {
    Leaf &small = leaves_[pair.small], &large = leaves_[pair.large];
    // The larger one takes its parent's place, or none if it is built from its rows.
    if (pair.parent_slot >= 0) {
      if (large.size() > kDirectRows) {
        large.slot = pair.parent_slot;
      } else {
        free_slots_.push_back(pair.parent_slot);
      }
    }
    if (small.size() > kDirectRows) small.slot = take_slot();
    work += (small.size() + 2 * kMaxBins) * blocks_.size() * kLanes;
  }
  for (std::vector<BinSums>& slot : slots_) {
    if (slot.size() < block_starts_.back()) slot.resize(block_starts_.back());
  }
  const size_t useful = std::max<size_t>(1, work / kWorkPerThread);
  const int workers = static_cast<int>(std::min<size_t>(static_cast<size_t>(threads_), useful));
  std::vector<BlockSplit> found(2 * pairs.size() * blocks_.size());
  parallel_for(workers, blocks_.size(), [&](size_t b, int worker) {
    search_block(b, pairs, static_cast<size_t>(worker), found);
  });
  const auto settle = [&](Leaf& leaf, const BlockSplit* candidates) {
    for (size_t b = 0; b < blocks_.size(); ++b) {
      const BlockSplit& split = candidates[b];
      if (split.gain > leaf.split.gain ||
          (split.gain == leaf.split.gain && split.gain >= 0 && split.column < leaf.split.column)) {
        leaf.split = split;
      }
    }
    leaf.gain = leaf.split.gain < 0 ? 0 : real_gain(leaf);
  };
  for (size_t p = 0; p < pairs.size(); ++p) {
    settle(leaves_[pairs[p].small], &found[(2 * p) * blocks_.size()]);
    if (pairs[p].large == pairs[p].small) continue;
    settle(leaves_[pairs[p].large], &found[(2 * p + 1) * blocks_.size()]);
  }
}

// The leaves to split next, as indices of leaves_.
std::vector<size_t> TreeBuilder::choose_leaves() const {
  std::vector<size_t> chosen;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    if (leaves_[i].gain > 0) chosen.push_back(i);
  }
  std::sort(chosen.begin(), chosen.end(), [&](size_t a, size_t b) {
    return leaves_[a].gain != leaves_[b].gain ? leaves_[a].gain > leaves_[b].gain : a < b;
  });
  size_t room = static_cast<size_t>(options_.max_leaves) - leaves_.size();
  if (options_.growth == Growth::Leaf) room = std::min<size_t>(room, 1);
  if (chosen.size() > room) chosen.resize(room);
  return chosen;
}

// Moves the rows that go left to the front of the leaf's, keeping orders.
TreeBuilder::Parted TreeBuilder::partition(const Leaf& leaf) {
  const uint8_t* codes = table_.column(leaf.split.column);
  const int last_left = leaf.split.bin;
  const bool missing_left = !leaf.split.missing_right;
  size_t left = leaf.begin, right = 0, missing = 0;
  for (size_t k = leaf.begin; k < leaf.end; ++k) {
    const uint32_t row = rows_[k];
    const Packed packed = packed_[k];
    const int code = codes[row];
    const bool goes_left = (code <= last_left) & ((code != 0) | missing_left);
    // Both are written, one of them is kept: no branch to mispredict.
    rows_[left] = row;
    packed_[left] = packed;
    rows_right_[right] = row;
    packed_right_[right] = packed;
    left += goes_left ? 1 : 0;
    right += goes_left ? 0 : 1;
    missing += code == 0 ? 1 : 0;
  }
  std::copy_n(rows_right_.begin(), right, rows_.begin() + static_cast<ptrdiff_t>(left));
  std::copy_n(packed_right_.begin(), right, packed_.begin() + static_cast<ptrdiff_t>(left));
  return {left, missing > 0};
}

void TreeBuilder::split_leaf(size_t index, std::vector<Pair>& pairs) {
  Leaf& leaf = leaves_[index];
  const auto [middle, missing] = partition(leaf);
  Leaf left, right;
  left.begin = leaf.begin;
  left.end = right.begin = middle;
  right.end = leaf.end;
  left.depth = right.depth = leaf.depth + 1;
  for (size_t k = left.begin; k < left.end; ++k) left.total += packed_[k];
  right.total = leaf.total - left.total;
  left.node = static_cast<uint32_t>(nodes_.size());
  right.node = left.node + 1;

  const ColumnBins& bins = table_.columns[leaf.split.column];
  Node& node = nodes_[leaf.node];
  node.left = left.node;
  node.column = leaf.split.column;
  // After the last bin only missing values go right.
  const size_t bin = static_cast<size_t>(leaf.split.bin);
  node.threshold =
      bin <= bins.cuts.size() ? bins.cuts[bin - 1] : std::numeric_limits<float>::infinity();
  // Where no row of the node lacks the value, it goes the way of most of the weight.
  const bool heavy_right = packed_h(right.total) > packed_h(left.total);
  node.missing_right = (missing ? leaf.split.missing_right : heavy_right) ? 1 : 0;
  stats_[leaf.node].gain = static_cast<float>(leaf.gain);
  codes_[leaf.node] = static_cast<uint8_t>(leaf.split.bin);
  nodes_.resize(nodes_.size() + 2);
  stats_.resize(nodes_.size());
  codes_.resize(nodes_.size());

  const int slot = leaf.slot;
  const bool searched = static_cast<int>(left.depth) < options_.max_depth;
  leaves_[index] = left;
  leaves_.push_back(right);
  if (!searched) {
    if (slot >= 0) free_slots_.push_back(slot);
    return;
  }
  Pair pair{index, leaves_.size() - 1, slot};
  if (leaves_[pair.small].size() > leaves_[pair.large].size()) std::swap(pair.small, pair.large);
  pairs.push_back(pair);
}

bool TreeBuilder::grow(std::span<const Block> blocks, std::span<const uint32_t> rows,
                       std::span<const float> gradients, std::span<const float> hessians,
                       Forest& forest, std::span<double> margins) {
  if (rows.empty() || blocks.empty()) return false;
  blocks_ = blocks;
  block_starts_.assign(1, 0);
  for (const Block& block : blocks) {
    block_starts_.push_back(block_starts_.back() + block.codes_per_column());
  }
  free_slots_.clear();
  for (size_t s = slots_.size(); s > 0; --s) free_slots_.push_back(static_cast<int>(s) - 1);
  quantise(rows, gradients, hessians);

  std::vector<Pair> pairs = {{0, 0, -1}};
  search(pairs);
  for (std::vector<size_t> chosen = choose_leaves(); !chosen.empty(); chosen = choose_leaves()) {
    pairs.clear();
    for (size_t leaf : chosen) split_leaf(leaf, pairs);
    if (leaves_.size() == static_cast<size_t>(options_.max_leaves)) break;  // no search for nothing
    search(pairs);
  }
  if (leaves_.size() == 1) return false;
  write_tree(gradients, hessians, forest, margins);
  return true;
}

void TreeBuilder::write_tree(std::span<const float> gradients, std::span<const float> hessians,
                             Forest& forest, std::span<double> margins) {
  const uint32_t root = static_cast<uint32_t>(forest.nodes.size());
  TreeRange range{root, root + static_cast<uint32_t>(nodes_.size()), 0};
  size_t known = 0;
  for (const Leaf& leaf : leaves_) {
    double g = 0, h = 0;
    for (size_t k = leaf.begin; k < leaf.end; ++k) {
      g += static_cast<double>(gradients[rows_[k]]);
      h += static_cast<double>(hessians[rows_[k]]);
    }
    Node& node = nodes_[leaf.node];
    node = Node{};
    node.threshold = std::numeric_limits<float>::infinity();
    node.value = static_cast<float>(-options_.eta * g / (h + options_.lambda));
    node.left = leaf.node;
    stats_[leaf.node].cover = static_cast<float>(h);
    range.depth = std::max(range.depth, leaf.depth);
    known += leaf.size();
    for (size_t k = leaf.begin; k < leaf.end; ++k) {
      margins[rows_[k]] += static_cast<double>(node.value);
    }
  }
  // Children come after their parents.
  for (size_t i = nodes_.size(); i-- > 0;) {
    if (nodes_[i].left != i) {
      stats_[i].cover = stats_[nodes_[i].left].cover + stats_[nodes_[i].left + 1].cover;
    }
  }
  // Rows that the tree was not grown on.
  if (known < table_.rows) {
    std::vector<bool> is_known(table_.rows, false);
    for (uint32_t row : rows_) is_known[row] = true;
    for (size_t row = 0; row < table_.rows; ++row) {
      if (is_known[row]) continue;
      uint32_t place = 0;
      while (nodes_[place].left != place) {
        const Node& node = nodes_[place];
        const uint8_t code = table_.column(node.column)[row];
        const bool right = code == 0 ? node.missing_right != 0 : code > codes_[place];
        place = node.left + (right ? 1 : 0);
      }
      margins[row] += static_cast<double>(nodes_[place].value);
    }
  }
  for (Node node : nodes_) {
    node.left += root;
    forest.nodes.push_back(node);
  }
  forest.stats.insert(forest.stats.end(), stats_.begin(), stats_.end());
  forest.trees.push_back(range);
}

}  // namespace espalier::gbdt
