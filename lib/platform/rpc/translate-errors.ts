import { Code, ConnectError } from '@connectrpc/connect'
import { type ErrorDetail, ErrorDetailSchema } from '#gen/multihub/common/v1/error_pb.ts'
import { ERROR_TABLE, isErrorCode } from '#lib/contract/errors/error-table.ts'
import { type ErrorInfo, PublicError, type PublicErrorOptions } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'

/** Details travel in the trailers of an RPC, whose size a peer bounds; what is longer is left out. */
const INFO_MAX_LENGTH = 8192

/** RPC codes that say "not now" when no code of the table came with them: nobody there, or no answer in time. */
const NOT_NOW: readonly Code[] = [Code.Unavailable, Code.DeadlineExceeded, Code.Canceled]

/**
 * What a caller may see of anything that was thrown. A dependency that is away is 2002; whatever else is no
 * `PublicError` is a fault and shows as 2001 (E7), a `ConnectError` included: it is an answer to us, not from us.
 */
export function toPublicError(error: unknown): PublicError {
  if (error instanceof PublicError) return error
  return new PublicError(error instanceof Unavailable ? 2002 : 2001, { cause: error })
}

/** The same as an RPC status with the code of the table as a typed detail. It holds no cause. */
export function toConnectError(error: unknown): ConnectError {
  const { code, message, details, context, http } = toPublicError(error)
  const value = { code, detailsJson: toJson(details), contextJson: toJson(context), httpStatus: http }
  return new ConnectError(message, Code[ERROR_TABLE[code].rpc], undefined, [
    { desc: ErrorDetailSchema, value },
  ])
}

/**
 * What an RPC failed with, as its caller meets it: the very `PublicError` that the other side raised, or 2002 when
 * the other side cannot be reached or did not answer in time, else 2001. The status is kept as the cause, for the log.
 */
export function fromConnectError(error: unknown): PublicError {
  if (!(error instanceof ConnectError)) return toPublicError(error)
  const [detail] = error.findDetails(ErrorDetailSchema)
  if (detail !== undefined) return fromDetail(detail, error)
  return new PublicError(NOT_NOW.includes(error.code) ? 2002 : 2001, { cause: error })
}

function fromDetail(detail: ErrorDetail, cause: ConnectError): PublicError {
  // A newer process may know codes that this one does not: its answer must not pass for one that we understand.
  if (!isErrorCode(detail.code)) return new PublicError(2001, { cause })
  const details = fromJson(detail.detailsJson)
  const context = fromJson(detail.contextJson)
  const options: PublicErrorOptions = {
    cause,
    ...(details === undefined ? {} : { details }),
    ...(context === undefined ? {} : { context }),
    ...(isHttpError(detail.httpStatus) ? { http: detail.httpStatus } : {}),
  }
  return new PublicError(detail.code, options)
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
    // The code says what happened; a description that cannot be written is none.
    return ''
  }
}

function fromJson(text: string): ErrorInfo | undefined {
  if (text === '' || text.length > INFO_MAX_LENGTH) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isErrorInfo(value) ? value : undefined
  } catch {
    // Nor one that cannot be read.
    return undefined
  }
}

function isErrorInfo(value: unknown): value is ErrorInfo {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
