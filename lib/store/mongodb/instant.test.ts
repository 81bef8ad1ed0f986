import { afterEach, expect, test } from '@jest/globals'
import { type Document, Long, Timestamp } from 'mongodb'
import { Secret } from '#lib/base/crypto/secret.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Snapshot } from '../maintenance.ts'
import { openSnapshot } from '../open.ts'
import type { CollectionSpec } from '../store.ts'
import { type ScriptedServer, startScriptedServer } from './scripted-server.fixture.ts'

// FerretDB has no snapshots, so a server with a script shows which reads a backup sends to a MongoDB that has them.

const ITEMS: CollectionSpec = { name: 'items', partition: ['id'], key: ['id'] }
const INSTANT = new Timestamp({ t: 1_700_000_000, i: 7 })

let server: ScriptedServer
let snapshot: Snapshot | undefined
afterEach(async () => {
  await snapshot?.close()
  snapshot = undefined
  await server.close()
})

const ended = (batch: Document[]) => ({ id: Long.ZERO, ns: 'a.items', firstBatch: batch })

async function open(respond: (command: Document) => Document | undefined): Promise<Snapshot> {
  server = await startScriptedServer(respond)
  snapshot = await openSnapshot({ mongodb_uri: new Secret(server.uri) }, ['a', 'b'], 'instant')
  return snapshot
}

async function readAll(database: string): Promise<unknown[]> {
  const documents: unknown[] = []
  for await (const { id } of snapshot?.database(database).readDocuments(ITEMS) ?? []) documents.push(id)
  return documents
}

/** A server with snapshots: the first read gets an instant, and a collection comes in two batches. */
function withSnapshots(command: Document): Document | undefined {
  if ('find' in command && command['find'] === 'snapshot')
    return { ok: 1, cursor: { ...ended([]), atClusterTime: INSTANT } }
  if ('find' in command)
    return { ok: 1, cursor: { id: Long.ONE, ns: 'a.items', firstBatch: [{ _id: '1', id: 'x' }] } }
  if ('getMore' in command)
    return { ok: 1, cursor: { id: Long.ZERO, ns: 'a.items', nextBatch: [{ _id: '2', id: 'y' }] } }
  return undefined
}

test('every read of an instant backup names the instant that the first one fixed, in all databases', async () => {
  expect((await open(withSnapshots)).consistency).toBe('instant')
  expect(await readAll('a')).toEqual(['x', 'y'])
  expect(await readAll('b')).toEqual(['x', 'y'])
  const [first, ...others] = server.commands.filter((command) => 'find' in command)
  expect(first).toMatchObject({ readConcern: { level: 'snapshot' } })
  expect(first?.['readConcern']).not.toHaveProperty('atClusterTime')
  expect(others).toMatchObject(
    ['a', 'b'].map((db) => ({
      find: 'items',
      $db: db,
      readConcern: { level: 'snapshot', atClusterTime: INSTANT },
      lsid: first?.['lsid'],
    })),
  )
  const more = server.commands.filter((command) => 'getMore' in command)
  expect(more).toMatchObject([{ lsid: first?.['lsid'] }, { lsid: first?.['lsid'] }])
})

test('a server that names no instant gives a backup in order, with reads of the majority', async () => {
  const respond = (command: Document): Document | undefined =>
    'find' in command ? { ok: 1, cursor: ended([{ _id: '1', id: 'x' }]) } : undefined
  expect((await open(respond)).consistency).toBe('ordered')
  expect(await readAll('b')).toEqual(['x'])
  expect(server.commands.filter(({ find }) => find === 'items')).toMatchObject([
    { readConcern: { level: 'majority' } },
  ])
})

test('an instant that the server has dropped ends the backup, and the message says what to raise', async () => {
  const respond = (command: Document): Document | undefined =>
    'getMore' in command
      ? { ok: 0, code: 239, codeName: 'SnapshotTooOld', errmsg: 'the instant is too old' }
      : withSnapshots(command)
  await open(respond)
  const failure = await readAll('a').catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(Unavailable)
  expect(failure).toMatchObject({ message: expect.stringContaining('minSnapshotHistoryWindowInSeconds') })
})

test('a server that refuses the first read gives no backup', async () => {
  const respond = (command: Document): Document | undefined =>
    'find' in command ? { ok: 0, code: 13, codeName: 'Unauthorized', errmsg: 'not authorized' } : undefined
  await expect(open(respond)).rejects.toThrow(Unavailable)
})
