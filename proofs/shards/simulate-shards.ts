import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { ROLES } from '#lib/role/role.ts'
import { readDeclarations } from '#lib/store/declarations.ts'
import { keyText, parseLayout } from '#lib/store/layout.ts'
import { shardKeyOf } from '#lib/store/mongodb/sharding.ts'
import { placeRanges } from '#lib/store/place-ranges.ts'
import type { CollectionSpec } from '#lib/store/store.ts'
import { loadOperations } from '../../operations/databases.ts'
import { SHARDS, shardOf } from '../../services/balances/domain/shard.ts'
import { hashedKey, serverOfHash } from './hashed-key.ts'

/** A collection with fewer different keys does not grow with the payments, so its writes need no spreading. */
const KEYS_MIN = 500

/** The fields of keys with a few values only, so that they alone spread nothing. */
const FEW_VALUES = [
  'environment',
  'kind',
  'method',
  'name',
  'role',
  'list',
  'rpc',
  'currency',
  'format',
  'period',
  'chain',
]
/** The fields that follow from the merchant. */
const OF_MERCHANT = ['merchant_id', 'application_id', 'listener_id']
const NUMBERS = ['seq', 'number', 'instance_number']

/** Where the inserts of a collection go. */
export interface Spread {
  readonly collection: string
  readonly shard_key: string
  readonly keys: number
  /** The part of the server with the most inserts. */
  readonly largest_part: number
}

/** Where the four busiest shards of the ledger are: before `migrate --place`, after it, and after it with one server more. */
export interface JournalPlaces {
  readonly before: readonly string[]
  readonly after: readonly string[]
  readonly with_new_server: readonly string[]
  readonly moved: number
  readonly moved_to_new_server: number
}

/** Routes generated keys of merchants to servers, for every declared collection. */
export async function simulateShards(merchants: number, servers: number, inserts: number) {
  const spreads: Spread[] = []
  for (const { name, openCollections } of await loadOperations(ROLES)) {
    const { collections } = await readDeclarations(openCollections)
    for (const spec of collections) {
      const keys = new Set(Array.from({ length: inserts }, (_, at) => generateKey(spec, at, merchants)))
      if (keys.size >= KEYS_MIN && spec.ranges === undefined)
        spreads.push({ ...spreadOf(spec, keys, servers), collection: `${name}.${spec.name}` })
    }
  }
  return { spreads, journal: placeJournal(merchants, servers) }
}

function spreadOf(spec: CollectionSpec, keys: ReadonlySet<string>, servers: number) {
  const shard_key = shardKeyOf(parseLayout(spec))
  const counts = new Array<number>(servers).fill(0)
  for (const key of keys) {
    // A range of which nothing is split yet is on one server.
    const server = '_id' in shard_key ? serverOfHash(hashedKey(key), servers) : 0
    counts[server] = (counts[server] ?? 0) + 1
  }
  return {
    shard_key: JSON.stringify(shard_key),
    keys: keys.size,
    largest_part: Math.max(...counts) / keys.size,
  }
}

function generateKey(spec: CollectionSpec, at: number, merchants: number): string {
  const merchant_id = merchantOf(at % merchants)
  const partOf = (field: string): string | number => {
    if (FEW_VALUES.includes(field)) return field
    if (OF_MERCHANT.includes(field)) return merchant_id
    if (field === 'shard') return shardOf(merchant_id, 'production')
    if (NUMBERS.includes(field)) return at
    // Ids begin with a time.
    return (1_700_000_000_000 + at).toString(16) + sha256Hex(`${field} ${at}`).slice(0, 20)
  }
  return keyText(parseLayout(spec), Object.fromEntries(spec.key.map((field) => [field, partOf(field)])))
}

/** The first merchant has the most payments, the second half of it, the third a third. */
function placeJournal(merchants: number, count: number): JournalPlaces {
  const weights = new Array<number>(SHARDS).fill(1)
  for (let at = 0; at < merchants; at += 1) {
    const shard = shardOf(merchantOf(at), 'production')
    weights[shard] = (weights[shard] ?? 0) + 1_000_000 / (at + 1)
  }
  const busiest = [...weights.keys()]
    .sort((one, other) => (weights[other] ?? 0) - (weights[one] ?? 0))
    .slice(0, 4)
  const servers = Array.from({ length: count }, (_, at) => `server ${at + 1}`)
  const even = weights.map(() => 1)
  const created = placeRanges(
    even,
    weights.map(() => servers[0] ?? ''),
    servers,
  )
  const placed = placeRanges(weights, created, servers)
  const grown = placeRanges(weights, placed, [...servers, 'new server'])
  const placesIn = (owners: readonly string[]) => busiest.map((shard) => owners[shard] ?? '')
  const movesOf = (from: readonly string[], to: readonly string[]) =>
    to.filter((server, shard) => server !== from[shard]).length
  return {
    before: placesIn(created),
    after: placesIn(placed),
    with_new_server: placesIn(grown),
    moved: movesOf(created, placed),
    moved_to_new_server: movesOf(placed, grown),
  }
}

function merchantOf(at: number): string {
  return String(1_000 + at)
}
