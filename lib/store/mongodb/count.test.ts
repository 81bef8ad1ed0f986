import { expect, test } from '@jest/globals'
import { type Document, MongoClient } from 'mongodb'
import { clock } from '#lib/base/time.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import { parseLayout } from '../layout.ts'
import { createMongoCalls } from './calls.ts'
import { createCollection } from './collection.ts'
import { openDatabase } from './connect.ts'
import { startScriptedServer } from './scripted-server.fixture.ts'

const LAYOUT = parseLayout({
  name: 'tickets',
  partition: ['owner'],
  key: ['owner', 'id'],
  indexes: { summary: { fields: ['owner', 'status'] } },
})

const batch = (documents: readonly Document[]) => ({
  ok: 1,
  cursor: { id: 0n, ns: 'count.tickets', firstBatch: documents },
})

// S11
test('a count asks a majority first, so that no former primary counts', async () => {
  const server = await startScriptedServer((command) =>
    'find' in command ? batch([]) : 'aggregate' in command ? batch([{ _id: 'open', count: 2 }]) : undefined,
  )
  const client = new MongoClient(server.uri, { monitorCommands: true })
  const tickets = createCollection<{ id: string; owner: string; status: string }>({
    documents: openDatabase(client, 'count').collection('tickets'),
    layout: LAYOUT,
    calls: createMongoCalls(client, HANG_LIMIT_MS, 10),
    now_ms: () => clock.now_ms(),
  })
  const counts = await tickets.count('summary', { equals: ['a'] }, { limit_ms: HANG_LIMIT_MS })
  expect(counts).toEqual(new Map([['open', 2]]))
  // Both with the same filter, so that a cluster asks the same shards.
  const match = { owner: 'a' }
  expect(server.commands.filter((command) => 'readConcern' in command)).toMatchObject([
    { find: 'tickets', filter: match, limit: 1, readConcern: { level: 'linearizable' } },
    { aggregate: 'tickets', pipeline: [{ $match: match }, {}], readConcern: { level: 'snapshot' } },
  ])
  await client.close()
  await server.close()
})
