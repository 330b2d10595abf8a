// Measures what this machine can do.
#pragma once

#include "espalier/support/device_model.h"
#include "espalier/support/target.h"

namespace espalier {

/// Fills a device model by timing small loops on one core (the launch cost on all of the target's):
/// multiply-add throughput and latency, loads and stores, bandwidth from each level of the memory.
/// Takes about `seconds`. Each figure is the best of several runs, so that what else the machine
/// does lowers it little. The target must be one that this machine can run.
DeviceModel probe_device(const Target& target, double seconds = 2);

/// f32 multiply-adds of one core in 1e9 operations per second (a multiply-add counts as two); cheap
/// enough to be called between measurements that are compared with it.
double probe_peak_gflops(const Target& target, double seconds = 0.01);

/// Bytes read from memory by one core, in 1e9 per second, from a buffer beyond the caches. Takes
/// about `seconds`, and some time to fill the buffer.
double probe_memory_gbps(const Target& target, double seconds = 0.1);

}  // namespace espalier
