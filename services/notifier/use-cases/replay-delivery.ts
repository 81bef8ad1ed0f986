import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import type { Delivery } from '../domain/delivery.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import { findDelivery } from '../store/deliveries.ts'
import { type RequeueDeadDeps, requeueDead } from './requeue-dead.ts'

/** What replays need. */
export interface ReplayDeps extends RequeueDeadDeps {
  readonly pipeline: Pick<Pipeline, 'wake'>
}

/**
 * Queues one dead delivery again (N6), and returns it. One that waits already is returned as it is, so that a repetition
 * does no harm. Throws 1003 for an unknown delivery and 9000 for one that was delivered.
 */
export async function replayDelivery(deps: ReplayDeps, delivery_id: string): Promise<Delivery> {
  const found = await findDelivery(deps.deliveries, delivery_id)
  if (found === undefined) throw new PublicError(1003, { details: { description: 'delivery_id' } })
  if (found.status === 'delivered') throw fieldError(9000, 'delivery_id', 'a delivery that was not delivered')
  const queued = await requeueDead(deps, found)
  // Also when it was queued before: the process that queued it may have crashed before this.
  await deps.pipeline.wake(queued ?? found)
  return queued ?? found
}
