import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { lineOf, type Prose, proseWithInlineCode } from '../../scripts/sources/prose.ts'
import { isTest, ROOT, readTexts, type SourceFile } from '../../scripts/sources/sources.ts'

const FOLDER = 'docs/contract/'
const SPECIFICATION = `${FOLDER}specification.md`

/**
 * Rules that no test cites. R6 is about the run of all tests, which no test can start. A rule that a test cites must not
 * be in this list.
 */
const UNTESTED: readonly string[] = ['R6']

/** One place in which a rule of the contract is cited. */
interface Citation {
  readonly anchor: string
  readonly file: SourceFile
  readonly line: number
}

/** A rule, such as P4, or one of its clauses, such as P4.3. */
const RULE = /\b[ABCEFNOPRS](?:[1-9]|[12][0-9])(?:\.[1-9][0-9]?)?\b/g
const RANGE = /\b([ABCEFNOPRS])([0-9]{1,2}) to \1([0-9]{1,2})\b/g
/** The name of a section ends at a punctuation mark or a backtick. It may be in backticks and cross a line. */
const SECTION = /\bspec:\s+`?([^`,;:()."']*)/g

const pages = (await readdir(join(ROOT, FOLDER))).filter((name) =>
  /^(?!README|specification).*\.md$/.test(name),
)
const rulePages = await Promise.all(pages.map((name) => readFile(join(ROOT, FOLDER, name), 'utf8')))
const specification = await readFile(join(ROOT, SPECIFICATION), 'utf8')

const rules = rulePages.flatMap((page) =>
  [...page.matchAll(/^## <a id="(\w+)"><\/a>(\w+) /gm)].map(([, anchor = '', name = '']) => ({
    anchor,
    name,
  })),
)
/** The clauses with their texts, in the order of their page. A clause ends at an empty line or before the next one. */
const clauses = rulePages.flatMap((page) =>
  [...page.matchAll(/^- \*\*([\w.]+)\*\* ((?:(?!\n\n|\n- )[\s\S])*)/gm)].map(([, id = '', text = '']) => ({
    id,
    text,
  })),
)
/** A section of the specification is cited without what its heading has in parentheses. */
const sections = [...specification.matchAll(/^##+ ([^(\n]+)/gm)].map(([, name = '']) => sectionAnchor(name))
const anchors = [...rules.map(({ anchor }) => anchor), ...clauses.map(({ id }) => id), ...sections]
/** This file names rules without citing them. */
const SELF = 'test/architecture/contract.test.ts'
const texts = (await readTexts()).filter(({ path }) => path !== SPECIFICATION && path !== SELF)
const citations = texts.flatMap(citationsIn)

function citationsIn(file: SourceFile): readonly Citation[] {
  return proseWithInlineCode(file)
    .filter(({ kind }) => kind !== 'string' || isTest(file))
    .flatMap((prose) =>
      anchorsIn(prose).map(([anchor, index]) => ({ anchor, file, line: lineOf(file, prose.offset + index) })),
    )
}

function anchorsIn({ text, kind }: Prose): readonly (readonly [anchor: string, index: number])[] {
  const rules = [...text.matchAll(RULE)].map(({ 0: rule, index }) => [rule, index] as const)
  const ranges = [...text.matchAll(RANGE)].flatMap(({ 1: letter = '', 2: first, 3: last, index }) =>
    Array.from(
      { length: Number(last) - Number(first) + 1 },
      (_, step) => [`${letter}${Number(first) + step}`, index] as const,
    ),
  )
  if (kind === 'string') return [...rules, ...ranges]
  const sections = [...text.matchAll(SECTION)].map(
    ({ 1: name = '', index }) => [sectionAnchor(name), index] as const,
  )
  return [...rules, ...ranges, ...sections]
}

function sectionAnchor(name: string): string {
  return `spec-${name.trim().split(/\s+/).join('-')}`
}

test('the rules of the contract have one anchor each, and their clauses are numbered from 1', () => {
  expect(rules.length).toBeGreaterThan(50)
  expect(rules.filter(({ anchor, name }) => anchor !== name)).toEqual([])
  expect(anchors.filter((anchor, index) => anchors.indexOf(anchor) !== index)).toEqual([])
  const numbered = rules.flatMap(({ name }) => {
    const own = clauses.filter(({ id }) => id.startsWith(`${name}.`))
    return own.map((_, index) => `${name}.${index + 1}`)
  })
  expect(clauses.map(({ id }) => id)).toEqual(numbered)
})

test('no clause of the contract has more than 80 words', () => {
  const long = clauses.filter(({ text }) => text.split(/\s+/).length > 80)
  expect(long.map(({ id }) => id)).toEqual([])
  expect(clauses.length).toBeGreaterThan(150)
})

/** A row of the table that leads from a sentence of the specification to its code. */
interface Row {
  readonly section: string
  /** The number of the item of the section; empty without one. */
  readonly item: string
  /** The cell with the files and what to search in them. */
  readonly place: string
}

const readme = await readFile(join(ROOT, FOLDER, 'README.md'), 'utf8')
/** The first cell has the heading of the section, perhaps the number of an item, and what the sentence says. */
const rows: readonly Row[] = [
  ...readme.matchAll(/^\| ([^|:`]+?)(?: (\d+))?: [^|]+ \| ([^|]*\]\([^|]*) \|/gm),
].map(([, name = '', item = '', place = '']) => ({ section: sectionAnchor(name), item, place }))

test('the README of the contract says of the sentences of each section where they are implemented, in their order', () => {
  // A chapter with sections of its own has no row.
  const chapters = [...specification.matchAll(/^## (.+)\n\n### /gm)].map(([, name = '']) =>
    sectionAnchor(name),
  )
  const named = [...new Set(rows.map(({ section }) => section))]
  const wanted = sections.filter((name) => !chapters.includes(name))
  expect(named).toEqual(['spec-First-paragraph', ...wanted])
  expect(rows.length).toBeGreaterThan(200)
})

test('each numbered item of the specification has a row in that table', () => {
  const missing = specification.split(/^##+ /m).flatMap((part) => {
    const section = sectionAnchor(/^[^(\n]+/.exec(part)?.[0] ?? '')
    const numbers = rows.filter((row) => row.section === section).map(({ item }) => item)
    // Not the lines of a signed text, which are code only, and not an item that leaves all open.
    const items = [...part.matchAll(/^(\d+)\. (?!`[^`]+`(?: \(hex\))?$)(?![^.]*: not shown\.$)/gm)]
    return items.flatMap(([, number = '']) => (numbers.includes(number) ? [] : [`${section} ${number}`]))
  })
  expect(missing).toEqual([])
})

