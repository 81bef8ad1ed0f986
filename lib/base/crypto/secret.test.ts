import { format, inspect } from 'node:util'
import { expect, test } from '@jest/globals'
import { createLog } from '#lib/telemetry/log.ts'
import { newSecret } from './secret.ts'

const secret = newSecret()
const text = secret.reveal()

// A6
test('a new secret is 64 lower-case hexadecimal characters and unique', () => {
  expect(text).toMatch(/^[0-9a-f]{64}$/)
  expect(newSecret().reveal()).not.toBe(text)
})

test.each<[string, () => string]>([
  ['a template', () => `${secret}`],
  ['String', () => String(secret)],
  ['toString', () => secret.toString()],
  ['join', () => [secret].join()],
  ['JSON', () => JSON.stringify({ secret, list: [secret] })],
  ['inspect', () => inspect(secret)],
  [
    'inspect of an object that holds it',
    () => inspect({ outer: { inner: [secret] } }, { depth: 9, showHidden: true }),
  ],
  ['format', () => format('%s %o %j %O', secret, secret, secret, secret)],
  ['the message of an error', () => inspect(new Error(`${secret}`))],
  ['the cause of an error', () => inspect(new Error('no', { cause: secret }))],
  ['its fields', () => inspect(Object.entries(secret)) + inspect({ ...secret })],
  ['a copy', () => inspect(structuredClone({ ...secret }))],
])('a secret is not seen in %s', (_where, shown) => {
  expect(shown()).not.toContain(text.slice(0, 16))
})

test('is not shown in a log, in any field or error', () => {
  const lines: string[] = []
  const log = createLog(undefined, {
    level: 'debug',
    writer: { write: (line: string) => void lines.push(line) },
  })
  log.error({ error: Object.assign(new Error(`about ${secret}`), { secret }), reason: `${secret}` }, 'failed')
  expect(lines.join()).toContain('failed')
  expect(lines.join()).not.toContain(text.slice(0, 16))
})
