import { isNativeError } from 'node:util/types'

interface LoggedFault {
  readonly type: string
  readonly message: string
  readonly code?: string | number | undefined
  readonly stack?: string | undefined
  readonly cause?: LoggedFault | undefined
  readonly errors?: readonly LoggedFault[] | undefined
}

const MESSAGE_MAX = 2000
const STACK_MAX = 8000
const MASKED_MAX = 4 * STACK_MAX
const REASON_MAX = 300
const DEPTH_MAX = 5
const ERRORS_MAX = 3

/**
 * The user and password of a URL: everything between `://` and the last `@` of the same word. Drivers put whole
 * connection URIs into their messages. The `file://` paths of stack frames are left alone.
 */
const CREDENTIALS = /(?<!file):\/\/[^\s"'<>]*@/g

/** Masks the user and password of every URL in a text, and cuts the text to `max` characters. */
export function maskText(text: string, max = MESSAGE_MAX): string {
  // A first, generous cut bounds the search. A URL that it splits lies beyond the second cut.
  const short = text.length > MASKED_MAX ? text.slice(0, MASKED_MAX) : text
  const masked = short.includes('://') ? short.replace(CREDENTIALS, '://[secret]@') : short
  return masked.length > max ? `${masked.slice(0, max)}...` : masked
}

/**
 * The part of a thrown value that the log may show: type, message, code, stack and up to five causes. Other properties
 * of an error (a driver's command, a client's response) are left out, because they can hold bodies and secrets.
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
    code: typeof code === 'string' || typeof code === 'number' ? code : undefined,
    stack: error.stack && maskText(error.stack, STACK_MAX),
    cause: deeper && error.cause !== undefined ? describeFault(error.cause, depth - 1) : undefined,
    errors: deeper && errors.length > 0 ? errors.map((inner) => describeFault(inner, depth - 1)) : undefined,
  }
}

/**
 * Why something failed, in one line for an operator: the messages of an error and of its causes, each once, without the passwords of
 * URLs. It is at most 300 characters long.
 */
export function reasonOf(thrown: unknown): string {
  const messages: string[] = []
  let error = thrown
  for (let depth = 0; depth < DEPTH_MAX && isError(error); depth += 1) {
    const { message } = error
    if (message !== '' && !messages.some((earlier) => earlier.includes(message))) messages.push(message)
    error = error.cause
  }
  const text = messages.length > 0 ? messages.join(': ') : isError(thrown) ? thrown.name : String(thrown)
  return maskText(text.replaceAll(/\s+/g, ' '), REASON_MAX)
}

/** Whether a value is an error, also of another realm (a worker's, a test runner's), which `instanceof` does not recognise. */
export function isError(value: unknown): value is Error {
  return value instanceof Error || isNativeError(value)
}
