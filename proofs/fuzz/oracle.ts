import { ERROR_TABLE, isErrorCode } from '#lib/contract/errors/error-table.ts'
import type { Attempt } from './attempt.ts'
import { mayBeSuccess, strictObject } from './expected-success.ts'
import { isRecord, parseJson } from './json-value.ts'
import { headerOf, type RawResponse } from './raw-http.ts'
import { responseSignatureCheck } from './signing.ts'
import type { FuzzSystem } from './system.ts'

/** Codes that a healthy system with high limits must not return: limits, faults and unavailable dependencies. */
const UNEXPECTED_CODES: ReadonlySet<number> = new Set([1000, 2000, 2001, 2002, 3009])

/** Codes about the head, which are returned before the signature is checked. */
const BEFORE_AUTHENTICATION: ReadonlySet<number> = new Set([1001, 1003, 1006, 1007])

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Lists what is wrong with a response. Empty if it is as expected. */
export function findingsOf(attempt: Attempt, response: RawResponse, system: FuzzSystem): readonly string[] {
  const findings: string[] = []
  const expect = (holds: boolean, finding: string): void => {
    if (!holds) findings.push(finding)
  }
  const envelope = envelopeOf(response.body.toString())
  if (envelope === undefined) return ['the response is not an envelope']
  const { success, code } = envelope
  expect(
    headerOf(response, 'content-type') === 'application/json; charset=utf-8',
    'the content type is wrong',
  )
  expect(headerOf(response, 'x-request-id') === envelope.request_id, 'X-Request-ID is not the request_id')

  if (success) {
    expect(response.status === 200, 'a success that is not 200')
    expect(attempt.expected !== 'refusal', 'it succeeded')
    expect(
      attempt.expected !== 'depends_on_body' || mayBeSuccess(attempt.request.body, system),
      'it succeeded and is not valid',
    )
  } else if (!isStalled(envelope)) {
    expect(attempt.expected !== 'success', `a valid request was refused (${code})`)
    expect(
      isErrorCode(code) && ERROR_TABLE[code].http === response.status,
      `HTTP ${response.status} for ${code}`,
    )
    expect(!UNEXPECTED_CODES.has(code), `code ${code} from a healthy system`)
    const blames_body = code === 1005 && envelope.field === 'body'
    if (attempt.expected === 'depends_on_body' && !attempt.may_fail_before_authentication)
      expect(
        blames_body === (strictObject(attempt.request.body) === undefined),
        'the body was judged wrongly as strict JSON or not',
      )
  }
  for (const finding of signatureFindings(attempt, response, system, code)) findings.push(finding)
  return findings
}

/** After this time the store gives up a write that the disk has not taken. */
const STALL_MS = 2_000

/**
 * Whether a refusal says that the disk of the machine took no writes for seconds, as it may while other programs write:
 * 2002 is the right response then. A quick one comes from a fault.
 */
function isStalled({ code, processing_ms }: Envelope): boolean {
  return code === 2002 && processing_ms >= STALL_MS
}

/**
 * A response is signed if its request was signed with a valid secret, then with the same one, and never otherwise
 * (A5).
 */
function signatureFindings(
  { request, may_fail_before_authentication }: Attempt,
  response: RawResponse,
  { usable, refused }: FuzzSystem,
  code: number,
): readonly string[] {
  const names = response.headers.map(([name]) => name.toLowerCase())
  const is_signed = names.includes('x-data-hash') || names.includes('x-data-signature')
  const isSignedRight = responseSignatureCheck(request, [usable.v1, usable.v2, ...refused])
  if (isSignedRight === undefined) return is_signed ? ['signed, although the request was not'] : []
  if (!is_signed)
    return may_fail_before_authentication && BEFORE_AUTHENTICATION.has(code)
      ? []
      : ['not signed, although the request was']
  return isSignedRight(response) ? [] : ['the signature of the response is wrong']
}

interface Envelope {
  readonly success: boolean
  /** 0 for a success. */
  readonly code: number
  /** The path in `details.description`. */
  readonly field: unknown
  readonly request_id: string
  readonly processing_ms: number
}

const SUCCESS_KEYS = 'success,result,request_id,processing_time'
const FAILURE_KEYS = 'success,result,error,request_id,processing_time'
const ERROR_KEYS = 'code,message,details,context'
const TIME_AT_END = /,"processing_time":(?:0|[1-9]\d*)(?:\.\d{1,3})?\}$/

/** Parses the envelope in its exact form (E1 to E4), otherwise returns `undefined`. */
function envelopeOf(text: string): Envelope | undefined {
  const body = parseJson(text)
  if (!isRecord(body) || !TIME_AT_END.test(text)) return undefined
  const { success, result, error, request_id, processing_time: processing_ms } = body
  if (typeof request_id !== 'string' || !UUID_V7.test(request_id)) return undefined
  if (typeof processing_ms !== 'number') return undefined
  const keys = Object.keys(body).join()
  if (success === true)
    return keys === SUCCESS_KEYS && isRecord(result)
      ? { success, code: 0, field: undefined, request_id, processing_ms }
      : undefined
  if (success !== false || keys !== FAILURE_KEYS || result !== null || !isRecord(error)) return undefined
  const { code, message, details, context } = error
  const well_formed =
    Object.keys(error).join() === ERROR_KEYS &&
    (details === null || isRecord(details)) &&
    (context === null || isRecord(context))
  if (!well_formed || typeof code !== 'number' || !isErrorCode(code)) return undefined
  if (message !== ERROR_TABLE[code].message) return undefined
  const field = isRecord(details) ? details['description'] : undefined
  const names_field = typeof field === 'string'
  return (code === 1005 || code === 9000) && !names_field
    ? undefined
    : { success, code, field, request_id, processing_ms }
}
