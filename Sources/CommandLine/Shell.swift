/// The shells that completion scripts are made for.
package enum Shell: String, Sendable, CaseIterable {
    /// GNU bash.
    case bash
    /// Z shell.
    case zsh
    /// fish.
    case fish

    /// The script that makes the shell ask `credmgr __complete` for the words that fit at the cursor.
    ///
    /// All knowledge is in ``Completer``; a script only hands over the words and shows the answer. A last line
    /// `:files` in an answer asks the shell to add files.
    package var completionScript: String {
        switch self {
        case .bash: Self.bashScript
        case .zsh: Self.zshScript
        case .fish: Self.fishScript
        }
    }

    /// bash splits words at those of '=', '@' and ':' that are in `COMP_WORDBREAKS`. So the script splits the line
    /// again by spaces, and returns of each answer only the part behind the last such character.
    private static let bashScript = #"""
        # bash completion for credmgr
        _credmgr() {
            local line="${COMP_LINE:0:COMP_POINT}" breaks="${COMP_WORDBREAKS//[^=@:]/}" keep="" answer value
            local -a words
            read -ra words <<< "$line"
            [[ "$line" == *[[:space:]] ]] && words+=("")
            local current="${words[-1]}"
            [[ -n "$breaks" ]] && keep="${current%"${current##*[$breaks]}"}"
            COMPREPLY=()
            while IFS= read -r answer; do
                if [[ "$answer" == ":files" ]]; then
                    value="${current#--*=}"
                    compopt -o filenames
                    while IFS= read -r answer; do
                        answer="${current%"$value"}$answer"
                        COMPREPLY+=("${answer#"$keep"}")
                    done < <(compgen -f -- "$value")
                else
                    answer="${answer%%$'\t'*}"
                    COMPREPLY+=("${answer#"$keep"}")
                fi
            done < <(credmgr __complete -- "${words[@]:1}" 2>/dev/null)
        }
        complete -F _credmgr credmgr

        """#

    /// Works both as a file of `fpath` and read by `eval`.
    private static let zshScript = #"""
        #compdef credmgr
        _credmgr() {
            local answer
            local -a values shown
            while IFS= read -r answer; do
                if [[ "$answer" == ":files" ]]; then
                    [[ "$PREFIX" == --*=* ]] && compset -P '*='
                    _files
                else
                    values+=("${answer%%$'\t'*}")
                    shown+=("${answer//$'\t'/  -- }")
                fi
            done < <(credmgr __complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)
            (( ${#values} )) && compadd -l -d shown -a values
        }
        if [[ "${funcstack[1]}" == _credmgr ]]; then _credmgr "$@"; else compdef _credmgr credmgr; fi

        """#

    private static let fishScript = #"""
        # fish completion for credmgr
        function __credmgr_complete
            set -l words (commandline -opc)
            set -l current (commandline -ct)
            set -l option (string match -r '^--[^=]*=' -- "$current")
            for answer in (credmgr __complete -- $words[2..-1] "$current" 2>/dev/null)
                if test "$answer" = ":files"
                    for path in (__fish_complete_path (string replace -r '^--[^=]*=' '' -- "$current"))
                        echo "$option$path"
                    end
                else
                    echo $answer
                end
            end
        end
        complete -c credmgr -f -a '(__credmgr_complete)'

        """#
}
