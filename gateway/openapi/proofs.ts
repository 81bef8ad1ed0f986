import { SIGNATURE_PATTERN } from '../auth/authenticate.ts'
import { TIMESTAMP_PATTERN } from '../auth/replay.ts'
import { RESEND_REQUEST_PREFIX } from '../auth/resend-scheme.ts'
import { V1_NONCE_PATTERN, V1_WINDOW_MS } from '../auth/v1-scheme.ts'
import { V2_NONCE_PATTERN, V2_REQUEST_PREFIX, V2_RESPONSE_PREFIX, V2_WINDOW_MS } from '../auth/v2-scheme.ts'
import { CLIENT_REQUEST_ID } from '../http/responder.ts'
import type { JsonSchema } from './json-schema.ts'
import type { ProofPage } from './routes.ts'

/** v1: a hash over the body, and a replay pair for who wants one (spec: v1 request headers). */
export const V1_PROOF: ProofPage = {
  schemes: ['application', 'hash'],
  replay: ['Timestamp', 'Nonce'],
  answer_header: 'X-Data-Hash',
}

/** v2: an HMAC over a canonical text, always with a replay pair (spec: v2 request headers). */
export const V2_PROOF: ProofPage = {
  schemes: ['application', 'signature'],
  replay: ['RequiredTimestamp', 'RequiredNonce'],
  answer_header: 'X-Data-Signature',
}

/** The resend route: a hash that covers the path and the pair when there is a pair. */
export const RESEND_PROOF: ProofPage = {
  schemes: ['application', 'resend_hash'],
  replay: ['Timestamp', 'Nonce'],
  answer_header: 'X-Data-Hash',
}

const header = (name: string, description: string): object => ({
  type: 'apiKey',
  in: 'header',
  name,
  description,
})

/** The headers that prove who calls. Each comes exactly once. */
export const SECURITY_SCHEMES: Readonly<Record<string, object>> = {
  application: header('X-Data-Application-Id', 'The number of the credential. Missing or malformed: 3001.'),
  hash: header(
    'X-Data-Hash',
    'SHA-512 of the body’s bytes followed by the secret, as 128 lower-case hexadecimal digits. Malformed: 3002; ' +
      'another hash: 3000.',
  ),
  signature: header(
    'X-Data-Signature',
    `HMAC-SHA512, keyed with the secret, of these lines joined by single line feeds: \`${V2_REQUEST_PREFIX}\`, ` +
      'the application id, `POST`, the path, the timestamp, the nonce, the SHA-256 of the body in lower-case ' +
      'hexadecimal digits. 128 such digits. Malformed: 3002; another signature: 3000.',
  ),
  resend_hash: header(
    'X-Data-Hash',
    'Without a timestamp and nonce, as on v1. With both, SHA-512 of these lines followed by the secret: ' +
      `\`${RESEND_REQUEST_PREFIX}\`, ` +
      '`POST`, the path, the timestamp, the nonce, an empty line, the body.',
  ),
}

const timestamp = (required: boolean, description: string): object => ({
  name: 'X-Data-Timestamp',
  in: 'header',
  required,
  description,
  schema: ofForm(TIMESTAMP_PATTERN),
})

const nonce = (required: boolean, form: RegExp, description: string): object => ({
  name: 'X-Data-Nonce',
  in: 'header',
  required,
  description,
  schema: ofForm(form),
})

function ofForm({ source }: RegExp): JsonSchema {
  return { type: 'string', pattern: source }
}

const V1_WINDOW =
  `Unix seconds, within ${V1_WINDOW_MS / 1000} seconds of now, ` +
  'unless the operator has set another window for v1 and the resend route.'

/** The headers and path parameters beside the proof. */
export const PARAMETERS: Readonly<Record<string, object>> = {
  Timestamp: timestamp(false, `${V1_WINDOW} Together with the nonce or not at all.`),
  Nonce: nonce(false, V1_NONCE_PATTERN, 'Used once. With the timestamp, or not at all.'),
  RequiredTimestamp: timestamp(true, `Unix seconds, within ${V2_WINDOW_MS / 1000} seconds of now.`),
  RequiredNonce: nonce(true, V2_NONCE_PATTERN, 'Used once.'),
  RequestId: {
    name: 'X-Request-ID',
    in: 'header',
    required: false,
    description: 'A name of your own for the request, for our log only.',
    schema: ofForm(CLIENT_REQUEST_ID),
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
const digits = ofForm(SIGNATURE_PATTERN)

const REQUEST_ID = {
  description: 'The server’s name for the request. Tell us when you ask about it.',
  schema: { type: 'string', format: 'uuid' },
}

/** The headers of answers. */
export const HEADERS: Readonly<Record<string, object>> = {
  'X-Request-ID': { required: true, ...REQUEST_ID },
  'X-Request-ID-Of-Envelope': REQUEST_ID,
  'X-Data-Hash': {
    description:
      'SHA-512 of the body’s bytes followed by the secret. Absent while the secret was not proved.',
    schema: digits,
  },
  'X-Data-Signature': {
    description:
      `HMAC-SHA512 of \`${V2_RESPONSE_PREFIX}\`, ` +
      'the application id, the nonce, the request id, the HTTP status ' +
      'and the SHA-256 of the body, joined by line feeds. Absent while the secret was not proved.',
    schema: digits,
  },
  'Retry-After': { description: 'How many seconds to wait.', schema: seconds },
  'Retry-After-Method': {
    description: 'The same, when it is this method’s bucket that is empty.',
    schema: seconds,
  },
}
