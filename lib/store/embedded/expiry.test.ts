import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { clock } from '#lib/base/time.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import { parseLayout } from '../layout.ts'
import { planRegistration } from './catalog.ts'
import { createCollection } from './collection.ts'
import { createDocuments } from './documents.ts'
import { openEnvironment } from './environment.ts'
import { deleteExpired, withExpiry } from './expiry.ts'

interface Nonce {
  readonly shop: string
  readonly id: number
  readonly code: string
  readonly gone_at: Date
}

test('a sweep deletes expired documents with their index entries, and no others', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'store-expiry-'))
  const environment = await openEnvironment(directory, HANG_LIMIT_MS)
  const indexes = { by_code: { fields: ['shop', 'code'], unique: true } } as const
  const declared = { name: 'nonces', partition: ['shop'], key: ['shop', 'id'], expires: 'gone_at', indexes }
  const layout = withExpiry(parseLayout(declared))
  const { prefixes } = await environment.write(() => planRegistration(environment.table, layout))
  const documents = createDocuments(environment.table, layout, prefixes)
  const nonces = createCollection<Nonce>(environment, layout, prefixes, documents)
  const insert = (id: number, time_ms: number): Promise<unknown> =>
    nonces.insert({ shop: 'a', id, code: `c${id}`, gone_at: new Date(clock.now_ms() + time_ms) })
  await Promise.all(Array.from({ length: 1_200 }, (_, id) => insert(id, id % 2 === 0 ? -1_000 : 60_000)))
  const count = (): number =>
    environment.read(() => environment.table.getKeysCount({ start: prefixes.collection, end: '2' }))
  expect(count()).toBe(1_200 * 3)

  await deleteExpired(environment, [{ prefixes, documents }])

  expect(count()).toBe(600 * 3)
  expect(await nonces.find('by_code', { equals: ['a'] }, { limit: 1_000 })).toHaveLength(600)
  await environment.release()
  await rm(directory, { recursive: true, force: true })
})
