/// Names in the root group, or in that of a node type or a relation, of a dataset file, which
/// datasets/README.md describes. load_dataset() reads these and no others: rodeo_h5_check reads them before
/// it, unpack_features() copies them, the fuzzer changes them.
#pragma once

namespace rodeo::hdf5 {

inline constexpr const char* kArrays[] = {"edge_index",
                                          "indptr",
                                          "indices",
                                          "edge_weight",
                                          "edge_attr",
                                          "x",
                                          "x_indptr",
                                          "x_indices",
                                          "x_data",
                                          "y",
                                          "train_mask",
                                          "val_mask",
                                          "test_mask",
                                          "graph_ptr",
                                          "graph_y",
                                          "graph_train_mask",
                                          "graph_val_mask",
                                          "graph_test_mask",
                                          "node_id",
                                          "val_edges",
                                          "test_edges",
                                          "val_negative_edges",
                                          "test_negative_edges",
                                          "val_negative_targets",
                                          "test_negative_targets",
                                          "node_names"};
inline constexpr const char* kMasks[] = {"train_mask", "val_mask", "test_mask"};
inline constexpr const char* kGraphMasks[] = {"graph_train_mask", "graph_val_mask", "graph_test_mask"};
inline constexpr const char* kIntegerAttributes[] = {"rodeo_schema", "num_nodes", "num_features",
                                                     "num_classes"};
inline constexpr const char* kTextAttributes[] = {"name", "class_names"};

/// Text attributes of a file of several node types, schema version 2: hetero_names.h reads them.
inline constexpr const char* kHeteroAttributes[] = {"node_types", "relations", "target_type"};

}  // namespace rodeo::hdf5
