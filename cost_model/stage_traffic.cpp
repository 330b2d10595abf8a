#include "espalier/cost_model/stage_traffic.h"

#include <algorithm>
#include <numeric>

namespace espalier {
namespace {

constexpr double kStreams = 16;    // rows that are fetched ahead side by side
constexpr double kPageLines = 64;  // of 4 KiB
constexpr double kWays = 8;        // of L1 and L2
// A loop whose data take less than the first share of a cache finds them there again; with the
// second share it does not.
constexpr double kFits = 0.7, kMisses = 1.4;
// A line that is written comes and goes, and stores wait for it in order.
constexpr double kWrite = 3;

Quantity clamp01(const Quantity& x) { return min(1, max(0, x)); }

bool inside(const StageNest& other, const StageNest& nest, size_t p) {
  return other.path.size() >= p &&
         std::equal(nest.path.begin(), nest.path.begin() + static_cast<ptrdiff_t>(p),
                    other.path.begin());
}
}  // namespace

Traffic::Traffic(const State& state, const DeviceModel& device, const std::vector<StageNest>& nests)
    : nests_(nests) {
  const Target& target = state.task().target;
  const double hz = device.frequency_hz;
  const double bandwidth[] = {device.l2_bandwidth, device.l3_bandwidth, device.dram_bandwidth};
  const int64_t bytes[] = {target.l1_bytes, target.l2_bytes, target.l3_bytes};
  double all = 0;  // lines that a call touches; the next call finds them where they fit
  for (StageId s = 0; s < state.size(); ++s) {
    const Stage& stage = state.stage(s);
    if (!stage.stored_at_root || stage.attach == AttachKind::Inlined) continue;
    const int op = stage.layout.empty() ? stage.op : stage.reads[0].producer;
    const TensorNode& tensor = *state.dag().stage(op).tensor.get();
    double bytes_of_all = bytes_of(tensor.dtype);
    for (int64_t extent : tensor.shape) bytes_of_all *= static_cast<double>(extent);
    all += bytes_of_all / target.line_bytes;
  }
  for (size_t level = 0; level < kCacheLevels; ++level) {
    Cache& cache = caches_[level];
    cache.lines = static_cast<double>(bytes[level]) / target.line_bytes;
    cache.sets = std::max(1.0, cache.lines / kWays);
    cache.cycles_per_line = target.line_bytes * hz / bandwidth[level];
    cache.used = bytes[level] > 0 && all > kFits * cache.lines;
    cache.stays =
        clamp01((kMisses * cache.lines - all) / ((kMisses - kFits) * cache.lines)).number();
  }
}

// Lines of everything that runs inside the first `p` loops of the path.
Quantity Traffic::working_set(const StageNest& nest, size_t p) const {
  std::vector<std::pair<StageId, Quantity>> buffers;
  for (const StageNest& other : nests_) {
    if (!inside(other, nest, p)) continue;
    for (const Stream& s : other.streams) {
      auto it = std::find_if(buffers.begin(), buffers.end(),
                             [&](const auto& b) { return b.first == s.buffer; });
      if (it == buffers.end()) {
        buffers.emplace_back(s.buffer, s.lines[p]);
      } else {
        it->second = max(it->second, s.lines[p]);
      }
    }
  }
  Quantity sum = 0;
  for (const auto& [buffer, lines] : buffers) sum += lines;
  return sum;
}

// Of the ways of the fullest set, the share that the rows need.
Quantity Traffic::set_pressure(const Stream& s, size_t p, const Cache& cache) const {
  Quantity pressure = 0;
  for (const Stream::Rows& r : s.rows[p]) {
    // Addresses within a page choose among so many sets; which page it is spreads the lines
    // evenly over the groups of sets that a larger cache has.
    const double in_page = std::min(cache.sets, kPageLines);
    const double common =
        std::gcd(static_cast<int64_t>(r.pitch_lines), static_cast<int64_t>(in_page));
    if (common < 2) continue;
    const double starts = in_page / common;
    const Quantity covered =
        min(in_page, max(r.lines, min(r.count, starts) * min(r.lines, common))) *
        (cache.sets / in_page);
    pressure = max(pressure, if_le(r.count, 1, 0, r.count * r.lines / (covered * kWays)));
  }
  return pressure;
}

void Traffic::add(const StageNest& nest, const std::vector<OwnLoop>& loops, StageCost& c) const {
  const size_t n = nest.path.size();
  std::vector<Quantity> sets(n + 1);
  for (size_t p = 0; p <= n; ++p) sets[p] = working_set(nest, p);
  for (size_t level = 0; level < kCacheLevels; ++level) {
    const Cache& cache = caches_[level];
    if (!cache.used) continue;
    for (const Stream& s : nest.streams) {
      Quantity lines = s.lines[n];
      for (size_t p = n; p-- > 0;) {
        Quantity pressure = sets[p + 1] / cache.lines;
        const Quantity conflicts = set_pressure(s, p + 1, cache);
        pressure = max(pressure, conflicts * kFits);  // a set may be full
        if (level == 0) c.fullest = max(c.fullest, conflicts);
        const Quantity fits = clamp01((kMisses - pressure) / (kMisses - kFits));
        const Quantity again = nest.path[p].effective * lines;
        lines = again + fits * (min(again, s.lines[p]) - again);
      }
      Quantity streams = 0;  // of one run of the body
      for (size_t i = 0; i < loops.size(); ++i) {
        for (const Stream::Rows& r : s.rows[nest.own_from + i + 1]) {
          streams = max(streams, loops[i].inner * r.count);
        }
      }
      const Quantity late = 1 + clamp01((streams - kStreams) / (0.5 * kStreams));
      const Quantity sweep = late * (s.written ? Quantity(kWrite) : Quantity(1));
      c.needed[level] += s.lines[0] * sweep;
      // Lines that a former call left behind need not come again.
      c.lines[level] += max(0, lines - s.lines[0] * cache.stays) * sweep;
    }
    c.cycles[level] = c.lines[level] * cache.cycles_per_line;
  }
}

}  // namespace espalier
