import { now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { endedByOperator, type Resumption, type ShardStop } from '../domain/shard-stop.ts'
import type { ShardStops } from '../store/shard-stops.ts'

/**
 * Ends the stop of a shard by a decision of the operator, who answers for what the verification found. A verification that finds the same
 * again does not stop the shard again; it goes on to report it. A repetition of the operation changes nothing, also after a later stop.
 * Throws 8801 for a shard that is not stopped, or by another stop than the operator has seen.
 */
export async function resumeShard(
  stops: Pick<ShardStops, 'update'>,
  shard: number,
  resumption: Resumption,
): Promise<ShardStop> {
  let is_stopped = true
  const stored = await stops.update(shard, (current) => {
    const ended = endedByOperator(current, resumption, now())
    is_stopped = ended !== 'not_stopped'
    return ended === 'not_stopped' || ended === current ? undefined : ended
  })
  if (!is_stopped || stored === undefined)
    throw new PublicError(8801, { details: { reason: `shard ${shard} is not stopped by this finding` } })
  return stored
}
