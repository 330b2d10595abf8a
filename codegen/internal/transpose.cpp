#include "espalier/codegen/internal/transpose.h"

#include <algorithm>

#include "espalier/support/check.h"

namespace espalier::internal {
namespace {

using Values = std::vector<llvm::Value*>;
using Lanes = llvm::SmallVector<int, 64>;

// Chunks of `chunk` lanes of x and y by turns, from the lower or the upper half of each group of
// `group` lanes.
llvm::Value* interleave(Builder& b, llvm::Value* x, llvm::Value* y, int lanes, int group, int chunk,
                        bool upper) {
  Lanes picks;
  for (int g = 0; g < lanes; g += group) {
    const int from = g + (upper ? group / 2 : 0);
    for (int c = 0; c < group / 2; c += chunk) {
      for (int side : {0, lanes}) {
        for (int l = 0; l < chunk; ++l) picks.push_back(side + from + c + l);
      }
    }
  }
  return b.CreateShuffleVector(x, y, picks);
}

// The even or the odd groups of x, then those of y.
llvm::Value* every_other(Builder& b, llvm::Value* x, llvm::Value* y, int lanes, int group,
                         int first) {
  Lanes picks;
  for (int side : {0, lanes}) {
    for (int g = first; g < lanes / group; g += 2) {
      for (int l = 0; l < group; ++l) picks.push_back(side + g * group + l);
    }
  }
  return b.CreateShuffleVector(x, y, picks);
}

// Output q holds group q of every vector, in order.
Values transpose_groups(Builder& b, Values v, int lanes, int group) {
  const size_t n = v.size();
  // Each round halves the strides at which a vector's groups follow one another.
  for (size_t round = 1; round < n; round *= 2) {
    Values even, odd;
    for (size_t i = 0; i < n; i += 2) {
      even.push_back(every_other(b, v[i], v[i + 1], lanes, group, 0));
      odd.push_back(every_other(b, v[i], v[i + 1], lanes, group, 1));
    }
    v = std::move(even);
    v.insert(v.end(), odd.begin(), odd.end());
  }
  return v;
}

size_t reverse_bits(size_t v, size_t below) {
  size_t reversed = 0;
  for (size_t bit = 1; bit < below; bit *= 2) {
    reversed = reversed * 2 + (v & 1);
    v /= 2;
  }
  return reversed;
}

}  // namespace

std::vector<llvm::Value*> transpose_rows(Builder& b, std::span<llvm::Value* const> rows) {
  const size_t n = rows.size();
  ESP_CHECK(n > 0 && (n & (n - 1)) == 0);
  Values v(rows.begin(), rows.end());
  llvm::Type* type =
      (*std::find_if(v.begin(), v.end(), [](auto* r) { return r != nullptr; }))->getType();
  for (llvm::Value*& r : v) {
    if (r == nullptr) r = llvm::PoisonValue::get(type);
  }
  if (n == 1) return v;
  const int lanes = static_cast<int>(n);
  const unsigned bits = type->getScalarSizeInBits();
  const size_t group = std::min<size_t>(n, std::max(1u, 128 / bits));

  for (size_t distance = 1; distance < group; distance *= 2) {
    for (size_t r = 0; r < n; ++r) {
      if ((r & distance) != 0) continue;
      llvm::Value *x = v[r], *y = v[r + distance];
      const int g = static_cast<int>(group), chunk = static_cast<int>(distance);
      v[r] = interleave(b, x, y, lanes, g, chunk, false);
      v[r + distance] = interleave(b, x, y, lanes, g, chunk, true);
    }
  }
  // Vector `at` of each block of `group` rows now holds, in its q-th group of lanes, those rows'
  // elements of column q * group + reverse_bits(at).
  Values columns(n);
  for (size_t at = 0; at < group; ++at) {
    Values blocks;
    for (size_t block = 0; block < n / group; ++block) blocks.push_back(v[block * group + at]);
    const Values groups = transpose_groups(b, std::move(blocks), lanes, static_cast<int>(group));
    for (size_t q = 0; q < groups.size(); ++q) {
      columns[q * group + reverse_bits(at, group)] = groups[q];
    }
  }
  return columns;
}

}  // namespace espalier::internal
