/// rodeo_train --model NAME --dataset FILE: trains any of the models with its published defaults.
#include "core/host/least_limits.h"
#include "core/threads.h"
#include "train/commands/command.h"

int main(int argc, char** argv) {
  rodeo::configure_threads(argv);
  rodeo::TrainOptions defaults;
  defaults.choose_model = true;
  return rodeo::train_command(argc, argv, defaults);
}
