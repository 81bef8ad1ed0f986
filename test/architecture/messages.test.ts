import { describe, expect, test } from '@jest/globals'
import { lineOf, proseOf } from '../../scripts/sources/prose.ts'
import { isTest, readSources, type SourceFile } from '../../scripts/sources/sources.ts'

/** What comes before a message: the constructor of an error, or a call of a log after its fields. */
const BEFORE_MESSAGE =
  /(?:\bnew (?:\w*Error|\w*Failure|Unavailable)\(\s*|\b(?:log|lines)\.(?:debug|info|warn|error)\((?:\{[^'"`]*\},)?\s*)['"`]$/

/** Names that are written with a capital letter also at the beginning of a message. */
const NAMES =
  /^(?:MongoDB|NATS|Node\.js|HTTP|TLS|LMDB|JSON|UUID|[A-Z][A-Z0-9]*_[A-Z0-9_]+|[A-Z][a-z]+[A-Z]\w*)\b/

interface Message {
  readonly line: number
  readonly text: string
}

function messagesIn(file: SourceFile): readonly Message[] {
  return proseOf(file)
    .filter(({ kind, offset }) => kind === 'string' && BEFORE_MESSAGE.test(file.text.slice(0, offset)))
    .map(({ offset, text }) => ({ line: lineOf(file, offset), text }))
}

const isSentence = ({ text }: Message): boolean =>
  (/^[A-Z]/.test(text) && !NAMES.test(text)) || /[^.]\.$/.test(text)

test('messages of errors and logs are in lower case, without a full stop', async () => {
  const files = (await readSources()).filter((file) => !isTest(file))
  const messages = files.flatMap((file) =>
    messagesIn(file).map((message) => ({ ...message, path: file.path })),
  )
  expect(messages.length).toBeGreaterThan(100)
  const sentences = messages.filter(isSentence)
  expect(sentences.map(({ path, line, text }) => `${path}:${line} ${text}`)).toEqual([])
})

describe('the check of messages', () => {
  const reported = (text: string): boolean =>
    messagesIn({ path: 'lib/probe.ts', text, lines: 1 }).some(isSentence)

  test.each([
    "throw new Error('The file is missing')",
    "throw new TypeError('the file is missing.')",
    "log.warn({ error }, 'A call failed')",
  ])('reports %j', (text) => expect(reported(text)).toBe(true))

  test.each([
    "throw new Unavailable('MongoDB did not answer in time')",
    "log.error({ error, kind: 1 }, 'a call failed')",
    "const title = 'The settings.'",
  ])('does not report %j', (text) => expect(reported(text)).toBe(false))
})
