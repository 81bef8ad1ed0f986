import type { Message } from '@bufbuild/protobuf'
import { Code, createContextKey, type HandlerContext } from '@connectrpc/connect'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import type { Keyring } from '#lib/base/crypto/keyring.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { RpcStatusError, toCallerError } from '#lib/rpc/errors.ts'
import { PRINCIPAL_HEADER } from '#lib/rpc/principal.ts'
import { connection_caller_key, peer_key } from '#lib/rpc/server/connect-listener.ts'
import {
  type CallPolicy,
  createEndpointFactory,
  type RpcEndpoint,
  stream_key,
} from '#lib/rpc/server/dispatch.ts'
import { isUnary } from '#lib/rpc/service.ts'
import type { Log } from '#lib/telemetry/log.ts'
import { nameOfRpc, OPERATOR_RPCS, type OperatorRpc } from '../domain/operator-rpcs.ts'
import type { Principal } from '../domain/principal.ts'
import { hasRight, type Right } from '../domain/rights.ts'
import type { AuthenticatePrincipal } from './authenticate.ts'
import type { CallOwner } from './call-owner.ts'
import type { CallerAddresses } from './caller-address.ts'
import type { CountMerchantAct } from './merchant-acts.ts'
import { withinMerchant } from './merchant-scope.ts'
import { fieldsOf, idOf } from './message-fields.ts'
import {
  type Act,
  type BeginSending,
  type RefusedCall,
  reasonOf,
  type SecondPerson,
  wrongReason,
} from './operator-call.ts'
import { createPageTokens } from './page-tokens.ts'
import type { StreamCaller, Streams } from './streams.ts'
import { findUnknownField } from './unknown-fields.ts'

/** What the door needs. */
export interface DoorDeps {
  readonly authenticate: AuthenticatePrincipal
  readonly addressOf: CallerAddresses['addressOf']
  readonly callOwner: CallOwner
  readonly cursor: Keyring
  readonly act: Act
  readonly refused: RefusedCall
  readonly secondPerson: SecondPerson
  readonly countMerchantAct: CountMerchantAct
  readonly streams: Streams
  readonly log: Log
}

/** The principal of a call, once it is known. */
export const principal_key = createContextKey<Principal | undefined>(undefined)
const stream_caller_key = createContextKey<StreamCaller | undefined>(undefined)

/**
 * Creates the endpoints of the operator's RPCs. A call goes through these steps, each of which can refuse it: token, right of the
 * RPC (both before the message is read), form, further rights, reason, merchant of the principal, owner. What follows the right is
 * part of the act, so that its refusal is audited.
 */
export function createOperatorEndpoints(
  deps: DoorDeps,
  rpcs: readonly OperatorRpc[] = OPERATOR_RPCS,
): readonly RpcEndpoint[] {
  const createEndpoint = createEndpointFactory(deps.log)
  return rpcs.map((rpc) => createEndpoint(rpc.method, policyOf(rpc, deps), createForwarder(rpc, deps)))
}

/** Who may make a call, before its message is read (O14). */
function policyOf(rpc: OperatorRpc, { authenticate, addressOf, refused }: DoorDeps): CallPolicy {
  return {
    identify: ({ values }) => values?.get(principal_key)?.principal_id,
    isOutside: () => true,
    async check({ caller, header, values }) {
      const authorization = typeof caller === 'string' ? undefined : caller.authorization
      const address = addressOf(values?.get(peer_key) ?? '', header)
      const findPrincipal = async (): Promise<Principal> =>
        active(await authenticate({ authorization, header, address }))
      const principal = values?.get(principal_key) ?? (await findPrincipal())
      values?.set(principal_key, principal)
      values?.set(connection_caller_key, principal.merchant_id ?? principal.principal_id)
      values?.set(stream_caller_key, {
        principal_id: principal.principal_id,
        merchant_id: principal.merchant_id,
        checkAgain: async () => demandAccess(rpc, await findPrincipal()),
      })
      try {
        demandAccess(rpc, principal)
      } catch (error) {
        await refused(rpc, principal, error)
        throw error
      }
    },
  }
}

function active(principal: Principal | undefined): Principal {
  if (principal === undefined)
    throw new RpcStatusError(Code.Unauthenticated, 'the call has no token or session of an active principal')
  return principal
}

function demandAccess(rpc: OperatorRpc, principal: Principal): void {
  demandRight(rpc, principal, rpc.rights)
  if (principal.merchant_id !== undefined && rpc.merchant === undefined)
    throw new RpcStatusError(
      Code.PermissionDenied,
      `${nameOfRpc(rpc.method)} is closed to principals of merchants`,
    )
}

