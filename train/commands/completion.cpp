#include "train/commands/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "core/error.h"
#include "core/text.h"

namespace rodeo {
namespace {

struct Word {
  std::string name, hint, text;  // "--lr", "X", "Learning rate"
  bool flag = false;

  bool is_path() const { return hint.starts_with("FILE"); }
  bool is_folder() const { return hint == "DIR"; }
  /// The values if the hint lists choices: "row none".
  std::string choices() const {
    if (hint.find('|') == std::string::npos ||
        std::any_of(hint.begin(), hint.end(), [](unsigned char c) { return std::isupper(c) != 0; }))
      return {};
    std::string words = hint;
    std::replace(words.begin(), words.end(), '|', ' ');
    return words;
  }
};

std::vector<Word> words_of(const cxxopts::Options& options) {
  std::vector<Word> words;
  for (const std::string& group : options.groups())
    for (const cxxopts::HelpOptionDetails& option : options.group_help(group).options)
      if (!option.l.empty())
        words.push_back({"--" + option.l.front(), option.arg_help, option.desc, option.is_boolean});
  return words;
}

std::string function_name(std::string program) {
  for (char& c : program)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return "_" + program;
}

std::string bash(const std::string& program, const std::vector<ModelTable>& tables) {
  // Completion command -> the options whose value it completes.
  std::map<std::string, std::vector<std::string>> values;
  std::string models;
  for (const ModelTable& table : tables) {
    const std::vector<Word> words = words_of(table.options);
    for (const Word& word : words) {
      if (word.flag) continue;
      const std::string how = word.is_path()            ? "compgen -f"
                              : word.is_folder()        ? "compgen -d"
                              : !word.choices().empty() ? fmt::format("compgen -W '{}'", word.choices())
                                                        : ":";
      std::vector<std::string>& of = values[how];
      if (std::find(of.begin(), of.end(), word.name) == of.end()) of.push_back(word.name);
    }
    models += fmt::format("    {}) options='{}' ;;\n", table.model.empty() ? "*" : table.model,
                          join(words, " ", &Word::name));
  }
  if (tables.size() > 1)
    models += fmt::format("    *) options='{}' ;;\n", join(words_of(tables[0].options), " ", &Word::name));
  std::string cases;
  for (const auto& [how, of] : values)
    cases +=
        fmt::format("    {}) mapfile -t COMPREPLY < <({} -- \"$cur\"); return ;;\n", fmt::join(of, "|"), how);
  return fmt::format(R"(# source <({0} --completion bash)
{1}() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} model= options= i
  # "=" is a word of its own.
  if [[ $cur == = ]]; then cur=
  elif [[ $before == = ]]; then before=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  case $before in
{2}  esac
  for ((i = 1; i < COMP_CWORD - 1; i++)); do
    [[ ${{COMP_WORDS[i]}} == --model ]] || continue
    model=${{COMP_WORDS[i+1]}}
    [[ $model == = ]] && model=${{COMP_WORDS[i+2]}}
  done
  case $model in
{3}  esac
  mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
}}
complete -o filenames -F {1} {0}
)",
                     program, function_name(program), cases, models);
}

// Escapes text for a zsh spec within single quotes and brackets.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else if (c == '[' || c == ']' || c == ':' || c == '\\')
      (out += '\\') += c;
    else
      out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string zsh(const std::string& program, const std::vector<ModelTable>& tables) {
  std::string models;
  for (const ModelTable& table : tables) {
    std::string specs;
    for (const Word& word : words_of(table.options)) {
      std::string spec = fmt::format("{}[{}]", word.name, zsh_text(word.text));
      if (!word.flag) {
        const std::string how = word.is_path()           ? "_files"
                                : word.is_folder()       ? "_files -/"
                                : word.choices().empty() ? " "
                                                         : fmt::format("({})", word.choices());
        spec = fmt::format("{}=[{}]:{}:{}", word.name, zsh_text(word.text), zsh_text(word.hint), how);
      }
      specs += fmt::format(" \\\n      '{}'", spec);
    }
    models += fmt::format("    {}) _arguments{} ;;\n", table.model.empty() ? "*" : table.model, specs);
    if (tables.size() > 1 && &table == &tables.back())
      models +=
          fmt::format("    *) _arguments '--model=:NAME:({})' ;;\n", join(tables, " ", &ModelTable::model));
  }
  return fmt::format(R"(#compdef {0}
# source <({0} --completion zsh)
{1}() {{
  local model= i
  for ((i = 2; i < CURRENT; i++)); do
    case ${{words[i]}} in
      --model) model=${{words[i+1]}} ;;
      --model=*) model=${{words[i]#--model=}} ;;
    esac
  done
  case $model in
{2}  esac
}}
compdef {1} {0}
)",
                     program, function_name(program), models);
}

}  // namespace

std::string completion_script(const std::string& shell, const std::string& program,
                              const std::vector<ModelTable>& tables) {
  check(shell == "bash" || shell == "zsh", "--completion must be bash or zsh, got '", shell, "'");
  return shell == "bash" ? bash(program, tables) : zsh(program, tables);
}

}  // namespace rodeo
