#include "espalier/support/device_model.h"

#include <cmath>

#include "espalier/support/lexer.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

struct NumberField {
  std::string_view key;
  double DeviceModel::* member;
};

// Every number of the text form, in the order in which it is printed.
constexpr NumberField kNumberFields[] = {
    {"frequency_hz", &DeviceModel::frequency_hz}, {"peak_flops", &DeviceModel::peak_flops},
    {"fma_ports", &DeviceModel::fma_ports},       {"load_ports", &DeviceModel::load_ports},
    {"store_ports", &DeviceModel::store_ports},   {"fma_latency", &DeviceModel::fma_latency},
    {"l1_bandwidth", &DeviceModel::l1_bandwidth}, {"l2_bandwidth", &DeviceModel::l2_bandwidth},
    {"l3_bandwidth", &DeviceModel::l3_bandwidth}, {"dram_bandwidth", &DeviceModel::dram_bandwidth},
    {"launch_us", &DeviceModel::launch_us},
};

struct Ports {
  std::string_view cpu;
  int bits;  // the width the row speaks of
  double fma, load, store, fma_latency;
  double l3_bytes;  // a cycle, read by one core
};

// Vector operations per cycle (Fog's instruction tables and the vendors' optimisation guides), and
// what reviewers measure of the third-level cache. Zen 4 splits 512-bit operations into two halves.
constexpr Ports kPorts[] = {
    {"znver1", 256, 1, 1, 0.5, 5, 16},       {"znver2", 256, 2, 2, 1, 5, 20},
    {"znver3", 256, 2, 2, 1, 4, 27},         {"znver4", 256, 2, 2, 1, 4, 27},
    {"znver4", 512, 1, 1, 0.5, 4, 27},       {"znver5", 256, 2, 2, 2, 4, 27},
    {"znver5", 512, 2, 2, 1, 4, 27},         {"haswell", 256, 2, 2, 1, 5, 14},
    {"broadwell", 256, 2, 2, 1, 5, 14},      {"skylake", 256, 2, 2, 1, 4, 14},
    {"skylake-avx512", 512, 2, 2, 1, 4, 10}, {"cascadelake", 512, 2, 2, 1, 4, 10},
    {"icelake-server", 512, 2, 2, 1, 4, 10}, {"sapphirerapids", 512, 2, 2, 1, 4, 10},
};

}  // namespace

DeviceModel data_sheet(const Target& target) {
  DeviceModel device;
  device.cpu = target.cpu.empty() ? target.arch : target.cpu;
  double l3_bytes = 12;
  for (const Ports& ports : kPorts) {
    if (ports.cpu != target.cpu || ports.bits != target.vector_bits) continue;
    device.fma_ports = ports.fma;
    device.load_ports = ports.load;
    device.store_ports = ports.store;
    device.fma_latency = ports.fma_latency;
    l3_bytes = ports.l3_bytes;
  }
  const double vector_bytes = target.vector_bits / 8.0;
  device.peak_flops = device.frequency_hz * device.fma_ports * vector_bytes / sizeof(float) * 2;
  device.l1_bandwidth = device.frequency_hz * device.load_ports * vector_bytes;
  device.l2_bandwidth = device.frequency_hz * 32;  // half a line a cycle
  device.l3_bandwidth = device.frequency_hz * l3_bytes;
  return device;
}

std::string to_string(const DeviceModel& device) {
  std::string text = "cpu=" + quote(device.cpu) + " probed=" + (device.probed ? "1" : "0");
  for (const NumberField& field : kNumberFields) {
    text += ' ';
    text += field.key;
    text += '=' + format_double(device.*field.member);
  }
  return text;
}

Result<DeviceModel> parse_device_model(std::string_view text) {
  DeviceModel device;
  Lexer lexer(text);
  while (!lexer.at_end()) {
    ESP_TRY(Token key, lexer.expect(TokenKind::Identifier));
    ESP_TRY_VOID(lexer.expect("="));
    if (key.text == "cpu") {
      ESP_TRY(device.cpu, lexer.string());
      continue;
    }
    ESP_TRY(double value, lexer.number());
    if (key.text == "probed") {
      device.probed = value != 0;
      continue;
    }
    double DeviceModel::* member = nullptr;
    for (const NumberField& field : kNumberFields) {
      if (field.key == key.text) member = field.member;
    }
    if (member == nullptr) return Lexer::error_at(key, "no such quantity of a device");
    if (!(value > 0) || !std::isfinite(value)) {
      return Lexer::error_at(key, "a quantity of a device must be positive");
    }
    device.*member = value;
  }
  return device;
}

}  // namespace espalier
