#include "espalier/search/mutation.h"

namespace espalier {

Mutations default_mutations() {
  return {make_slot_step_mutation(), make_slot_draw_mutation(), make_tile_exchange_mutation(),
          make_structure_mutation(), make_rule_mutation(),      make_restart_mutation()};
}

}  // namespace espalier
