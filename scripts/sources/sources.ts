import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** One file of the project that people write. `path` is relative to the root. */
export interface SourceFile {
  readonly path: string
  readonly text: string
  readonly lines: number
}

/** The root of the project. */
export const ROOT = join(import.meta.dirname, '..', '..')

/** `gen/` is generated and `node_modules/` is installed, so neither is read, wherever they are. */
const FOLDERS = [
  'app',
  'apps',
  'bench',
  'clients',
  'docs',
  'gateway',
  'lib',
  'operations',
  'proofs',
  'proto',
  'scripts',
  'services',
  'test',
] as const

/** Every TypeScript file of the project. */
export async function readSources(): Promise<readonly SourceFile[]> {
  return readFiles((path) => /\.tsx?$/.test(path) && !path.startsWith('docs/'))
}

/** Every file that may hold prose: TypeScript, JavaScript, protos and pages. */
export async function readTexts(): Promise<readonly SourceFile[]> {
  return readFiles((path) => /\.(tsx?|mjs|proto|md)$/.test(path))
}

/** Every page of the project; the pages of `scripts` are about the tools of its authors. */
export async function readPages(): Promise<readonly SourceFile[]> {
  const pages = await readFiles((path) => path.endsWith('.md') && !path.startsWith('scripts/'))
  const path = 'deploy/README.md'
  const text = await readFile(join(ROOT, path), 'utf8')
  return [...pages, { path, text, lines: text.split('\n').length - 1 }]
}

async function readFiles(isWanted: (path: string) => boolean): Promise<readonly SourceFile[]> {
  const entries = await readdir(ROOT, { withFileTypes: true })
  const top = entries.filter((entry) => entry.isFile()).map(({ name }) => name)
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  const nested = await Promise.all(FOLDERS.filter((folder) => folders.includes(folder)).map(filesBelow))
  const paths = [...top, ...nested.flat()].filter(isWanted).sort()
  return Promise.all(
    paths.map(async (path) => {
      const text = await readFile(join(ROOT, path), 'utf8')
      return { path, text, lines: text.split('\n').length - 1 }
    }),
  )
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1))
    .filter((path) => !/(^|\/)(node_modules|gen|dist)\//.test(path))
}

/** Whether only tests use a file. */
export function isTest({ path }: SourceFile): boolean {
  return /^(test|proofs)\/|\.(test|fixture|child|suite)\.ts$/.test(path)
}
