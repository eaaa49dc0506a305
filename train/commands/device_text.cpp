#include "train/commands/device_text.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/storage.h"

namespace rodeo {

std::string describe_device(std::string_view requested, Device device) {
  std::string text = str(device, " (", describe(device), ")");
  if (requested == "auto" && !device.is_cuda()) text += "; no GPU: --list-devices says why";
  return text;
}

std::string list_devices() {
  std::string lines;
  const auto add = [&](Device device) {
    const MemoryRoom room = memory_room(device);
    lines += fmt::format("{:<8}{}, {} of {} free\n", str(device), describe(device),
                         format_bytes(static_cast<double>(room.free)),
                         format_bytes(static_cast<double>(room.total)));
  };
  add(kCpu);
  for (int i = 0; i < cuda_device_count(); ++i) try {
      add(parse_device(str(cuda_device(i))));
    } catch (const Error& error) {  // this build has no code for its architecture
      lines += fmt::format("{}\n", error.what());
    }
  if (cuda_device_count() == 0) lines += fmt::format("no CUDA device: {}\n", cuda_absence_reason());
  return lines;
}

}  // namespace rodeo
