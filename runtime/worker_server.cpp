#include "espalier/runtime/worker_server.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <mutex>
#include <optional>

#include "espalier/runtime/candidate_runner.h"
#include "espalier/runtime/worker_protocol.h"
#include "espalier/support/fd.h"
#include "espalier/support/parallel.h"
#include "espalier/support/version.h"

namespace espalier {
namespace {

// Sends messages, whole, from any thread.
class Answers {
 public:
  explicit Answers(int fd) : fd_(fd) {}
  template <class Message>
  void send(const Message& message) {
    send_frame(Message::kKind, encode(message));
  }
  void send_frame(MessageKind kind, const std::string& payload) {
    const std::string bytes = encode_frame(static_cast<uint8_t>(kind), payload);
    const std::lock_guard lock(mutex_);
    // Usually because nobody reads any more, and then nobody is told.
    if (const auto written = write_all(fd_, bytes, "standard output"); !written.ok()) {
      fprintf(stderr, "espalier: worker: %s\n", to_string(written.error()).c_str());
      _exit(1);
    }
  }

 private:
  int fd_;
  std::mutex mutex_;
};

// A task and the shared memory that its arrays lie in.
struct LoadedTask {
  Mapping memory;
  std::optional<CandidateRunner> runner;
};

Result<LoadedTask> load(const TaskMessage& message) {
  ESP_TRY(ComputeDag dag, parse_dag(message.dag));
  if (dag.hash() != message.dag_hash) {
    return make_error(ErrorCode::Internal, "the text of the DAG does not read back the same");
  }
  ESP_TRY(Target target, parse_target(message.target));
  if (message.threads < 1 || message.threads > 1 << 14) {
    return make_error(ErrorCode::InvalidArgument, message.threads, " threads");
  }
  const TaskLayout layout = task_layout(dag);
  LoadedTask loaded;
  ESP_TRY(loaded.memory, Mapping::shared(static_cast<int>(message.memory_fd),
                                         std::max<int64_t>(layout.bytes, 1), false));
  std::byte* base = loaded.memory.data();

  std::vector<ArrayView> arguments;
  for (const std::vector<int>* stages : {&dag.inputs(), &dag.constants()}) {
    for (const int stage : *stages) {
      const Tensor& tensor = dag.stage(stage).tensor;
      arguments.emplace_back(base + layout.arguments[arguments.size()], tensor->dtype,
                             tensor->shape);
    }
  }
  std::vector<ExpectedOutput> expected;
  for (const int stage : dag.outputs()) {
    const Tensor& tensor = dag.stage(stage).tensor;
    const size_t k = expected.size();
    expected.push_back({dag.stage(stage).name, tensor->dtype, tensor->shape,
                        base + layout.values[k],
                        reinterpret_cast<const double*>(base + layout.bounds[k])});
  }
  Task task{std::move(dag), std::move(target), static_cast<int>(message.threads), {}};
  ESP_TRY(loaded.runner,
          CandidateRunner::make(std::move(task), arguments, std::move(expected), message.options));
  return loaded;
}

class Server {
 public:
  Server(Answers& answers, WorkerHooks* hooks) : answers_(answers), hooks_(hooks) {}

  Result<void> handle(const Frame& frame) {
    switch (static_cast<MessageKind>(frame.kind)) {
      case MessageKind::Task: {
        ESP_TRY(const auto message, decode<TaskMessage>(frame.payload));
        set_task(message);
        return {};
      }
      case MessageKind::Batch: {
        ESP_TRY(const auto message, decode<BatchMessage>(frame.payload));
        if (!task_) break;
        measure(message);
        return {};
      }
      case MessageKind::Interleave: {
        ESP_TRY(const auto message, decode<InterleaveMessage>(frame.payload));
        if (!task_) break;
        interleave(message);
        return {};
      }
      default: break;
    }
    return make_error(ErrorCode::Parse, "a message of kind ", static_cast<int>(frame.kind),
                      " that is not expected here");
  }

 private:
  void set_task(const TaskMessage& message) {
    task_.reset();
    auto loaded = load(message);
    if (!loaded.ok()) {
      answers_.send(FailureMessage{to_string(loaded.error())});
      return;
    }
    task_ = *std::move(loaded);
    answers_.send_frame(MessageKind::Ready, {});
  }

  void progress(uint64_t number, WorkerPhase phase) {
    answers_.send(ProgressMessage{number, phase});
  }

