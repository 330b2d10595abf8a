// The command line of a fuzzer.
#pragma once

#include "fuzz_case.h"

namespace espalier {

// Fuzzes until something is wrong, for as long as asked: --seconds 60 --seed 7.
//
//   --seed S, --first N, --cases N, --seconds S, --jobs N, --failures N
//   --depth replay|lowered|passes|machine   how far each case goes
//   --no-shrink                             print failing cases as they were drawn
//   --show N                                print case N of the seed and what comes of it
//   --replay FILE                           run a printed case in this process
//   --lowered                               with --show or --replay: print the code as well
//
// Returns the exit status.
int fuzz_cli(int argc, char** argv, CaseSource source);

}  // namespace espalier
