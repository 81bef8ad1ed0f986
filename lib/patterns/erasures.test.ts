import { appendFile, mkdtemp, open, readFile, readlink, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { readLines } from '#lib/base/files.ts'
import { useLineWriter } from '#lib/telemetry/writer.ts'
import { createErasureLog, readErasures } from './erasures.ts'

const signer = (...ids: readonly [string, ...string[]]) => testKeys(...ids).search

const payment = { kind: 'payment', merchant_id: '7001', id: '019aa5b0-7c00-7000-8000-000000000001' } as const
const ticket = { kind: 'ticket', merchant_id: '7001', id: '019aa5b0-7c00-7000-8000-000000000002' } as const

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-erasures-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

test('what was appended is in the list, also after a line that a crash has cut, and under an older key', async () => {
  const path = join(directory, 'erasures.jsonl')
  await createErasureLog(path, signer('2025')).append(payment)
  await appendFile(path, '{"time":"2026-')
  await createErasureLog(path, signer('2026', '2025')).append(ticket)
  const text = await readFile(path, 'utf8')
  const erasures = await readErasures(readLines(path), signer('2026', '2025'))
  expect(erasures.count).toBe(2)
  expect([payment, ticket].map(erasures.includes)).toEqual([true, true])
  const others = [
    { ...payment, kind: 'ticket' },
    { ...payment, merchant_id: '7002' },
    { ...payment, id: ticket.id },
  ] as const
  expect(others.map(erasures.includes)).toEqual([false, false, false])
  expect(text).not.toContain(payment.id)
  expect(text).not.toContain('7001')
})

// O11: an erasure that a power cut takes out of the list would come back with a restore.
test('a line is flushed to the disk with its file and the name of the file before it counts', async () => {
  const path = join(directory, 'flushed.jsonl')
  const handle = await open(directory, 'r')
  const prototype = Object.getPrototypeOf(handle)
  await handle.close()
  const flushed: [file: string, content: string][] = []
  const spy = jest.spyOn(prototype, 'sync').mockImplementation(async function (this: typeof handle) {
    const file = await readlink(`/proc/self/fd/${this.fd}`)
    flushed.push([file, file === path ? await readFile(path, 'utf8') : ''])
  })
  try {
    await createErasureLog(path, signer('k')).append(payment)
  } finally {
    spy.mockRestore()
  }
  expect(flushed).toEqual([
    [path, expect.stringContaining('a person was erased')],
    [directory, ''],
  ])
})

test('without a file, a line is in the log, also when the log is silent', async () => {
  const lines: string[] = []
  const { MULTIHUB_LOG_LEVEL: level } = process.env
  process.env['MULTIHUB_LOG_LEVEL'] = 'silent'
  try {
    using _writer = useLineWriter({ write: (line) => void lines.push(line) })
    await createErasureLog(undefined, signer('k')).append(payment)
  } finally {
    if (level === undefined) delete process.env['MULTIHUB_LOG_LEVEL']
    else process.env['MULTIHUB_LOG_LEVEL'] = level
  }
  expect((await readErasures(lines, signer('k'))).includes(payment)).toBe(true)
})

test('a list under a key that is not configured is refused, and says which', async () => {
  const path = join(directory, 'other.jsonl')
  await createErasureLog(path, signer('2025')).append(payment)
  await expect(readErasures(readLines(path), signer('2026'))).rejects.toThrow('2025')
})

test('lines of the log are read as a list, also as container runtimes keep them', async () => {
  const lineOf = (id: string, message = 'a person was erased'): string => {
    const subject = signer('k').sign(`erased:payment:7001:${id}`)
    return JSON.stringify({ level: 'warn', time: 't', role: 'payments', kind: 'payment', subject, message })
  }
  const lines = [
    lineOf('a'),
    `2026-11-24T10:00:00.0Z stderr F ${lineOf('b')}`,
    `payments-1  | ${lineOf('d')}`,
    JSON.stringify({ log: `${lineOf('e')}\n`, stream: 'stderr', time: '2026-11-24T10:00:00.0Z' }),
    lineOf('c', 'something else than: a person was erased'),
    JSON.stringify({ log: 'a person was erased' }),
    'no JSON: a person was erased',
    '',
  ]
  const erasures = await readErasures(lines, signer('k'))
  expect(erasures.count).toBe(4)
  const has = (id: string): boolean => erasures.includes({ kind: 'payment', merchant_id: '7001', id })
  expect(['a', 'b', 'c', 'd', 'e'].map(has)).toEqual([true, true, false, true, true])
})

test('a file without any erasure is refused, because it is another file', async () => {
  for (const lines of [[], ['root:x:0:0:root:/root:/bin/bash']])
    await expect(readErasures(lines, signer('k'))).rejects.toThrow('a person was erased')
})
