#include "espalier/runtime/probe.h"

#include <gtest/gtest.h>

#include <cmath>

#include "espalier/runtime/probe_kernels.h"

namespace espalier {
namespace {

TEST(Probe, FillsInAModelThatReadsBack) {
  const DeviceModel model = probe_device(host_target(), 0.1);
  EXPECT_TRUE(model.probed);
  EXPECT_EQ(parse_device_model(to_string(model)).value(), model);
}

TEST(Probe, FiguresAreOfAPlausibleSize) {
  // Wide enough for a machine that is busy with something else, or a sanitizer.
  const DeviceModel model = probe_device(host_target(), 0.3);
  EXPECT_GT(model.frequency_hz, 1e8);
  EXPECT_LT(model.frequency_hz, 1e10);
  EXPECT_GT(model.peak_flops, 1e8);
  EXPECT_LT(model.fma_ports, 16);
  EXPECT_GT(model.fma_latency, 1);
  EXPECT_GT(model.l1_bandwidth, 0.5 * model.dram_bandwidth);
  EXPECT_GT(model.launch_us, 0);
}

TEST(Probe, NarrowVectorsAreProbedWithNarrowVectors) {
  Target target = host_target();
  target.vector_bits = 128;
  EXPECT_EQ(probe_kernels(target).vector_bytes, 16);
#if defined(__x86_64__)
  const Target avx2 = restrict_to_avx2(host_target());
  EXPECT_EQ(probe_kernels(avx2).vector_bytes,
            avx2.has("avx2") && host_target().has("avx2") ? 32 : 16);
#endif
}

TEST(Probe, PeakIsMeasuredInGigaflops) {
  const double peak = probe_peak_gflops(host_target(), 0.01);
  EXPECT_GT(peak, 0.1);
  EXPECT_LT(peak, 10000);
}

}  // namespace
}  // namespace espalier
