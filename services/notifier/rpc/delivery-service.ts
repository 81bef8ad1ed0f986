import type { MerchantEvent } from '#gen/multihub/events/v1/event_pb.ts'
import {
  DeliveryService,
  type ListDeliveriesRequest,
  ListDeliveriesRequestSchema,
  type ReplayDeliveryRequest,
} from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { currentRequest } from '#lib/base/context.ts'
import type { PersonSealer } from '#lib/base/crypto/person-seal.ts'
import { createKeyedCount } from '#lib/base/limit.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { isKeyOfEvent, PAYMENT_EVENTS, SUPPORT_EVENTS } from '#lib/contract/events.ts'
import { checkLine, requiredId } from '#lib/contract/operator-fields.ts'
import { requiredMessage } from '#lib/contract/proto-fields.ts'
import { openEvent } from '#lib/patterns/sealed-event.ts'
import { mayReveal } from '#lib/rpc/reveal.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { log } from '#lib/telemetry/log.ts'
import { placeOfResponse } from '../domain/delivery.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import type { Deliveries } from '../store/deliveries.ts'
import type { Destinations } from '../store/notifier-store.ts'
import { getDelivery, listDeliveries } from '../use-cases/list-deliveries.ts'
import {
  getDestination,
  type ListDestinationsDeps,
  listDestinations,
} from '../use-cases/list-destinations.ts'
import { type ProbeDestinationDeps, probeDestination } from '../use-cases/probe-destination.ts'
import {
  type ReceiveEventDeps,
  receiveEventByCall,
  type SendTestEventDeps,
  sendTestEvent,
} from '../use-cases/receive-event.ts'
import {
  getReplay,
  type ReplayDeliveriesDeps,
  replayDeliveries,
  replayDelivery,
} from '../use-cases/replay-deliveries.ts'
import { listTroubled, summarizeDeliveries } from '../use-cases/troubled-deliveries.ts'
import {
  DELIVERY_STATUSES,
  DELIVERY_TROUBLES,
  deliveryToProto,
  replayToProto,
  selectionFromProto,
} from './delivery-proto.ts'
import { DESTINATION_STATES, destinationToProto, PROBE_OUTCOMES } from './destination-proto.ts'

/** What the delivery service needs: the dependencies of its use cases. */
export interface DeliveryServiceDeps
  extends ReceiveEventDeps,
    ReplayDeliveriesDeps,
    ListDestinationsDeps,
    ProbeDestinationDeps,
    SendTestEventDeps {
  readonly deliveries: Deliveries
  readonly destinations: Destinations
  readonly pipeline: Pipeline
}

/** The events that each role publishes. A role that was taken over must not send those of another one (O10). */
const EVENTS_OF: Readonly<Record<string, readonly string[]>> = {
  payments: PAYMENT_EVENTS,
  support: SUPPORT_EVENTS,
}

/** How many events of one role the RPC receives at once; a further one is refused. The bus has a limit of its own. */
const RECEIVED_AT_ONCE_MAX = 256

