import type { Message } from '@bufbuild/protobuf'
import { Code } from '@connectrpc/connect'
import { RpcStatusError } from '#lib/rpc/errors.ts'
import type { OperatorRpc } from '../domain/operator-rpcs.ts'
import type { Principal } from '../domain/principal.ts'
import { fieldsOf } from './message-fields.ts'

/** A call of an operator's RPC whose principal has a right for it. Its form was not checked. */
export interface OperatorCall {
  readonly rpc: OperatorRpc
  readonly principal: Principal
  readonly request: Message
  /** The reason that the principal gave (O4). */
  readonly reason: string | undefined
}

/**
 * Notes that something of an act is about to be sent or stored: an error without an answer leaves its outcome unknown from then on.
 * Returns the metadata that the owner may keep of the act.
 */
export type BeginSending = () => Readonly<Record<string, string>>

/** Carries out a call that changes something or reveals personal data. `run` calls `beginSending`, then the owner; or it throws before. */
export type Act = (
  call: OperatorCall,
  run: (beginSending: BeginSending) => Promise<Message>,
) => Promise<Message>

/**
 * Runs before the call of the owner: returns the result of `send`, or throws if the call needs a second person first (O5). The call of
 * an approval is sent with metadata that names it. A proposal is stored with the id of its act in the audit trail.
 */
export type SecondPerson = (
  call: OperatorCall,
  send: (metadata?: Readonly<Record<string, string>>) => Promise<Message>,
  beginSending: BeginSending,
) => Promise<Message>

/** Records a call that was refused for a missing right, before its message was read. Never rejects. */
export type RefusedCall = (rpc: OperatorRpc, principal: Principal, error: unknown) => Promise<void>

/** How a session begins: with what, for whom, and from where. */
export interface SignIn extends Pick<Principal, 'principal_id' | 'name' | 'merchant_id'> {
  readonly method: 'token' | 'open_id' | 'device'
  readonly address: string | undefined
}

/** Carries out a sign-in, which is an act too: what `run` changes of the principal is in its entry (O4). */
export type ActOfSignIn = <T>(sign_in: SignIn, run: () => Promise<T>) => Promise<T>

const REASON_HEADER = 'x-multihub-reason'
const REASON_MAX = 500

/** The reason of a call: its field `reason` where the RPC has one, otherwise the header; `malformed` for a wrong header. */
export function reasonOf(
  request: Message,
  headers: Pick<Headers, 'get'>,
): { readonly text: string } | 'malformed' | undefined {
  const { reason } = fieldsOf(request)
  if (typeof reason === 'string') return reason === '' ? undefined : { text: reason }
  const header = headers.get(REASON_HEADER)
  if (header === null) return undefined
  const text = decode(header)
  const length = text === undefined ? 0 : [...text].length
  return text !== undefined && length >= 1 && length <= REASON_MAX ? { text } : 'malformed'
}

/** The refusal of a malformed reason. */
export function wrongReason(): RpcStatusError {
  return new RpcStatusError(
    Code.InvalidArgument,
    `the header ${REASON_HEADER} has percent-encoded UTF-8 of 1 to ${REASON_MAX} characters`,
  )
}

function decode(header: string): string | undefined {
  try {
    const text = decodeURIComponent(header)
    return /^[\x20-\x7e]*$/.test(header) && !text.includes('\0') ? text : undefined
  } catch {
    return undefined
  }
}
