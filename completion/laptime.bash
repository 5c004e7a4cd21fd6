# bash completion for laptime: the program says what a word could become.

_laptime() {
  local program=${COMP_WORDS[0]} rest=${COMP_LINE:0:COMP_POINT} words=() trimmed word i
  # bash splits words at '=' and ':' too. Pieces without a space between them are one word; the last ends at the cursor.
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    trimmed=${rest#"${rest%%[![:blank:]]*}"}
    if [[ $i == 0 || $trimmed != "$rest" ]]; then words+=(''); fi
    word=$trimmed
    if ((i < COMP_CWORD)); then word=${COMP_WORDS[i]}; fi
    words[${#words[@]} - 1]+=$word
    rest=${trimmed#"$word"}
  done
  [[ $program == '~/'* ]] && program=$HOME/${program:2}

  # Only what follows the last of these signs is replaced.
  local current=${words[${#words[@]} - 1]} breaks=${COMP_WORDBREAKS//[^=:]/} kept='' candidate files=''
  if [[ -n $breaks ]]; then kept=${current%"${current##*[$breaks]}"}; fi
  COMPREPLY=()
  while IFS=$'\t' read -r candidate _; do
    if [[ $candidate == ':files' ]]; then
      files=yes
    else
      COMPREPLY+=("${candidate#"$kept"}")
    fi
  done < <("$program" completion words -- "${words[@]:1}" 2>/dev/null)
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done < <(compgen -f -- "${current#"$kept"}")
  elif [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=:] ]]; then
    compopt -o nospace 2>/dev/null
  fi
}

complete -F _laptime laptime
