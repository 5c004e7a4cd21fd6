# fish completion for laptime: the program says what a word could become.

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
