import { describe, expect, test } from '@jest/globals'
import { ALLOWED, UNCLEAR } from './language-patterns.ts'
import { lineOf, proseOf } from './prose.ts'
import { readTexts, type SourceFile } from './sources.ts'

/** Identifiers and short strings are not prose: a string counts from three words on. */
const SENTENCE = /\S+\s+\S+\s+\S+/

/** The unclear wordings of a file, as sentences that name the place and the advice. */
function unclearIn(file: SourceFile): readonly string[] {
  const { path, text } = file
  return proseOf(file)
    .filter((prose) => prose.kind !== 'string' || SENTENCE.test(prose.text))
    .flatMap((prose) =>
      UNCLEAR.flatMap(({ name, pattern, advice }) =>
        [...prose.text.matchAll(pattern)].map(({ 0: words, index }) => ({ name, advice, words, index })),
      ).map((match) => ({ ...match, offset: prose.offset + match.index })),
    )
    .filter(({ offset, words }) => !isAllowed(path, text.slice(offset - 40, offset + words.length + 40)))
    .map(
      ({ name, advice, words, offset }) =>
        `${path}:${lineOf(file, offset)} "${words.trim()}" (${name}): write ${advice}`,
    )
}

function isAllowed(path: string, around: string): boolean {
  return ALLOWED.some((allowed) => allowed.path.test(path) && allowed.text.test(around))
}

test('comments, pages and messages have no unclear wording', async () => {
  expect((await readTexts()).flatMap(unclearIn)).toEqual([])
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
    expect(found).toContain(`(${name})`)
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
