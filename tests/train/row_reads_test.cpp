#include "ops/row_reads.h"

#include <memory>

#include "core/memory_stats.h"
#include "ops/gather_rows.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "train/adam.h"
#include "train/optimizer_registry.h"

namespace rodeo::test {
namespace {

class TrainRowReads : public OnDevice {};
RODEO_ON_ALL_DEVICES(TrainRowReads);

/// Steps of lazy Adam on rows of a table, which are read by row or by gather_rows().
struct RowSteps {
  Variable table;
  std::shared_ptr<RowReads> reads;
  std::unique_ptr<Optimizer> optimizer;

  RowSteps(std::string_view name, std::int64_t rows, bool by_row, Device device)
      : table(random_tensor({rows, 4}, DType::kF32, device, 1), true) {
    if (by_row) reads = std::make_shared<RowReads>(table);
    std::vector<std::shared_ptr<RowReads>> all;
    if (by_row) all.push_back(reads);
    optimizer = find_optimizer(name).make({{{table}, {.weight_decay = 0.1, .lazy = true}, all}});
  }
  void step(const std::vector<std::int64_t>& ids, double clip = 0) const {
    optimizer->zero_grad();
    const Tensor index = Tensor::from(ids, table.device());
    const Variable rows = reads ? reads->gather(index) : gather_rows(table, index);
    rows.backward(random_tensor({index.numel(), 4}, DType::kF32, table.device(), ids.size()));
    optimizer->step(clip);
  }
};

// Which rows are read changes, and some are read twice: the bits of a gradient of all rows.
TEST_P(TrainRowReads, LazyAdamHasTheBitsOfADenseGradient) {
  for (const std::string_view name : {"adam", "adamw"}) {
    const RowSteps dense(name, 20, false, device()), by_row(name, 20, true, device());
    for (const std::vector<std::int64_t>& ids :
         {std::vector<std::int64_t>{3, 5, 19}, {5}, {}, {0, 3, 3, 8, 3}, {19, 4}})
      for (const RowSteps* run : {&dense, &by_row}) run->step(ids);
    EXPECT_TRUE(same_bits(by_row.table.value().to(kCpu), dense.table.value().to(kCpu)));
    const OptimizerState a = by_row.optimizer->state(), b = dense.optimizer->state();
    EXPECT_TRUE(same_bits(a.steps, b.steps));
    for (std::size_t i = 0; i < a.slots.size(); ++i)
      EXPECT_TRUE(same_bits(a.slots[i].tensors[0], b.slots[i].tensors[0]));
    for (const RowSteps* run : {&dense, &by_row}) run->step({1, 2}, 0.5);
    EXPECT_TRUE(near(by_row.table.value(), doubles(dense.table.value()), 1e-6, 1e-7)) << "clipped";
    by_row.optimizer->restore(a);  // from a checkpoint, which knows nothing of rows
  }
}

TEST_P(TrainRowReads, MemoryOfAStepIsOfTheRowsThatItReads) {
  const auto bytes = [&](std::int64_t rows) {
    const RowSteps run("adam", rows, true, device());
    run.step({7, 3});  // allocates the state
    const MemoryGauge gauge(device());
    run.step({7, 3, 99});
    return gauge.bytes();
  };
  EXPECT_EQ(bytes(100), bytes(1000000));
}

TEST_P(TrainRowReads, Errors) {
  const Variable p(Tensor::zeros({3, 2}, DType::kF32, device()), true), q(p.value().clone(), true);
  const auto of_p = std::make_shared<RowReads>(p);
  EXPECT_ERROR(Adam({{{p}, {}, {of_p}}}),
               "[adam] reads are of a lazy group, one for each of its 1 parameters, got 1");
  EXPECT_ERROR(Adam({{{p, q}, {.lazy = true}, {of_p}}}),
               "[adam] reads are of a lazy group, one for each of its 2 parameters, got 1");
  EXPECT_ERROR(Adam({{{q}, {.lazy = true}, {of_p}}}), "[adam] the reads of parameter 0 are of another one");
  EXPECT_ERROR(RowSteps("sgd", 3, true, device()).step({1}),
               "[sgd] takes no gradients of rows, and parameter 0 has one");
  const RowSteps run("adam", 3, true, device());
  run.table.backward(Tensor::full({3, 4}, 1, DType::kF32, device()));
  run.reads->gather(Tensor::zeros({1}, DType::kI64, device()))
      .backward(Tensor::full({1, 4}, 1, DType::kF32, device()));
  EXPECT_ERROR(run.optimizer->step(), "[adam] parameter 0 was read by row and as a whole in one step");
}

}  // namespace
}  // namespace rodeo::test
