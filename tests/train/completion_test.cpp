// The scripts of --completion, as far as a shell is not needed; commands_test.sh completes words in bash.
#include "train/commands/completion.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/devices.h"

namespace rodeo::test {
namespace {

cxxopts::Options some_options() {
  cxxopts::Options all("train", "");
  const auto text = cxxopts::value<std::string>();
  all.add_options("Data")("dataset", "A [file]: it's read", text, "FILE")("seeds", "Runs", text, "N")(
      "undirected", "Add\nreverses");
  all.add_options("Files")("checkpoint", "Folder", text, "DIR")("mode", "Kind", text, "row|none")(
      "pick", "Some", text, "Auto|none");
  return all;
}

std::string script(const char* shell, bool several = false) {
  std::vector<ModelTable> tables{{several ? "gcn" : "", some_options()}};
  if (several) tables.push_back({"gat", some_options()});
  return completion_script(shell, "bin-train", tables);
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(TrainCompletion, BashCompletesValuesByTheirHints) {
  for (const bool several : {false, true}) {
    const std::string text = script("bash", several);
    EXPECT_TRUE(has_line(text, "_bin_train() {")) << text;
    EXPECT_TRUE(has_line(text, "complete -o filenames -F _bin_train bin-train"));
    EXPECT_TRUE(has_line(text, "    --dataset) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); return ;;"))
        << text;
    EXPECT_TRUE(
        has_line(text, "    --checkpoint) mapfile -t COMPREPLY < <(compgen -d -- \"$cur\"); return ;;"));
    EXPECT_TRUE(
        has_line(text, "    --mode) mapfile -t COMPREPLY < <(compgen -W 'row none' -- \"$cur\"); return ;;"));
    EXPECT_TRUE(has_line(text, "    --seeds|--pick) mapfile -t COMPREPLY < <(: -- \"$cur\"); return ;;"))
        << "each name once, and words of one's own are no choices: " << text;
    const std::string names = "options='--dataset --seeds --undirected --checkpoint --mode --pick' ;;";
    EXPECT_EQ(has_line(text, "    gcn) " + names), several) << text;
    EXPECT_EQ(has_line(text, "    gat) " + names), several);
    EXPECT_TRUE(has_line(text, "    *) " + names)) << text;
  }
}

TEST(TrainCompletion, ZshHasTextsAndHints) {
  const std::string text = script("zsh");
  for (const char* spec : {"'--dataset=[A \\[file\\]\\: it'\\''s read]:FILE:_files'", "'--seeds=[Runs]:N: '",
                           "'--undirected[Add reverses]'", "'--checkpoint=[Folder]:DIR:_files -/'",
                           "'--mode=[Kind]:row|none:(row none)'", "'--pick=[Some]:Auto|none: '"})
    EXPECT_NE(text.find(spec), std::string::npos) << spec << "\n" << text;
  EXPECT_EQ(text.find("--model=:NAME:"), std::string::npos);
  EXPECT_NE(script("zsh", true).find("    *) _arguments '--model=:NAME:(gcn gat)' ;;\n"), std::string::npos);
  EXPECT_ERROR(script("fish"), "--completion must be bash or zsh, got 'fish'");
}

}  // namespace
}  // namespace rodeo::test
