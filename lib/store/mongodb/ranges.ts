import { type Db, type Document, MaxKey, type MongoClient, MongoServerError } from 'mongodb'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { type Layout, parseLayout } from '../layout.ts'
import type { MongodbDatabase, RangeMoves, WeighedRanges } from '../maintenance.ts'
import { placeRanges } from '../place-ranges.ts'
import { isShardedCluster, withDatabase } from './connect.ts'

/** The largest that MongoDB accepts. It cannot move a range with more data while the range is written. */
const CHUNK_SIZE_MB = 1_024

/** A collection with ranges in its cluster. */
interface RangedCollection {
  readonly client: MongoClient
  readonly admin: Db
  readonly namespace: string
  readonly field: string
  readonly ranges: number
}

/**
 * Splits a collection that is sharded by its first field into its ranges, and keeps MongoDB's balancer away: it moves by size,
 * and would leave a collection that has just been created on one server. A collection without documents is spread evenly. What
 * is done already stays as it is. Throws `Unavailable`.
 */
export async function prepareRanges(client: MongoClient, db: Db, layout: Layout): Promise<void> {
  const ranged = rangedCollection(client, db, layout)
  const { admin, namespace, field, ranges } = ranged
  await stopBalancing(ranged)
  const owners = await readOwners(ranged)
  for (let value = 0; value < ranges; value += 1) {
    if (!owners.has(value)) await admin.command({ split: namespace, middle: { [field]: value } })
  }
  const some = await db.collection(layout.name).findOne({}, { projection: { _id: 1 } })
  if (some === null) await moveTo(ranged, new Array<number>(ranges).fill(1), () => {})
}

/** Moves the ranges of a collection by their weights. See `moveRanges` of the store. */
export function moveWeighedRanges(
  database: MongodbDatabase,
  { spec, weights }: WeighedRanges,
  printLine: (line: string) => void,
): Promise<RangeMoves> {
  return withDatabase(database, async (client, db) => {
    if (!(await isShardedCluster(client)))
      throw new Unavailable('MongoDB is not a sharded cluster: there is nothing to place')
    return await moveTo(rangedCollection(client, db, parseLayout(spec)), weights, printLine)
  })
}

function rangedCollection(client: MongoClient, db: Db, layout: Layout): RangedCollection {
  const { name, partition, ranges = 0 } = layout
  const [field = ''] = partition
  return { client, admin: client.db('admin'), namespace: `${db.databaseName}.${name}`, field, ranges }
}

/** MongoDB 8.1 can stop the balancing of a collection by a command. Before, only mongosh can. */
async function stopBalancing({ client, admin, namespace }: RangedCollection): Promise<void> {
  const configure = { configureCollectionBalancing: namespace }
  await admin.command({ ...configure, chunkSize: CHUNK_SIZE_MB, enableAutoMerger: false })
  if ((await readCollection(client, namespace))['noBalance'] === true) return
  try {
    await admin.command({ ...configure, enableBalancing: false })
  } catch (error) {
    if (!(error instanceof MongoServerError)) throw error
    throw new Unavailable(
      `the balancing of ${namespace} cannot be stopped (${error.message}): before MongoDB 8.1 run sh.disableBalancing("${namespace}") in mongosh, then "main.ts migrate" again`,
    )
  }
}

async function moveTo(
  ranged: RangedCollection,
  weights: readonly number[],
  printLine: (line: string) => void,
): Promise<RangeMoves> {
  const { admin, namespace, field, ranges } = ranged
  const owners = await readOwners(ranged)
  const present = Array.from({ length: ranges }, (_, value) => owners.get(value) ?? '')
  const wanted = placeRanges(weights, present, await readServers(admin))
  let [moved, refused] = [0, 0]
  for (const [value, server] of wanted.entries()) {
    if (server === present[value]) continue
    const max = value + 1 < ranges ? value + 1 : new MaxKey()
    const range = { min: { [field]: value }, max: { [field]: max } }
    try {
      await admin.command({ moveRange: namespace, ...range, toShard: server })
    } catch (error) {
      if (!(error instanceof MongoServerError)) throw error
      refused += 1
      printLine(`${namespace}: ${field} ${value} stays on ${present[value]}: ${error.message}`)
      continue
    }
    moved += 1
    printLine(`${namespace}: ${field} ${value} moved from ${present[value]} to ${server}`)
  }
  return { moved, refused }
}

/** The servers that take data: a server that is being removed gives its data away. */
async function readServers(admin: Db): Promise<readonly string[]> {
  const { shards } = await admin.command({ listShards: 1 })
  const listed: readonly Document[] = Array.isArray(shards) ? shards : []
  return listed.filter(({ draining }) => draining !== true).map(({ _id }) => String(_id))
}

/** The server of each range that has a chunk of its own. */
async function readOwners({ client, namespace, field }: RangedCollection): Promise<Map<number, string>> {
  const { uuid } = await readCollection(client, namespace)
  const chunks = await client.db('config').collection('chunks').find({ uuid }).toArray()
  return new Map(chunks.map(({ min, shard }) => [Number(min[field]), String(shard)]))
}

async function readCollection(client: MongoClient, namespace: string): Promise<Document> {
  const collections = client.db('config').collection<{ _id: string }>('collections')
  // A promoted UUID would be sent as bytes of another subtype.
  const stored = await collections.findOne({ _id: namespace }, { promoteBuffers: false })
  if (stored === null) throw new Unavailable(`the collection ${namespace} is not sharded`)
  return stored
}
