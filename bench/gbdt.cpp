// Fits boosted trees to a table and judges them on another: our side of
// bench/models/compare_gbdt.py.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "command_line/console.h"
#include "command_line/exit_code.h"
#include "command_line/options.h"
#include "espalier/cost_model/gbdt/fit.h"
#include "espalier/cost_model/gbdt/metrics.h"
#include "espalier/support/fd.h"
#include "espalier/support/json.h"
#include "espalier/support/number.h"

namespace espalier::bench {
namespace {

struct Settings {
  std::string train, test, predictions;
  std::string loss = "squared", growth = "level";
  int64_t trees = 100, depth = 6, leaves = 64, max_bins = 255, patience = 0, truncation = 64;
  int64_t threads = 1, repeats = 3, seed = 0;
  std::optional<double> eta, lambda, min_child_weight, row_share, column_share;
};

// label,group,margin and then the columns, with a line of names at the top; an empty field is a
// missing value.
struct Data {
  std::vector<float> labels, margins, values;
  std::vector<uint32_t> groups;
  size_t columns = 0;

  gbdt::TrainingSet set() const {
    return {{values, labels.size(), columns}, labels, {}, margins, groups};
  }
};

std::string_view take_until(std::string_view& text, char end) {
  const size_t at = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

Result<Data> read_table(const std::string& path) {
  ESP_TRY(const std::string text, read_file(path));
  std::string_view rest = text;
  const std::string_view header = take_until(rest, '\n');
  if (!header.starts_with("label,group,margin,")) {
    return make_error(ErrorCode::Parse, path, ": the first line must start with ",
                      "'label,group,margin,', the names of the columns follow");
  }
  Data data;
  data.columns = static_cast<size_t>(std::count(header.begin(), header.end(), ',')) - 2;
  for (size_t line = 2; !rest.empty(); ++line) {
    std::string_view fields = take_until(rest, '\n');
    const auto here = [&](Error error) { return with_note(std::move(error), path, ":", line); };
    const Result<float> label = parse_float(take_until(fields, ','));
    if (!label.ok()) return here(label.error());
    const Result<uint64_t> group = parse_uint64(take_until(fields, ','));
    if (!group.ok()) return here(group.error());
    const Result<float> margin = parse_float(take_until(fields, ','));
    if (!margin.ok()) return here(margin.error());
    data.labels.push_back(*label);
    data.groups.push_back(static_cast<uint32_t>(*group));
    data.margins.push_back(*margin);
    for (size_t j = 0; j < data.columns; ++j) {
      const std::string_view field = take_until(fields, ',');
      const Result<float> value = parse_float(field.empty() ? "nan" : field);
      if (!value.ok()) return here(value.error());
      data.values.push_back(*value);
    }
  }
  return data;
}

gbdt::FitOptions fit_options(const Settings& s) {
  gbdt::FitOptions o;
  o.trees = static_cast<int>(s.trees);
  o.tree.max_depth = static_cast<int>(s.depth);
  o.tree.max_leaves = static_cast<int>(s.leaves);
  o.tree.growth = s.growth == "leaf" ? gbdt::Growth::Leaf : gbdt::Growth::Level;
  o.tree.eta = s.eta.value_or(o.tree.eta);
  o.tree.lambda = s.lambda.value_or(o.tree.lambda);
  o.tree.min_child_weight = s.min_child_weight.value_or(o.tree.min_child_weight);
  o.objective.loss = s.loss == "rank" ? gbdt::Loss::LambdaRank : gbdt::Loss::SquaredError;
  o.objective.truncation = static_cast<int>(s.truncation);
  o.max_bins = static_cast<int>(s.max_bins);
  o.row_share = s.row_share.value_or(o.row_share);
  o.column_share = s.column_share.value_or(o.column_share);
  o.patience = static_cast<int>(s.patience);
  o.seed = static_cast<uint64_t>(s.seed);
  o.threads = static_cast<int>(s.threads);
  return o;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Result<Json> run(const Settings& settings) {
  ESP_TRY(const Data train, read_table(settings.train));
  ESP_TRY(const Data test, read_table(settings.test));
  const gbdt::TrainingSet train_set = train.set(), test_set = test.set();
  const gbdt::FitOptions options = fit_options(settings);
  // Of several runs the fastest: what else the machine does only adds.
  double fit_seconds = 1e30, predict_seconds = 1e30;
  gbdt::Forest forest;
  gbdt::FitReport report;
  for (int64_t i = 0; i < settings.repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    gbdt::FitReport one;
    const bool stop = settings.patience > 0;
    ESP_TRY(forest, gbdt::fit(train_set, options, stop ? &test_set : nullptr, &one));
    const double seconds = seconds_since(start);
    if (seconds < fit_seconds) report = std::move(one);
    fit_seconds = std::min(fit_seconds, seconds);
  }
  std::vector<float> scores(test.labels.size());
  for (int64_t i = 0; i < 3 * settings.repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    forest.predict(test_set.table, test.margins, options.threads, scores);
    predict_seconds = std::min(predict_seconds, seconds_since(start));
  }
  if (!settings.predictions.empty()) {
    std::string text;
    for (float s : scores) text += format_float(s) + "\n";
    ESP_TRY_VOID(write_file(settings.predictions, text));
  }
  return Json::object({{"fit_seconds", fit_seconds},
                       {"bin_seconds", report.bin_seconds},
                       {"grow_seconds", report.grow_seconds},
                       {"predict_seconds", predict_seconds},
                       {"trees", forest.trees.size()},
                       {"nodes", forest.nodes.size()},
                       {"training_loss", report.training_loss.back()},
                       {"rmse", gbdt::rmse(test_set, scores)},
                       {"pair_accuracy", gbdt::pair_accuracy(test_set, scores)},
                       {"best_of_top_1", gbdt::best_of_top(test_set, scores, 1)},
                       {"best_of_top_5", gbdt::best_of_top(test_set, scores, 5)}});
}

}  // namespace
}  // namespace espalier::bench

int main(int argc, char** argv) {
  using namespace espalier;
  cli::prepare_standard_streams();
  bench::Settings settings;
  cli::Options options("gbdt", "Fits boosted trees to a table and judges them on another.");
  options.text("--train", settings.train, "FILE", "label,group,margin,columns... with a header");
  options.text("--test", settings.test, "FILE", "the same columns");
  options.text("--predictions", settings.predictions, "FILE", "write the test scores, one a line");
  options.choice("--loss", settings.loss, {"squared", "rank"}, "what is minimised (squared)");
  options.choice("--growth", settings.growth, {"level", "leaf"}, "order of splits (level)");
  options.integer("--trees", settings.trees, 0, 1000000, "to fit");
  options.integer("--depth", settings.depth, 1, 64, "of a tree at most");
  options.integer("--leaves", settings.leaves, 2, 1 << 20, "of a tree at most");
  options.integer("--max-bins", settings.max_bins, 2, 255, "of a column");
  options.integer("--truncation", settings.truncation, 1, 1 << 20, "ranks that pairs count for");
  options.integer("--patience", settings.patience, 0, 1000000,
                  "stop after so many trees without gain on the test table; 0: never");
  options.positive("--eta", settings.eta, "X", "shrinkage (0.1)");
  options.positive("--lambda", settings.lambda, "X", "regularisation of leaves (1)");
  options.positive("--min-child-weight", settings.min_child_weight, "X", "sum of Hessians (1)");
  options.positive("--row-share", settings.row_share, "X", "rows drawn for a tree (1)");
  options.positive("--column-share", settings.column_share, "X", "columns drawn for a tree (1)");
  options.integer("--threads", settings.threads, 1, 1024, "for all of it");
  options.integer("--repeats", settings.repeats, 1, 1000, "the fastest counts");
  options.integer("--seed", settings.seed, 0, INT64_MAX, "of the shares");
  cli::Console console;
  const Result<bool> parsed = options.parse({argv + 1, argv + argc});
  if (parsed.ok() && !*parsed) {
    console.print(options.help());
    return cli::kGood;
  }
  const Result<Json> done = parsed.ok() ? bench::run(settings) : Result<Json>(parsed.error());
  if (!done.ok()) {
    console.error(done.error());
    return cli::exit_code(done.error());
  }
  console.print(done->dump_pretty() + "\n");
  return cli::kGood;
}