function demandRight({ method }: OperatorRpc, { rights }: Principal, needed: readonly Right[]): void {
  if (!hasRight(rights, needed))
    throw new RpcStatusError(
      Code.PermissionDenied,
      `${nameOfRpc(method)} needs the right ${needed.join(' or ')}`,
    )
}

/** The function that answers one RPC by its owner. */
function createForwarder(
  rpc: OperatorRpc,
  { callOwner, cursor, act, secondPerson, streams, countMerchantAct }: DoorDeps,
) {
  const { method } = rpc
  const page_tokens = createPageTokens(method, cursor)
  return async (given: Message, context: HandlerContext): Promise<Message> => {
    const principal = context.values.get(principal_key)
    if (principal === undefined) throw new TypeError('the call was not authenticated')
    const { merchant_id } = principal
    const is_act = rpc.changes || reveals(rpc, principal, given)
    const reason = reasonOf(given, context.requestHeader)
    const call = { rpc, principal, request: given, reason: reason === 'malformed' ? undefined : reason?.text }
    const run = async (beginSending: BeginSending): Promise<Message> => {
      checkForm(rpc, principal, given)
      if (reason === 'malformed') throw wrongReason()
      const request = rpc.is_booking ? await resolveBooking(given, callOwner) : given
      const sealToken = page_tokens?.open(request, principal.principal_id)
      const callUnary = (of_approval: Readonly<Record<string, string>> = {}): Promise<Message> => {
        const of_act = beginSending()
        return callOwner(method, request, {
          headers: { ...of_act, ...of_approval, [PRINCIPAL_HEADER]: principal.principal_id },
          // An act goes on when its caller has gone, so that its outcome becomes known.
          ...(is_act ? {} : { signal: context.signal }),
        })
      }
      const send = isUnary(method) ? callUnary : () => openStream(rpc, request, context, streams)
      const answer = await (merchant_id === undefined
        ? secondPerson({ ...call, request }, send, beginSending)
        : withinMerchant({ rpc, request, merchant_id }, callOwner, send))
      sealToken?.(answer)
      return answer
    }
    if (!is_act) return run(() => ({}))
    countMerchantAct(principal)
    return act(call, run)
  }
}

/**
 * Refuses a booking for a merchant that does not exist, whose ledger it would begin, and one under the payment of another merchant or
 * environment, whose timeline would not show it. Returns the request, in which a payment that was named by its `h_id` has the id of its
 * entries. A payment that is not known may be in the ledger all the same (O18).
 */
async function resolveBooking(request: Message, callOwner: CallOwner): Promise<Message> {
  await callOwner(MerchantService.method.getMerchant, { merchantId: idOf(request, 'merchantId') })
  const paymentId = idOf(request, 'paymentId')
  const payment = paymentId === '' ? undefined : await findPayment(paymentId, callOwner)
  if (payment === undefined) return request
  for (const field of ['merchantId', 'environment'])
    if (idOf(payment, field) !== idOf(request, field))
      throw fieldError(9000, 'payment_id', 'a payment of this merchant and environment')
  return Object.assign({ ...request }, { paymentId: idOf(payment, 'paymentId') })
}

async function findPayment(paymentId: string, callOwner: CallOwner): Promise<Message | undefined> {
  try {
    return fieldsOf(await callOwner(PaymentService.method.getPayment, { paymentId }))['payment'] as Message
  } catch (error) {
    if (toCallerError(error).code === Code.NotFound) return undefined
    throw error
  }
}

/** Opens a stream: leaves its messages in the context, and returns the first one. */
async function openStream(
  rpc: OperatorRpc,
  request: Message,
  { values }: HandlerContext,
  streams: Streams,
): Promise<Message> {
  const caller = values.get(stream_caller_key)
  if (caller === undefined) throw new TypeError('the call was not authenticated')
  const { first, messages } = await streams.open(rpc, request, caller)
  values.set(stream_key, messages)
  return first
}

/** Whether a call reveals personal data, as far as that shows before it. */
function reveals(rpc: OperatorRpc, { rights }: Principal, request: Message): boolean {
  if (rpc.reveals === true || fieldsOf(request)['reveal'] === true) return true
  return rpc.revealsTo?.(request) === true && hasRight(rights, ['reveal'])
}

/** Refuses what is wrong in a request for every RPC (O19), and what needs a further right (O14). */
function checkForm(rpc: OperatorRpc, principal: Principal, request: Message): void {
  const unknown = findUnknownField(rpc.method.input, request)
  if (unknown !== undefined)
    throw new RpcStatusError(Code.InvalidArgument, `the request has an unknown field: ${unknown}`)
  if (rpc.rightsOf !== undefined) demandRight(rpc, principal, rpc.rightsOf(request))
  if (fieldsOf(request)['reveal'] === true) demandRight(rpc, principal, ['reveal'])
}
