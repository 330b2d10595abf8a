#include "espalier/codegen/pipeline.h"

#include <chrono>

#include "espalier/codegen/flatten.h"
#include "espalier/ir/simplify.h"

namespace espalier {
namespace {

class Pipeline {
 public:
  Pipeline(const LoweredFunc& func, PassLog* log) : func_(func), log_(log) {}

  template <class Pass>
  void run(std::string_view name, Pass pass) {
    const auto start = std::chrono::steady_clock::now();
    if (func_.body) func_.body = pass(func_.body);
    if (log_ == nullptr) return;
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    log_->entries.push_back({name, took.count(), log_->keep_text ? to_string(func_) : ""});
  }

  LoweredFunc take() { return std::move(func_); }

 private:
  LoweredFunc func_;
  PassLog* log_;
};

}  // namespace

LoweredFunc run_passes(const LoweredFunc& func, const Target&, PassLog* log) {
  Pipeline p(func, log);
  p.run("simplify", [](const Stmt& s) { return simplify(s); });
  p.run("flatten", [](const Stmt& s) { return flatten(s); });
  return p.take();
}

}  // namespace espalier
