import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { METHODS } from '#lib/contract/methods.ts'

const FOLDER = join(import.meta.dirname, '..', '..', 'gateway', 'methods')

/** The path of the generated registry, from the root of the project. */
export const METHOD_REGISTRY_PATH = 'gateway/methods/registry.generated.ts'

/**
 * The text of the registry: it imports the descriptor of every method of the contract that has a file. `payment.in` is
 * declared in `payment-in.ts` as `paymentIn`. Methods are in the order of the contract.
 */
export function methodRegistryText(): string {
  const files = new Set(readdirSync(FOLDER))
  const methods = METHODS.map((name) => ({
    file: `${name.replaceAll('.', '-')}.ts`,
    constant: camelCase(name),
  }))
  const declared = methods.filter(({ file }) => files.has(file))
  const imports = declared.map(({ file, constant }) => `import { ${constant} } from './${file}'`)
  return [
    '// Generated from the files of this folder by `npm run docs`. Do not edit.',
    ...sortImports([...imports, "import type { PublicMethod } from './method.ts'"]),
    '',
    '/** The methods of the envelope, in the order of the contract. */',
    'export const ENVELOPE_METHODS: readonly PublicMethod[] = [',
    ...declared.map(({ constant }) => `  ${constant},`),
    ']',
    '',
  ].join('\n')
}

function camelCase(name: string): string {
  return name.replace(/\.(\w)/g, (_match, letter: string) => letter.toUpperCase())
}

/** By path, as the formatter sorts them. */
function sortImports(lines: readonly string[]): readonly string[] {
  const pathOf = (line: string): string => line.slice(line.indexOf("'"))
  return lines.toSorted((a, b) => (pathOf(a) < pathOf(b) ? -1 : 1))
}
