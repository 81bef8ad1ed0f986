import { describe, expect, test } from '@jest/globals'
import { readSources } from '../../scripts/sources/sources.ts'

/** A declared type. A generic one may be an adjective of its parameter, such as `Stored<Payment>`. */
const TYPE = /^(?:export )?(?:interface|type) ([A-Z]\w*)(?=[\s=])/gm

/** One word that is a participle, or a collection of dependencies under another name than `*Deps`. */
const UNCLEAR = [
  /^(?:(?!Field|Seed|Feed|Speed|Need)[A-Z][a-z]*ed|Known|Seen|Said|Told|Found|Taken|Given|Kept|Sent|Gone|Chosen|Held)$/,
  /Parts$/,
]

/** This file declares unclear names in its probes. */
const SELF = 'test/architecture/names.test.ts'

function unclearIn(text: string): readonly string[] {
  return [...text.matchAll(TYPE)]
    .map(([, name = '']) => name)
    .filter((name) => UNCLEAR.some((pattern) => pattern.test(name)))
}

test('types are nouns, and dependencies are called Deps', async () => {
  const sources = (await readSources()).filter(({ path }) => path !== SELF)
  const names = sources.flatMap(({ path, text }) => unclearIn(text).map((name) => `${path}: ${name}`))
  expect(names).toEqual([])
})

describe('the check of names', () => {
  test.each(['interface Taken {', 'export type Known = 1', 'export interface CreateParts {'])(
    'reports %j',
    (text) => expect(unclearIn(text)).toHaveLength(1),
  )

  test.each(['interface Delivery {', 'type Stored<D> = D', 'interface LogField {', 'const Taken = 1'])(
    'does not report %j',
    (text) => expect(unclearIn(text)).toEqual([]),
  )
})