/**
 * Whether a text defines a name, as a declaration, a key or a method, or has it as a literal: a word such as `text` is in every file.
 */
function isDefinedIn(text: string, name: string): boolean {
  const declared = String.raw`\b(?:const|let|function\*?|class|interface|type|def|func(?: \([^)]*\))?) ${name}\b`
  const key = String.raw`(?:^|[{,]) *(?:(?:readonly|async|get) )*${name}\??:`
  const method = String.raw`^ *(?:async )?${name}\((?:.*\{)?$`
  return new RegExp(`${declared}|${key}|${method}|'${name}'`, 'm').test(text)
}

test.each([
  ['const text = 1', true],
  ['  readonly text?: string', true],
  ['  async text(value): Promise<void> {', true],
  ["if (kind === 'text') return", true],
  ['func (c *Callback) text() string {', true],
  ['// The text of a reply', false],
  ['return text(value)', false],
])('the definition of a name: %s', (line, is_one) => expect(isDefinedIn(line, 'text')).toBe(is_one))

test('each name that a row of that table gives is defined in a file of the row', async () => {
  const missing = await Promise.all(
    rows.map(async ({ section, place }) => {
      const paths = [...place.matchAll(/\]\(\.\.\/\.\.\/([^)]+\.\w+)\)/g)].map(([, path = '']) => path)
      const files = await Promise.all(paths.map((path) => readFile(join(ROOT, path), 'utf8')))
      const names = [...place.matchAll(/\) ((?:`[\w-]+` ?)+)/g)].flatMap(
        ([, list = '']) => list.match(/[\w-]+/g) ?? [],
      )
      return names
        .filter((name) => !files.some((text) => isDefinedIn(text, name)))
        .map((name) => [section, name])
    }),
  )
  expect(missing.flat()).toEqual([])
})

test('every citation of a rule, a clause or a section of the specification leads to a page of the contract', () => {
  const dead = citations.filter(({ anchor }) => !anchors.includes(anchor))
  expect(dead.map(({ anchor, file, line }) => `${file.path}:${line} cites ${anchor}`)).toEqual([])
  expect(citations.length).toBeGreaterThan(100)
})

test('the rules that no test cites are exactly those that are listed as untested', () => {
  const cited = citations.filter(({ file }) => isTest(file)).map(({ anchor }) => anchor.replace(/\.\d+$/, ''))
  const untested = rules.map(({ name }) => name).filter((name) => !cited.includes(name))
  process.stderr.write(`rules that no test cites (${untested.length}): ${untested.join(', ')}\n`)
  expect(untested.toSorted()).toEqual(UNTESTED.toSorted())
})

describe('the reading of citations', () => {
  const read = (text: string, path = 'lib/probe.ts'): string[] =>
    citationsIn({ path, text, lines: 1 }).map(({ anchor }) => anchor)

  test.each([
    ['in a comment', '/** Counts (spec: Resend route signature). */'],
    ['broken over two lines', '/**\n * Counts (spec:\n * Resend route signature).\n */'],
    ['broken within its name', '// Counts (spec: Resend\n// route signature, 3)'],
    ['in backticks', '// Counts (`spec: Resend route signature`)'],
    ['with its name in backticks', '// Counts (spec: `Resend route signature`)'],
  ])('finds a section %s', (_, text) => expect(read(text)).toEqual(['spec-Resend-route-signature']))

  test('finds a section in a page, also when a line break divides it', () => {
    expect(read('As in `spec: Limits` (spec: Delivery\nbody).', 'docs/probe.md')).toEqual([
      'spec-Limits',
      'spec-Delivery-body',
    ])
  })

  test('reads a rule in backticks, and each rule of a range', () => {
    expect(new Set(read('// As in `E7`, and in P2 to P4'))).toEqual(new Set(['E7', 'P2', 'P3', 'P4']))
  })

  test('reads a clause', () => expect(read('// As in P4.3.')).toEqual(['P4.3']))

  test('reports a text that names no section', () => {
    expect(read('// Takes a value (spec: `finished`)')).toEqual(['spec-finished'])
  })
})
