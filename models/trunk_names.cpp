#include <array>
#include <utility>

#include "models/trunk.h"

namespace rodeo {
namespace {

template <class T>
using Names = std::pair<T, std::string_view>;

constexpr Names<TrunkConv> kConvs[] = {{TrunkConv::kGcn, "gcn"},
                                       {TrunkConv::kGat, "gat"},
                                       {TrunkConv::kGatv2, "gatv2"},
                                       {TrunkConv::kSage, "sage"},
                                       {TrunkConv::kGin, "gin"}};
constexpr Names<TrunkNorm> kNorms[] = {
    {TrunkNorm::kNone, "none"}, {TrunkNorm::kBatch, "batch"}, {TrunkNorm::kLayer, "layer"}};
constexpr Names<TrunkActivation> kActivations[] = {
    {TrunkActivation::kRelu, "relu"}, {TrunkActivation::kElu, "elu"}, {TrunkActivation::kGelu, "gelu"}};
constexpr Names<TrunkJump> kJumps[] = {{TrunkJump::kNone, "none"},
                                       {TrunkJump::kLast, "last"},
                                       {TrunkJump::kCat, "cat"},
                                       {TrunkJump::kMax, "max"},
                                       {TrunkJump::kSum, "sum"}};

template <class T, std::size_t N>
std::string_view name_in(const Names<T> (&names)[N], T value) {
  for (const auto& [each, text] : names)
    if (each == value) return text;
  return "?";
}

template <class T, std::size_t N>
T parse_in(const Names<T> (&names)[N], std::string_view what, std::string_view text) {
  std::string choices;
  for (const auto& [value, each] : names) {
    if (each == text) return value;
    choices += str(choices.empty() ? "" : ", ", each);
  }
  fail("unknown ", what, " '", text, "': expected one of ", choices);
}

}  // namespace

std::string_view name(TrunkConv conv) {
  return name_in(kConvs, conv);
}
std::string_view name(TrunkNorm norm) {
  return name_in(kNorms, norm);
}
std::string_view name(TrunkActivation activation) {
  return name_in(kActivations, activation);
}
std::string_view name(TrunkJump jump) {
  return name_in(kJumps, jump);
}

TrunkNorm parse_trunk_norm(std::string_view text) {
  return parse_in(kNorms, "norm", text);
}
TrunkActivation parse_trunk_activation(std::string_view text) {
  return parse_in(kActivations, "activation", text);
}
TrunkJump parse_trunk_jump(std::string_view text) {
  return parse_in(kJumps, "jumping knowledge", text);
}

}  // namespace rodeo
