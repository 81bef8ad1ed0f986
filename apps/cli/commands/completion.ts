import { Argument } from 'commander'
import type { DeclareCommand } from './command.ts'

/** The words that a completion knows: first words, and the second words of each. */
interface Words {
  readonly first: readonly string[]
  readonly verbs: ReadonlyMap<string, readonly string[]>
}

/** `multihub completion bash`: nouns, verbs and commands. Load it with `source <(multihub completion bash)`. */
export const declare: DeclareCommand = (command, { stdout }, { first, readVerbs }) => {
  command
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .action(async (shell: 'bash' | 'zsh' | 'fish') => {
      stdout.write(SCRIPTS[shell]({ first, verbs: await readVerbs() }))
    })
}

const SCRIPTS = {
  bash: ({ first, verbs }: Words): string => `_multihub() {
  local word=\${COMP_WORDS[COMP_CWORD]} words=''
  if [ "$COMP_CWORD" = 1 ]; then words='${first.join(' ')}'; else
    [ "$COMP_CWORD" = 2 ] && case \${COMP_WORDS[1]} in
${cases(verbs, (name, all) => `      ${name}) words='${all}' ;;`)}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _multihub multihub ./multihub
`,
  zsh: ({ first, verbs }: Words): string => `#compdef multihub
_multihub() {
  if (( CURRENT == 2 )); then compadd ${first.join(' ')}; return; fi
  (( CURRENT == 3 )) && case $words[2] in
${cases(verbs, (name, all) => `    ${name}) compadd ${all} ;;`)}
  esac
}
compdef _multihub multihub ./multihub
`,
  fish: ({ first, verbs }: Words): string => `complete -c multihub -f
complete -c multihub -n __fish_use_subcommand -a '${first.join(' ')}'
${cases(verbs, (name, all) => `complete -c multihub -n '__fish_seen_subcommand_from ${name}' -a '${all}'`)}
`,
}

function cases(verbs: Words['verbs'], line: (name: string, all: string) => string): string {
  return [...verbs].map(([name, all]) => line(name, all.join(' '))).join('\n')
}
