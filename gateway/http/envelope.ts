import type { PublicError } from '#lib/contract/errors/public-error.ts'

/** The envelope of a success (E2). `result` is plain JSON; the rest needs no escaping. */
export function successText(result: unknown, request_id: string, processing_time: number): string {
  const text = JSON.stringify(result)
  return `{"success":true,"result":${text},"request_id":"${request_id}","processing_time":${processing_time}}`
}

/** The envelope of a failure (E2): `details` and `context` are always there. */
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
