import { Code, ConnectError } from '@connectrpc/connect'
import { ErrorDetailSchema } from '#gen/multihub/common/v1/error_pb.ts'

/** A failed call as a person reads it. */
export interface Problem {
  /** The number of the error table, or the word of the RPC status. */
  readonly code: string
  readonly message: string
  readonly next_step: string
  /** Names the request in the logs; empty when no answer came. */
  readonly request_id: string
  /** The approval that a second person must decide; empty for every other problem. */
  readonly approval_id: string
  /** The field of the request that is wrong, by its path; empty when the problem is no field. */
  readonly field: string
  /** What the field takes; empty where the message says all. */
  readonly wanted: string
}

const NEXT_STEPS: Partial<Record<Code, string>> = {
  [Code.Unauthenticated]: 'Sign in again.',
  [Code.PermissionDenied]: 'Ask an administrator for the right.',
  [Code.NotFound]: 'Check the id, or search for it.',
  [Code.InvalidArgument]: 'Correct the field that the message names.',
  [Code.FailedPrecondition]: 'Look at the present state: it does not permit this.',
  [Code.Unavailable]: 'Try again: a part of the system is away. A repeated act is done once.',
  [Code.DeadlineExceeded]: 'Try again. A repeated act is done once.',
  [Code.ResourceExhausted]: 'Wait a minute, then try again.',
}

/** Describes an error of a call: what failed, its code and request id, and what to do. */
export function problemOf(error: unknown): Problem {
  const failure = ConnectError.from(error)
  const [detail] = failure.findDetails(ErrorDetailSchema)
  const {
    approval_id = '',
    description = '',
    reason = '',
  } = detail?.detailsJson ? JSON.parse(detail.detailsJson) : {}
  return {
    code: detail === undefined ? words(Code[failure.code]) : String(detail.code),
    message: approval_id === '' ? failure.rawMessage : 'A second person must approve this',
    next_step:
      approval_id === ''
        ? (NEXT_STEPS[failure.code] ?? 'Report the request id to the people who run Multihub.')
        : 'Nothing has changed yet.',
    request_id: failure.metadata.get('x-request-id') ?? '',
    approval_id: String(approval_id),
    field: String(description),
    wanted: String(reason),
  }
}

/** The refusals after which nothing has changed. */
const DEFINITE: readonly Code[] = [
  Code.InvalidArgument,
  Code.NotFound,
  Code.AlreadyExists,
  Code.PermissionDenied,
  Code.Unauthenticated,
  Code.FailedPrecondition,
  Code.OutOfRange,
]

/** Whether a call may have been done, or is still to be done, although it failed. */
export function isUnclear(error: unknown): boolean {
  return !DEFINITE.includes(ConnectError.from(error).code) || problemOf(error).approval_id !== ''
}

/** Whether an error says that the session does not count any more. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof ConnectError && error.code === Code.Unauthenticated
}

function words(name: string | undefined): string {
  return (name ?? 'unknown').replaceAll(/(?!^)[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}
