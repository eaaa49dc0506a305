// rank_launch COUNT PROGRAM [ARGUMENTS...]: runs COUNT ranks of PROGRAM by launch_ranks().
#include <cstdio>
#include <cstdlib>

#include "core/error.h"
#include "core/launch_ranks.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: rank_launch COUNT PROGRAM [ARGUMENTS...]\n");
    return 2;
  }
  try {
    return rodeo::launch_ranks(std::atoi(argv[1]), std::vector<std::string>(argv + 2, argv + argc));
  } catch (const rodeo::Error& error) {
    std::fprintf(stderr, "rank_launch: %s\n", error.what());
    return 2;
  }
}
