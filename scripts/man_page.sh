#!/usr/bin/env bash
# Prints the manual page of a command, made from its --help:   man_page.sh build/bin/train_gcn | man -l -
# Subcommands of rodeo_data and the options of `--help kernels` are sections of the page.
set -euo pipefail
command=$1
name=${command##*/}
version=$("$command" --version | awk '{print $2}')

# to_roff BODY: BODY=0 begins at the options of a help text, whose beginning the page has already.
to_roff() {
  awk -v body="$1" '
    function escaped(text) {
      gsub(/\\/, "\\e", text); gsub(/-/, "\\-", text)
      return text ~ /^[.\047]/ ? "\\&" text : text
    }
    function verbatim(on) { if (on != raw) print on ? ".PP\n.nf" : ".fi"; raw = on }
    /^ *$/ { verbatim(0); options = 0; if (body) gap = 1; next }
    /^Usage:$/ { next }
    /^ [A-Z].* options:$/ { verbatim(0); sub(/^ /, ""); sub(/:$/, ""); print ".SS " escaped($0); options = body = 1; next }
    /^ +(-[a-zA-Z], )?--?[a-zA-Z]/ && match($0, /[^ ]/) <= 8 {   # an option; its text may begin on the next line
      verbatim(0); options = body = 1; gap = 0
      sub(/^ +/, "")
      split_at = match($0, /  +/)
      key = split_at ? substr($0, 1, split_at - 1) : $0
      text = split_at ? substr($0, split_at + RLENGTH) : ""
      count = split(key, word, " "); line = ""
      for (i = 1; i <= count; i++) line = line (i > 1 ? " " : "") (word[i] ~ /^-/ ? "\\fB" : "\\fI") escaped(word[i]) "\\fR"
      print ".TP\n" line
      if (text != "") print escaped(text)
      next
    }
    options { sub(/^ +/, ""); print escaped($0); next }
    !body { next }
    /^Examples:$/ { verbatim(0); print ".SH EXAMPLES"; gap = 0; next }
    /^Exit codes: / { verbatim(0); sub(/^Exit codes: /, ""); print ".SH EXIT STATUS"; gap = 0 }
    /^ / { verbatim(1); print escaped($0); next }
    { verbatim(0); if (gap) print ".PP"; gap = 0; print escaped($0) }
    END { verbatim(0) }'
}

help=$("$command" --help)
first=$(head -n 1 <<<"$help")
title=${first%%.*}
printf '.TH %s 1 "" "Rodeo %s" "User Commands"\n' "${name^^}" "$version"
printf '.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.nf\n' "$name" "${title,}"
sed -n "s/^  \($name .*\)/\1/p" <<<"$help" | sed '/^'"$name"' .*\.h5/d; s/\\/\\e/g; s/-/\\-/g'
printf '.fi\n.SH DESCRIPTION\n'
# The first lines up to the usage, and all after it.
awk '/^Usage:$/ {usage = 1; next} usage == 1 && /^  / {next} {if (usage) usage = 2; print}' <<<"$help" | to_roff 1
case $name in
rodeo_data)
  printf '.SH SUBCOMMANDS\n'
  for subcommand in $(sed -n 's/^  rodeo_data \([a-z]*\) .*/\1/p' <<<"$help"); do
    printf '.SS rodeo_data %s\n' "$subcommand"
    "$command" "$subcommand" --help | to_roff 1
  done
  ;;
train_gcn | train_gat | rodeo_train)
  printf '.SH OPTIONS OF KERNELS\n'
  "$command" --help kernels | to_roff 0
  ;;
esac
printf '.SH SEE ALSO\n'
for other in train_gcn train_gat rodeo_train rodeo_predict rodeo_data rodeo_gradcheck; do
  [ "$other" = "$name" ] || printf '.BR %s (1),\n' "$other"
done
printf 'the guides in share/doc/rodeo, which begin at README.md\n'
