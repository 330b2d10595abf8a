#include "contest/traffic.h"

#include <algorithm>

namespace espalier::bench {
namespace {

double elements_of(const StageInfo& stage) {
  double elements = 1;
  for (int64_t extent : stage.tensor->shape) elements *= static_cast<double>(extent);
  return elements;
}

// Times that a stage's body is evaluated.
double points_of(const StageInfo& stage) {
  double points = 1;
  for (const Axis& axis : stage.axes) points *= static_cast<double>(axis.extent);
  for (const Axis& axis : stage.reduce_axes) points *= static_cast<double>(axis.extent);
  return points;
}

}  // namespace

double traffic_bytes(const ComputeDag& dag) {
  double bytes = 0;
  for (int i = 0; i < dag.size(); ++i) {
    const StageInfo& stage = dag.stage(i);
    const double size = bytes_of(stage.tensor->dtype);
    if (stage.is_output) bytes += elements_of(stage) * size;
    if (stage.is_compute()) continue;
    double reads = 0;
    for (int consumer : stage.consumers) {
      const StageInfo& reader = dag.stage(consumer);
      for (const Access& access : reader.accesses) {
        if (access.producer == i) reads += points_of(reader);
      }
    }
    bytes += std::min(elements_of(stage), reads) * size;
  }
  return bytes;
}

}  // namespace espalier::bench
