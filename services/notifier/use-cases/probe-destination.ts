import { currentRequest } from '#lib/base/context.ts'
import { clock, sleep } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { isAsked } from '../domain/breaker.ts'
import type { Destination } from '../domain/destination.ts'
import { askForProbe } from '../pipeline/lease.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import type { Destinations } from '../store/notifier-store.ts'
import { type ListDestinationsDeps, type ShownDestination, showDestination } from './list-destinations.ts'

/** What a probe that is asked for needs. */
export interface ProbeDestinationDeps extends Omit<ListDestinationsDeps, 'destinations'> {
  readonly destinations: Destinations
  readonly pipeline: Pick<Pipeline, 'wake'>
  isStopping(): boolean
}

/** What asking for a probe came to. `not_needed`: the breaker was closed. */
export type ProbeOutcome = 'not_needed' | 'asked' | 'nothing_waits' | 'succeeded' | 'failed'

/** Less than a call may take. */
const ANSWER_MAX_MS = 8_000
/** What is left of a call's time for the answer. */
const ANSWER_LEFT_MS = 1_000
const LOOK_EVERY_MS = 250

/**
 * Asks for the probe of an open breaker now. The request is in the document of the destination, so that the owner of its lease finds
 * it with the next renewal, and the next owner if that one is lost. Answers the destination, and what the probe came to if that is
 * known in time. Throws 1003 for an unknown destination.
 */
export async function probeDestination(
  deps: ProbeDestinationDeps,
  destination_key: string,
): Promise<{ readonly shown: ShownDestination; readonly outcome: ProbeOutcome }> {
  const { destinations, pipeline, storeNow } = deps
  const asked = found(await askForProbe(destinations, destination_key, storeNow))
  if (asked.breaker.opened_at === undefined)
    return { shown: await showDestination(deps, asked), outcome: 'not_needed' }
  await pipeline.wake(asked)
  const shown = await showDestination(deps, asked)
  if (isAsked(asked.breaker) && shown.pending_count + shown.waiting_count === 0)
    return { shown, outcome: 'nothing_waits' }
  const after = await waitForResult(deps, asked)
  return { shown: await showDestination(deps, after), outcome: outcomeOf(after) }
}

async function waitForResult(deps: ProbeDestinationDeps, asked: Destination): Promise<Destination> {
  const { destination_key } = asked
  const deadline_ms = (currentRequest()?.deadline_ms ?? Number.POSITIVE_INFINITY) - ANSWER_LEFT_MS
  const end_ms = Math.min(clock.monotonic_ms() + ANSWER_MAX_MS, deadline_ms)
  let current = asked
  while (isAsked(current.breaker) && clock.monotonic_ms() < end_ms && !deps.isStopping()) {
    await sleep(LOOK_EVERY_MS)
    current = found(await deps.destinations.get({ destination_key }))
  }
  return current
}

function outcomeOf({ breaker }: Destination): ProbeOutcome {
  if (breaker.opened_at === undefined) return 'succeeded'
  return isAsked(breaker) ? 'asked' : 'failed'
}

function found<D extends Destination>(destination: D | undefined): D {
  if (destination === undefined) throw new PublicError(1003, { details: { description: 'destination_key' } })
  return destination
}
