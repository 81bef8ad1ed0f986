import { dirname, join } from 'node:path'
import type { SourceFile } from './sources.ts'

/** Names that one file imports from another file (its path relative to the root) or from a package. */
export interface Import {
  readonly from: string
  readonly to: string
  /** The imported names; empty for an import of the whole module. */
  readonly names: readonly string[]
  /** Whether only types are imported, so that nothing is loaded when the program runs. */
  readonly is_type: boolean
}

const STATEMENT =
  /(?:^|\n)[ \t]*(?:import|export)\b([^'"\n;]*?(?:\{[^}]*\}[^'"\n]*?)?)\bfrom\s*['"]([^'"]+)['"]/g
const BARE = /(?:^|\n)import\s*['"]([^'"]+)['"]/g
const DYNAMIC = /\bimport\(\s*['"]([^'"]+)['"]/g

/** The imports of a file, re-exports and dynamic imports included. */
export function importsOf(file: SourceFile): readonly Import[] {
  const from = file.path
  const statements = [...file.text.matchAll(STATEMENT)].map(([, clause = '', module = '']) => ({
    from,
    to: resolveModule(file, module),
    names: namesIn(clause),
    is_type: clause.trim().startsWith('type '),
  }))
  const whole = [...file.text.matchAll(BARE), ...file.text.matchAll(DYNAMIC)].map(([, module = '']) => ({
    from,
    to: resolveModule(file, module),
    names: [],
    is_type: false,
  }))
  return [...statements, ...whole]
}

function resolveModule({ path }: SourceFile, module: string): string {
  if (module.startsWith('.')) return join(dirname(path), module)
  if (module.startsWith('#')) return module.slice(1)
  return module
}

function namesIn(clause: string): readonly string[] {
  const list = /\{([^}]*)\}/.exec(clause)?.[1] ?? ''
  const names = list.split(',').map((name) => name.trim().replace(/^type | as .*/g, ''))
  return names.filter((name) => name !== '')
}

type Graph = ReadonlyMap<string, readonly string[]>

function graphOf(imports: readonly Import[]): Graph {
  const graph = new Map<string, string[]>()
  for (const { from, to } of imports) graph.set(from, [...(graph.get(from) ?? []), to])
  return graph
}

/** The shortest chain of imports from a file to each file that it reaches. Nothing is reached through an end. */
function chainsFrom(graph: Graph, start: string, isEnd = (_path: string): boolean => false) {
  const chains = new Map((graph.get(start) ?? []).map((next) => [next, `${start} -> ${next}`]))
  // The map grows while it is walked; each file is walked once.
  for (const [path, chain] of chains) {
    if (isEnd(path)) continue
    for (const next of graph.get(path) ?? []) if (!chains.has(next)) chains.set(next, `${chain} -> ${next}`)
  }
  return chains
}

/** The shortest chain of imports from each start to each file or package that a rule forbids, as sentences. */
export function chainsTo(
  imports: readonly Import[],
  isStart: (path: string) => boolean,
  isForbidden: (path: string) => boolean,
): string[] {
  const graph = graphOf(imports)
  return [...graph.keys()].filter(isStart).flatMap((start) => {
    const chains = chainsFrom(graph, start, (path) => path === start || isForbidden(path))
    return [...chains].flatMap(([path, chain]) => (path !== start && isForbidden(path) ? [chain] : []))
  })
}

/** The files that import themselves through others, each with the shortest such chain. */
export function importCycles(imports: readonly Import[]): string[] {
  const graph = graphOf(imports)
  return [...graph.keys()].flatMap((start) => chainsFrom(graph, start).get(start) ?? [])
}

/** The sibling folders that import each other, each pair with the imports of its rarer direction. */
export function mutualFolders(imports: readonly Import[]): string[] {
  const between = new Map<string, string[]>()
  for (const { from, to } of imports) {
    const [a, b] = [from.split('/'), to.split('/')]
    const shared = a.findIndex((part, index) => part !== b[index])
    if (shared < 0 || shared >= a.length - 1 || shared >= b.length - 1) continue
    const pair = [a, b].map((path) => path.slice(0, shared + 1).join('/')).join(' <-> ')
    between.set(pair, [...(between.get(pair) ?? []), `${from} -> ${to}`])
  }
  return [...between].flatMap(([pair, ways]) => {
    const back = between.get(pair.split(' <-> ').reverse().join(' <-> '))
    const is_rarer =
      back !== undefined &&
      (ways.length < back.length || (ways.length === back.length && pair < (back[0] ?? '')))
    return is_rarer ? [`${pair}: ${ways.join(', ')}`] : []
  })
}
