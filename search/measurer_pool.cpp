#include "espalier/search/measurer_pool.h"

#include <algorithm>

namespace espalier {

class MeasurerPool::Member final : public Measurer {
 public:
  Member(MeasurerPool& pool, const Task& task) : pool_(pool), task_(task) {}

  std::vector<MeasureResult> measure(std::span<const Candidate> batch, double best_us) override {
    return measure_each(batch, best_us, [](size_t, const MeasureResult&) {});
  }
  std::vector<MeasureResult> measure_each(std::span<const Candidate> batch, double best_us,
                                          const ResultSink& done) override {
    const Result<Measurer*> real = pool_.acquire(this);
    if (real.ok()) return (*real)->measure_each(batch, best_us, done);
    MeasureResult failed;
    failed.status = MeasureStatus::RunError;
    failed.error = to_string(real.error());
    for (size_t i = 0; i < batch.size(); ++i) done(i, failed);
    return std::vector<MeasureResult>(batch.size(), failed);
  }
  Result<std::vector<std::vector<double>>> interleave(std::span<const Candidate> candidates,
                                                      int rounds) override {
    ESP_TRY(Measurer * real, pool_.acquire(this));
    return real->interleave(candidates, rounds);
  }

  const Task& task() const { return task_; }
  std::unique_ptr<Measurer> real;

 private:
  MeasurerPool& pool_;
  const Task& task_;
};

MeasurerPool::MeasurerPool(MeasurerFactory make, size_t alive)
    : make_(std::move(make)), alive_(std::max<size_t>(alive, 1)) {}
MeasurerPool::~MeasurerPool() = default;

Measurer& MeasurerPool::add(const Task& task) {
  members_.push_back(std::make_unique<Member>(*this, task));
  return *members_.back();
}

Result<Measurer*> MeasurerPool::acquire(Member* member) {
  std::erase(recent_, member);
  if (!member->real) {
    while (recent_.size() >= alive_) {
      recent_.front()->real.reset();
      recent_.erase(recent_.begin());
    }
    ESP_TRY(member->real, make_(member->task()));
  }
  recent_.push_back(member);
  return member->real.get();
}

}  // namespace espalier
