import type { Message } from '@bufbuild/protobuf'
import { Code } from '@connectrpc/connect'
import { currentRequest } from '#lib/base/context.ts'
import { clock } from '#lib/base/time.ts'
import { ERROR_TABLE } from '#lib/contract/errors/error-table.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { ROLES } from '#lib/role/role.ts'
import { RpcStatusError } from '#lib/rpc/errors.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import { isUnary, roleOf, type ServedMethod } from '#lib/rpc/service.ts'
import { CALL_TIMEOUT_MAX_MS } from '#lib/rpc/settings.ts'
import { OPERATOR_RPCS } from '../domain/operator-rpcs.ts'
import { notFound } from './not-found.ts'

/** Calls an owner's RPC. The deadline of the present request applies. Throws the refusal as the operator sees it. */
export type CallOwner = (
  method: ServedMethod,
  request: object,
  options?: {
    readonly headers?: Readonly<Record<string, string>>
    readonly signal?: AbortSignal
    readonly timeoutMs?: number
  },
) => Promise<Message>

type AnyClient = Readonly<Record<string, (request: object, options: object) => Promise<Message>>>

/** Creates the calls to the owners of the operator's RPCs, as the caller `backoffice`. */
export function createCallOwner(clientOf: ClientOf): CallOwner {
  // A stream has no owner: the door makes it of calls.
  const unary = OPERATOR_RPCS.map(({ method }) => method).filter(isUnary)
  const services = new Set(unary.map(({ parent }) => parent))
  // Each client has a function for each of its RPCs; which message it takes is known at run time only.
  const clients = new Map(
    Array.from(services, (service) => [service, clientOf(service) as unknown as AnyClient] as const),
  )
  return async (method, request, options = {}) => {
    const call = clients.get(method.parent)?.[method.localName]
    if (call === undefined) throw new TypeError(`there is no client of ${method.parent.typeName}`)
    try {
      return await call(request, { timeoutMs: CALL_TIMEOUT_MAX_MS, ...options })
    } catch (error) {
      throw refusalOf(error, roleOf(method.parent))
    }
  }
}

/** The refusal of an owner in the words of the operator. Code and typed detail stay. */
function refusalOf(error: unknown, role: string): unknown {
  if (!(error instanceof PublicError)) return error
  if (error.code === 2002) {
    const { deadline_ms = Number.POSITIVE_INFINITY } = currentRequest() ?? {}
    if (deadline_ms <= clock.monotonic_ms())
      return new RpcStatusError(Code.DeadlineExceeded, 'no response before the deadline', error)
    // The back office itself names the owner that it could not read.
    const { description } = error.details ?? {}
    const name = ROLES.find((one) => one === description) ?? role
    return new RpcStatusError(Code.Unavailable, `${name} is unavailable; try again`, error)
  }
  if (namesNothing(error)) return notFound(error)
  const { reason, description } = error.details ?? {}
  // A person must not have to decode the detail.
  return typeof reason === 'string' && description === undefined
    ? new RpcStatusError(Code[ERROR_TABLE[error.code].rpc], reason, error)
    : error
}

/** For merchants an unknown application is a failed authentication, and a wrong id or key an incorrect use; here both are NOT_FOUND. */
function namesNothing({ code, details }: PublicError): boolean {
  const path = details?.['description']
  return code === 3003 || (code === 1003 && typeof path === 'string' && /_(?:id|key)$/.test(path))
}
