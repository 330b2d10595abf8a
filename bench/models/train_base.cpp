// train_base: the model that searches start from, trained on a pool of measured candidates.
//
//   train_base --out cost_model/data/base.json [--leave-out WORKLOAD] records.jsonl ...
//
// Deterministic: the same records make the same file.
#include <iostream>

#include "espalier/cost_model/features.h"
#include "espalier/support/device_model.h"
#include "espalier/support/fd.h"
#include "models/pool/base_training.h"
#include "models/pool/program.h"

namespace espalier::bench {
namespace {

Result<void> train(const std::vector<std::string>& files, const std::string& left_out,
                   const std::string& out) {
  if (out.empty()) return cli::usage_error("--out is missing: where does the model go?");
  ESP_TRY(std::vector<Pool> pools, read_pools(files));
  std::erase_if(pools, [&](const Pool& pool) { return pool.task.workload == left_out; });
  if (pools.empty()) return make_error(ErrorCode::InvalidArgument, "the files hold no records");
  ESP_TRY(auto model,
          make_learned_model(make_features(data_sheet(pools[0].task.target)), base_training()));
  std::vector<MeasuredRow> rows;
  for (const Pool& pool : pools) {
    for (MeasuredRow& row : rows_of(pool)) rows.push_back(std::move(row));
  }
  model->update(rows);
  ESP_TRY_VOID(write_file(out, model->save() + "\n"));
  std::cout << out << ": " << rows.size() << " candidates of " << pools.size() << " tasks\n";
  return {};
}

}  // namespace
}  // namespace espalier::bench

int main(int argc, char** argv) {
  using namespace espalier;
  std::vector<std::string> files;
  std::string out, left_out;
  cli::Options options("train_base", "trains the model that searches start from");
  options.text("--out", out, "FILE", "where the model goes");
  options.text("--leave-out", left_out, "WORKLOAD", "a task that the model is not to know");
  options.positionals("FILE", files, "files of tuning records");
  return bench::run_program(options, argc, argv,
                            [&] { return bench::train(files, left_out, out); });
}
