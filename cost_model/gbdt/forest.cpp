#include "espalier/cost_model/gbdt/forest.h"

#include <algorithm>
#include <array>

#include "espalier/support/check.h"
#include "espalier/support/parallel.h"

namespace espalier::gbdt {
namespace {

// Rows that walk a tree side by side, so that the loads of one hide behind those of the others.
constexpr size_t kAbreast = 16;
// Rows that each tree is applied to before the next one: their values fit the first cache.
constexpr size_t kBatch = 32;

inline uint32_t step(const Node& node, const float* row) {
  const float value = row[node.column];
  // Not "value <= threshold": NaN must go where the node says.
  const bool right = (value > node.threshold) | ((value != value) & (node.missing_right != 0));
  return node.left + static_cast<uint32_t>(right);
}

// places[r] becomes the leaf of rows[r].
void walk(const Node* nodes, const TreeRange& tree, const std::array<const float*, kAbreast>& rows,
          std::array<uint32_t, kAbreast>& places) {
  places.fill(tree.root);
  for (uint32_t level = 0; level < tree.depth; ++level) {
    for (size_t r = 0; r < kAbreast; ++r) places[r] = step(nodes[places[r]], rows[r]);
  }
}

std::array<const float*, kAbreast> rows_from(const Table& table, size_t first) {
  std::array<const float*, kAbreast> rows;
  // Beyond the end, the last row again.
  for (size_t r = 0; r < kAbreast; ++r) rows[r] = table.row(std::min(first + r, table.rows - 1));
  return rows;
}

}  // namespace

void Forest::predict(const Table& table, std::span<const float> margins, int threads,
                     std::span<float> scores) const {
  ESP_CHECK(table.columns == columns, "a forest for ", columns, " columns got ", table.columns);
  ESP_CHECK(scores.size() == table.rows && (margins.empty() || margins.size() == table.rows),
            "scores and margins are one a row");
  const size_t batches = (table.rows + kBatch - 1) / kBatch;
  const bool worth_threads = table.rows * trees.size() > 2'000'000;
  parallel_for(worth_threads ? threads : 1, batches, [&](size_t batch) {
    const size_t first = batch * kBatch, end = std::min(first + kBatch, table.rows);
    std::array<double, kBatch> sums{};
    std::array<std::array<const float*, kAbreast>, kBatch / kAbreast> rows;
    for (size_t part = 0; part < rows.size(); ++part) {
      rows[part] = rows_from(table, first + part * kAbreast);
    }
    const size_t parts = (end - first + kAbreast - 1) / kAbreast;
    std::array<uint32_t, kAbreast> places;
    for (const TreeRange& tree : trees) {
      for (size_t part = 0; part < parts; ++part) {
        walk(nodes.data(), tree, rows[part], places);
        for (size_t r = 0; r < kAbreast; ++r) {
          sums[part * kAbreast + r] += static_cast<double>(nodes[places[r]].value);
        }
      }
    }
    for (size_t i = first; i < end; ++i) {
      const double margin = margins.empty() ? 0 : static_cast<double>(margins[i]);
      scores[i] = static_cast<float>(margin + base_score + sums[i - first]);
    }
  });
}

void Forest::find_leaves(const Table& table, size_t tree, std::span<uint32_t> leaves) const {
  ESP_CHECK(table.columns == columns, "a forest for ", columns, " columns got ", table.columns);
  std::array<uint32_t, kAbreast> places;
  for (size_t first = 0; first < table.rows; first += kAbreast) {
    walk(nodes.data(), trees[tree], rows_from(table, first), places);
    const size_t count = std::min(kAbreast, table.rows - first);
    std::copy_n(places.begin(), count, leaves.begin() + static_cast<ptrdiff_t>(first));
  }
}

void Forest::append(const Forest& more) {
  ESP_CHECK(columns == more.columns, "forests for ", columns, " and ", more.columns, " columns");
  const uint32_t shift = static_cast<uint32_t>(nodes.size());
  for (Node node : more.nodes) {
    node.left += shift;
    nodes.push_back(node);
  }
  stats.insert(stats.end(), more.stats.begin(), more.stats.end());
  for (const TreeRange& tree : more.trees) {
    trees.push_back({tree.root + shift, tree.end + shift, tree.depth});
  }
  base_score += more.base_score;
}

void Forest::truncate(size_t count) {
  if (count >= trees.size()) return;
  trees.resize(count);
  const size_t end = trees.empty() ? 0 : trees.back().end;
  nodes.resize(end);
  stats.resize(end);
}

std::vector<Importance> importances(const Forest& forest) {
  std::vector<Importance> result(forest.columns);
  for (uint32_t i = 0; i < forest.nodes.size(); ++i) {
    if (forest.is_leaf(i)) continue;
    Importance& column = result[forest.nodes[i].column];
    column.gain += static_cast<double>(forest.stats[i].gain);
    ++column.splits;
  }
  return result;
}

void move_toward(Forest& target, const Forest& learnt, double momentum) {
  ESP_CHECK(target.trees == learnt.trees, "forests of different structure");
  const auto mix = [&](double a, double b) { return momentum * a + (1 - momentum) * b; };
  for (size_t i = 0; i < target.nodes.size(); ++i) {
    float& value = target.nodes[i].value;
    value = static_cast<float>(
        mix(static_cast<double>(value), static_cast<double>(learnt.nodes[i].value)));
  }
  target.base_score = mix(target.base_score, learnt.base_score);
}

}  // namespace espalier::gbdt
