import { create } from '@bufbuild/protobuf'
import type { Client } from '@connectrpc/connect'
import {
  type ListenToCallbacksRequest,
  type ListenToCallbacksResponse,
  ListenToCallbacksResponseSchema,
} from '#gen/multihub/backoffice/v1/callback_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import type { Merchant } from '#gen/multihub/merchants/v1/merchant_pb.ts'
import type { ListenerService, PulledDelivery } from '#gen/multihub/notifier/v1/listener_service_pb.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { PAYMENT_EVENTS, SUPPORT_EVENTS } from '#lib/contract/events.ts'
import { requiredId } from '#lib/contract/operator-fields.ts'

/** The owners of what a listening developer sees. */
export interface ListenDeps {
  /** Throws NOT_FOUND. */
  readonly getMerchant: (merchant_id: string) => Promise<Pick<Merchant, 'environments'> | undefined>
  readonly notifier: Client<typeof ListenerService>
}

/** Each body has up to 256 KiB, so that a message stays far below 4 MiB. */
const PAGE = 8
const EVENTS: readonly string[] = [...PAYMENT_EVENTS, ...SUPPORT_EVENTS]

/** Reads the callbacks of the test environment of a merchant, from a cursor or from now on. */
export async function listenToCallbacks(
  { getMerchant, notifier }: ListenDeps,
  { merchantId, events, sinceCursor }: ListenToCallbacksRequest,
) {
  const merchant_id = requiredId(merchantId, 'merchant_id')
  for (const [index, event] of events.entries())
    if (!EVENTS.includes(event)) throw fieldError(9000, `events.${index}`, `one of ${EVENTS.join(', ')}`)
  const merchant = await getMerchant(merchant_id)
  if (!merchant?.environments.includes(Environment.TEST))
    throw fieldError(9000, 'merchant_id', 'a merchant with a test environment')
  const { secret, cursor: end } = await notifier.openListener({ merchantId: merchant_id })
  let cursor = sinceCursor === '' ? end : sinceCursor
  const pull = () => notifier.pullDeliveries({ merchantId: merchant_id, afterCursor: cursor, pageSize: PAGE })
  // A cursor that is not kept any more is refused before the stream begins.
  if (sinceCursor !== '') await pull()
  const isWanted = ({ event, body }: PulledDelivery): boolean =>
    body !== undefined && (events.length === 0 || events.includes(event))
  const message = (fields: { deliveries?: PulledDelivery[]; secret?: string } = {}) =>
    create(ListenToCallbacksResponseSchema, { ...fields, cursor })

  return {
    first: message({ secret }),
    empty: () => message(),
    /** The next callbacks that are wanted. */
    async poll(): Promise<ListenToCallbacksResponse | undefined> {
      for (;;) {
        const { deliveries } = await pull()
        cursor = deliveries.at(-1)?.cursor ?? cursor
        const wanted = deliveries.filter(isWanted)
        if (wanted.length > 0) return message({ deliveries: wanted })
        if (deliveries.length < PAGE) return undefined
      }
    },
  }
}
