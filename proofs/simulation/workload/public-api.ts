import { createHash, createHmac } from 'node:crypto'
import { sleep } from '#lib/base/time.ts'
import { PATHS, signResend, signV1, signV2 } from '../../../test/support/sign-request.ts'
import type { HttpNetwork } from '../parts/http/http-network.ts'
import type { WireRequest, WireResponse } from '../parts/http/serve-in-memory.ts'
import type { Choices } from '../parts/random.ts'
import type { Machine } from '../parts/simulated-process.ts'
import type { SimulatedCredential } from './merchants.ts'

/** The response to a request of the public API, or that none arrived. */
export type PublicOutcome =
  | { readonly kind: 'success'; readonly result: Record<string, unknown> }
  | {
      readonly kind: 'error'
      readonly code: number
      readonly http_status: number
      readonly context: unknown
      readonly details: unknown
    }
  | { readonly kind: 'none'; readonly was_sent: boolean }

/** Sends requests to the public API as a merchant does, and checks the form and the signature of every response. */
export interface PublicApi {
  /** A method of the v1 or v2 path. */
  call(credential: SimulatedCredential, body: object): Promise<PublicOutcome>
  resend(credential: SimulatedCredential, payment_id: string, body: object): Promise<PublicOutcome>
  /** Sends or fetches the bytes of a file by its link, without a signature. `undefined` when no response arrives. */
  transfer(request: WireRequest): Promise<WireResponse | undefined>
  /** What is wrong with the responses so far. */
  readonly problems: readonly string[]
  /** The number of requests so far. */
  requests(): number
}

/** The codes of a request that was not processed: its nonce was used before, or nothing could be checked. */
const NOT_PROCESSED = [3000, 2002]

/** The codes of a request whose credential may not be used at that time. Its nonce is not used up. */
const NOT_ADMITTED = [3004, 3008]

/** How long clients wait: not long enough, about as long as a create may take, and as long as the documentation says. */
const TIMEOUTS_MS = [2_000, 10_000, 45_000]

/** The share of v2 requests that somebody sends again. */
const REPLAYED = 0.05

/** Makes the client of all merchants. */
export function createPublicApi(
  machine: Pick<Machine, 'now_ms'>,
  network: Pick<HttpNetwork, 'request'>,
  choices: Choices,
  origin: string,
): PublicApi {
  const problems: string[] = []
  let requests = 0

  async function send(
    path: string,
    headers: Readonly<Record<string, string>>,
    text: string,
    isSigned: (response: WireResponse) => boolean,
  ): Promise<PublicOutcome> {
    requests += 1
    const request = {
      method: 'POST',
      path,
      headers: { 'Content-Type': 'application/json', ...headers },
      body: Buffer.from(text),
    }
    try {
      const response = await network.request(origin, request, choices.pick(TIMEOUTS_MS))
      return readOutcome(problems, response, isSigned)
    } catch (error) {
      return { kind: 'none', was_sent: !(error instanceof Error && error.message === 'ECONNREFUSED') }
    }
  }

  /** Sends a request as an attacker does who recorded it. At most one of the two may be processed. */
  async function sendAndReplay(sendOnce: () => Promise<PublicOutcome>): Promise<PublicOutcome> {
    const [outcome, replayed] = await Promise.all([
      sendOnce(),
      sleep(choices.between(0, choices.pick([1, 100, 3_000]))).then(sendOnce),
    ])
    if (isProcessed(outcome) && isProcessed(replayed))
      problems.push('a request was processed again by a replay')
    if (isProcessed(outcome)) return outcome
    if (outcome.kind === 'error' && NOT_ADMITTED.includes(outcome.code)) return outcome
    // The replay may have been the first to arrive, and its response may be lost.
    return isProcessed(replayed) ? replayed : { kind: 'none', was_sent: true }
  }

  const pair = () => ({
    timestamp: String(Math.floor(machine.now_ms() / 1_000)),
    nonce: `${choices.integer(0, 2 ** 31)}-${choices.integer(0, 2 ** 31)}-${requests}-nonce`,
  })

  return {
    problems,
    requests: () => requests,
    call(credential, body) {
      const text = JSON.stringify(body)
      if (credential.api_version === 'v1') {
        const isSigned = signedV1(credential)
        return send(
          PATHS.v1,
          signV1(credential, text, choices.chance(0.5) ? pair() : undefined),
          text,
          isSigned,
        )
      }
      const used = pair()
      const headers = signV2(credential, text, used)
      const sendOnce = (): Promise<PublicOutcome> =>
        send(PATHS.v2, headers, text, signedV2(credential, used.nonce))
      return choices.chance(REPLAYED) ? sendAndReplay(sendOnce) : sendOnce()
    },
    async transfer(request) {
      requests += 1
      try {
        return await network.request(origin, request, choices.pick(TIMEOUTS_MS))
      } catch {
        return undefined
      }
    },
    resend(credential, payment_id, body) {
      const path = PATHS.resend(payment_id)
      const text = JSON.stringify(body)
      return send(path, signResend(credential, path, text, pair()), text, signedV1(credential))
    },
  }
}

