import { Code, ConnectError } from '@connectrpc/connect'
import { findTrailerError, setTrailerStatus } from '@connectrpc/connect/protocol-grpc'
import { Metadata, type ServiceError, type StatusObject } from '@grpc/grpc-js'
import { type ErrorDetail, ErrorDetailSchema } from '#gen/multihub/common/v1/error_pb.ts'
import { ERROR_TABLE, isErrorCode } from '#lib/contract/errors/error-table.ts'
import { type ErrorInfo, PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'

const DETAILS = 'grpc-status-details-bin'

/** Converts an error for a grpc-js server. Typed details become a `google.rpc.Status` in the trailers. */
export function toGrpcStatus(error: ConnectError): StatusObject {
  const metadata = new Metadata()
  error.metadata.forEach((value, name) => {
    metadata.set(name, value)
  })
  const encoded = setTrailerStatus(new Headers(), error).get(DETAILS)
  if (encoded !== null) metadata.set(DETAILS, Buffer.from(encoded, 'base64'))
  return { code: Number(error.code), details: error.rawMessage, metadata }
}

/** Converts the error of a grpc-js client to a `ConnectError` with its typed details, if they can be decoded. */
export function fromGrpcStatus({ code, details, metadata }: ServiceError): ConnectError {
  const [encoded] = metadata.get(DETAILS)
  const status: Code = code in Code ? Number(code) : Code.Unknown
  if (encoded instanceof Buffer) {
    try {
      const found = findTrailerError(new Headers({ [DETAILS]: encoded.toString('base64') }))
      if (found !== undefined) return found
    } catch {
      // Details that cannot be decoded are dropped; the plain status is still there.
    }
  }
  return new ConnectError(details, status)
}

/** The longest details. They travel in the trailers of an RPC, whose size peers limit; longer ones are left out. */
const INFO_MAX_LENGTH = 8192

/** RPC codes that mean "unavailable" when they come without a code of the error table. */
const UNAVAILABLE_CODES: readonly Code[] = [Code.Unavailable, Code.DeadlineExceeded, Code.Canceled]

/**
 * Converts any error to an error that a caller may see. An unavailable dependency becomes 2002. Every other error that is
 * not a `PublicError` is a fault and becomes 2001 (E7), also a `ConnectError`: it is the response to a call of ours, and
 * not meant for our caller.
 */
export function toPublicError(error: unknown): PublicError {
  if (error instanceof PublicError) return error
  return new PublicError(error instanceof Unavailable ? 2002 : 2001, { cause: error })
}

/** Converts any error to an RPC status with the code of the error table as a typed detail, and without a cause. */
export function toConnectError(error: unknown): ConnectError {
  const shown = toPublicError(error)
  return new ConnectError(shown.message, Code[ERROR_TABLE[shown.code].rpc], undefined, [typedDetail(shown)])
}

function typedDetail({ code, details, context, http }: PublicError) {
  const value = { code, detailsJson: toJson(details), contextJson: toJson(context), httpStatus: http }
  return { desc: ErrorDetailSchema, value }
}

/**
 * Converts the error of an RPC for its caller: to the `PublicError` that the other side threw, to 2002 when the other side
 * could not be reached or did not respond in time, otherwise to 2001. The status becomes the cause, for the log.
 */
export function fromConnectError(error: unknown): PublicError {
  if (!(error instanceof ConnectError)) return toPublicError(error)
  const [detail] = error.findDetails(ErrorDetailSchema)
  if (detail !== undefined) return fromDetail(detail, error)
  return new PublicError(UNAVAILABLE_CODES.includes(error.code) ? 2002 : 2001, { cause: error })
}

/**
 * Whether an error is a fault or an outage that another role has answered. That role has logged the cause, under the same request id, so
 * another line would only repeat it. A refusal it has not logged, also one whose code this release does not know and takes for a fault.
 */
export function isLoggedByItsOwner({ cause }: PublicError): boolean {
  if (!(cause instanceof ConnectError)) return false
  return cause.findDetails(ErrorDetailSchema).some(({ code }) => code === 2001 || code === 2002)
}

function fromDetail(detail: ErrorDetail, cause: ConnectError): PublicError {
  // A newer process may use codes that this one does not know; they become 2001.
  if (!isErrorCode(detail.code)) return new PublicError(2001, { cause })
  return new PublicError(detail.code, {
    cause,
    details: fromJson(detail.detailsJson),
    context: fromJson(detail.contextJson),
    http: isHttpError(detail.httpStatus) ? detail.httpStatus : undefined,
  })
}

function isHttpError(status: number): boolean {
  return status >= 400 && status <= 599
}

function toJson(info: ErrorInfo | undefined): string {
  if (info === undefined) return ''
  try {
    const text = JSON.stringify(info, (_key, value: unknown) =>
      typeof value === 'bigint' ? `${value}` : value,
    )
    return text.length > INFO_MAX_LENGTH ? '' : text
  } catch {
    // The code is enough; details that cannot be encoded are left out.
    return ''
  }
}

function fromJson(text: string): ErrorInfo | undefined {
  if (text === '' || text.length > INFO_MAX_LENGTH) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isErrorInfo(value) ? value : undefined
  } catch {
    // Details that cannot be decoded are left out too.
    return undefined
  }
}

function isErrorInfo(value: unknown): value is ErrorInfo {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * A call that is refused with an RPC status instead of a code of the public error table. The cause is the program or
 * configuration of the caller, so a merchant must not see it, for example as 3000. The back office adds the `detail` of an
 * owner's refusal, whose RPC status would mislead an operator.
 */
export class RpcStatusError extends Error {
  override readonly name = 'RpcStatusError'
  readonly status: Code
  readonly detail: PublicError | undefined

  constructor(status: Code, message: string, detail?: PublicError) {
    super(message)
    this.status = status
    this.detail = detail
  }
}

/** Converts any error of a call to the status that its caller may see. */
export function toCallerError(error: unknown): ConnectError {
  if (!(error instanceof RpcStatusError)) return toConnectError(error)
  const { message, status, detail } = error
  return new ConnectError(message, status, undefined, detail && [typedDetail(detail)])
}
