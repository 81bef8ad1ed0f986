import { createSecretKey } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { randomBytes } from '#lib/base/crypto/random.ts'
import type { Command } from '../app/run.ts'
import { restore } from './backup/restore.ts'
import { reseal } from './reseal.ts'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-purposes-'))
})
afterAll(() => rm(directory, { recursive: true }))

const output = { printLine: () => {}, printProgress: () => {} }

/** How a command fails with derived keys of these purposes alone: there is no backup, and no system. */
async function failureOf(command: Command, words: readonly string[], purposes: readonly string[]) {
  const keyOf = () => createSecretKey(randomBytes(32)).export().toString('hex')
  const multihubKeys = purposes.map((purpose) => `${purpose}.k:${keyOf()}`).join(',')
  const variables = {
    MULTIHUB_HOME: join(directory, 'home'),
    MULTIHUB_KEYS: multihubKeys,
    MULTIHUB_ACTIVE_KEY: 'k',
  }
  const call = async () => command([...words], variables, output)
  return call().then(
    () => 'none',
    (error: unknown) => String(error),
  )
}

// O9
test.each<[string, Command, readonly string[], readonly string[]]>([
  [
    'restore',
    restore,
    ['--erasures', 'none', '/no/backup'],
    ['credential', 'journal', 'audit', 'person', 'search'],
  ],
  ['reseal', reseal, [], ['credential', 'endpoint', 'webhook', 'person', 'search']],
])('%s needs the keys of its databases, and no others', async (_name, command, words, purposes) => {
  expect(await failureOf(command, words, purposes)).not.toMatch(/key/i)
  for (const missing of purposes) {
    const others = purposes.filter((purpose) => purpose !== missing)
    expect(await failureOf(command, words, others)).toContain(missing)
  }
})
