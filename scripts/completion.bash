# bash completion of Rodeo's commands. bash-completion loads the installed copy with the name of the command; or source it.
# The training commands print their own script. The others: subcommands and options as --help has them, else files.
_rodeo_from_help() {
  local cur=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} subcommand=()
  if [[ ${program##*/} == rodeo_data ]]; then
    if ((COMP_CWORD == 1)); then
      mapfile -t COMPREPLY < <(compgen -W "$("$program" --help 2>/dev/null | sed -n 's/^  rodeo_data \([a-z-]*\).*/\1/p')" -- "$cur")
      return
    fi
    subcommand=("${COMP_WORDS[1]}")
  fi
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$("$program" "${subcommand[@]}" --help 2>/dev/null | grep -oE '^ +(-[a-z], )?--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+')" -- "$cur")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
}
complete -o filenames -F _rodeo_from_help rodeo_data rodeo_predict rodeo_gradcheck

for _rodeo_command in train_gcn train_gat rodeo_train; do
  if command -v "$_rodeo_command" >/dev/null; then
    # shellcheck disable=SC1090  # the script is the command's output
    source <("$_rodeo_command" --completion bash)
  fi
done
unset _rodeo_command
