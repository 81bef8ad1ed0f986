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

/**
 * What a repetition of the failed call does: `read` changes nothing; `once` names its operation, so that the server does it once;
 * `again` can do it twice.
 */
export type Repetition = 'read' | 'once' | 'again'

const NEXT_STEPS: Partial<Record<Code, string>> = {
  [Code.Unauthenticated]: 'Sign in again.',
  [Code.PermissionDenied]: 'Ask an administrator for the right.',
  [Code.NotFound]: 'Check the id, or search for it.',
  [Code.InvalidArgument]: 'Correct the field that the message names.',
  [Code.FailedPrecondition]: 'Look at the present state: it does not permit this.',
  [Code.Unavailable]: 'Try again: a part of the system is away.',
  [Code.DeadlineExceeded]: 'Try again.',
  [Code.ResourceExhausted]: 'Wait a minute, then try again.',
}

const REPETITIONS: Readonly<Record<Repetition, string>> = {
  read: '',
  once: ' A repeated act is done once.',
  again: ' It may have been done: look before you repeat it.',
}

/** Describes an error of a call: what failed, its code and request id, and what to do. */
export function problemOf(error: unknown, repetition: Repetition = 'read'): Problem {
  const failure = ConnectError.from(error)
  const [detail] = failure.findDetails(ErrorDetailSchema)
  const {
    approval_id = '',
    description = '',
    reason = '',
  } = detail?.detailsJson ? JSON.parse(detail.detailsJson) : {}
  const request_id = failure.metadata.get('x-request-id') ?? ''
  return {
    code: detail === undefined ? words(Code[failure.code]) : String(detail.code),
    message: approval_id === '' ? failure.rawMessage : 'A second person must approve this',
    next_step: approval_id === '' ? nextStepOf(failure, repetition, request_id) : 'Nothing has changed yet.',
    request_id,
    approval_id: String(approval_id),
    field: String(description),
    wanted: String(reason),
  }
}

function nextStepOf({ code }: ConnectError, repetition: Repetition, request_id: string): string {
  const reported = request_id === '' ? 'what you did' : 'the request id'
  const step = NEXT_STEPS[code] ?? `Report ${reported} to the people who run Multihub.`
  if (DEFINITE.includes(code)) return step
  // "Try again" would contradict that a person must look first.
  return repetition === 'again' ? REPETITIONS.again.trim() : `${step}${REPETITIONS[repetition]}`
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

/** Whether an error says that a part of the system is away, so that the same call can be answered later. */
export function isAway(error: unknown): boolean {
  return error instanceof ConnectError && [Code.Unavailable, Code.DeadlineExceeded].includes(error.code)
}

/** The error of a call. `fetch` throws a `TypeError` when no answer came, which Connect does not know as unavailable. */
export function failureOf(error: unknown): ConnectError {
  const failure = ConnectError.from(error)
  return failure.code === Code.Unknown && failure.cause instanceof TypeError
    ? new ConnectError(
        'the back office does not answer',
        Code.Unavailable,
        undefined,
        undefined,
        failure.cause,
      )
    : failure
}

/** The RPC status of an answer of the back office by HTTP, also of a proxy before it that has no answer. */
export function codeOfHttp(status: number): Code {
  if (status === 401) return Code.Unauthenticated
  return status >= 502 && status <= 504 ? Code.Unavailable : Code.Unknown
}

function words(name: string | undefined): string {
  return (name ?? 'unknown').replaceAll(/(?!^)[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}
