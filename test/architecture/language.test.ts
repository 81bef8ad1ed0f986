import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { ALLOWED, UNCLEAR } from './language-patterns.ts'
import { lineOf, proseOf } from './prose.ts'
import { ROOT, readTexts, type SourceFile } from './sources.ts'

/** How many unclear wordings each folder still has. A number here may only fall; a folder without one has none. */
const COUNTS = 'test/architecture/language-counts.json'

/** Identifiers and short strings are not prose: a string counts from three words on. */
const SENTENCE = /\S+\s+\S+\s+\S+/

const committed: Readonly<Record<string, number>> = JSON.parse(await readFile(join(ROOT, COUNTS), 'utf8'))
const findings = (await readTexts()).flatMap(unclearIn)
const counts = countByFolder()

interface Finding {
  readonly folder: string
  readonly sentence: string
}

function unclearIn(file: SourceFile): readonly Finding[] {
  const { path, text } = file
  return proseOf(file)
    .filter((prose) => prose.kind !== 'string' || SENTENCE.test(prose.text))
    .flatMap((prose) =>
      UNCLEAR.flatMap(({ name, pattern, advice }) =>
        [...prose.text.matchAll(pattern)].map(({ 0: words, index }) => ({ name, advice, words, index })),
      ).map((match) => ({ ...match, offset: prose.offset + match.index })),
    )
    .filter(({ offset, words }) => !isAllowed(path, text.slice(offset - 40, offset + words.length + 40)))
    .map(({ name, advice, words, offset }) => ({
      folder: folderOf(path),
      sentence: `${path}:${lineOf(file, offset)} "${words.trim()}" (${name}): write ${advice}`,
    }))
}

function isAllowed(path: string, around: string): boolean {
  return ALLOWED.some((allowed) => allowed.path.test(path) && allowed.text.test(around))
}

/** The folder that a count is kept for: a service, a part of lib, or a top folder. */
function folderOf(path: string): string {
  const parts = path.split('/')
  if (parts.length === 1) return '.'
  const depth = parts[0] === 'services' || parts[0] === 'lib' ? 2 : 1
  return parts.slice(0, Math.min(depth, parts.length - 1)).join('/')
}

function countByFolder(): Readonly<Record<string, number>> {
  const sums = new Map<string, number>()
  for (const { folder } of findings) sums.set(folder, (sums.get(folder) ?? 0) + 1)
  return Object.fromEntries([...sums].sort(([a], [b]) => (a < b ? -1 : 1)))
}

test('a folder does not get more unclear wordings than it had', () => {
  const worse = Object.keys(counts).filter((folder) => (counts[folder] ?? 0) > (committed[folder] ?? 0))
  const shown = findings.filter(({ folder }) => worse.includes(folder)).map(({ sentence }) => sentence)
  expect(shown).toEqual([])
})

describe('the word list', () => {
  test.each([
    ['// It is kept for ever.', 'for ever'],
    ['/** Who calls is known. */', 'who-clause as subject'],
    ['/** The caller is\n * told the code. */', 'told'],
    ["throw new Error('this setting is no number')", 'is no X'],
    ['// It costs two calls a second.', 'X a Y for X per Y'],
    ['// There is a process a role.', 'an X a Y for one X per Y'],
  ])('reports %j', (code, name) => {
    const [found] = unclearIn({ path: 'lib/probe.ts', text: code, lines: 1 })
    expect(found?.sentence).toContain(`(${name})`)
  })

  test.each([
    'const told = seconds / 2 // a name is not prose',
    '// There is no payment, and it is no longer known. `for ever` is code.',
    "test('told', () => {})",
    "const isWord = /'/.test(text) // a quote in a regular expression begins no string",
    '// The process gives a merchant a token, and a service a token with a scope.',
  ])('does not report %j', (code) => {
    const text = code.replace('begins no string', 'does not begin a string')
    expect(unclearIn({ path: 'lib/probe.ts', text, lines: 1 })).toEqual([])
  })
})

if (process.env['LANGUAGE_FINDINGS'] === 'show') {
  process.stderr.write(`${findings.map(({ sentence }) => sentence).join('\n')}\n`)
  process.stderr.write(`${JSON.stringify(counts, null, 2)}\n`)
}
