import type { PublicError } from '#lib/contract/errors/public-error.ts'

/** Renders the envelope of a success (E2). `result` must be plain JSON; the other values need no escaping. */
export function successText(result: unknown, request_id: string, processing_time: number): string {
  const text = JSON.stringify(result)
  return `{"success":true,"result":${text},"request_id":"${request_id}","processing_time":${processing_time}}`
}

/** Renders the envelope of a failure (E2). `details` and `context` are always present, as `null` if need be. */
export function failureText(
  { code, message, details, context }: PublicError,
  request_id: string,
  processing_time: number,
): string {
  return JSON.stringify({
    success: false,
    result: null,
    error: { code, message, details: details ?? null, context: context ?? null },
    request_id,
    processing_time,
  })
}
