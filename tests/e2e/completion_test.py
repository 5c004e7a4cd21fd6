"""Completion as shells request it, and the manual page as man displays it."""

import shutil
import subprocess
import unittest
from pathlib import Path

from program import BINARY, ProgramTest

# Calls the completion function of laptime for the line in $1 with the cursor at its end, and prints the candidates.
# The loop splits words at spaces, = and :, as bash does (COMP_WORDBREAKS).
BASH = r"""
source <("$PROGRAM" completion bash) || exit 1
COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=() COMP_CWORD=0
rest=$1
while [[ -n $rest ]]; do
  case $rest in
    ' '*) rest=${rest# }; [[ -n $rest ]] || COMP_WORDS+=("") ;;
    [=:]*) COMP_WORDS+=("${rest:0:1}"); rest=${rest:1} ;;
    *) word=${rest%%[ =:]*}; COMP_WORDS+=("$word"); rest=${rest#"$word"} ;;
  esac
done
COMP_WORDS[0]=$PROGRAM
COMP_LINE=$PROGRAM${COMP_LINE#laptime} COMP_POINT=${#COMP_LINE}
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_laptime
printf '%s\n' "${COMPREPLY[@]}"
"""

# Types the line followed by a Tab into an interactive zsh, and prints the completed line.
ZSH = r"""
zmodload zsh/zpty
zpty -b shell zsh -f -i
zpty -w shell "PS1=; autoload -Uz compinit; compinit -u -d $HOME/dump; path=($PROGRAM:h \$path); source =($PROGRAM completion zsh); \
report() { print -r -- \"<\$BUFFER>\"; zle kill-buffer }; zle -N report; bindkey '^X' report; print ready"
zpty -r shell output '*ready*' || exit 1
sleep 0.5
zpty -n -w shell "$1"$'\t'$'\x18'
zpty -r shell output '*<*>*' || exit 1
print -r -- "$output"
"""


def needs(shell: str):
    return unittest.skipIf(shutil.which(shell) is None, f"{shell} is not installed")


class Completion(ProgramTest):
    def shell(self, *words) -> str:
        done = subprocess.run([*words], env={**self.environment, "PROGRAM": BINARY, "TERM": "dumb"}, cwd=self.folder,
                              text=True, capture_output=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def bash(self, line: str) -> list[str]:
        return self.shell("bash", "--norc", "--noprofile", "-c", BASH, "bash", line).split("\n")[:-1]

    def test_bash_completes_commands_options_and_values(self):
        self.assertEqual(self.bash("laptime be"), ["bench"])
        self.assertEqual(self.bash("laptime bench --dty"), ["--dtype"])
        self.assertEqual(self.bash("laptime bench --dtype b"), ["bfloat16"])
        self.assertEqual(self.bash("laptime bench --model small,me"), ["small,medium"])
        self.assertEqual(self.bash("laptime list dev"), ["devices"])
        self.assertEqual(self.bash("laptime  bench   --mode eager --mod"), ["--model"])

    def test_bash_replaces_only_the_text_after_a_word_break(self):
        self.assertEqual(self.bash("laptime bench --dtype=b"), ["bfloat16"])
        self.assertEqual(self.bash("laptime bench --dtype="), ["float32", "tf32", "bfloat16", "float16", "mixed"])
        self.assertEqual(self.bash("laptime bench --device roofline:h20"), ["h200"])
        self.assertEqual(self.bash("laptime bench --device=roofline:h20"), ["h200"])
        self.assertEqual(self.bash("laptime bench --recompute ev"), ["every="])

    def test_bash_completes_files(self):
        (self.folder / "my sweep.toml").touch()
        (self.folder / "other").touch()
        self.assertEqual(self.bash("laptime bench --config my"), ["my sweep.toml"])
        self.assertEqual(self.bash("laptime bench --config=my"), ["my sweep.toml"])
        self.assertEqual(self.bash("laptime bench --config end_"), ["end_to_end"])
        self.assertEqual(self.bash("laptime bench --store o"), ["other"])
        self.assertEqual(self.bash("laptime bench --batch o"), [""])

    @needs("zsh")
    def test_zsh_completes_a_line(self):
        for line, completed in (("laptime benc", "laptime bench "), ("laptime bench --dty", "laptime bench --dtype "),
                                ("laptime bench --dtype b", "laptime bench --dtype bfloat16 "),
                                ("laptime bench --dtype=b", "laptime bench --dtype=bfloat16 "),
                                ("laptime bench --model small,me", "laptime bench --model small,medium "),
                                ("laptime bench --device roofline:h20", "laptime bench --device roofline:h200 ")):
            with self.subTest(line):
                self.assertIn(f"<{completed}>", self.shell("zsh", "-f", "-c", ZSH, "zsh", line))

    @needs("fish")
    def test_fish_completes_a_line(self):
        folder = Path(BINARY).parent
        for line, completed in (("laptime be", "bench"), ("laptime bench --dty", "--dtype"),
                                ("laptime bench --dtype b", "bfloat16"),
                                ("laptime bench --dtype=b", "--dtype=bfloat16"),
                                ("laptime bench --model small,me", "small,medium")):
            with self.subTest(line):
                text = self.shell("fish", "--no-config", "-c", f"set -x PATH {folder} $PATH; "
                                  "$PROGRAM completion fish | source; complete -C $argv[1]", line)
                self.assertEqual([found.split("\t")[0] for found in text.splitlines()], [completed])

    @needs("groff")
    def test_manual_page_formats_without_warnings(self):
        page = self.laptime("man")
        self.assert_ok(page)
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-P-cbou"], input=page.stdout, text=True, check=False,
                              capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for words in ("laptime bench [OPTIONS]", "--dtype NAME,...", "EXIT STATUS"):
            self.assertIn(words, done.stdout)

    def test_rejects_invalid_shell_names(self):
        for words, message in (([], "no shell given; give one of: bash"), (["bsh"], "did you mean 'bash'?"), (["bash", "zsh"], "unexpected")):
            done = self.laptime("completion", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
