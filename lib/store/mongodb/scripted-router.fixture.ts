import { randomUUID } from 'node:crypto'
import { type Document, MaxKey, MinKey, UUID } from 'mongodb'
import { ROUTER, type ScriptedServer, startScriptedServer } from './scripted-server.fixture.ts'

/** A chunk of a ranged collection, or one of hashes. A bound is a value of the first field of the shard key. */
interface Chunk {
  readonly min: number
  readonly max: number
  shard: string
}

/** A collection as the router knows it. */
interface RoutedCollection {
  readonly uuid: UUID
  readonly indexes: { readonly key: Document; readonly unique?: boolean; readonly name: string }[]
  key?: Document
  chunks: Chunk[]
  chunk_size_mb: number
  noBalance?: true
}

interface Cluster {
  /** The servers of the cluster; the first one has what is not spread. A test may add some. */
  readonly servers: string[]
  readonly draining: Set<string>
  collection(namespace: string): RoutedCollection
  /** How many documents a collection has, by its namespace. */
  readonly documents: Map<string, number>
  /** How large a range of any collection is, by the value that it begins with. */
  readonly sizes_mb: Map<number, number>
}

/**
 * A router of a sharded cluster, which has never been compared with MongoDB itself. It refuses what MongoDB's documentation
 * says that MongoDB refuses. The comment of each rule names the page of that documentation.
 */
export type ScriptedRouter = ScriptedServer & Cluster

interface RouterOptions {
  /** "configureCollectionBalancing": the field `enableBalancing` is new in 8.1. */
  readonly can_stop_balancing?: boolean
  /** The documents that a find of data returns. */
  readonly find?: (command: Document) => readonly Document[]
}

