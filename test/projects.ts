import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type Import, importsOf } from '../scripts/sources/import-graph.ts'

/**
 * The Jest project of a test file. `unit` starts no process, listens and connects nowhere; `system` does, and needs nothing
 * but Node.js; `servers` also uses a real MongoDB, NATS or clamd where one is found.
 */
export type Project = 'unit' | 'system' | 'servers'

const ROOT = join(import.meta.dirname, '..')
/** Folders without tests: installed, generated, or data of a system that runs here. */
const SKIPPED = new Set(['node_modules', 'gen'])

/** The files that only tests use. What they import says what a test does; what the product imports does not. */
const TEST_SIDE = /^(test|proofs)\/|\.(test|fixture|child|suite)\.ts$/
const REAL_SERVERS = /^test\/support\/servers\.ts$/
/** What starts processes or reaches the network: modules of Node.js, whole services, helpers that serve RPC or answer names. */
const OUTSIDE =
  /^node:(child_process|net|tls|https?|http2|dgram)$|^test\/(e2e|integration)\/|^(gateway|services\/[^/]+)\/service\.ts$|^test\/support\/(rpc|name-server)\.ts$|^apps\/console\/build\.ts$/

/** Every test file that `npm test` runs, relative to the root, with its project. */
export function testFiles(): ReadonlyMap<string, Project> {
  const graph = readImports()
  // The tests of proofs/updates have a configuration of their own, because they start dozens of processes.
  const tests = [...graph.keys()].filter(
    (path) => /\.test\.ts$/.test(path) && !path.startsWith('proofs/updates/'),
  )
  return new Map(tests.map((path) => [path, projectOf(path, graph)]))
}

/** Whether a file is code; everything else, such as pages, vectors and manifests, is only read. */
export function isCode(path: string): boolean {
  return /\.m?[tj]s$/.test(path)
}

/**
 * The test files that import one of these files, or name it, themselves or through others: a program that they start, or a
 * page, a vector or a manifest that they read.
 */
export function testsOf(changed: readonly string[]): readonly string[] {
  const graph = readUses()
  const users = new Map<string, string[]>()
  for (const [from, all] of graph) for (const to of all) users.set(to, [...(users.get(to) ?? []), from])
  const reached = new Set(changed.filter(isCode))
  for (const path of changed) if (!isCode(path)) for (const reader of readersOf(path)) reached.add(reader)
  for (const path of reached) for (const user of users.get(path) ?? []) reached.add(user)
  return [...testFiles().keys()].filter((path) => reached.has(path))
}

type Graph = ReadonlyMap<string, readonly string[]>

function projectOf(test: string, graph: Graph): Project {
  const reached = new Set([test])
  for (const path of reached)
    if (TEST_SIDE.test(path)) for (const to of graph.get(path) ?? []) reached.add(to)
  const all = [...reached]
  if (all.some((path) => REAL_SERVERS.test(path))) return 'servers'
  return all.some((path) => OUTSIDE.test(path)) ? 'system' : 'unit'
}

/** The text of each source file by its path, read once. */
const readSources = once(
  (): ReadonlyMap<string, string> =>
    new Map(sourcesBelow('').map((path) => [path, readFileSync(join(ROOT, path), 'utf8')])),
)

/** What each source file imports, types aside. */
const readImports = once(() => graphOf())

/** The same, with the files that its texts name, such as `main.ts`. */
const readUses = once(() => graphOf('with named files'))

function once<T>(read: () => T): () => T {
  let value: T | undefined
  return () => (value ??= read())
}

function graphOf(named?: 'with named files'): Graph {
  const sources = readSources()
  return new Map(
    [...sources].map(([path, text]) => {
      const imports = importsOf({ path, text, lines: 0 }).filter(loads)
      const targets = imports.map(({ to }) => to)
      return [path, named ? [...targets, ...filesNamedIn(path, text, sources)] : targets]
    }),
  )
}

/** Whether an import loads its module: one of types alone does not. */
function loads({ is_type }: Import): boolean {
  return !is_type
}

/** The files, tests aside, whose names, relative to the root or to this file, are between quotes. */
function filesNamedIn(path: string, text: string, known: ReadonlyMap<string, string>): readonly string[] {
  const folder = path.slice(0, path.lastIndexOf('/') + 1)
  return [...text.matchAll(/['"`/]([\w./-]+\.m?[tj]s)['"`]/g)]
    .flatMap(([, name = '']) => [join(name), join(folder, name)])
    .filter((name) => known.has(name) && name !== path && !name.endsWith('.test.ts'))
}

/** The code in which a file that is not code has its path or its name, with or without its ending, between quotes. */
function readersOf(changed: string): readonly string[] {
  const name = basename(changed)
  const names = new Set([changed, name, name.replace(/\.\w+$/, '')])
  return [...readSources()].flatMap(([path, text]) => {
    const quoted = [...text.matchAll(/['"`/]([\w./-]+)['"`]/g)]
    return quoted.some(([, words = '']) => names.has(words) || names.has(basename(words))) ? [path] : []
  })
}

function sourcesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    if (entry.name.startsWith('.') || SKIPPED.has(entry.name)) return []
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return sourcesBelow(path)
    return /\.(ts|mjs)$/.test(entry.name) ? [path] : []
  })
}
