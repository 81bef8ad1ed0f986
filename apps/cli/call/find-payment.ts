import { create, type DescMethodUnary } from '@bufbuild/protobuf'
import { timestampDate, timestampFromMs } from '@bufbuild/protobuf/wkt'
import { SearchRequestSchema, SearchService } from '#gen/multihub/backoffice/v1/search_service_pb.ts'
import type { Reference } from '#gen/multihub/common/v1/reference_pb.ts'
import { cleanText } from '#lib/contract/clean-text.ts'
import { CommandError } from '../terminal.ts'
import type { Connection } from './connection.ts'

/** The most references that are read for one identifier. */
const FOUND_MAX = 25

/** A request is looked for from this time before to this time after it. */
const AROUND_MS = 2_000

/** The form of a payment_id; ids of other resources have it too. */
const PAYMENT_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The code of the error table for a payment that does not exist. */
const NO_PAYMENT = 6010

/**
 * Calls with the payment that an identifier names. A search runs only when no payment has this payment_id. Throws as `findPayment`
 * does.
 */
export async function byAnyId<T>(
  connection: Connection,
  text: string,
  command: string,
  call: (payment_id: string) => Promise<T>,
): Promise<T> {
  if (PAYMENT_ID.test(text)) {
    try {
      return await call(text)
    } catch (error) {
      if (!(error instanceof CommandError) || error.error_code !== NO_PAYMENT) throw error
    }
  }
  return call(await findPayment(connection, text, command))
}

/**
 * Finds the payment that an identifier names: its own (payment_id, h_id, c_id, p_id, UTR), or the one of a refund, chargeback, ticket,
 * delivery, anomaly or request. Throws `CommandError` 1 when there is none, and 2 with the choice when there are several.
 *
 * @param command what the person repeats with one of several, such as `timeline`
 */
async function findPayment(connection: Connection, text: string, command: string): Promise<string> {
  const references = await search(connection, text)
  if (references.length === 0) throw new CommandError(1, `nothing has the identifier ${cleanText(text)}`)
  const [only, ...more] = await paymentsIn(connection, references)
  if (only === undefined) throw notOfPayment(text, references[0])
  if (more.length === 0) return only.id
  const lines = [only, ...more].map(
    ({ id, merchantId, title }) =>
      `  multihub ${command} ${id}   merchant ${cleanText(merchantId)}, ${cleanText(title)}`,
  )
  throw new CommandError(
    2,
    [`${cleanText(text)} names ${lines.length} payments; choose one:`, ...lines].join('\n'),
  )
}

async function search(connection: Connection, text: string): Promise<readonly Reference[]> {
  const answer = await connection.call(
    SearchService.method.search,
    create(SearchRequestSchema, { text, pageSize: FOUND_MAX }),
  )
  if (answer.references.length === 0 && answer.unavailable.length > 0)
    throw new CommandError(3, `nothing found, but ${answer.unavailable.join(', ')} could not be asked`)
  return answer.references
}

/** The payments among the references; if there are none, the payments that the references belong to, each once. */
async function paymentsIn(
  connection: Connection,
  references: readonly Reference[],
): Promise<readonly Reference[]> {
  const payments = references.filter(({ kind }) => kind === 'payment')
  if (payments.length > 0) return payments
  const found = new Map<string, Reference>()
  for (const reference of references) {
    if (reference.kind === 'exchange')
      for (const one of await paymentsOfRequest(connection, reference)) found.set(one.id, one)
    const id = await OWNERS[reference.kind]?.(connection, reference.id)
    if (id === undefined || id === '') continue
    // A callback can be about a refund, chargeback or ticket.
    const owners =
      reference.kind === 'delivery'
        ? await paymentsIn(connection, await search(connection, id))
        : [{ ...reference, id }]
    for (const one of owners) found.set(one.id, one)
  }
  return [...found.values()]
}

/** A request names its payment by the c_id. */
async function paymentsOfRequest(
  connection: Connection,
  { id, merchantId, time }: Reference,
): Promise<readonly Reference[]> {
  const { ExchangeService, ListExchangesRequestSchema } = await import(
    '#gen/multihub/backoffice/v1/exchange_service_pb.ts'
  )
  const at_ms = time === undefined ? 0 : timestampDate(time).getTime()
  const request = create(ListExchangesRequestSchema, {
    merchantId,
    createdFrom: timestampFromMs(at_ms - AROUND_MS),
    createdTo: timestampFromMs(at_ms + AROUND_MS),
    pageSize: 1_000,
  })
  const { exchanges } = await connection.call(ExchangeService.method.listExchanges, request)
  const c_id = exchanges.find(({ requestId }) => requestId === id)?.cId ?? ''
  if (c_id === '') return []
  return (await search(connection, c_id)).filter(
    (one) => one.kind === 'payment' && one.merchantId === merchantId,
  )
}

type ReadOwner = (connection: Connection, id: string) => Promise<string | undefined>

/** How the payment of each kind of resource is read. The code of a service is loaded when one of its resources was found. */
const OWNERS: Readonly<Record<string, ReadOwner>> = {
  refund: async (connection, id) => {
    const { RefundService } = await import('#gen/multihub/support/v1/refund_service_pb.ts')
    return read(connection, RefundService.method.getRefund, 'refund', id)
  },
  chargeback: async (connection, id) => {
    const { ChargebackService } = await import('#gen/multihub/support/v1/chargeback_service_pb.ts')
    return read(connection, ChargebackService.method.getChargeback, 'chargeback', id)
  },
  ticket: async (connection, id) => {
    const { TicketService } = await import('#gen/multihub/support/v1/ticket_service_pb.ts')
    return read(connection, TicketService.method.getTicket, 'ticket', id)
  },
  delivery: async (connection, id) => {
    const { DeliveryService } = await import('#gen/multihub/notifier/v1/delivery_service_pb.ts')
    return read(connection, DeliveryService.method.getDelivery, 'delivery', id)
  },
  anomaly: async (connection, id) => {
    const { PaymentService } = await import('#gen/multihub/payments/v1/payment_service_pb.ts')
    return read(connection, PaymentService.method.getAnomaly, 'anomaly', id)
  },
}

async function read(
  connection: Connection,
  method: DescMethodUnary,
  kind: string,
  id: string,
): Promise<string | undefined> {
  const request = create(method.input)
  Reflect.set(request, `${kind}Id`, id)
  const answer = await connection.call(method, request)
  const thing: { readonly paymentId?: string } | undefined = Reflect.get(answer, kind)
  return thing?.paymentId
}

function notOfPayment(text: string, reference: Reference | undefined): CommandError {
  const { kind = '', title = '', id = '' } = reference ?? {}
  const see = { merchant: 'merchants show', application: 'credentials show' }[kind]
  return new CommandError(
    1,
    `${cleanText(text)} is not a payment and does not belong to one: ${kind.replaceAll('_', ' ')}, ${cleanText(title)}${
      see === undefined ? '' : `\nmultihub ${see} ${id}`
    }`,
  )
}
