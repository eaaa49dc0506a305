/// rodeo_predict --dataset FILE --weights FILE --out FILE: classes and probabilities of all nodes.
#include "core/host/least_limits.h"
#include "core/threads.h"
#include "train/commands/predict.h"

int main(int argc, char** argv) {
  rodeo::configure_threads(argv);
  return rodeo::predict_command(argc, argv);
}