class Refused extends Error {
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/** Starts a router of a cluster of these servers. */
export async function startScriptedRouter(
  servers: string[],
  { can_stop_balancing = true, find = () => [] }: RouterOptions = {},
): Promise<ScriptedRouter> {
  const collections = new Map<string, RoutedCollection>()
  const cluster: Cluster = {
    servers,
    draining: new Set(),
    documents: new Map(),
    sizes_mb: new Map(),
    collection(namespace) {
      const known = collections.get(namespace)
      if (known !== undefined) return known
      const made = { uuid: new UUID(randomUUID()), indexes: [], chunks: [], chunk_size_mb: 128 }
      collections.set(namespace, made)
      return made
    },
  }
  const commands: Readonly<Record<string, (command: Document) => Document>> = {
    ...indexCommands(cluster),
    ...chunkCommands(cluster),
    configureCollectionBalancing({ configureCollectionBalancing: namespace, chunkSize, enableBalancing }) {
      const { found } = sharded(cluster, namespace)
      if (enableBalancing !== undefined) {
        if (!can_stop_balancing) throw new Refused(40415, "BSON field 'enableBalancing' is an unknown field")
        found.noBalance = true
      }
      // "Modify Range Size in a Sharded Cluster": from 1 to 1,024 megabytes.
      if (chunkSize !== undefined && !(chunkSize >= 1 && chunkSize <= 1_024))
        throw new Refused(72, 'the chunk size is out of range')
      found.chunk_size_mb = chunkSize ?? found.chunk_size_mb
      return {}
    },
    find(command) {
      if (command['$db'] === 'config') return cursorOf(findConfig(collections, command))
      const stored = cluster.documents.get(`${command['$db']}.${command['find']}`) ?? 0
      const finds_any = stored > 0 && Object.keys(command['filter']).length === 0
      return cursorOf(finds_any ? [{ _id: 'some' }] : find(command))
    },
    insert: () => ({ n: 1 }),
    update: () => ({ n: 1, nModified: 1 }),
  }
  const server = await startScriptedServer((command) => {
    const [name = ''] = Object.keys(command)
    try {
      return { ok: 1, ...commands[name]?.(command) }
    } catch (error) {
      if (error instanceof Refused) return { ok: 0, code: error.code, errmsg: error.message }
      throw error
    }
  }, ROUTER)
  return { ...server, ...cluster }
}

function sharded({ collection }: Cluster, namespace: string) {
  const found = collection(namespace)
  if (found.key === undefined) throw new Refused(118, `${namespace} is not sharded`)
  return { found, key: found.key }
}

function indexCommands({ servers, draining, documents, collection }: Cluster) {
  return {
    listShards: () => ({ shards: servers.map((id) => ({ _id: id, draining: draining.has(id) })) }),
    enableSharding: () => ({}),
    createIndexes({ createIndexes: name, $db, indexes }: Document) {
      const { key, indexes: stored } = collection(`${$db}.${name}`)
      for (const index of indexes) {
        checkUnique(index, key)
        if (!stored.some((other) => other.name === index.name)) stored.push(index)
      }
      return {}
    },
    listIndexes({ listIndexes: name, $db }: Document) {
      const { indexes } = collection(`${$db}.${name}`)
      return cursorOf([{ name: '_id_', key: { _id: 1 } }, ...indexes])
    },
    shardCollection({ shardCollection: namespace, key }: Document) {
      const found = collection(namespace)
      // "Sharded Collections with Unique Indexes": the command fails when a unique index does not begin with the shard key.
      for (const index of found.indexes) checkUnique(index, key)
      const is_empty = (documents.get(namespace) ?? 0) === 0
      // "Shard Key Indexes": a collection with documents needs an index that begins with the shard key before.
      if (!is_empty && !found.indexes.some((index) => beginsWith(index.key, key)))
        throw new Refused(72, `create an index on ${JSON.stringify(key)} first`)
      found.key = key
      // "Hashed Sharding": an empty collection gets chunks on each server. "Data Partitioning with Chunks": any other gets one.
      const is_spread = is_empty && Object.values(key).includes('hashed')
      found.chunks = is_spread
        ? servers.map((shard, at) => ({ min: at, max: at + 1, shard }))
        : [{ min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY, shard: servers[0] ?? '' }]
      return {}
    },
  }
}

function chunkCommands(cluster: Cluster) {
  const { servers, sizes_mb } = cluster
  return {
    split({ split: namespace, middle }: Document) {
      const { key, found } = sharded(cluster, namespace)
      const at = boundIn(key, middle)
      const chunk = found.chunks.find(({ min, max }) => min < at && at < max)
      // "split": a chunk becomes two, and the second chunk begins at the value. So no chunk may begin there.
      if (chunk === undefined) throw new Refused(2, `a chunk begins at ${at} already`)
      found.chunks.splice(found.chunks.indexOf(chunk), 1, { ...chunk, max: at }, { ...chunk, min: at })
      return {}
    },
    moveRange({ moveRange: namespace, min, max, toShard }: Document) {
      const { key, found } = sharded(cluster, namespace)
      // "moveRange": `toShard` is the id of a server, as `listShards` says it.
      if (!servers.includes(toShard)) throw new Refused(70, `there is no server ${toShard}`)
      const [from, to] = [boundIn(key, min), boundIn(key, max)]
      const chunk = found.chunks.find((one) => one.min === from && one.max === to)
      if (chunk === undefined) throw new Refused(2, 'this router moves whole chunks only')
      // "moveRange", `forceJumbo`: without it the command cannot move a range that is too large.
      if ((sizes_mb.get(from) ?? 0) > found.chunk_size_mb)
        throw new Refused(88, 'the range is too large to move')
      chunk.shard = toShard
      return {}
    },
  }
}

function findConfig(
  collections: ReadonlyMap<string, RoutedCollection>,
  { find: name, filter }: Document,
): readonly Document[] {
  if (name === 'collections') {
    const found = collections.get(filter['_id'])
    if (found?.key === undefined) return []
    const { uuid, key, noBalance } = found
    return [{ _id: filter['_id'], uuid, key, ...(noBalance && { noBalance }) }]
  }
  const { uuid } = filter
  const found = [...collections.values()].find((one) => uuid instanceof UUID && one.uuid.equals(uuid))
  return (found?.chunks ?? []).map(({ min, max, shard }) => {
    const [field = ''] = Object.keys(found?.key ?? {})
    return { min: { [field]: boundOf(min) }, max: { [field]: boundOf(max) }, shard, uuid }
  })
}

/**
 * "Shard Key Indexes": of a sharded collection only `_id` and an index that begins with a ranged shard key can be unique. An
 * `_id` that is not the shard key is unique per server only, so `_id` or its fields must be there: the keys of the port are.
 */
function checkUnique(
  { key, unique }: { readonly key: Document; readonly unique?: boolean },
  shard_key?: Document,
) {
  if (!unique || shard_key === undefined) return
  const is_hashed = Object.values(shard_key).includes('hashed')
  if (is_hashed || !beginsWith(key, shard_key))
    throw new Refused(
      67,
      `${JSON.stringify(key)} cannot be unique under the shard key ${JSON.stringify(shard_key)}`,
    )
}

function beginsWith(key: Document, start: Document): boolean {
  return (
    JSON.stringify(Object.entries(key).slice(0, Object.keys(start).length)) ===
    JSON.stringify(Object.entries(start))
  )
}

function boundIn(key: Document, bound: Document): number {
  const [field = ''] = Object.keys(key)
  const value: unknown = bound[field]
  return value instanceof MaxKey ? Number.POSITIVE_INFINITY : Number(value)
}

function boundOf(value: number): number | MinKey | MaxKey {
  if (value === Number.NEGATIVE_INFINITY) return new MinKey()
  return value === Number.POSITIVE_INFINITY ? new MaxKey() : value
}

function cursorOf(firstBatch: readonly Document[]): Document {
  return { cursor: { id: 0n, ns: 'a.b', firstBatch } }
}