/** The RPC interface of the notifier: other roles send events, the operator reads and replays deliveries. */
export function createDeliveryRpc(deps: DeliveryServiceDeps): RpcService {
  const { deliveries } = deps
  const receiving = createKeyedCount()
  return rpcService(DeliveryService, {
    receiveEvent: by(['payments', 'support'], async (request) => {
      const event = eventOfCaller(request.event, deps.person)
      const release = receiving.begin(currentRequest()?.caller ?? '', RECEIVED_AT_ONCE_MAX)
      if (release === undefined) throw new Unavailable(`more than ${RECEIVED_AT_ONCE_MAX} events at once`)
      try {
        return { deliveryIds: await receiveEventByCall(deps, event) }
      } finally {
        release()
      }
    }),
    listDeliveries: by(['backoffice', 'internal'], async (request) => {
      if (request.merchantId === '') return listTroubles(deliveries, request)
      refuseGiven(request, ['trouble', 'destination_key'], 'absent in a list of one merchant')
      const status = DELIVERY_STATUSES.optional(request.status, 'status')
      const filter = { ...selectionFromProto(request, ''), status }
      const page = await listDeliveries(deliveries, filter, request.pageSize, request.pageToken)
      return {
        deliveries: page.deliveries.map((delivery) => deliveryToProto(delivery)),
        nextPageToken: page.next_page_token,
      }
    }),
    getDelivery: by(['backoffice', 'internal'], async (request) => {
      const delivery_id = requiredId(request.deliveryId, 'delivery_id')
      const delivery = await getDelivery(deliveries, delivery_id)
      if (!mayReveal(request.reveal)) return { delivery: deliveryToProto(delivery) }
      const { merchant_id } = delivery
      log.info(
        { delivery_id, merchant_id },
        'the bodies of a callback and its responses were shown to the operator',
      )
      const openResponse = (sealed: Uint8Array): Uint8Array =>
        deps.person.open(sealed, merchant_id, placeOfResponse(delivery))
      const event = await deps.events.get({ merchant_id, event_key: delivery.event_key })
      return { delivery: deliveryToProto(delivery, openResponse), body: event?.body }
    }),
    replayDelivery: by(['backoffice'], async (request) => {
      const delivery_id = requiredId(request.deliveryId, 'delivery_id')
      return { delivery: deliveryToProto(await replayDelivery(deps, delivery_id, replayOptions(request))) }
    }),
    replayDeliveries: by(['backoffice'], async ({ filter, dryRun, ...options }) => {
      const selection = selectionFromProto(requiredMessage(filter, 'filter'), 'filter.')
      const replay = await replayDeliveries(deps, selection, dryRun, replayOptions(options))
      return { replay: replayToProto(replay) }
    }),
    getReplay: by(['backoffice', 'internal'], async (request) => {
      const replay_id = requiredId(request.replayId, 'replay_id')
      return { replay: replayToProto(await getReplay(deps, replay_id)) }
    }),
    listDestinations: by(['backoffice', 'internal'], async ({ state, ...page }) => {
      const wanted = DESTINATION_STATES.optional(state, 'state')
      const request = { page_size: page.pageSize, page_token: page.pageToken }
      const { destinations, next_page_token } = await listDestinations(deps, wanted, request)
      return { destinations: destinations.map(destinationToProto), nextPageToken: next_page_token }
    }),
    getDestination: by(['backoffice'], async (request) => {
      const destination_key = requiredId(request.destinationKey, 'destination_key')
      return { destination: destinationToProto(await getDestination(deps, destination_key)) }
    }),
    probeDestination: by(['backoffice'], async (request) => {
      const destination_key = requiredId(request.destinationKey, 'destination_key')
      const { shown, outcome } = await probeDestination(deps, destination_key)
      return { destination: destinationToProto(shown), outcome: PROBE_OUTCOMES.toProto(outcome) }
    }),
    sendTestEvent: by(['backoffice'], async (request) => {
      const endpoint_id = requiredId(request.endpointId, 'endpoint_id')
      const operation_id = checkLine(request.operationId, 'operation_id')
      return { deliveryId: await sendTestEvent(deps, endpoint_id, operation_id) }
    }),
    summarizeDeliveries: by(['backoffice', 'internal'], () => summarizeDeliveries(deps)),
  })
}

function replayOptions({
  queueAnyway,
  operationId,
}: Pick<ReplayDeliveryRequest, 'queueAnyway' | 'operationId'>) {
  return { is_anyway: queueAnyway, operation_id: checkLine(operationId, 'operation_id') }
}

/** Answers a list of all merchants. Throws 9000 for a filter that it does not have. */
async function listTroubles(deliveries: Deliveries, request: ListDeliveriesRequest) {
  const others = ['event', 'status', 'payment_id', 'endpoint_id', 'created_from', 'created_to']
  refuseGiven(request, others, 'absent in a list of all merchants: give merchant_id too')
  const filter = {
    environment: ENVIRONMENTS.optional(request.environment, 'environment'),
    trouble: DELIVERY_TROUBLES.optional(request.trouble, 'trouble'),
    destination_key: checkLine(request.destinationKey, 'destination_key') || undefined,
  }
  const requested = { page_size: request.pageSize, page_token: request.pageToken }
  const { items, next_page_token } = await listTroubled(deliveries, filter, requested)
  return { deliveries: items.map((delivery) => deliveryToProto(delivery)), nextPageToken: next_page_token }
}

/** Refuses with 9000 a field of a list that is given. */
function refuseGiven(request: ListDeliveriesRequest, names: readonly string[], expected: string): void {
  for (const { name, localName } of ListDeliveriesRequestSchema.fields)
    if (names.includes(name) && Reflect.get(request, localName)) throw fieldError(9000, name, expected)
}

/** The event of a request. Throws 1005 without one, and 9000 for one that cannot be read or that another role publishes. */
function eventOfCaller(bytes: Uint8Array, person: PersonSealer): MerchantEvent {
  if (bytes.length === 0) throw fieldError(1005, 'event')
  const event = opened(bytes, person)
  const caller = currentRequest()?.caller ?? ''
  if (!EVENTS_OF[caller]?.includes(event.event)) throw fieldError(9000, 'event', `an event of ${caller}`)
  if (!isKeyOfEvent(event.event, event.eventKey))
    throw fieldError(9000, 'event', `an event with a key of ${caller}`)
  return event
}

function opened(bytes: Uint8Array, person: PersonSealer): MerchantEvent {
  try {
    return openEvent(bytes, person)
  } catch {
    throw fieldError(9000, 'event', 'a MerchantEvent')
  }
}
