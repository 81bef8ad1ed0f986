import { afterEach, expect, jest, test } from '@jest/globals'
import type { Document } from 'mongodb'
import { ROLES } from '#lib/role/role.ts'
import { type ScriptedRouter, startScriptedRouter } from '#lib/store/mongodb/scripted-router.fixture.ts'
import { startScriptedServer } from '#lib/store/mongodb/scripted-server.fixture.ts'
import { log } from '#lib/telemetry/log.ts'
import { migrate } from './migrate.ts'

const JOURNAL = 'multihub_balances.journal'
const SERVERS = ['a', 'b', 'c', 'd', 'e', 'f', 'g']

/** How many entries each shard of the ledger committed in the last hour. */
const entries = new Map<number, bigint>()

const opened: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  entries.clear()
  for (const server of opened.splice(0)) await server.close()
})

/** The first batch of the last hour and the newest batches: as many as there are entries, one in each. */
function findJournal(command: Document): readonly Document[] {
  if (command['find'] !== 'journal') return []
  const [, shard] = /"shard":(\d+)/.exec(JSON.stringify(command['filter'])) ?? []
  const newest = entries.get(Number(shard))
  if (newest === undefined) return []
  return command['hint'] === 'by_time' ? [{ seq: 1n }] : [{ seq: newest, ids: ['entry'] }]
}

async function openRouter(): Promise<ScriptedRouter> {
  const router = await startScriptedRouter([...SERVERS], { find: findJournal })
  opened.push(router)
  return router
}

async function run(
  words: readonly string[],
  { uri }: { readonly uri: string },
  lines: string[] = [],
): Promise<string[]> {
  const output = { printLine: (line: string) => void lines.push(line), printProgress: () => {} }
  await migrate(words, { MONGODB_URI: uri, MULTIHUB_SYSTEM_NAME: 'multihub' }, output)
  return lines
}

/** Gives shards about the same load, the first one the most. */
function load(shards: readonly number[], most: bigint): void {
  for (const [at, shard] of shards.entries()) entries.set(shard, most - BigInt(at))
}

const serverOf = ({ collection }: ScriptedRouter, shard: number): string | undefined =>
  collection(JOURNAL).chunks.find(({ min }) => min === shard)?.shard

function busiest(router: ScriptedRouter): (string | undefined)[] {
  return [...entries.keys()].map((shard) => serverOf(router, shard))
}

test('all collections of all roles can be sharded, and the busiest shards of the ledger are moved apart, again after a new server', async () => {
  const router = await openRouter()
  await run([], router)
  const ranged = router.commands
    .filter((command) => 'shardCollection' in command && !('_id' in command['key']))
    .map((command) => [command['shardCollection'], command['key']])
  expect(ranged).toEqual([
    [JOURNAL, { shard: 1 }],
    ['multihub_notifier.listener_deliveries', { listener_id: 1 }],
    ['multihub_backoffice.audit', { chain: 1 }],
  ])
  const counts = SERVERS.map(
    (server) =>
      router.collection(JOURNAL).chunks.filter(({ min, shard }) => min >= 0 && shard === server).length,
  )
  expect([Math.min(...counts), Math.max(...counts)]).toEqual([36, 37])

  // All of them on one server, as a journal that grew there would be.
  router.documents.set(JOURNAL, 1)
  for (const chunk of router.collection(JOURNAL).chunks) chunk.shard = 'a'
  load([131, 140, 200, 255], 90_000n)
  const lines = await run(['--place'], router)
  expect(new Set(busiest(router)).size).toBe(4)
  expect(lines).toContain('multihub_balances: 3 ranges were moved, 0 could not be moved')
  expect(await run(['--place'], router)).toContain(
    'multihub_balances: 0 ranges were moved, 0 could not be moved',
  )

  load([1, 2, 3, 4], 80_000n)
  router.servers.push('new')
  router.draining.add('b')
  await run(['--place'], router)
  expect(busiest(router)).toContain('new')
  expect(router.collection(JOURNAL).chunks.map(({ shard }) => shard)).not.toContain('b')
  expect(new Set(busiest(router).slice(0, 4)).size).toBe(4)
})

test('a range that MongoDB does not move is named, and the others are moved', async () => {
  const router = await openRouter()
  await run([], router)
  for (const chunk of router.collection(JOURNAL).chunks) chunk.shard = 'a'
  router.documents.set(JOURNAL, 1)
  load([131, 140, 200, 255], 90_000n)
  router.sizes_mb.set(140, 5_000)
  const lines = await run(['--place'], router)
  expect(serverOf(router, 140)).toBe('a')
  expect(lines).toContain(`${JOURNAL}: shard 140 stays on a: the range is too large to move`)
  expect(lines).toContain('multihub_balances: 2 ranges were moved, 1 could not be moved')
})

test('--place without a sharded cluster is refused, when all roles are complete', async () => {
  const server = await startScriptedServer((command) =>
    'find' in command || 'listIndexes' in command
      ? { ok: 1, cursor: { id: 0n, ns: 'a.b', firstBatch: [] } }
      : undefined,
  )
  opened.push(server)
  const lines: string[] = []
  await expect(run(['--place'], server, lines)).rejects.toThrow(
    'multihub_balances: MongoDB is not a sharded cluster',
  )
  // The other roles are completed all the same.
  expect(lines).toHaveLength(ROLES.length)
})

test('--drop-retired drops nothing of a role with a problem, whose cause is logged, and completes the other roles', async () => {
  const notAuthorized = { ok: 0, code: 13, codeName: 'Unauthorized', errmsg: 'not authorized' }
  const old = { v: 2, key: { _id: 1 }, name: 'old' }
  const server = await startScriptedServer((command) => {
    const { $db: database } = command
    if ('createIndexes' in command && database === 'multihub_balances') return notAuthorized
    if ('dropIndexes' in command && database === 'multihub_merchants') return notAuthorized
    const firstBatch = 'listIndexes' in command ? [old] : []
    if ('find' in command || 'listIndexes' in command)
      return { ok: 1, cursor: { id: 0n, ns: 'a.b', firstBatch } }
    return undefined
  })
  opened.push(server)
  const warn = jest.spyOn(log, 'warn').mockImplementation(() => {})
  opened.push({ close: async () => warn.mockRestore() })
  const lines: string[] = []
  await expect(run(['--drop-retired'], server, lines)).rejects.toThrow(
    /^multihub_merchants: MongoDB .*\nmultihub_balances: MongoDB /,
  )
  const dropped = server.commands.filter((command) => 'dropIndexes' in command).map(({ $db }) => $db)
  expect(dropped).not.toContain('multihub_balances')
  expect(dropped).toContain('multihub_backoffice')
  const logged = warn.mock.calls.map(([{ database, error }]) => [database, (error as Error).cause])
  const cause = expect.objectContaining({ message: 'not authorized' })
  expect(logged).toEqual([
    ['multihub_merchants', cause],
    ['multihub_balances', cause],
  ])
  expect(lines).toContainEqual(expect.stringMatching('^multihub_balances: retired indexes: '))
})
