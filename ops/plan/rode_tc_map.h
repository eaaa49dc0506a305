/// The index map of RoDe-TC: which nonzeros and columns are in the fragments of mma.m16n8k16. The kernel and
/// its test use the same functions.
#pragma once

namespace rodeo::rode_tc {

constexpr int kDepth = 4;  // nonzeros of a set of lanes in one MMA

/// kLanes lanes are a set. They load kLanes pieces of 16 bytes of the same rows of X, side by side.
///
/// Left operand A: the four lanes t of quad g hold its rows g and g + 8. The four k of a lane are the
/// nonzeros of its set, so a row of A has one column of X from each lane of the quad. Right operand B: it
/// holds the nonzeros of two sets, each in four columns, one for every lane of a quad. Column n has the
/// nonzeros of one set at the k of lane n % 4, and zeros elsewhere. Product D: D[g][n] is an output of lane n
/// % 4 of quad g, if column n has the nonzeros of that quad's set. So the 4 x 4 blocks on the diagonal of
/// each 8 x 8 block of D are outputs. A right operand of ones is that of all sets. With weights in it there
/// can be two sets only, of 16 lanes.
template <int kLanes_>
struct Packing {
  static constexpr int kLanes = kLanes_, kSets = 32 / kLanes;
  static constexpr bool kTakesWeights = kSets == 2;

  static constexpr int set(int lane) { return lane / kLanes; }

  /// The lane holds column lane / 4 of a right operand, at the k of lane % 4: the nonzeros of its set if
  /// on_diagonal, else zeros.
  static constexpr bool on_diagonal(int lane) { return lane / 4 % 4 == lane % 4; }

  /// The piece that a lane loads. A lane holds (g, 2t), (g, 2t + 1), (g + 8, 2t) and (g + 8, 2t + 1) of the
  /// product. With this order of pieces, elements `kept` and kept + 2 of these belong to piece lane % kLanes.
  static constexpr int piece(int lane) { return lane % kLanes / 4 * 4 + lane % 2 * 2 + lane / 2 % 2; }
  static constexpr int kept(int lane) { return lane / 2 % 2; }
  /// With weights this is true only of lanes whose columns of D belong to their set. The others find their
  /// output in element 1 - kept of lane ^ 2.
  static constexpr bool counts(int lane) { return lane / 2 % 2 == set(lane) % 2; }
};

}  // namespace rodeo::rode_tc
