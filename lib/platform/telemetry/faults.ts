import { isNativeError } from 'node:util/types'

/** An error as a log line shows it. */
export interface LoggedFault {
  readonly type: string
  readonly message: string
  readonly code?: string | number
  readonly stack?: string
  readonly cause?: LoggedFault
  readonly errors?: readonly LoggedFault[]
}

const MESSAGE_MAX = 2000
const STACK_MAX = 8000
const MASKED_MAX = 4 * STACK_MAX
const DEPTH_MAX = 5
const ERRORS_MAX = 3

/**
 * Everything between `://` and the last `@` of the same word: drivers put whole connection URIs into their messages. The
 * paths of stack frames are no such thing.
 */
const CREDENTIALS = /(?<!file):\/\/[^\s"'<>]*@/g

/** The text without the user and password of any URL in it, cut to `max` characters. */
export function maskText(text: string, max = MESSAGE_MAX): string {
  // Cut first, generously, so that the search is bounded; what the cut may have torn lies beyond the second one.
  const short = text.length > MASKED_MAX ? text.slice(0, MASKED_MAX) : text
  const masked = short.includes('://') ? short.replace(CREDENTIALS, '://[secret]@') : short
  return masked.length > max ? `${masked.slice(0, max)}...` : masked
}

/**
 * What the log shows of anything thrown: type, message, code, stack and the chain of causes, five deep. Other
 * properties of an error (a driver's command, a client's response) are left out: they can hold bodies and secrets.
 */
export function describeFault(error: unknown, depth = DEPTH_MAX): LoggedFault {
  if (!isError(error))
    return { type: typeof error, message: typeof error === 'object' ? '' : maskText(String(error)) }
  const code = 'code' in error ? error.code : undefined
  const errors = 'errors' in error && Array.isArray(error.errors) ? error.errors.slice(0, ERRORS_MAX) : []
  const deeper = depth > 1
  return {
    type: error.name,
    message: maskText(String(error.message)),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(error.stack === undefined ? {} : { stack: maskText(error.stack, STACK_MAX) }),
    ...(deeper && error.cause !== undefined ? { cause: describeFault(error.cause, depth - 1) } : {}),
    ...(deeper && errors.length > 0
      ? { errors: errors.map((inner) => describeFault(inner, depth - 1)) }
      : {}),
  }
}

/** Errors of another realm (a worker's, a test runner's) are errors too, which `instanceof` alone denies. */
function isError(value: unknown): value is Error {
  return value instanceof Error || isNativeError(value)
}