/** The outcome that a response shows. What is wrong with it is added to `problems`. */
function readOutcome(
  problems: string[],
  response: WireResponse,
  isSigned: (response: WireResponse) => boolean,
): PublicOutcome {
  // A gateway that does not serve yet, or no longer.
  if (response.status === 503 && response.body.length === 0) return { kind: 'none', was_sent: false }
  const body = parse(response.body)
  if (body === undefined || body['request_id'] !== response.headers['x-request-id']) {
    problems.push(`a response is not an envelope: ${response.status} ${response.body}`)
    return { kind: 'none', was_sent: true }
  }
  if (!isSigned(response))
    problems.push(`a response has no valid signature: ${response.status} ${response.body}`)
  const { success, result, error } = body as {
    success: boolean
    result: Record<string, unknown>
    error?: { code: number; context: unknown; details?: unknown }
  }
  if (success && response.status === 200) return { kind: 'success', result }
  const { code = 0, context = null, details } = error ?? {}
  if (code === 0) problems.push(`a response has no code: ${response.status} ${response.body}`)
  return { kind: 'error', code, http_status: response.status, context, details: details ?? {} }
}

function isProcessed(outcome: PublicOutcome): boolean {
  if (outcome.kind !== 'error') return outcome.kind === 'success'
  return !NOT_PROCESSED.includes(outcome.code) && !NOT_ADMITTED.includes(outcome.code)
}

function signedV1({ secret, is_revoked }: SimulatedCredential): (response: WireResponse) => boolean {
  return ({ headers, body }) =>
    headers['x-data-hash'] === createHash('sha512').update(body).update(secret).digest('hex') ||
    isBeforeProof(body, is_revoked)
}

function signedV2(
  { application_id, secret, is_revoked }: SimulatedCredential,
  nonce: string,
): (response: WireResponse) => boolean {
  return ({ status, headers, body }) => {
    const digest = createHash('sha256').update(body).digest('hex')
    const lines = [
      'service-multihub-response-v2',
      application_id,
      nonce,
      headers['x-request-id'],
      status,
      digest,
    ]
    const expected = createHmac('sha512', secret).update(lines.join('\n')).digest('hex')
    return headers['x-data-signature'] === expected || isBeforeProof(body, is_revoked)
  }
}

/**
 * A response to a caller whose signature was not verified has no signature. That is 3000 for a secret that is no longer
 * valid, and only 2002 for a valid one.
 */
function isBeforeProof(body: Buffer, is_revoked = false): boolean {
  const { error } = (parse(body) ?? {}) as { error?: { code?: number } }
  return error?.code === (is_revoked ? 3000 : 2002)
}

function parse(body: Buffer): Record<string, unknown> | undefined {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}
