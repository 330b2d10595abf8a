#include "espalier/support/device_model.h"

#include "gtest/gtest.h"

namespace espalier {
namespace {

TEST(DeviceModel, TextRoundTrips) {
  DeviceModel device;
  device.cpu = "AMD \"EPYC\" family 25";
  device.probed = true;
  device.frequency_hz = 3.1e9 / 7;
  EXPECT_EQ(parse_device_model(to_string(device)).value(), device);
}

TEST(DeviceModel, PeakFollowsFromPortsAndWidth) {
  const Target target = parse_target("x86_64 cpu=znver3 features=+avx2,+fma").value();
  const DeviceModel device = data_sheet(target);
  EXPECT_EQ(device.peak_flops, device.frequency_hz * 2 * 8 * 2);
  EXPECT_EQ(device.l1_bandwidth, device.frequency_hz * 2 * 32);
  EXPECT_FALSE(device.probed);
}

// Zen 4 executes 512-bit operations in halves: the wider vector does not raise the peak.
TEST(DeviceModel, PortsAreThoseOfTheTargetsWidth) {
  const Target wide = parse_target("x86_64 cpu=znver4 features=+avx2,+avx512f,+avx512vl").value();
  const Target narrow = parse_target("x86_64 cpu=znver4 features=+avx2").value();
  EXPECT_EQ(data_sheet(wide).peak_flops, data_sheet(narrow).peak_flops);
}

TEST(DeviceModel, UnknownCpuHasTypicalValues) {
  const DeviceModel device = data_sheet(parse_target("aarch64").value());
  EXPECT_EQ(device.cpu, "aarch64");
  EXPECT_EQ(device.fma_ports, 2);
}

TEST(DeviceModel, CachesGetSlowerOutwards) {
  const DeviceModel device = data_sheet(host_target());
  EXPECT_GT(device.l1_bandwidth, device.l2_bandwidth / 2);
  EXPECT_GT(device.l2_bandwidth, device.l3_bandwidth);
  EXPECT_GT(device.l3_bandwidth, device.dram_bandwidth);
}

TEST(DeviceModel, ErrorsNameTheQuantity) {
  EXPECT_EQ(parse_device_model("launch_us=0").error().message,
            "line 1, column 1: a quantity of a device must be positive");
  EXPECT_EQ(parse_device_model("cpu=\"x\" colour=3").error().message,
            "line 1, column 9: no such quantity of a device");
  EXPECT_FALSE(parse_device_model("peak_flops=nan").ok());
  EXPECT_FALSE(parse_device_model("peak_flops").ok());
}

}  // namespace
}  // namespace espalier
