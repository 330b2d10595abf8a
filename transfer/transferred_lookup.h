// The third level of look-up: where nothing was measured for the program itself, the best schedule
// that can be carried over from another.
#pragma once

#include <functional>

#include "espalier/search/lookup.h"
#include "espalier/transfer/transfer.h"

namespace espalier {

// look_up (search/lookup.h), and between its last two levels the first seed of transfer(). Nothing
// is measured: the notes say where the schedule comes from.
Result<Lookup> look_up_or_transfer(const Database& database, const Task& task,
                                   const std::function<Candidate(const Task&)>& default_schedule,
                                   const TransferOptions& options = {});

}  // namespace espalier
