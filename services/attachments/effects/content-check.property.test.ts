import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { createThread } from '#lib/base/thread.ts'
import { propertyRuns } from '../../../test/support/property-runs.ts'
import { bytesOf, objectStream, pdf } from '../domain/content/samples.fixture.ts'
import { CONTENT_CHECK, CONTENT_CHECK_LIMITS, type ContentCheck } from './content-check.ts'

const FILE_MAX_BYTES = 10 * 1024 * 1024
/** What a PDF is made of, and what the check looks for. Repeated, each can make a careless check slow. */
const TOKENS = [
  ...['<<', '>>', '[', ']', '(', ')', '<', '>', '%', '/', '\\', '#', ' ', '\n', '\r', '\0', 'a', '\xff'],
  ...['obj', 'obj<<', '5 0 obj ', 'endobj', 'stream\n', 'endstream', '<</X', '%obj<<\n', '(\\)', '<<%\n'],
  ...['/First ', '/First 6 0 R', '/Type/ObjStm', '/Type/Obj#53tm', '/Filter/FlateDecode', '/DP', '/F'],
  ...['/AA', '/AA<<', '/OpenAction 5 0 R', '/AA[', '/URI', '/D[', '8 0 obj<<5 0 R>>', '(', '1 0 obj'],
  ...['1.', '-e', '8.0 0 R', '8 0 R ', '/D[8 0 R]', '<(>', '/R ', '/Ref%', '/FS ', '/FS%', '/FS 2', '/N '],
  ...['/E', '/EF', '/EF ', '/EF%', '/EF%/E', '/EF 2', '/XFA', '/XFA ', '/J#61va', '/JavaScrip', '/Encryp'],
]

/** What the cells of a CSV are made of, as far as the search for formulas looks at it. */
const CSV_TOKENS = [' ', '\f', '\t', '\r', '\n', '"', ',', '-', '+', '1', '.', 'a', '\u3000']

/** Repeated tokens, up to the size of a file. */
function partsOf(tokens: readonly string[]): fc.Arbitrary<string[]> {
  const part = fc
    .record({
      tokens: fc.array(fc.constantFrom(...tokens), { minLength: 1, maxLength: 4 }),
      bytes: fc.integer({ min: 1, max: FILE_MAX_BYTES / 2 }),
    })
    .map(({ tokens: chosen, bytes }) => {
      const text = chosen.join('')
      return text.repeat(Math.ceil(bytes / text.length))
    })
  return fc.array(part, { minLength: 1, maxLength: 3 })
}
const parts = partsOf(TOKENS)

/** It has the heap of the real one, and more time, which only work without a bound can use up. */
let content_check: ContentCheck
beforeAll(() => {
  content_check = createThread(CONTENT_CHECK, { ...CONTENT_CHECK_LIMITS, processor_ms: 120_000 })
})
afterAll(() => content_check.close())

async function check(
  file: Buffer,
  mime_type: 'application/pdf' | 'text/csv' = 'application/pdf',
): Promise<string | undefined> {
  const content = new Uint8Array(file.subarray(0, FILE_MAX_BYTES))
  return (await content_check.run({ content, mime_type }, [content.buffer])).reason
}

test('a CSV of 10 MiB takes bounded time, whatever is repeated in it', async () => {
  await fc.assert(
    fc.asyncProperty(partsOf(CSV_TOKENS), async (texts) => {
      const file = Buffer.from(texts.map((text) => text.slice(0, 1024 * 1024)).join('b'))
      expect([undefined, 'malformed']).toContain(await check(file, 'text/csv'))
    }),
    { numRuns: propertyRuns(25), examples: [[[' ', '\n', '"\n'].map((text) => text.repeat(1024 * 1024))]] },
  )
}, 240_000)

test('a PDF of 10 MiB takes bounded time and memory, whatever is repeated in it', async () => {
  await fc.assert(
    fc.asyncProperty(parts, async (texts) => {
      const file = bytesOf('%PDF-1.7\n', ...texts.map((text) => text.slice(0, 3 * 1024 * 1024)), '\n%%EOF\n')
      expect([undefined, 'malformed', 'active_content']).toContain(await check(file))
    }),
    { numRuns: propertyRuns(25) },
  )
}, 240_000)

test('no repeated text hides an object stream with a script', async () => {
  await fc.assert(
    fc.asyncProperty(parts, fc.boolean(), async (texts, is_first) => {
      const script = bytesOf('5 0 obj', objectStream('1 0 <</S/JavaScript>>'), '\nendobj\n')
      const padding = bytesOf('\n', ...texts.map((text) => text.slice(0, 100_000)), '\n')
      const file = pdf(...(is_first ? [script, padding] : [padding, script]))
      expect(['malformed', 'active_content']).toContain(await check(file))
    }),
    { numRuns: propertyRuns(100) },
  )
}, 240_000)
