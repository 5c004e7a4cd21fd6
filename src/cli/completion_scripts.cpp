// Completion scripts for bash, zsh and fish.
#include "cli/completion_scripts.h"

#include <array>

namespace laptime {
namespace {

constexpr std::string_view kBash = R"(# bash completion for laptime: the program says what a word could become.

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
)";

constexpr std::string_view kZsh = R"(#compdef laptime
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
)";

constexpr std::string_view kFish = R"(# fish completion for laptime: the program says what a word could become.

function __laptime_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    for line in ($program completion words -- $words[2..-1] "$current" 2>/dev/null)
        if test "$line" = ':files'
            set -l option (string match -r -- '^--[^=]*=' "$current")
            set -l file (string replace -- "$option" '' "$current")
            for path in (__fish_complete_path "$file")
                echo -- "$option$path"
            end
        else
            echo -- $line
        end
    end
end

complete -c laptime -f -a '(__laptime_complete)'
)";

constexpr std::array kScripts{
    CompletionScript{"bash", "source <(laptime completion bash)", kBash},
    CompletionScript{"zsh", "source <(laptime completion zsh)", kZsh},
    CompletionScript{"fish", "laptime completion fish | source", kFish},
};

}  // namespace

std::span<const CompletionScript> completion_scripts() { return kScripts; }

}  // namespace laptime
