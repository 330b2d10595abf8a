#include "espalier/runtime/worker_protocol.h"

#include "espalier/support/number.h"

namespace espalier {

std::string encode(const HelloMessage& m) {
  return Encoder().u64(m.version).string(m.program).take();
}
template <>
Result<HelloMessage> decode(std::string_view payload) {
  Decoder in(payload);
  HelloMessage m{.version = in.u64(), .program = in.string()};
  // What follows may differ in another version, which the receiver tells by the number.
  if (m.version == kWorkerProtocolVersion) ESP_TRY_VOID(in.finish());
  return m;
}

std::string encode(const TaskMessage& m) {
  const MeasureOptions& o = m.options;
  return Encoder()
      .string(m.dag)
      .u64(m.dag_hash)
      .string(m.target)
      .i64(m.threads)
      .i64(m.memory_fd)
      .i64(o.repeats)
      .i64(o.leader_repeats)
      .f64(o.min_batch_ms)
      .f64(o.timeout_s)
      .i64(o.memory_limit)
      .f64(o.abandon_ratio)
      .boolean(o.flush_cache)
      .u64(o.seed)
      .take();
}
template <>
Result<TaskMessage> decode(std::string_view payload) {
  Decoder in(payload);
  TaskMessage m;
  m.dag = in.string();
  m.dag_hash = in.u64();
  m.target = in.string();
  m.threads = in.i64();
  m.memory_fd = in.i64();
  m.options.repeats = static_cast<int>(in.i64());
  m.options.leader_repeats = static_cast<int>(in.i64());
  m.options.min_batch_ms = in.f64();
  m.options.timeout_s = in.f64();
  m.options.memory_limit = in.i64();
  m.options.abandon_ratio = in.f64();
  m.options.flush_cache = in.boolean();
  m.options.seed = in.u64();
  ESP_TRY_VOID(in.finish());
  return m;
}

std::string encode(const FailureMessage& m) { return Encoder().string(m.message).take(); }
template <>
Result<FailureMessage> decode(std::string_view payload) {
  Decoder in(payload);
  FailureMessage m{in.string()};
  ESP_TRY_VOID(in.finish());
  return m;
}

std::string encode(const BatchMessage& m) {
  Encoder out;
  out.f64(m.best_us).u64(m.items.size());
  for (const BatchMessage::Item& item : m.items) out.u64(item.number).string(item.trace);
  return out.take();
}
template <>
Result<BatchMessage> decode(std::string_view payload) {
  Decoder in(payload);
  BatchMessage m;
  m.best_us = in.f64();
  m.items.resize(in.count());
  for (BatchMessage::Item& item : m.items) {
    item.number = in.u64();
    item.trace = in.string();
  }
  ESP_TRY_VOID(in.finish());
  return m;
}

std::string encode(const ProgressMessage& m) {
  return Encoder().u64(m.number).u64(static_cast<uint64_t>(m.phase)).take();
}
template <>
Result<ProgressMessage> decode(std::string_view payload) {
  Decoder in(payload);
  ProgressMessage m;
  m.number = in.u64();
  const uint64_t phase = in.u64();
  ESP_TRY_VOID(in.finish());
  if (phase > static_cast<uint64_t>(WorkerPhase::Run)) {
    return make_error(ErrorCode::Parse, "a phase numbered ", phase);
  }
  m.phase = static_cast<WorkerPhase>(phase);
  return m;
}

std::string encode(const ResultMessage& m) {
  const MeasureResult& r = m.result;
  return Encoder()
      .u64(m.number)
      .u64(static_cast<uint64_t>(r.status))
      .f64s(r.times_us)
      .f64(r.time_us)
      .boolean(r.abandoned)
      .f64(r.compile_ms)
      .f64(r.check_ms)
      .f64(r.max_error)
      .string(r.error)
      .take();
}
template <>
Result<ResultMessage> decode(std::string_view payload) {
  Decoder in(payload);
  ResultMessage m;
  m.number = in.u64();
  const uint64_t status = in.u64();
  m.result.times_us = in.f64s();
  m.result.time_us = in.f64();
  m.result.abandoned = in.boolean();
  m.result.compile_ms = in.f64();
  m.result.check_ms = in.f64();
  m.result.max_error = in.f64();
  m.result.error = in.string();
  ESP_TRY_VOID(in.finish());
  if (status > static_cast<uint64_t>(MeasureStatus::Wrong)) {
    return make_error(ErrorCode::Parse, "a status numbered ", status);
  }
  m.result.status = static_cast<MeasureStatus>(status);
  return m;
}

std::string encode(const InterleaveMessage& m) {
  Encoder out;
  out.u64(m.seed).i64(m.rounds).u64(m.traces.size());
  for (const std::string& trace : m.traces) out.string(trace);
  return out.take();
}
template <>
Result<InterleaveMessage> decode(std::string_view payload) {
  Decoder in(payload);
  InterleaveMessage m;
  m.seed = in.u64();
  m.rounds = in.i64();
  m.traces.resize(in.count());
  for (std::string& trace : m.traces) trace = in.string();
  ESP_TRY_VOID(in.finish());
  return m;
}

std::string encode(const TimesMessage& m) {
  Encoder out;
  out.u64(m.times_us.size());
  for (const std::vector<double>& times : m.times_us) out.f64s(times);
  return out.take();
}
template <>
Result<TimesMessage> decode(std::string_view payload) {
  Decoder in(payload);
  TimesMessage m;
  m.times_us.resize(in.count());
  for (std::vector<double>& times : m.times_us) times = in.f64s();
  ESP_TRY_VOID(in.finish());
  return m;
}

TaskLayout task_layout(const ComputeDag& dag) {
  TaskLayout layout;
  auto place = [&](const Tensor& tensor, int64_t width) {
    const int64_t at = layout.bytes;
    int64_t elements = 1;
    for (const int64_t extent : tensor->shape) elements *= extent;
    layout.bytes += round_up(elements * width, 64);
    return at;
  };
  for (const std::vector<int>* stages : {&dag.inputs(), &dag.constants()}) {
    for (const int stage : *stages) {
      const Tensor& tensor = dag.stage(stage).tensor;
      layout.arguments.push_back(place(tensor, bytes_of(tensor->dtype)));
    }
  }
  for (const int stage : dag.outputs()) {
    const Tensor& tensor = dag.stage(stage).tensor;
    layout.values.push_back(place(tensor, is_float(tensor->dtype) ? 8 : bytes_of(tensor->dtype)));
    layout.bounds.push_back(place(tensor, 8));
  }
  return layout;
}

}  // namespace espalier
