import type { JsonSchema } from '#lib/contract/view.ts'
import { SIGNATURE_PATTERN } from '../auth/authenticate.ts'
import { TIMESTAMP_PATTERN } from '../auth/replay.ts'
import {
  RESEND_REQUEST_PREFIX,
  V1_NONCE_PATTERN,
  V1_WINDOW_MS,
  V2_NONCE_PATTERN,
  V2_REQUEST_PREFIX,
  V2_RESPONSE_PREFIX,
  V2_WINDOW_MS,
} from '../auth/signature-schemes.ts'
import type { SignatureDescription } from './operation.ts'

/** v1: a hash of the body, with an optional timestamp and nonce (spec: v1 request headers). */
export const V1_SIGNATURE: SignatureDescription = {
  schemes: ['application', 'hash'],
  replay_parameters: ['Timestamp', 'Nonce'],
  answer_header: 'X-Data-Hash',
}

/** v2: an HMAC of a canonical text, always with a timestamp and nonce (spec: v2 request headers). */
export const V2_SIGNATURE: SignatureDescription = {
  schemes: ['application', 'signature'],
  replay_parameters: ['RequiredTimestamp', 'RequiredNonce'],
  answer_header: 'X-Data-Signature',
}

/**
 * The resend path: a hash that also covers the path, timestamp and nonce if the request has the latter two. A v2 credential
 * must send them (A2).
 */
export function resendSignature(version: 'v1' | 'v2'): SignatureDescription {
  const { replay_parameters } = version === 'v1' ? V1_SIGNATURE : V2_SIGNATURE
  return { schemes: ['application', 'resend_hash'], replay_parameters, answer_header: 'X-Data-Hash' }
}

const header = (name: string, description: string): object => ({
  type: 'apiKey',
  in: 'header',
  name,
  description,
})

/** The headers that authenticate the caller. Each must occur exactly once. */
export const SECURITY_SCHEMES: Readonly<Record<string, object>> = {
  application: header(
    'X-Data-Application-Id',
    'The application id of the credential. Missing or malformed: 3001.',
  ),
  hash: header(
    'X-Data-Hash',
    'SHA-512 of the bytes of the body followed by the secret, as 128 lower-case hexadecimal digits. Malformed: 3002; ' +
      'wrong hash: 3000.',
  ),
  signature: header(
    'X-Data-Signature',
    `HMAC-SHA512, with the secret as key, of these lines joined by single line feeds: \`${V2_REQUEST_PREFIX}\`, ` +
      'the application id, `POST`, the path, the timestamp, the nonce, the SHA-256 of the body in lower-case ' +
      'hexadecimal digits. The signature is 128 lower-case hexadecimal digits. Malformed: 3002; wrong signature: 3000.',
  ),
  resend_hash: header(
    'X-Data-Hash',
    'Without a timestamp and nonce, the same as on v1. With both, SHA-512 of these lines, joined by single line feeds ' +
      `and followed by the secret: \`${RESEND_REQUEST_PREFIX}\`, ` +
      '`POST`, the path, the timestamp, the nonce, an empty line, the body.',
  ),
}

const parameter = (name: string, required: boolean, pattern: RegExp, description: string): object => ({
  name,
  in: 'header',
  required,
  description,
  schema: textOf(pattern),
})

function textOf({ source }: RegExp): JsonSchema {
  return { type: 'string', pattern: source }
}

const V1_WINDOW =
  `Unix time in seconds, within ${V1_WINDOW_MS / 1000} seconds of now ` +
  'unless the operator has set another window.'

/** The parameters in headers and paths, other than the signature. */
export const PARAMETERS: Readonly<Record<string, object>> = {
  Timestamp: parameter(
    'X-Data-Timestamp',
    false,
    TIMESTAMP_PATTERN,
    `${V1_WINDOW} Send it together with the nonce, or neither.`,
  ),
  Nonce: parameter(
    'X-Data-Nonce',
    false,
    V1_NONCE_PATTERN,
    'Any value that you have not used before. Send it together with the timestamp, or neither.',
  ),
  RequiredTimestamp: parameter(
    'X-Data-Timestamp',
    true,
    TIMESTAMP_PATTERN,
    `Unix time in seconds, within ${V2_WINDOW_MS / 1000} seconds of now.`,
  ),
  RequiredNonce: parameter(
    'X-Data-Nonce',
    true,
    V2_NONCE_PATTERN,
    'Any value that you have not used before.',
  ),
  RequestId: {
    name: 'X-Request-ID',
    in: 'header',
    required: false,
    description:
      'Your own id of the request. The log of the server shows it if it has 1 to 128 visible ASCII characters; nothing ' +
      'else depends on it.',
    schema: { type: 'string' },
  },
  PaymentId: {
    name: 'paymentId',
    in: 'path',
    required: true,
    description: 'The `h_id` of the payment.',
    schema: { type: 'string', minLength: 1, maxLength: 128 },
  },
}

const seconds: JsonSchema = { type: 'integer', minimum: 1 }
const digits = textOf(SIGNATURE_PATTERN)

const REQUEST_ID = {
  description: 'The server’s id of the request. Quote it when you contact the operator about the request.',
  schema: { type: 'string', format: 'uuid' },
}

/** The headers of responses. */
export const HEADERS: Readonly<Record<string, object>> = {
  'X-Request-ID': { required: true, ...REQUEST_ID },
  'X-Request-ID-Of-Envelope': REQUEST_ID,
  'X-Data-Hash': {
    description:
      'SHA-512 of the bytes of the body followed by the secret. Absent if the request was not authenticated.',
    schema: digits,
  },
  'X-Data-Signature': {
    description:
      `HMAC-SHA512 of \`${V2_RESPONSE_PREFIX}\`, ` +
      'the application id, the nonce, the request id, the HTTP status ' +
      'and the SHA-256 of the body, joined by line feeds. Absent if the request was not authenticated.',
    schema: digits,
  },
  'Retry-After': { description: 'How many seconds to wait before retrying.', schema: seconds },
  'Retry-After-Method': {
    description: 'The same value, if the quota of this method is used up.',
    schema: seconds,
  },
}
