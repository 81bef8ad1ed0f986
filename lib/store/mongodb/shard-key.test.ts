import { expect, test } from '@jest/globals'
import type { Db, MongoClient } from 'mongodb'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { parseLayout } from '../layout.ts'
import type { CollectionSpec } from '../store.ts'
import { isShardedCluster, shardCollection, shardKeyOf, verifyShardKey } from './indexes.ts'

const EVENTS: CollectionSpec = {
  name: 'events',
  partition: ['merchant_id'],
  key: ['merchant_id', 'event_key'],
  indexes: { by_created: { fields: ['merchant_id', 'created_at'] } },
}
const JOURNAL: CollectionSpec = {
  name: 'journal',
  partition: ['shard'],
  key: ['shard', 'sequence'],
  indexes: { by_batch: { fields: ['shard', 'batch_id'], unique: true } },
}

test('the shard key is the whole key', () => {
  expect(Object.keys(shardKeyOf(parseLayout(EVENTS)))).toEqual(['merchant_id', 'event_key'])
})

test('the shard key is the partition when another index is unique', () => {
  expect(Object.keys(shardKeyOf(parseLayout(JOURNAL)))).toEqual(['shard'])
})

// No sharded cluster can be installed from packages, so the router's responses come from the protocol's documentation.
test('a router is recognised by the message isdbgrid in its hello', async () => {
  expect(await isShardedCluster(router({ hello: { msg: 'isdbgrid' } }).client)).toBe(true)
  expect(await isShardedCluster(router({ hello: { setName: 'rs0' } }).client)).toBe(false)
})

test('a collection is sharded by its shard key in its own database', async () => {
  const { client, db, commands } = router({})
  await shardCollection(client, db, parseLayout(EVENTS))
  expect(commands).toEqual([
    { enableSharding: 'multihub_notifier' },
    { shardCollection: 'multihub_notifier.events', key: { merchant_id: 1, event_key: 1 } },
  ])
})

test('a collection without its shard key is refused with the command that creates it', async () => {
  const layout = parseLayout(EVENTS)
  for (const key of [undefined, { merchant_id: 1 }, { event_key: 1, merchant_id: 1 }] as const) {
    const { client, db } = router({ stored_key: key })
    const failure = await verifyShardKey(client, db, layout).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(Unavailable)
    expect(String(failure)).toMatch(
      /multihub_notifier\.events is not sharded .*: run "main\.ts migrate" of this release/,
    )
  }
  const { client, db } = router({ stored_key: { merchant_id: 1, event_key: 1 } })
  await verifyShardKey(client, db, layout)
})

/** The parts of a client that sharding uses. It records the commands for the administration database. */
function router(responses: { hello?: object; stored_key?: object | undefined }): {
  client: MongoClient
  db: Db
  commands: object[]
} {
  const commands: object[] = []
  const { hello, stored_key } = responses
  const admin = {
    async command(command: object): Promise<object> {
      if ('hello' in command) return hello ?? {}
      commands.push(command)
      return { ok: 1 }
    },
  }
  const config = {
    collection: () => ({ findOne: async () => (stored_key === undefined ? null : { key: stored_key }) }),
  }
  const client = { db: (name: string) => (name === 'admin' ? admin : config) }
  return {
    client: client as unknown as MongoClient,
    db: { databaseName: 'multihub_notifier' } as Db,
    commands,
  }
}
