// laptime: command line to exit code.
#include "cli/command.h"

int main(int argc, char** argv) {
  return static_cast<int>(laptime::run_program({argv + (argc > 0 ? 1 : 0), argv + argc}));
}
