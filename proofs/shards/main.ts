import { simulateShards } from './simulate-shards.ts'

/**
 * `npm run simulate:shards`: routes 20,000 generated keys of each collection to 7 servers, for 4 and for 1,000 merchants, and
 * places the shards of the ledger. It prints the largest part of a server per collection.
 */
const SERVERS = 7
const INSERTS = 20_000

for (const merchants of [4, 1_000]) {
  const { spreads, journal } = await simulateShards(merchants, SERVERS, INSERTS)
  console.log(`\n${merchants} merchants, ${SERVERS} servers: the largest part of one server`)
  for (const { collection, shard_key, keys, largest_part } of spreads)
    console.log(
      `${collection.padEnd(36)} ${shard_key.padEnd(20)} ${String(keys).padStart(6)} keys ${(100 * largest_part).toFixed(1).padStart(6)} %`,
    )
  const { before, after, with_new_server, moved, moved_to_new_server } = journal
  console.log('the four busiest shards of the ledger are on')
  console.log(`  when the journal is created: ${before.join(', ')}`)
  console.log(`  after migrate --place: ${after.join(', ')} (${moved} of 256 moved)`)
  console.log(`  with one server more: ${with_new_server.join(', ')} (${moved_to_new_server} moved)`)
}
