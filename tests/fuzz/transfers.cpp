// Schedules carried over between random pairs of programs.
#include "../fuzz_cli.h"

int main(int argc, char** argv) { return espalier::fuzz_cli(argc, argv, espalier::draw_transfer); }
