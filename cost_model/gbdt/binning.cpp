#include "espalier/cost_model/gbdt/binning.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "espalier/support/check.h"
#include "espalier/support/parallel.h"

namespace espalier::gbdt {
namespace {

constexpr float kHighest = std::numeric_limits<float>::max();
constexpr size_t kColumnsAtOnce = 16;  // those of a cache line of a row

// An order-preserving map to integers; both zeros map alike.
uint32_t key_of(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value == 0 ? 0.0F : value);
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}

float value_of(uint32_t key) {
  return std::bit_cast<float>((key & 0x80000000U) != 0 ? key & 0x7fffffffU : ~key);
}

// A value's key in the upper half, its row in the lower.
using Entry = uint64_t;

// Sorts by key, rows ascending among equal keys: three stable passes of 11 bits.
void sort_entries(std::vector<Entry>& entries, std::vector<Entry>& buffer) {
  constexpr int kBits = 11;
  constexpr size_t kDigits = size_t{1} << kBits;
  std::array<std::array<uint32_t, kDigits>, 3> counts{};
  for (Entry e : entries) {
    for (size_t pass = 0; pass < 3; ++pass) {
      ++counts[pass][(e >> (32 + kBits * pass)) & (kDigits - 1)];
    }
  }
  buffer.resize(entries.size());
  for (size_t pass = 0; pass < 3; ++pass) {
    std::array<uint32_t, kDigits>& count = counts[pass];
    const size_t shift = 32 + kBits * pass;
    const size_t first = (entries[0] >> shift) & (kDigits - 1);
    if (count[first] == entries.size()) continue;  // all alike in this digit
    uint32_t start = 0;
    for (uint32_t& c : count) start += std::exchange(c, start);
    for (Entry e : entries) buffer[count[(e >> shift) & (kDigits - 1)]++] = e;
    entries.swap(buffer);
  }
}

// Between two values, so that left <= cut < right.
float cut_between(float left, float right) {
  const double middle = (static_cast<double>(left) + static_cast<double>(right)) / 2;
  const float cut = static_cast<float>(middle);
  return cut < right ? cut : left;
}

// A run of equal values in the sorted column.
struct Run {
  uint32_t key;
  uint32_t count;
};

// Indices of the runs that end a bin, the last one left out.
void choose_ends(const std::vector<Run>& runs, size_t rows, int max_bins,
                 std::vector<size_t>& ends) {
  ends.clear();
  const size_t limit = static_cast<size_t>(max_bins);
  if (runs.size() <= limit) {
    for (size_t r = 0; r + 1 < runs.size(); ++r) ends.push_back(r);
    return;
  }
  // Values with more than a mean bin's rows get a bin each; the others share what is left evenly.
  const double mean = static_cast<double>(rows) / static_cast<double>(limit);
  const auto heavy = [&](const Run& run) { return run.count >= mean; };
  size_t rest_rows = rows, rest_bins = limit;
  for (const Run& run : runs) {
    if (heavy(run)) {
      rest_rows -= run.count;
      --rest_bins;
    }
  }
  double share =
      static_cast<double>(rest_rows) / static_cast<double>(std::max<size_t>(rest_bins, 1));
  size_t in_bin = 0;
  for (size_t r = 0; r + 1 < runs.size() && ends.size() + 1 < limit; ++r) {
    in_bin += runs[r].count;
    if (!heavy(runs[r])) rest_rows -= runs[r].count;
    const bool full = static_cast<double>(in_bin) >= share;
    const bool before_heavy =
        heavy(runs[r + 1]) && static_cast<double>(in_bin) >= std::max(1.0, share * 0.5);
    if (!heavy(runs[r]) && !full && !before_heavy) continue;
    ends.push_back(r);
    in_bin = 0;
    if (!heavy(runs[r])) {
      rest_bins -= rest_bins > 1 ? 1 : 0;
      share = static_cast<double>(rest_rows) / static_cast<double>(rest_bins);
    }
  }
}

struct Scratch {
  std::array<std::vector<Entry>, kColumnsAtOnce> entries;
  std::vector<Entry> buffer;
  std::vector<Run> runs;
  std::vector<size_t> ends;
};

// `entries`: the values that are not missing. Codes of the others are 0 already.
void bin_column(std::vector<Entry>& entries, size_t rows, int max_bins, Scratch& scratch,
                ColumnBins& bins, uint8_t* codes) {
  bins.missing = entries.size() < rows;
  if (entries.empty()) return;
  sort_entries(entries, scratch.buffer);
  std::vector<Run>& runs = scratch.runs;
  runs.clear();
  for (Entry e : entries) {
    const uint32_t key = static_cast<uint32_t>(e >> 32);
    if (runs.empty() || runs.back().key != key) runs.push_back({key, 0});
    ++runs.back().count;
  }
  choose_ends(runs, entries.size(), max_bins, scratch.ends);
  size_t entry = 0, run = 0;
  uint8_t code = 1;
  const auto assign_to = [&](size_t last_run) {
    size_t count = 0;
    for (; run <= last_run; ++run) count += runs[run].count;
    for (; count > 0; --count) codes[static_cast<uint32_t>(entries[entry++])] = code;
  };
  bins.cuts.reserve(scratch.ends.size());
  for (size_t end : scratch.ends) {
    bins.cuts.push_back(cut_between(value_of(runs[end].key), value_of(runs[end + 1].key)));
    assign_to(end);
    ++code;
  }
  assign_to(runs.size() - 1);
}

}  // namespace

uint8_t ColumnBins::code(float value) const {
  if (std::isnan(value)) return 0;
  const auto cut = std::lower_bound(cuts.begin(), cuts.end(), value);
  return static_cast<uint8_t>(cut - cuts.begin() + 1);
}

BinnedTable bin_table(const Table& table, int max_bins, int threads) {
  ESP_CHECK(max_bins >= 2 && max_bins <= kMaxBins, "max_bins is ", max_bins);
  BinnedTable binned{table.rows, std::vector<ColumnBins>(table.columns),
                     std::vector<uint8_t>(table.rows * table.columns)};
  const size_t batches = (table.columns + kColumnsAtOnce - 1) / kColumnsAtOnce;
  const int workers = table.values.size() > 200'000 ? std::max(threads, 1) : 1;
  std::vector<Scratch> scratches(static_cast<size_t>(workers));
  parallel_for(workers, batches, [&](size_t batch, int slot) {
    Scratch& scratch = scratches[static_cast<size_t>(slot)];
    const size_t first = batch * kColumnsAtOnce;
    const size_t count = std::min(kColumnsAtOnce, table.columns - first);
    for (std::vector<Entry>& entries : scratch.entries) {
      entries.clear();
      entries.reserve(table.rows);
    }
    for (size_t i = 0; i < table.rows; ++i) {
      const float* row = table.row(i) + first;
      for (size_t j = 0; j < count; ++j) {
        if (std::isnan(row[j])) continue;
        const float value = std::clamp(row[j], -kHighest, kHighest);
        scratch.entries[j].push_back(static_cast<Entry>(key_of(value)) << 32 | i);
      }
    }
    for (size_t j = 0; j < count; ++j) {
      bin_column(scratch.entries[j], table.rows, max_bins, scratch, binned.columns[first + j],
                 binned.codes.data() + (first + j) * table.rows);
    }
  });
  return binned;
}

}  // namespace espalier::gbdt
