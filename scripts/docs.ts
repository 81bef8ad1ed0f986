import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorTable } from './docs/errors.ts'
import { quotaTable, sizeTable } from './docs/limits.ts'
import { openApiText } from './docs/openapi.ts'
import { settingsTable } from './docs/settings.ts'

/** A page that is made from the code, at least in part: as it stands and as it should. */
export interface GeneratedPage {
  readonly path: string
  readonly current: string
  readonly wanted: string
}

const ROOT = join(import.meta.dirname, '..')

/** The parts of pages that the code makes, each between two comments that name it. */
const SECTIONS: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  'docs/operators/settings.md': { settings: settingsTable },
  'docs/merchants/errors.md': { errors: errorTable },
  'docs/merchants/limits.md': { quotas: quotaTable, sizes: sizeTable },
}

/** Every generated page. Throws when a page lost the place of a generated part. */
export async function generatedPages(): Promise<readonly GeneratedPage[]> {
  const pages = Object.entries(SECTIONS).map(async ([path, sections]) => {
    const current = await readFile(join(ROOT, path), 'utf8')
    const wanted = Object.entries(sections).reduce(
      (text, [name, make]) => withSection(text, name, make(), path),
      current,
    )
    return { path, current, wanted }
  })
  return Promise.all([...pages, openApiPage()])
}

function withSection(text: string, name: string, made: string, path: string): string {
  const begin = `<!-- ${name}: made by npm run docs -->`
  const end = `<!-- end of ${name} -->`
  const [before, rest] = text.split(begin)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`${path} has no place for its ${name}`)
  return `${before}${begin}\n${made}\n${end}${after}`
}

async function openApiPage(): Promise<GeneratedPage> {
  const path = 'docs/merchants/openapi.json'
  const current = await readFile(join(ROOT, path), 'utf8').catch(() => '')
  return { path, current, wanted: openApiText() }
}

if (process.argv[1] === import.meta.filename) {
  for (const { path, wanted } of await generatedPages()) await writeFile(join(ROOT, path), wanted)
}
