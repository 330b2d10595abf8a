#include "espalier/search/rule.h"

namespace espalier {

SketchRules default_rules() {
  return {make_inline_rule(),    make_row_fusion_rule(),  make_tiling_rule(), make_rfactor_rule(),
          make_transpose_rule(), make_elementwise_rule(), make_plain_rule()};
}

}  // namespace espalier
