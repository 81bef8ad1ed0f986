import { attachmentFinalize, attachmentGet, attachmentPrepare, attachmentStatus } from './attachments.ts'
import { balanceGet } from './balance-get.ts'
import { chargebackAttachmentsList, chargebackGet, chargebackList, chargebackSummary } from './chargebacks.ts'
import { paymentNotification, paymentStatus } from './existing-payments.ts'
import { gatewayPing } from './gateway-ping.ts'
import type { MethodDeps, MethodTable, PublicMethod } from './method.ts'
import { paymentIn, paymentOut } from './new-payments.ts'
import {
  refundCommentCreate,
  refundCommentsList,
  refundGet,
  refundList,
  refundRequest,
  refundSummary,
} from './refunds.ts'
import {
  ticketCommentCreate,
  ticketCommentsList,
  ticketCommentUpdate,
  ticketCreate,
  ticketDescriptionUpdate,
  ticketGet,
  ticketList,
  ticketReopen,
  ticketSummary,
} from './tickets.ts'
import { webhookResend } from './webhook-resend.ts'

/** The methods that a request envelope names in its field `method`, in the order of `METHODS`. */
export const ENVELOPE_METHODS: readonly PublicMethod[] = [
  paymentIn,
  paymentOut,
  paymentStatus,
  paymentNotification,
  balanceGet,
  gatewayPing,
  ticketCreate,
  ticketGet,
  ticketList,
  ticketSummary,
  ticketDescriptionUpdate,
  ticketReopen,
  ticketCommentCreate,
  ticketCommentsList,
  ticketCommentUpdate,
  refundRequest,
  refundGet,
  refundList,
  refundSummary,
  refundCommentCreate,
  refundCommentsList,
  chargebackGet,
  chargebackList,
  chargebackSummary,
  chargebackAttachmentsList,
  attachmentPrepare,
  attachmentFinalize,
  attachmentStatus,
  attachmentGet,
]

/** Every public method: the methods that a request envelope names, then the method of the resend path. */
export const PUBLIC_METHODS: readonly PublicMethod[] = [...ENVELOPE_METHODS, webhookResend]

/** The default quota of each method, in calls per minute (E10). A method that is not in it is unlimited. */
export const DEFAULT_QUOTAS: ReadonlyMap<string, number> = new Map(
  PUBLIC_METHODS.flatMap(({ name, default_quota }) =>
    default_quota === undefined ? [] : [[name, default_quota]],
  ),
)

/** Makes the methods of the request envelope callable, by name. */
export function bindMethods(deps: MethodDeps): MethodTable {
  return new Map(ENVELOPE_METHODS.map((method) => [method.name, method.bind(deps)]))
}
