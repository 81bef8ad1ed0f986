import { type DescMethodUnary, fromBinary, type Message } from '@bufbuild/protobuf'
import { PrincipalStatus } from '#gen/multihub/backoffice/v1/principal_pb.ts'
import { PrincipalService } from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { RefundStatus } from '#gen/multihub/payments/v1/refund_pb.ts'
import { ChargebackStatus } from '#gen/multihub/support/v1/chargeback_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { log } from '#lib/telemetry/log.ts'
import { nameOfRpc, type OperatorRpc } from '../domain/operator-rpcs.ts'
import type { CallOwner } from '../door/call-owner.ts'
import { fieldsOf } from '../door/message-fields.ts'
import type { Approval, MovedMoney } from './domain/approval.ts'

type Fields = Readonly<Record<string, unknown>>

/** What a call decides about: how it is read, and when nothing is left to decide. */
interface Subject {
  /** The RPC of the call. */
  readonly method: DescMethodUnary
  readonly find: DescMethodUnary
  /** The field of both requests that has the id, and the field of the answer. */
  readonly id: string
  readonly field: string
  /** Whether the call moves the amount of the subject, which never changes. */
  readonly has_amount: boolean
  /**
   * Whether the call would change nothing any more. With `has_amount` it never becomes false again: such a call needs no second person.
   */
  isOver(subject: Fields, request: Fields): boolean
}

/** The statuses in which a chargeback ends. */
const CHARGEBACK_ENDS: readonly unknown[] = [
  ChargebackStatus.WON,
  ChargebackStatus.LOST,
  ChargebackStatus.ACCEPTED,
]

const SUBJECTS: readonly Subject[] = [
  {
    method: RefundService.method.approveRefund,
    find: RefundService.method.getRefund,
    id: 'refundId',
    field: 'refund',
    has_amount: true,
    isOver: ({ status }) => status !== RefundStatus.PENDING,
  },
  {
    method: ChargebackService.method.moveChargeback,
    find: ChargebackService.method.getChargeback,
    id: 'chargebackId',
    field: 'chargeback',
    has_amount: true,
    isOver: ({ status }, request) => CHARGEBACK_ENDS.includes(status) || status === request['status'],
  },
  {
    method: PaymentService.method.resolveAnomaly,
    find: PaymentService.method.getAnomaly,
    id: 'anomalyId',
    field: 'anomaly',
    has_amount: false,
    isOver: ({ resolution }) => resolution !== undefined,
  },
  {
    method: PrincipalService.method.updatePrincipal,
    find: PrincipalService.method.getPrincipal,
    id: 'principalId',
    field: 'principal',
    has_amount: false,
    isOver: ({ status }) => status === PrincipalStatus.REVOKED,
  },
]

/** The back office asks in the background: an owner that answers later is asked again in a later sweep. */
const TIMEOUT_MS = 2_000

/**
 * What a call would move (O17): the amount of its request, or of the refund or chargeback that it names. A settlement has neither.
 * `undefined` for a request that moves nothing: the dismissal of an anomaly, and a decision about what is decided. Throws NOT_FOUND
 * and UNAVAILABLE of the owner.
 */
export async function findMovedMoney(
  { method, rightsOf }: OperatorRpc,
  request: Message,
  callOwner: CallOwner,
): Promise<MovedMoney | undefined> {
  if (rightsOf !== undefined && !rightsOf(request).includes('money')) return undefined
  const subject = SUBJECTS.find((one) => one.method === method)
  if (subject?.has_amount !== true) return moneyIn(request)
  const found = await read(subject, request, callOwner)
  return subject.isOver(fieldsOf(found), fieldsOf(request)) ? undefined : moneyIn(found)
}

/** Whether what a proposed call decides about has ended, so that the call would change nothing. `false` while its owner does not answer. */
export async function isSubjectOver(
  { rpc, request }: Pick<Approval, 'rpc' | 'request'>,
  callOwner: CallOwner,
): Promise<boolean> {
  const subject = SUBJECTS.find(({ method }) => nameOfRpc(method) === rpc)
  if (subject === undefined) return false
  try {
    const message = fromBinary(subject.method.input, request)
    const found = await read(subject, message, callOwner, TIMEOUT_MS)
    return subject.isOver(fieldsOf(found), fieldsOf(message))
  } catch (error) {
    log.debug({ error }, 'it is not known yet whether an approval is still needed')
    return false
  }
}

async function read(
  { find, id, field }: Subject,
  request: Message,
  callOwner: CallOwner,
  timeoutMs?: number,
): Promise<Message> {
  const named = { [id]: fieldsOf(request)[id] }
  const answer = await callOwner(find, named, timeoutMs === undefined ? {} : { timeoutMs })
  // The owner refuses an id that nothing has.
  return fieldsOf(answer)[field] as Message
}

function moneyIn(message: Message): MovedMoney {
  const { amount, currency } = fieldsOf(message)
  const money = typeof amount === 'object' && amount !== null ? fieldsOf(amount as Message) : {}
  const { minor } = money
  const code = money['currency'] ?? currency
  return {
    minor: typeof minor === 'bigint' ? minor : undefined,
    currency: typeof code === 'string' && code !== '' ? code : undefined,
  }
}
