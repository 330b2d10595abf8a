#include "espalier/codegen/pipeline.h"

#include <chrono>

#include "espalier/codegen/expand_math.h"
#include "espalier/codegen/flatten.h"
#include "espalier/codegen/form_fma.h"
#include "espalier/codegen/hoist_offsets.h"
#include "espalier/codegen/order_extrema.h"
#include "espalier/codegen/predicate_loads.h"
#include "espalier/codegen/transpose_loads.h"
#include "espalier/codegen/unroll.h"
#include "espalier/codegen/unswitch.h"
#include "espalier/codegen/vectorize.h"
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

LoweredFunc run_passes(const LoweredFunc& func, const Target& target, PassLog* log) {
  Pipeline p(func, log);
  p.run("simplify", [](const Stmt& s) { return simplify(s); });
  p.run("unroll", [](const Stmt& s) { return unroll(s); });
  p.run("predicate_loads", [](const Stmt& s) { return predicate_loads(s); });
  p.run("vectorize", [&](const Stmt& s) { return vectorize(s, target); });
  p.run("flatten", [](const Stmt& s) { return flatten(s); });
  p.run("transpose_loads", [](const Stmt& s) { return transpose_loads(s); });
  p.run("order_extrema", [](const Stmt& s) { return order_extrema(s); });
  p.run("expand_math", [](const Stmt& s) { return expand_math(s); });
  const bool has_fma = target.arch != "x86_64" || target.has("fma") || target.has("avx512f");
  if (has_fma) p.run("form_fma", [](const Stmt& s) { return form_fma(s); });
  p.run("unswitch", [](const Stmt& s) { return unswitch(s); });
  p.run("hoist_offsets", [](const Stmt& s) { return hoist_offsets(s); });
  return p.take();
}

}  // namespace espalier
