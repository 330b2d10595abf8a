#include "espalier/cost_model/gbdt/forest_text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "espalier/support/json.h"

namespace espalier::gbdt {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Error misfit(std::string_view what, size_t node) {
  return make_error(ErrorCode::Parse, "forest: node ", node, " ", what);
}

// Fills the trees' ranges and depths. Children lie after their parent, inside the tree, and each
// node but the root has one parent.
Result<void> check_structure(Forest& forest) {
  for (TreeRange& tree : forest.trees) {
    if (tree.root >= tree.end) {
      return make_error(ErrorCode::Parse, "forest: a tree at node ", tree.root, " is empty");
    }
    std::vector<uint32_t> depth(tree.end - tree.root, 0);
    std::vector<bool> reached(tree.end - tree.root, false);
    reached[0] = true;
    for (uint32_t i = tree.root; i < tree.end; ++i) {
      if (!reached[i - tree.root]) return misfit("belongs to no tree", i);
      tree.depth = std::max(tree.depth, depth[i - tree.root]);
      const Node& node = forest.nodes[i];
      if (node.left == i) continue;
      for (uint32_t child : {node.left, node.left + 1}) {
        if (child <= i || child >= tree.end || reached[child - tree.root]) {
          return misfit("has a child that is not its own", i);
        }
        reached[child - tree.root] = true;
        depth[child - tree.root] = depth[i - tree.root] + 1;
      }
    }
  }
  return {};
}

}  // namespace

Json to_json(const Forest& forest) {
  // A leaf is a node without `left`: -1, and `value` is what it adds; of others it is the
  // threshold. `column` counts from 1 and is negative where missing values go right.
  Json left = Json::array(), column = Json::array(), value = Json::array();
  Json gain = Json::array(), cover = Json::array(), roots = Json::array();
  for (uint32_t i = 0; i < forest.nodes.size(); ++i) {
    const Node& node = forest.nodes[i];
    const bool leaf = forest.is_leaf(i);
    const int64_t number = static_cast<int64_t>(node.column) + 1;
    left.push(leaf ? int64_t{-1} : static_cast<int64_t>(node.left));
    column.push(leaf ? int64_t{0} : (node.missing_right != 0 ? -number : number));
    // An infinite threshold (only missing values go right) is written as null.
    value.push(leaf ? node.value : node.threshold);
    gain.push(forest.stats[i].gain);
    cover.push(forest.stats[i].cover);
  }
  for (const TreeRange& tree : forest.trees) roots.push(tree.root);
  return Json::object({{"version", kForestVersion},
                       {"columns", forest.columns},
                       {"base_score", forest.base_score},
                       {"eta", forest.eta},
                       {"roots", std::move(roots)},
                       {"left", std::move(left)},
                       {"column", std::move(column)},
                       {"value", std::move(value)},
                       {"gain", std::move(gain)},
                       {"cover", std::move(cover)}});
}

Result<Forest> parse_forest(const Json& json) {
  ESP_TRY(const int64_t version, json.get_int("version"));
  if (version != kForestVersion) {
    return make_error(ErrorCode::Unsupported, "the forest has version ", version,
                      ", this program reads version ", kForestVersion, ": train it again");
  }
  Forest forest;
  ESP_TRY(const int64_t columns, json.get_int("columns"));
  ESP_TRY(forest.base_score, json.get_double("base_score"));
  ESP_TRY(forest.eta, json.get_double("eta"));
  ESP_TRY(const std::vector<int64_t> roots, json.get_ints("roots"));
  ESP_TRY(const std::vector<int64_t> left, json.get_ints("left"));
  ESP_TRY(const std::vector<int64_t> column, json.get_ints("column"));
  ESP_TRY(const std::vector<double> gain, json.get_doubles("gain"));
  ESP_TRY(const std::vector<double> cover, json.get_doubles("cover"));
  ESP_TRY(const Json values, json.get("value"));
  const size_t count = left.size();
  if (column.size() != count || values.size() != count || gain.size() != count ||
      cover.size() != count) {
    return make_error(ErrorCode::Parse, "forest: 'left' has ", count,
                      " nodes, and another array has more or fewer");
  }
  if (columns < 0 || columns >= int64_t{1} << 31 || count >= size_t{1} << 31) {
    return make_error(ErrorCode::Parse, "forest: ", columns, " columns and ", count,
                      " nodes, expected fewer than 2^31 of each");
  }
  forest.columns = static_cast<uint32_t>(columns);
  forest.nodes.resize(count);
  forest.stats.resize(count);
  for (size_t i = 0; i < count; ++i) {
    Node& node = forest.nodes[i];
    const bool leaf = left[i] == -1;
    const Json& number = values[i];
    double value = static_cast<double>(kInfinity);
    if (!number.is_null()) {
      ESP_TRY(value, number.as_double());
    }
    if (leaf && !std::isfinite(value)) return misfit("is a leaf without a value", i);
    node.value = leaf ? static_cast<float>(value) : 0;
    node.threshold = leaf ? kInfinity : static_cast<float>(value);
    node.left = static_cast<uint32_t>(leaf ? static_cast<int64_t>(i) : left[i]);
    if (!leaf) {
      if (left[i] < 0 || left[i] >= static_cast<int64_t>(count)) {
        return misfit("has a child that does not exist", i);
      }
      if (column[i] == 0 || column[i] < -columns || column[i] > columns) {
        return misfit("splits on a column that does not exist", i);
      }
      node.missing_right = column[i] < 0 ? 1U : 0U;
      node.column = static_cast<uint32_t>(std::abs(column[i]) - 1) & 0x7fffffffU;
    }
    forest.stats[i] = {static_cast<float>(gain[i]), static_cast<float>(cover[i])};
  }
  for (size_t t = 0; t < roots.size(); ++t) {
    const int64_t end = t + 1 < roots.size() ? roots[t + 1] : static_cast<int64_t>(count);
    if (roots[t] < 0 || end <= roots[t] || end > static_cast<int64_t>(count)) {
      return make_error(ErrorCode::Parse, "forest: tree ", t, " starts at node ", roots[t],
                        " and ends at ", end, " of ", count);
    }
    forest.trees.push_back({static_cast<uint32_t>(roots[t]), static_cast<uint32_t>(end), 0});
  }
  ESP_TRY_VOID(check_structure(forest));
  return forest;
}

}  // namespace espalier::gbdt
