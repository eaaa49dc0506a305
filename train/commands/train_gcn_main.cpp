/// train_gcn --dataset FILE: trains the GCN of Kipf & Welling with the published defaults.
#include "core/host/least_limits.h"
#include "core/threads.h"
#include "train/commands/command.h"
#include "train/task/model_registry.h"

int main(int argc, char** argv) {
  rodeo::configure_threads(argv);
  return rodeo::train_command(argc, argv, rodeo::published_options("gcn"));
}
