#compdef laptime
# zsh completion for laptime: the program says what a word could become.

_laptime() {
  local -a closed open
  local line word entry files
  for line in "${(@f)$("${(Q)words[1]/#\~\//$HOME/}" completion words -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}"; do
    word=${line%%$'\t'*}
    if [[ $word == ':files' ]]; then
      files=yes
      continue
    fi
    [[ -n $word ]] || continue
    entry=${word//:/\\:}
    [[ $line == *$'\t'* ]] && entry+=":${line#*$'\t'}"
    if [[ $word == *[=:] ]]; then
      open+=("$entry")
    else
      closed+=("$entry")
    fi
  done
  (( $#closed )) && _describe -V laptime closed
  (( $#open )) && _describe -V laptime open -S ''
  if [[ -n $files ]]; then
    compset -P '*='
    _files
  fi
}

if [[ $funcstack[1] == _laptime ]]; then
  _laptime "$@"
else
  compdef _laptime laptime
fi
