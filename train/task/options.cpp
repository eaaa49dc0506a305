#include "train/task/options.h"

#include "core/error.h"

namespace rodeo {

std::string_view name(FeatureForm form) {
  return form == FeatureForm::kAuto ? "auto" : form == FeatureForm::kDense ? "dense" : "sparse";
}

FeatureForm parse_feature_form(std::string_view text) {
  for (const FeatureForm form : {FeatureForm::kAuto, FeatureForm::kDense, FeatureForm::kSparse})
    if (name(form) == text) return form;
  fail("--features must be auto, dense or sparse, got '", text, "'");
}

}  // namespace rodeo
