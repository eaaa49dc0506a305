/// Where TCA-SpMM puts nonzeros and columns in the fragments of mma.m16n8k16: index functions that the kernel
/// and its test share. docs/kernels.md has the picture.
#pragma once

namespace rodeo::tca {

constexpr int kDepth = 4;  // nonzeros of a set of lanes in a product

/// kLanes lanes are a set: they load as many pieces of 16 bytes of the same rows of X, side by side.
///
/// The four lanes t of quad g hold rows g and g + 8 of the left operand A, each lane for the four k that its
/// set's nonzeros are: a row of A has one column of X from each lane. The right operand B holds the nonzeros
/// of two sets, each four times, once for every lane of a quad: column n has those of one set at the k of
/// lane n % 4, and zeros elsewhere. So D[g][n] is what lane n % 4 of quad g wanted, if that is the quad's
/// set: of each 8 x 8 block of D, 4 x 4 blocks on the diagonal count. Where all weights are one, sets do not
/// differ, and one right operand is enough; else each goes with the rows of A of its own sets.
template <int kLanes_>
struct Packing {
  static constexpr int kLanes = kLanes_, kSets = 32 / kLanes, kRights = kSets / 2;

  static constexpr int set(int lane) { return lane / kLanes; }
  static constexpr int right_of(int lane) { return set(lane) / 2; }

  /// The lane holds column lane / 4 of a right operand, for the k of lane % 4: zeros unless on_diagonal, else
  /// the nonzeros of this set.
  static constexpr bool on_diagonal(int lane) { return lane / 4 % 4 == lane % 4; }
  static constexpr int set_of_right(int lane, int right) { return right * 2 + lane / 16; }

  /// The piece that a lane loads: then element `kept` of what the lane holds of the product, which is
  /// (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1), belongs to piece lane % kLanes, as does kept + 2.
  static constexpr int piece(int lane) { return lane % kLanes / 4 * 4 + lane % 2 * 2 + lane / 2 % 2; }
  static constexpr int kept(int lane) { return lane / 2 % 2; }
  /// With weights that holds for lanes whose columns of D belong to their set; the others find it in element
  /// 1 - kept of lane ^ 2.
  static constexpr bool counts(int lane) { return lane / 2 % 2 == set(lane) % 2; }
};

}  // namespace rodeo::tca
