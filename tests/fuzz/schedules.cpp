// Random DAGs under random steps.
#include "../fuzz_cli.h"

int main(int argc, char** argv) {
  return espalier::fuzz_cli(argc, argv, espalier::draw_random_steps);
}
