import { Argument, type Command } from 'commander'
import type { DeclareCommand } from './command.ts'

/** The words that can follow some words: the names of commands, and the flags of the last one. */
interface Branch {
  /** The words before, such as `refunds approve`; empty for the first word. */
  readonly path: string
  readonly names: readonly string[]
  readonly flags: readonly string[]
}

/** `multihub completion bash`: nouns, verbs, commands and their flags. Load it with `source <(multihub completion bash)`. */
export const declare: DeclareCommand = (command, { stdout }, readAll) => {
  command
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .action(async (shell: 'bash' | 'zsh' | 'fish') => {
      stdout.write(SCRIPTS[shell](branchesOf(await readAll(), '')))
    })
}

function branchesOf(command: Command, path: string): readonly Branch[] {
  const names = command.commands.map((one) => one.name())
  const flags = command.options.flatMap(({ long, hidden }) => (long && !hidden ? [long] : []))
  return [
    { path, names, flags: path === '' ? ['--help', '--version'] : [...flags, '--help'] },
    ...command.commands.flatMap((one) => branchesOf(one, `${path} ${one.name()}`.trim())),
  ]
}

/** Both shells look for the longest path that the words so far begin with: the ID and the flags come after it. */
const CASES = (branches: readonly Branch[], line: (branch: Branch) => string): string =>
  branches.map(line).join('\n')

const SCRIPTS = {
  bash: (branches: readonly Branch[]): string => `_multihub() {
  local word=\${COMP_WORDS[COMP_CWORD]} path= names= flags=
  [ "$COMP_CWORD" -gt 1 ] && path=\${COMP_WORDS[1]}
  [ "$COMP_CWORD" -gt 2 ] && path="$path \${COMP_WORDS[2]}"
  while :; do
    case $path in
${CASES(branches, ({ path, names, flags }) => `      '${path}') names='${names.join(' ')}' flags='${flags.join(' ')}'; break ;;`)}
    esac
    case $path in *' '*) path=\${path% *} ;; *) break ;; esac
  done
  case $word in -*) COMPREPLY=($(compgen -W "$flags" -- "$word")) ;; *) COMPREPLY=($(compgen -W "$names" -- "$word")) ;; esac
}
complete -o default -F _multihub multihub ./multihub
`,
  zsh: (branches: readonly Branch[]): string => `#compdef multihub
_multihub() {
  local path_of= names= flags=
  (( CURRENT > 2 )) && path_of=$words[2]
  (( CURRENT > 3 )) && path_of="$path_of $words[3]"
  while true; do
    case $path_of in
${CASES(branches, ({ path, names, flags }) => `      '${path}') names='${names.join(' ')}' flags='${flags.join(' ')}'; break ;;`)}
    esac
    case $path_of in *' '*) path_of=\${path_of% *} ;; *) break ;; esac
  done
  if [[ $words[CURRENT] == -* ]]; then compadd -- \${=flags}; else compadd -- \${=names} || _default; fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _multihub multihub ./multihub
`,
  fish: (branches: readonly Branch[]): string => `complete -c multihub -f
${branches.map(fishLines).join('\n')}
`,
}

/** Flags whose value is the path of a file. */
const OF_FILES: readonly string[] = ['--file', '--out']

/** fish asks which words are there: a verb counts after its noun, and flags after both. */
function fishLines({ path, names, flags }: Branch): string {
  const [first = '', second] = path.split(' ')
  const seen = (word: string): string => `__fish_seen_subcommand_from ${word}`
  const here = [
    ...(first === '' ? ['__fish_use_subcommand'] : [seen(first)]),
    ...(second === undefined ? [] : [seen(second)]),
  ].join('; and ')
  const is_leaf = names.length === 0
  const before = is_leaf || first === '' ? here : `${here}; and not ${seen(names.join(' '))}`
  const lines = is_leaf ? [] : [`complete -c multihub -n '${before}' -a '${names.join(' ')}'`]
  if (is_leaf || first === '')
    for (const flag of flags) {
      const value = OF_FILES.includes(flag) ? ' -r -F' : ''
      lines.push(`complete -c multihub -n '${here}' -l ${flag.replace('--', '')}${value}`)
    }
  return lines.join('\n')
}
