import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** One TypeScript file of the project. `path` is from its root. */
export interface SourceFile {
  readonly path: string
  readonly text: string
  readonly lines: number
}

const ROOT = join(import.meta.dirname, '..', '..')
const FOLDERS = ['lib', 'gateway', 'services', 'scripts', 'test', 'bench'] as const

/** Every TypeScript file that people write: what is generated or installed is left out. */
export async function readSources(): Promise<readonly SourceFile[]> {
  const nested = await Promise.all(FOLDERS.map(filesBelow))
  const paths = ['main.ts', 'roles.ts', ...nested.flat()].filter((path) => path.endsWith('.ts'))
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
}

/** The modules that a file imports, as it writes them. */
export function importsOf({ text }: SourceFile): readonly string[] {
  const found = text.matchAll(
    /(?:^|\n)\s*(?:import|export)\b[^'"\n;]*?(?:\{[^}]*\}[^'"\n]*?)?\bfrom\s*['"]([^'"]+)['"]/g,
  )
  const bare = text.matchAll(/(?:^|\n)import\s*['"]([^'"]+)['"]/g)
  const dynamic = text.matchAll(/\bimport\(\s*['"]([^'"]+)['"]/g)
  return [...found, ...bare, ...dynamic].map(([, module = '']) => module)
}

/** Whether a file is only there for tests. */
export function isTest({ path }: SourceFile): boolean {
  return /^test\/|\.(test|fixture|child)\.ts$/.test(path)
}
