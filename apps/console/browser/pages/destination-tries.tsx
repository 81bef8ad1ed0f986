import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { ReactNode } from 'react'
import type { Attempt } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import type { Destination } from '#gen/multihub/notifier/v1/destination_pb.ts'
import { durationText } from '#lib/contract/shown-values.ts'
import { percentileOf, type Try } from '../../values/payment-rows.ts'
import { useRpc } from '../call/use-rpc.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import { PageLink } from '../parts/text.tsx'
import { Tries } from '../parts/tries.tsx'

const TRIES_MAX = 50
/** Among so many of the newest callbacks of the merchant the tries are looked for. */
const DELIVERIES_MAX = 100
const EVERY_MS = 5_000

/** The tries of a delivery, oldest first. */
export function triesOf(attempts: readonly Attempt[]): readonly Try[] {
  return attempts.map(({ number, startTime, durationMs, httpStatus, failure }) => ({
    number,
    at_ms: startTime === undefined ? 0 : timestampMs(startTime),
    duration_ms: durationMs,
    http_status: httpStatus,
    failure,
  }))
}

/** The last tries at a receiver, and how long its answers take. */
export function DestinationTries({
  destination: { destinationKey, merchantId, endpointId },
}: {
  readonly destination: Destination
}): ReactNode {
  const { listDeliveries } = DeliveryService.method
  const waiting = useRpc(listDeliveries, { destinationKey, pageSize: TRIES_MAX }, { every_ms: EVERY_MS })
  const newest = useRpc(
    listDeliveries,
    { merchantId, endpointId, pageSize: DELIVERIES_MAX },
    { every_ms: EVERY_MS },
  )
  const error = waiting.error ?? newest.error
  if (waiting.data === undefined || newest.data === undefined) return error && <ProblemNote error={error} />
  const own = newest.data.deliveries.filter((delivery) => delivery.destinationKey === destinationKey)
  const deliveries = new Map([...waiting.data.deliveries, ...own].map((one) => [one.deliveryId, one]))
  const tries = [...deliveries.values()]
    .flatMap(({ attempts }) => triesOf(attempts))
    .sort((a, b) => a.at_ms - b.at_ms)
    .slice(-TRIES_MAX)
  const answered = tries.filter(({ http_status }) => http_status > 0)
  const words = (share: number): string => {
    const duration_ms = percentileOf(answered, share)
    return duration_ms === undefined ? '–' : durationText(duration_ms)
  }
  return (
    <>
      <h3>The last {tries.length} tries</h3>
      <Tries tries={tries} />
      <p>
        answers: half within {words(0.5)}, 99 % within {words(0.99)};{' '}
        <PageLink to={{ path: '/deliveries', search: { q: `destination:${destinationKey}` } }}>
          callbacks that wait
        </PageLink>
      </p>
    </>
  )
}
