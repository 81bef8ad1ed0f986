import { afterEach, expect, test } from '@jest/globals'
import { MongoClient } from 'mongodb'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { parseLayout } from '../layout.ts'
import type { CollectionSpec } from '../store.ts'
import { isShardedCluster, openDatabase } from './connect.ts'
import { createIndexes, indexesOf } from './indexes.ts'
import { type ScriptedRouter, startScriptedRouter } from './scripted-router.fixture.ts'
import { startScriptedServer } from './scripted-server.fixture.ts'
import { shardCollection, shardKeyOf, verifyShardKey } from './sharding.ts'

const EVENTS: CollectionSpec = {
  name: 'events',
  partition: ['merchant_id'],
  key: ['merchant_id', 'event_key'],
  indexes: { by_created: { fields: ['merchant_id', 'created_at'] } },
}
const CHAINS: CollectionSpec = {
  name: 'chains',
  partition: ['chain'],
  key: ['chain', 'seq'],
  indexes: { by_batch: { fields: ['chain', 'batch_id'], unique: true } },
}
const JOURNAL: CollectionSpec = {
  name: 'journal',
  partition: ['shard'],
  key: ['shard', 'seq'],
  indexes: { by_id: { fields: ['shard', 'ids[]'], unique: true } },
  ranges: 16,
}
const NAMESPACE = 'multihub_notifier.journal'

const opened: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

async function connect(uri: string) {
  // As the clients of the store.
  const client = new MongoClient(uri, { promoteBuffers: true, useBigInt64: true })
  opened.push(() => client.close())
  return { client, db: openDatabase(client, 'multihub_notifier') }
}

async function openCluster(servers: string[], options?: Parameters<typeof startScriptedRouter>[1]) {
  const router = await startScriptedRouter(servers, options)
  opened.push(() => router.close())
  const { client, db } = await connect(router.uri)
  const shard = (spec: CollectionSpec) => shardCollection(client, db, parseLayout(spec))
  return { router, client, db, shard }
}

/** How many ranges each server has. */
function rangesPerServer({ collection, servers }: ScriptedRouter): number[] {
  const { chunks } = collection(NAMESPACE)
  const ranges = chunks.filter(({ min }) => min >= 0)
  return servers.map((server) => ranges.filter(({ shard }) => shard === server).length)
}

const sent = ({ commands }: ScriptedRouter, name: string) => commands.filter((command) => name in command)

test('the shard key is the hash of _id, and the partition where another index is unique or there are ranges', () => {
  expect(shardKeyOf(parseLayout(EVENTS))).toEqual({ _id: 'hashed' })
  expect(shardKeyOf(parseLayout(CHAINS))).toEqual({ chain: 1 })
  expect(shardKeyOf(parseLayout({ ...JOURNAL, indexes: {} }))).toEqual({ shard: 1 })
})

test('ranges need a partition of one field', () => {
  expect(() => parseLayout({ ...EVENTS, partition: EVENTS.key, ranges: 2 })).toThrow('one field')
})

test('a router is recognised by the message isdbgrid in its hello', async () => {
  const { client } = await openCluster(['a'])
  expect(await isShardedCluster(client)).toBe(true)
  const server = await startScriptedServer(() => undefined)
  opened.push(() => server.close())
  expect(await isShardedCluster((await connect(server.uri)).client)).toBe(false)
})

test('each shard key takes the unique indexes of its collection, before and after it is sharded', async () => {
  const { router, db, shard } = await openCluster(['a', 'b'])
  for (const spec of [EVENTS, CHAINS, JOURNAL]) {
    await shard(spec)
    await createIndexes(db.collection(spec.name), indexesOf(parseLayout(spec)))
    await shard(spec)
  }
  expect(router.collection('multihub_notifier.events').chunks.map((chunk) => chunk.shard)).toEqual(['a', 'b'])
  expect(sent(router, 'shardCollection')).toHaveLength(3)
})

test('a collection that has documents gets the index of its shard key first', async () => {
  const { router, shard } = await openCluster(['a', 'b'])
  router.documents.set('multihub_notifier.events', 7)
  await shard(EVENTS)
  expect(router.collection('multihub_notifier.events').key).toEqual({ _id: 'hashed' })
})

test('a collection with another shard key is refused, with the command that changes it', async () => {
  const { router, client, db, shard } = await openCluster(['a'])
  router.collection('multihub_notifier.events').key = { merchant_id: 1, event_key: 1 }
  const failure = await shard(EVENTS).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(Unavailable)
  expect(String(failure)).toContain(
    'run sh.reshardCollection("multihub_notifier.events", {"_id":"hashed"}) in mongosh',
  )
  await expect(verifyShardKey(client, db, parseLayout(EVENTS))).rejects.toThrow(
    /events is not sharded by .*: run "main\.ts migrate" of this release/,
  )
})

test('a serving process accepts a collection with its shard key only', async () => {
  const { client, db, shard } = await openCluster(['a'])
  await expect(verifyShardKey(client, db, parseLayout(EVENTS))).rejects.toThrow(Unavailable)
  await shard(EVENTS)
  await verifyShardKey(client, db, parseLayout(EVENTS))
})

test('ranges without documents are spread evenly, without the balancer, and only once', async () => {
  const { router, shard } = await openCluster(['a', 'b', 'c'])
  await shard(JOURNAL)
  expect(rangesPerServer(router).sort()).toEqual([5, 5, 6])
  expect(router.collection(NAMESPACE)).toMatchObject({ noBalance: true, chunk_size_mb: 1_024 })
  const [splits, moves] = [sent(router, 'split').length, sent(router, 'moveRange').length]
  await shard(JOURNAL)
  expect(sent(router, 'split')).toHaveLength(splits)
  expect(sent(router, 'moveRange')).toHaveLength(moves)
})

test('a preparation that was broken off is completed by the next one', async () => {
  const { router, shard } = await openCluster(['a', 'b'])
  await shard(JOURNAL)
  const found = router.collection(NAMESPACE)
  found.chunks = [
    { min: Number.NEGATIVE_INFINITY, max: 3, shard: 'a' },
    { min: 3, max: Number.POSITIVE_INFINITY, shard: 'a' },
  ]
  await shard(JOURNAL)
  expect(rangesPerServer(router)).toEqual([8, 8])
})

test('ranges with documents are split and not moved', async () => {
  const { router, shard } = await openCluster(['a', 'b'])
  router.documents.set(NAMESPACE, 7)
  await shard(JOURNAL)
  expect(rangesPerServer(router)).toEqual([16, 0])
})

test('where only mongosh can stop the balancing, the failure says so, and what mongosh did is accepted', async () => {
  const { router, shard } = await openCluster(['a', 'b'], { can_stop_balancing: false })
  await expect(shard(JOURNAL)).rejects.toThrow(
    `before MongoDB 8.1 run sh.disableBalancing("${NAMESPACE}") in mongosh`,
  )
  router.collection(NAMESPACE).noBalance = true
  await shard(JOURNAL)
  expect(rangesPerServer(router)).toEqual([8, 8])
})
