// SketchSpace: all sketches that the rules can make for a task, made when they are asked for.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "espalier/search/rule.h"

namespace espalier {

// A sketch, with numbers to start from and the decisions that led to it.
struct Structure {
  std::shared_ptr<const Sketch> sketch;
  std::vector<int32_t> start;           // one a slot; they replay
  std::vector<std::string> slot_names;  // what each slot is for; distinct
  std::vector<StructureChoice> choices;

  Candidate candidate() const { return {sketch, start}; }
};
using StructurePtr = std::shared_ptr<const Structure>;

// Safe for use by several threads. What a call returns depends on its arguments alone. Equal
// sketches are one object, whichever decisions led to them.
class SketchSpace {
 public:
  // `custom` rules come before the built-in ones; rules must outlive the space.
  explicit SketchSpace(Task task, const SketchRules& custom = {});

  const Task& task() const { return task_; }

  // As the rules prefer, or next to it where that is rejected. Never null: at last the stage that
  // no rule can schedule keeps its plain nest.
  StructurePtr preferred() const;
  // Decisions as scripted, then as the hints of the same name say, then as preferred. Null:
  // rejected.
  StructurePtr along(const std::vector<int>& script,
                     std::span<const StructureChoice> hints = {}) const;
  // Why `along` the same script is null: the step that was rejected, in words. Empty if it is not.
  std::string explain_rejection(const std::vector<int>& script) const;
  // Decisions at random, each as preferred with the given probability. Null: rejected.
  StructurePtr draw(Rng& rng, double preference = 0) const;
  // How a sketch that came from here was made (of all ways taken so far the one with the least
  // script), else null.
  StructurePtr find(const Sketch& sketch) const;

  struct Listing {
    std::vector<StructurePtr> structures;  // distinct, the preferred one first
    bool complete = true;                  // false: there are more
    size_t rejected = 0;
  };
  // All of them, counting through the decisions; gives up after `limit` attempts.
  Listing list(size_t limit) const;

 private:
  StructurePtr make(Chooser& chooser, bool keep_plain = false, std::string* why = nullptr) const;
  StructurePtr intern(const SketchBuilder& sketch,
                      const std::vector<StructureChoice>& choices) const;

  const Task task_;
  SketchRules rules_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<uint64_t, std::vector<StructurePtr>> by_hash_;
  mutable StructurePtr preferred_;
};

// Code beyond this size is not worth compiling: about a tenth of a second.
inline constexpr double kMaxCodeSize = 2400;

}  // namespace espalier
