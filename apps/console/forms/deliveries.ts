import { type Delivery, DeliveryStatus } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import { DeliveryService, ProbeOutcome } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { type Destination, DestinationState } from '#gen/multihub/notifier/v1/destination_pb.ts'
import type { Replay } from '#gen/multihub/notifier/v1/replay_pb.ts'
import { PAYMENT_EVENTS, SUPPORT_EVENTS } from '#lib/contract/events.ts'
import { type Act, act, type Running } from './act.ts'

/** What can be done with a callback. */
export const delivery_acts: readonly Act<Delivery>[] = [
  act({
    name: 'Send again',
    method: DeliveryService.method.replayDelivery,
    isOffered: ({ status }: Delivery) => status !== DeliveryStatus.PENDING,
    effects: ({ event, url }) => [
      `The callback ${event} is sent to ${url} again, with the same body and id.`,
      'A receiver that has it already gets it twice.',
    ],
    request: ({ deliveryId }) => ({ deliveryId }),
  }),
]

/** Waits until a replay has ended, and says how far it is. */
async function endOf(
  { call, progress, pause }: Pick<Running<unknown>, 'call' | 'progress' | 'pause'>,
  begun: Replay | undefined,
): Promise<Replay | undefined> {
  let replay = begun
  while (replay !== undefined && replay.endTime === undefined) {
    progress(`${replay.matched} found, ${replay.queued} queued…`)
    await pause()
    replay = (await call(DeliveryService.method.getReplay, { replayId: replay.replayId })).replay
  }
  return replay
}

/** Sends all dead callbacks that a filter selects again. */
export const replayDeliveries = act({
  name: 'Send many again',
  method: DeliveryService.method.replayDeliveries,
  effects: (_none: undefined) => [
    'All dead callbacks that fit are sent again, with the same bodies and ids. They are counted first.',
    'A receiver that has one already gets it twice. Those of receivers that are down are left out.',
  ],
  fields: () => [
    { name: 'filter.merchant_id', label: 'Merchant', help: 'Its id, such as 1001.' },
    { name: 'filter.environment', is_optional: true },
    {
      name: 'filter.event',
      kind: 'choice',
      choices: [...PAYMENT_EVENTS, ...SUPPORT_EVENTS],
      is_optional: true,
    },
    { name: 'filter.endpoint_id', is_rare: true, label: 'Endpoint' },
    { name: 'filter.payment_id', is_rare: true, label: 'Payment, refund, chargeback or ticket' },
    { name: 'filter.created_from', is_rare: true, label: 'Created from' },
    { name: 'filter.created_to', is_rare: true, label: 'Created before' },
  ],
  async preview({ replay }, running) {
    const counted = await endOf(running, replay)
    const count = counted?.matched ?? 0
    return {
      sentences: [`${count} dead callbacks fit and would be sent again. Nothing is sent yet.`],
      ...(count > 0 && { confirm: String(count) }),
    }
  },
  async run(running) {
    const answer = await running.call(DeliveryService.method.replayDeliveries, running.request)
    const replay = await endOf(running, answer.replay)
    return {
      sentences: [
        `${replay?.queued ?? 0} callbacks wait for their next try.`,
        ...(replay?.skipped ? [`${replay.skipped} were left out: their receivers are down.`] : []),
      ],
    }
  },
})

const PROBED: Partial<Record<ProbeOutcome, string>> = {
  [ProbeOutcome.SUCCEEDED]: 'The receiver took the callback: the others follow.',
  [ProbeOutcome.FAILED]: 'The callback failed: the receiver is still down.',
  [ProbeOutcome.ASKED]: 'The callback is under way. Its result is not known yet.',
  [ProbeOutcome.NOT_NEEDED]: 'The receiver is not down: nothing was sent.',
  [ProbeOutcome.NOTHING_WAITS]: 'No callback waits: the next one shows whether the receiver is there.',
}

/** What can be done with a receiver of callbacks. */
export const destination_acts: readonly Act<Destination>[] = [
  act({
    name: 'Probe now',
    method: DeliveryService.method.probeDestination,
    isOffered: ({ state }: Destination) => state !== DestinationState.CLOSED,
    effects: ({ origin, waitingCount }) => [
      `The oldest of ${waitingCount} waiting callbacks is sent to ${origin} now.`,
      'When it arrives, the others follow.',
    ],
    request: ({ destinationKey }) => ({ destinationKey }),
    outcome: ({ outcome }) => ({ sentences: [PROBED[outcome] ?? 'The receiver was asked.'] }),
  }),
]
