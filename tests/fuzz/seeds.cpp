#include "tests/fuzz/seeds.h"

#include <fstream>
#include <iterator>

#include "tests/datasets/parts.h"

namespace rodeo::fuzz {

std::vector<std::string> seeds(const std::string& folder) {
  std::vector<test::Parts> all(9);
  all[1].use_csr();
  all[1].edge_weight = Tensor::full({5}, 0.5);
  all[2].x = all[2].x.to(DType::kF16);
  all[2].y = Tensor::from<std::uint8_t>({1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0}, {6, 2});
  all[2].num_classes = {};
  for (Tensor* mask : {&all[3].train_mask, &all[3].val_mask, &all[3].test_mask}) {
    const Tensor two = Tensor::zeros({6, 2}, DType::kU8);
    for (int i = 0; i < 6; ++i) two.data<std::uint8_t>()[2 * i] = mask->data<std::uint8_t>()[i];
    *mask = two;
  }
  all[4].x = {};
  all[5].use_edges_only();
  // Valid headers that contradict each other: a byte mutation rarely makes these.
  all[6].val_mask = Tensor::full({4000}, 1, DType::kU8);
  all[7].y = Tensor::full({4000}, 2, DType::kI64);
  all[8].use_csr();
  all[8].indptr = Tensor::full({4000}, 5, DType::kI64);
  all[8].test_mask = Tensor::full({4000, 2}, 1, DType::kU8);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const auto storage : {Hdf5Writer::Storage::kPlain, Hdf5Writer::Storage::kCompressed}) {
      const std::string path = folder + "/seed.h5";
      {
        Hdf5Writer file(path);
        all[i].write(file, storage);
        file.attribute("name", std::string("seed"));
        file.attribute("rodeo_schema", std::int64_t{1});
        if (i == 4) {
          file.write("x_indptr", test::ids({0, 2, 2, 3, 5, 5, 6}), storage);
          file.write("x_indices", test::ids({3, 0, 1, 2, 2, 0}), storage);
          file.write("x_data", Tensor::full({6}, 2), storage);
          file.write("node_id", test::ids({5, 4, 3, 2, 1, 0}), storage);
        }
        file.commit();
      }
      std::ifstream in(path, std::ios::binary);
      out.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
  return out;
}

}  // namespace rodeo::fuzz
