// Random loop nests, run by the interpreter before and after simplification.
#include <gtest/gtest.h>

#include <array>

#include "espalier/ir/evaluate.h"
#include "espalier/ir/simplify.h"
#include "espalier/support/rng.h"

namespace espalier {
namespace {

constexpr int64_t kCells = 96;

class NestGenerator {
 public:
  explicit NestGenerator(Rng& rng) : rng_(rng) {}

  LoweredFunc func() {
    LoweredFunc f;
    f.name = "fuzz";
    f.params = {{in_, LoweredFunc::Role::Input, -1}, {out_, LoweredFunc::Role::Output, -1}};
    f.body = stmt(4);
    return f;
  }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(rng_.below(static_cast<uint64_t>(n))); }
  bool chance(int percent) { return below(100) < percent; }

  Stmt stmt(int depth) {
    if (depth == 0 || chance(15)) return store();
    switch (below(7)) {
      case 0:
      case 1:
      case 2: {
        const Expr min = chance(60) ? Expr(below(4)) : index(1);
        Expr extent = chance(60) ? Expr(below(7)) : min_extent();
        Var v("v" + std::to_string(vars_.size()));
        vars_.push_back(v);
        Stmt body = stmt(depth - 1);
        vars_.pop_back();
        constexpr std::array kKinds = {ForKind::Serial, ForKind::Parallel, ForKind::Unrolled};
        return make_for(v, min, extent, kKinds[static_cast<size_t>(below(3))], std::move(body));
      }
      case 3: return make_if(condition(2), stmt(depth - 1), chance(40) ? stmt(depth - 1) : Stmt());
      case 4: {
        const Expr value = index(2);
        Var v("l" + std::to_string(vars_.size()));
        vars_.push_back(v);
        Stmt body = stmt(depth - 1);
        vars_.pop_back();
        return make_let(v, value, std::move(body));
      }
      default: {
        std::vector<Stmt> stmts;
        for (int64_t n = below(3) + 1; n > 0; --n) stmts.push_back(stmt(depth - 1));
        return make_block(std::move(stmts));
      }
    }
  }

  // An end that moves with the variables, as of a clipped loop.
  Expr min_extent() { return min(Expr(below(8)), Expr(below(20)) - index(1)); }

  Stmt store() {
    if (chance(25)) {
      const Expr at = floormod(index(2), kCells / 4) * 4;
      const Expr lanes = make_ramp(at, 1, 4);
      Expr value = make_load(in_, {lanes}, chance(50) ? lanes < Expr(below(kCells)) : Expr());
      return make_store(out_, {lanes}, std::move(value),
                        chance(50) ? lanes < Expr(below(kCells)) : Expr());
    }
    return make_store(out_, {floormod(index(3), kCells)}, value(2));
  }

  Expr value(int depth) {
    switch (below(depth > 0 ? 4 : 2)) {
      case 0: return index(2);
      case 1: return guarded_read();
      case 2: return value(depth - 1) + value(depth - 1);
      default: return select(condition(2), value(depth - 1), value(depth - 1));
    }
  }

  // Reads `in` where that is legal.
  Expr guarded_read() {
    const Expr at = index(2);
    if (chance(30)) return make_load(out_, {floormod(at, kCells)});
    return select(at >= 0 && at < kCells, make_load(in_, {at}), index(1));
  }

  Expr index(int depth) {
    if (depth == 0 || chance(20)) {
      if (vars_.empty() || chance(20)) return Expr(below(24) - 4);
      return vars_[static_cast<size_t>(below(static_cast<int64_t>(vars_.size())))];
    }
    const Expr a = index(depth - 1);
    switch (below(8)) {
      case 0: return a + index(depth - 1);
      case 1: return a - index(depth - 1);
      case 2: return a * Expr(below(9) - 2);
      case 3: return floordiv(a, below(6) + 1);
      case 4: return floormod(a, below(6) + 1);
      case 5: return min(a, index(depth - 1));
      case 6: return max(a, index(depth - 1));
      default: return a * Expr(below(6) + 1) + index(depth - 1);
    }
  }

  Expr condition(int depth) {
    if (depth > 0 && chance(40)) {
      const Expr a = condition(depth - 1), b = condition(depth - 1);
      return chance(60) ? a && b : chance(50) ? a || b : logical_not(a);
    }
    const Expr a = index(2), b = chance(70) ? Expr(below(30) - 4) : index(1);
    switch (below(5)) {
      case 0: return a < b;
      case 1: return a >= b;
      case 2: return a == b;
      case 3: return a != b;
      default: return a <= b;
    }
  }

  Rng& rng_;
  std::vector<Var> vars_;
  Buffer in_ = make_buffer("I", DType::I64, {kCells}, BufferScope::Param);
  Buffer out_ = make_buffer("O", DType::I64, {kCells}, BufferScope::Param);
};

std::vector<int64_t> run(const LoweredFunc& f, const std::string& context) {
  std::vector<int64_t> in(kCells), out(kCells, -1);
  for (size_t n = 0; n < in.size(); ++n) in[n] = static_cast<int64_t>(n * n * 7 % 101);
  const Result<void> r = interpret(f, {in.data(), out.data()});
  EXPECT_TRUE(r.ok()) << (r.ok() ? "" : to_string(r.error())) << "\n" << context;
  return out;
}

TEST(SimplifyStmtFuzz, NestsKeepTheirMeaning) {
  for (uint64_t seed = 0; seed < 6000 && !testing::Test::HasFailure(); ++seed) {
    Rng rng(seed);
    const LoweredFunc f = NestGenerator(rng).func();
    LoweredFunc s = f;
    s.body = simplify(f.body);
    const std::string context = "seed " + std::to_string(seed) + "\n" + to_string(f) + to_string(s);
    ASSERT_EQ(run(f, context), run(s, context)) << context;
    ASSERT_TRUE(simplify(s.body).same_as(s.body)) << context << to_string(simplify(s.body));
  }
}

}  // namespace
}  // namespace espalier
