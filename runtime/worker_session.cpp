#include "espalier/runtime/worker_session.h"

#include <algorithm>

#include "espalier/runtime/call_timer.h"
#include "espalier/support/number.h"
#include "espalier/support/version.h"

namespace espalier {
namespace {

constexpr double kStartSeconds = 60;   // for a process to start and to load a task
constexpr double kTickSeconds = 0.05;  // between looks at time and memory

MessageKind kind_of(const Frame& frame) { return static_cast<MessageKind>(frame.kind); }

template <class Message>
std::string framed(const Message& message) {
  return encode_frame(static_cast<uint8_t>(Message::kKind), encode(message));
}

// `signal` becomes what killed the process, if something did.
Result<Frame> wait_for_start(WorkerProcess& process, const std::string& program, int& signal) {
  Frame frame;
  switch (process.wait(kStartSeconds, frame)) {
    case WorkerProcess::Event::Frame: return frame;
    case WorkerProcess::Event::Timeout:
      process.kill();
      return make_error(ErrorCode::Resource, "the worker '", program, "' gave no answer within ",
                        kStartSeconds, " s");
    case WorkerProcess::Event::Closed: break;
  }
  const WorkerProcess::End end = process.finish();
  signal = end.signal;
  return make_error(ErrorCode::Resource, "the worker '", program, "' ", end.how,
                    " before it was ready; is it a program that knows the argument 'worker'?");
}

}  // namespace

Result<WorkerSession> WorkerSession::start(const std::string& program,
                                           const std::vector<std::string>& arguments,
                                           const TaskMessage& task, int memory_fd) {
  int signal = 0;
  Result<WorkerSession> session = start_once(program, arguments, task, memory_fd, signal);
  // Somebody may have killed it, as any process; a second time it is taken to be its own doing.
  if (signal != 0) session = start_once(program, arguments, task, memory_fd, signal);
  return session;
}

Result<WorkerSession> WorkerSession::start_once(const std::string& program,
                                                const std::vector<std::string>& arguments,
                                                TaskMessage task, int memory_fd, int& signal) {
  ESP_TRY(WorkerProcess process, WorkerProcess::start(program, arguments, memory_fd));
  ESP_TRY(const Frame first, wait_for_start(process, program, signal));
  if (kind_of(first) != MessageKind::Hello) {
    return make_error(ErrorCode::Resource, "the worker '", program, "' does not greet as one");
  }
  ESP_TRY(const auto hello, decode<HelloMessage>(first.payload));
  if (hello.version != kWorkerProtocolVersion) {
    return make_error(ErrorCode::Unsupported, "the worker '", program, "' (", hello.program,
                      ") speaks version ", hello.version, " of the protocol and this program (",
                      version(), ") version ", kWorkerProtocolVersion,
                      "; use the worker of the same build");
  }
  task.memory_fd = WorkerProcess::kInheritedFd;
  WorkerSession session(std::move(process), task.options);
  session.process_.send(framed(task));
  ESP_TRY(const Frame second, wait_for_start(session.process_, program, signal));
  if (kind_of(second) == MessageKind::Failure) {
    ESP_TRY(const auto failure, decode<FailureMessage>(second.payload));
    return make_error(ErrorCode::Resource, "the worker cannot load the task: ", failure.message);
  }
  if (kind_of(second) != MessageKind::Ready) {
    return make_error(ErrorCode::Resource, "the worker '", program, "' did not load the task");
  }
  session.memory_at_start_ = session.process_.private_bytes();
  return session;
}

WorkerSession::Outcome WorkerSession::gone(Outcome::Kind kind, std::string how, int signal) {
  Outcome outcome{kind, std::move(how), signal, {}, false};
  const double overdue = clock_us_ - options_.timeout_s * 1e6;
  for (const auto& [number, activity] : activities_) {
    if (activity.phase == WorkerPhase::Wait) continue;
    if (kind == Outcome::Kind::Hung && activity.since_us > overdue) continue;
    outcome.active.push_back(number);
    outcome.running = activity.phase == WorkerPhase::Run;
  }
  process_.kill();
  return outcome;
}

bool WorkerSession::note_progress(const Frame& frame) {
  const auto progress = decode<ProgressMessage>(frame.payload);
  if (progress.ok()) activities_[progress->number] = {progress->phase, clock_us_};
  return progress.ok();
}

void WorkerSession::advance_clock() {
  const double wall = now_us(), cpu = process_.cpu_seconds() * 1e6;
  double passed = wall - wall_us_;
  const double worked = std::max(cpu - cpu_us_, 0.0);
  // It counts in ticks of the scheduler, some 10 ms.
  constexpr double kGrain = 20e3;
  if (worked + kGrain < passed && process_.is_held_up()) passed = worked;
  clock_us_ += passed;
  wall_us_ = wall;
  cpu_us_ = cpu;
}

WorkerSession::Outcome WorkerSession::converse(const std::string& request,
                                               const std::function<bool(const Frame&)>& on_answer) {
  using Kind = Outcome::Kind;
  activities_.clear();
  if (!process_.send(request)) {
    const WorkerProcess::End end = process_.finish();
    return gone(Kind::Died, end.how, end.signal);
  }
  wall_us_ = now_us();
  cpu_us_ = process_.cpu_seconds() * 1e6;
  double last_news = clock_us_;
  for (;;) {
    Frame frame;
    const WorkerProcess::Event event = process_.wait(kTickSeconds, frame);
    if (event == WorkerProcess::Event::Closed) {
      const WorkerProcess::End end = process_.finish();
      return gone(Kind::Died, end.how, end.signal);
    }
    if (options_.interrupted()) return gone(Kind::Interrupted, "was interrupted");
    if (event == WorkerProcess::Event::Frame) {
      last_news = clock_us_;
      if (kind_of(frame) != MessageKind::Progress) {
        if (on_answer(frame)) return {};
      } else if (!note_progress(frame)) {
        return gone(Kind::Died, "sent something that is no message");
      }
    }
    if (now_us() - wall_us_ < kTickSeconds * 1e6) continue;
    advance_clock();

    const int64_t grown = process_.private_bytes() - memory_at_start_;
    if (grown > options_.memory_limit) {
      return gone(Kind::TooMuchMemory, "took " + std::to_string(grown >> 20) +
                                           " MiB of memory, more than the limit of " +
                                           std::to_string(options_.memory_limit >> 20) + " MiB");
    }
    const double limit = options_.timeout_s * 1e6;
    bool overdue = clock_us_ - last_news > limit + kStartSeconds * 1e6;
    for (const auto& [number, activity] : activities_) {
      overdue |= activity.phase != WorkerPhase::Wait && clock_us_ - activity.since_us > limit;
    }
    if (overdue) {
      return gone(Kind::Hung,
                  "did not finish within " + format_fixed(options_.timeout_s, 1) + " s");
    }
  }
}

WorkerSession::Outcome WorkerSession::measure(
    const BatchMessage& batch,
    const std::function<void(uint64_t number, MeasureResult)>& on_result) {
  size_t left = batch.items.size();
  bool nonsense = false;
  Outcome outcome = converse(framed(batch), [&](const Frame& frame) {
    auto message = kind_of(frame) == MessageKind::Result
                       ? decode<ResultMessage>(frame.payload)
                       : Result<ResultMessage>(make_error(ErrorCode::Parse, "no result"));
    nonsense = !message.ok();
    if (nonsense) return true;
    activities_.erase(message->number);
    on_result(message->number, std::move(message->result));
    return --left == 0;
  });
  if (nonsense) return gone(Outcome::Kind::Died, "sent something that is no message");
  return outcome;
}

WorkerSession::Outcome WorkerSession::interleave(const InterleaveMessage& message,
                                                 TimesMessage& times, std::string& failure) {
  return converse(framed(message), [&](const Frame& frame) {
    if (kind_of(frame) == MessageKind::Times) {
      if (auto decoded = decode<TimesMessage>(frame.payload); decoded.ok()) {
        times = *std::move(decoded);
        return true;
      }
    }
    const auto refused = decode<FailureMessage>(frame.payload);
    failure = refused.ok() && kind_of(frame) == MessageKind::Failure
                  ? refused->message
                  : "the worker sent something that is no message";
    return true;
  });
}

}  // namespace espalier
