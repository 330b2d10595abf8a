// Random DAGs under schedules from the sketch rules and the sampler.
#include "../fuzz_cli.h"

int main(int argc, char** argv) { return espalier::fuzz_cli(argc, argv, espalier::draw_sketch); }
