#pragma once

#include <string>
#include <string_view>

#include "espalier/support/result.h"
#include "espalier/support/target.h"

namespace espalier {

/// What one core of a machine can do, for cost models: probed once a machine, or read off data
/// sheets. Cost models use ratios to these quantities, so that what they learn on one CPU means the
/// same on another. Ports count operations on vectors of the target's full width per cycle; a half
/// is one every two cycles.
struct DeviceModel {
  std::string cpu;            // fingerprint of the machine, or the target's CPU name
  bool probed = false;        // measured here, rather than from a data sheet
  double frequency_hz = 3e9;  // under vector load
  double peak_flops = 96e9;   // f32 operations per second; an FMA counts as two
  double fma_ports = 2;
  double load_ports = 2;
  double store_ports = 1;
  double fma_latency = 4;       // cycles
  double l1_bandwidth = 192e9;  // bytes per second, reading
  double l2_bandwidth = 96e9;
  double l3_bandwidth = 48e9;
  double dram_bandwidth = 12e9;
  double launch_us = 5;  // to start and join one parallel loop on all cores

  friend bool operator==(const DeviceModel&, const DeviceModel&) = default;
};

/// What data sheets and instruction tables say of the target's CPU, or typical values for one they
/// do not name.
DeviceModel data_sheet(const Target& target);

/// One line that reads back the same: cpu="…" probed=0 frequency_hz=3e+09 …
std::string to_string(const DeviceModel& device);

/// Reads that form. Keys that are left out keep the values above; numbers must be positive and
/// finite.
Result<DeviceModel> parse_device_model(std::string_view text);

}  // namespace espalier
