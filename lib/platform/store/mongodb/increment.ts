import { INT64_MAX, INT64_MIN } from '#lib/contract/money.ts'
import { Duplicate } from '#lib/platform/store/errors.ts'
import { counterOf, type IncrementPlan, sumOf } from '#lib/platform/store/increment.ts'
import { keyText } from '#lib/platform/store/layout.ts'
import type { Incremented } from '#lib/platform/store/port.ts'
import type { Deadline } from './calls.ts'
import type { Condition, MongoCollection } from './documents.ts'
import { duplicateIndexName, isDuplicate } from './failures.ts'
import { keyFilter, liveFilter } from './filters.ts'
import { isLive, removeExpired } from './insert-unique.ts'

/**
 * Adds to a counter without ever passing its ceiling: the ceiling stands in the filter of the very update that adds.
 * A counter that is absent is inserted, and whoever loses the race to insert it updates after all; an upsert would
 * let both believe that they made it.
 */
export async function increment(target: MongoCollection, plan: IncrementPlan): Promise<Incremented> {
  const { documents, layout, calls } = target
  const limit = calls.deadline()
  const identity = keyFilter(layout, plan.key)
  while (true) {
    const added = await add(target, plan, limit)
    if (added !== undefined) return { ok: true, value: added }
    const standing = await calls.read(() => documents.findOne(identity), limit)
    if (standing !== null && !isLive(target, standing)) {
      await removeExpired(target, standing, limit)
      continue
    }
    const sum = sumOf(plan, standing?.[plan.field])
    if (!sum.ok) return sum
    if (standing === null && (await create(target, plan, sum.value, limit))) return sum
    // Somebody changed the counter, or made it, between our steps.
    await limit.pause()
  }
}

/** The value after adding, or `undefined` when there is no counter that could take it. */
async function add(
  { documents, layout, calls }: MongoCollection,
  plan: IncrementPlan,
  limit: Deadline,
): Promise<bigint | undefined> {
  const { key, field, by } = plan
  const room = roomFor(plan)
  if (room === undefined) return undefined
  const filter = { ...keyFilter(layout, key), ...room, ...liveFilter(layout) }
  const change = { $inc: { [field]: by, version: 1 } }
  const after = await calls.write(
    () => documents.findOneAndUpdate(filter, change, { returnDocument: 'after' }),
    limit,
  )
  return after === null ? undefined : counterOf(plan, after[field])
}

/** Which counters can take the sum, within the ceiling and 64 bits; `undefined` when none could. */
function roomFor({ field, by, max }: IncrementPlan): Condition | undefined {
  // biome-ignore lint/complexity/useMathMinMax: Math.min takes no bigint
  const most = max - by < INT64_MAX ? max - by : INT64_MAX
  const least = by < 0n ? INT64_MIN - by : INT64_MIN
  if (most < least) return undefined
  const room = { [field]: { $gte: least, $lte: most } }
  return by <= max ? { $or: [room, { [field]: { $exists: false } }] } : room
}

/** Whether the counter was made here; somebody else may have been faster. */
async function create(
  { documents, layout, calls }: MongoCollection,
  { created, field }: IncrementPlan,
  value: bigint,
  limit: Deadline,
): Promise<boolean> {
  const document = { ...created, [field]: value, version: 1, _id: keyText(layout, created) }
  try {
    await calls.write(() => documents.insertOne(document), limit)
    return true
  } catch (error) {
    if (!isDuplicate(error)) throw error
    const index = duplicateIndexName(error, layout) ?? layout.identity.name
    if (index !== layout.identity.name) throw new Duplicate(layout.name, index)
    return false
  }
}
