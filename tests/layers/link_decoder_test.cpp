#include "layers/link_decoder.h"

#include "layers/gradcheck_layer.h"
#include "tests/support/devices.h"
#include "tests/support/layers.h"

namespace rodeo::test {
namespace {

class LayersLinkDecoder : public OnDevice {
 protected:
  static Tensor src() { return Tensor::from<std::int64_t>({0, 5, 2, 2, 4}, device()); }
  static Tensor dst() { return Tensor::from<std::int64_t>({1, 0, 2, 3, 3}, device()); }
};
RODEO_ON_ALL_DEVICES(LayersLinkDecoder);

Tensor parameter(const Module& layer, std::string_view wanted) {
  for (const auto& [name, value] : layer.named_parameters())
    if (name == wanted) return value.value();
  ADD_FAILURE() << wanted;
  return {};
}

TEST_P(LayersLinkDecoder, EqualTheirFormulas) {
  const Variable z = random_variable({6, 3}, device());
  const std::vector<double> zs = doubles(z.value());
  const std::vector<std::int64_t> from = src().to_vector<std::int64_t>(),
                                  to = dst().to_vector<std::int64_t>();
  Random random(1);
  const LinkDecoder dot(DecoderKind::kDot, 3, random, device(), DType::kF64);
  const LinkDecoder bilinear(DecoderKind::kBilinear, 3, random, device(), DType::kF64);
  const LinkDecoder mlp(DecoderKind::kMlp, 3, random, device(), DType::kF64);
  EXPECT_TRUE(dot.parameters().empty());
  const auto w = doubles(parameter(bilinear, "lin.weight"));
  const auto w1 = doubles(parameter(mlp, "nn.0.weight")), b1 = doubles(parameter(mlp, "nn.0.bias")),
             w2 = doubles(parameter(mlp, "nn.2.weight")), b2 = doubles(parameter(mlp, "nn.2.bias"));
  std::vector<double> want_dot, want_bilinear, want_mlp;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const double *u = zs.data() + 3 * from[i], *v = zs.data() + 3 * to[i];
    double product = 0, form = 0, score = b2[0];
    for (int j = 0; j < 3; ++j) {
      product += u[j] * v[j];
      double hidden = b1[j];
      for (int k = 0; k < 3; ++k) {
        form += u[k] * w[3 * k + j] * v[j];
        hidden += u[k] * v[k] * w1[3 * k + j];
      }
      score += std::max(hidden, 0.0) * w2[j];
    }
    want_dot.push_back(product);
    want_bilinear.push_back(form);
    want_mlp.push_back(score);
  }
  EXPECT_EQ(dot.forward(z, {src(), dst()}).shape(), (Shape{5, 1}));
  EXPECT_TRUE(near(dot.forward(z, {src(), dst()}).value(), want_dot, 1e-12));
  EXPECT_TRUE(near(bilinear.forward(z, {src(), dst()}).value(), want_bilinear, 1e-12, 1e-14));
  EXPECT_TRUE(near(mlp.forward(z, {src(), dst()}).value(), want_mlp, 1e-12, 1e-14));
}

TEST_P(LayersLinkDecoder, DistmultHasARowForEachRelation) {
  const Variable z = random_variable({6, 3}, device());
  Random random(1);
  const LinkDecoder decoder(DecoderKind::kDistmult, 3, random, device(), DType::kF64, 2);
  EXPECT_FALSE(decoder.has_fixed_steps());
  const auto zs = doubles(z.value()), w = doubles(parameter(decoder, "rel_emb.weight"));
  ASSERT_EQ(w.size(), 6U);
  const std::vector<std::int64_t> from = src().to_vector<std::int64_t>(),
                                  to = dst().to_vector<std::int64_t>(), relation{1, 0, 1, 1, 0};
  std::vector<double> want(5), want_first(5);
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      const double product = zs[3 * from[i] + j] * zs[3 * to[i] + j];
      want[i] += product * w[3 * relation[i] + j], want_first[i] += product * w[j];
    }
  const NodePairs pairs{src(), dst(), Tensor::from(relation, device())};
  EXPECT_TRUE(near(decoder.forward(z, pairs).value(), want, 1e-12, 1e-14));
  EXPECT_TRUE(near(decoder.forward(z, {src(), dst()}).value(), want_first, 1e-12, 1e-14));
  EXPECT_TRUE(layer_gradients_ok(
      decoder, [&](const Variable& x) { return decoder.forward(x, pairs); }, z));
}

TEST_P(LayersLinkDecoder, Gradients) {
  for (const DecoderKind kind : {DecoderKind::kDot, DecoderKind::kMlp, DecoderKind::kBilinear}) {
    Random random(2);
    const LinkDecoder decoder(kind, 4, random, device(), DType::kF64);
    EXPECT_TRUE(layer_gradients_ok(
        decoder,
        [&](const Variable& z) {
          return decoder.forward(z, {src(), dst()});
        },
        random_variable({6, 4}, device())))
        << name(kind);
  }
}

TEST_P(LayersLinkDecoder, Errors) {
  Random random;
  EXPECT_ERROR(LinkDecoder(DecoderKind::kDot, 0, random), "[link_decoder] width must be at least 1, got 0");
  EXPECT_ERROR(parse_name<DecoderKind>("--decoder", "cosine"),
               "--decoder must be dot, mlp, bilinear or distmult, got 'cosine'");
}

}  // namespace
}  // namespace rodeo::test