  void measure(const BatchMessage& batch) {
    const CandidateRunner& runner = *task_->runner;
    const size_t n = batch.items.size();
    std::vector<MeasureResult> results(n);
    std::vector<std::optional<Kernel>> kernels(n);
    parallel_for(usable_cores(), n, [&](size_t i) {
      const uint64_t number = batch.items[i].number;
      progress(number, WorkerPhase::Compile);
      if (hooks_ != nullptr) hooks_->before_compile(number);
      kernels[i] = runner.compile(batch.items[i].trace, results[i]);
      progress(number, WorkerPhase::Wait);
    });
    double best_us = batch.best_us;
    for (size_t i = 0; i < n; ++i) {
      const uint64_t number = batch.items[i].number;
      MeasureResult& result = results[i];
      if (kernels[i]) {
        progress(number, WorkerPhase::Run);
        runner.run(*kernels[i], best_us, hooks_, number, result);
        kernels[i].reset();
      }
      if (result.ok() && (best_us <= 0 || result.time_us < best_us)) best_us = result.time_us;
      answers_.send(ResultMessage{number, std::move(result)});
    }
  }

  void interleave(const InterleaveMessage& message) {
    const CandidateRunner& runner = *task_->runner;
    const size_t n = message.traces.size();
    std::vector<MeasureResult> results(n);
    std::vector<std::optional<Kernel>> compiled(n);
    parallel_for(usable_cores(), n, [&](size_t i) {
      progress(i, WorkerPhase::Compile);
      compiled[i] = runner.compile(message.traces[i], results[i]);
      progress(i, WorkerPhase::Wait);
    });
    std::vector<Kernel> kernels;
    for (size_t i = 0; i < n; ++i) {
      if (!compiled[i]) {
        answers_.send(FailureMessage{"candidate " + std::to_string(i) + ": " + results[i].error});
        return;
      }
      kernels.push_back(*std::move(compiled[i]));
    }
    auto times = runner.interleave(kernels, static_cast<int>(message.rounds), message.seed,
                                   [&] { progress(0, WorkerPhase::Run); });
    if (times.ok()) {
      answers_.send(TimesMessage{*std::move(times)});
    } else {
      answers_.send(FailureMessage{to_string(times.error())});
    }
  }

  Answers& answers_;
  WorkerHooks* hooks_;
  std::optional<LoadedTask> task_;
};

// Ends the process when the client has closed its end or died, even if a candidate hangs. The pipe
// tells as soon as no process holds its other end; the parent's number is for the case that some
// process forked from the client still does. (PR_SET_PDEATHSIG would not do: it goes by the thread
// that started this process, not by the process of that thread.)
// False if the system refuses the thread that watches.
bool exit_with_client(int in_fd) {
  struct Watch {
    int fd;
    pid_t parent;
  };
  auto watch = std::make_unique<Watch>(Watch{in_fd, getppid()});
  // pthreads directly: std::thread reports a refused thread by an exception.
  const auto look_out = [](void* argument) -> void* {
    const std::unique_ptr<const Watch> watch(static_cast<Watch*>(argument));
    for (;;) {
      pollfd wait{watch->fd, 0, 0};
      const int ready = poll(&wait, 1, 500);
      if (ready > 0 || getppid() != watch->parent) _exit(0);
    }
  };
  pthread_t thread;
  if (pthread_create(&thread, nullptr, look_out, watch.get()) != 0) return false;
  static_cast<void>(watch.release());  // the thread's
  pthread_detach(thread);
  return true;
}

// Answers get a descriptor of their own; what else is written to standard output goes to standard
// error.
int keep_for_answers(int out_fd) {
  if (out_fd != STDOUT_FILENO) return out_fd;
  const int own = fcntl(out_fd, F_DUPFD_CLOEXEC, 10);
  if (own < 0) return out_fd;
  if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0) close(STDOUT_FILENO);
  return own;
}

}  // namespace

int run_worker(int in_fd, int out_fd, WorkerHooks* hooks) {
  signal(SIGPIPE, SIG_IGN);
  if (!exit_with_client(in_fd)) {
    fprintf(stderr, "espalier: worker: the system gives no thread: out of memory or processes\n");
    return 1;
  }
  Answers answers(keep_for_answers(out_fd));
  Server server(answers, hooks);
  answers.send(HelloMessage{kWorkerProtocolVersion, std::string(version())});
  for (;;) {
    auto frame = read_frame(in_fd);
    if (frame.ok() && !frame->has_value()) return 0;
    const Result<void> handled =
        frame.ok() ? server.handle(**frame) : Result<void>(std::move(frame).error());
    if (!handled.ok()) {
      fprintf(stderr, "worker: %s\n", to_string(handled.error()).c_str());
      return 1;
    }
  }
}

}  // namespace espalier
