#include "espalier/search/default_schedule.h"

#include "espalier/search/sketch_space.h"

namespace espalier {

Candidate default_candidate(const Task& task) { return SketchSpace(task).preferred()->candidate(); }

Candidate naive_candidate(const Task&) { return make_candidate({}); }

}  // namespace espalier
