import { signRequest, verifySignedRequest } from '#lib/platform/crypto/signed-request.ts'
import type { HttpClient } from '#lib/platform/http/client.ts'
import { HttpFailure } from '#lib/platform/http/http-failure.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import type {
  Connector,
  LookUpOutcome,
  NotSent,
  OperationKind,
  ProviderOrder,
  ProviderOutcome,
  Unknown,
} from './connector.ts'
import {
  type Answer,
  isIdempotencyKey,
  OPERATIONS_PATH,
  orderBody,
  parseAnswer,
  parseReport,
  toCode,
} from './protocol.ts'
import type { ProviderAccount } from './provider-account.ts'

/** The protocol's code for "there is no such operation". */
const NOT_FOUND_CODE = 6010
/** The protocol's code for "this key stands for another operation", about which it says nothing. */
const KEY_OF_ANOTHER_CODE = 1013

/** The largest body of an answer or a callback. */
const BODY_MAX_BYTES = 64 * 1024

const lines = log.child('payments')

interface Exchange {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body: string
  readonly timeout_ms: number
  readonly signal: AbortSignal | undefined
}

/** What came back: an answer of the protocol with its HTTP status, or why there is none. */
type Reply =
  | { readonly kind: 'answer'; readonly http_status: number; readonly answer: Answer }
  | NotSent
  | Unknown

/**
 * The connector to every provider that speaks the protocol of docs/provider-protocol.md. The protocol obliges them to
 * repeat their answer to a key, so `create_is_idempotent` holds for all of them.
 */
export function createHttpConnector(http: HttpClient): Connector {
  return {
    create_is_idempotent: true,
    async create(account, order, timeout_ms, signal) {
      requireKey(order.idempotency_key)
      const body = orderBody(order)
      const request = { method: 'POST', path: OPERATIONS_PATH, body, timeout_ms, signal } as const
      const reply = await exchange(http, account, request)
      if (reply.kind === 'answer') return toOutcome(order, reply.http_status, reply.answer)
      // That this request was not sent says nothing about the one before it.
      return order.repeated ? unknown(reply.reason) : reply
    },
    async lookUp(account, idempotency_key, kind, timeout_ms, signal) {
      requireKey(idempotency_key)
      const path = `${OPERATIONS_PATH}/${idempotency_key}`
      const reply = await exchange(http, account, { method: 'GET', path, body: '', timeout_ms, signal })
      if (reply.kind !== 'answer') return unknown(reply.reason)
      return toLookUpOutcome({ idempotency_key, kind }, reply.http_status, reply.answer)
    },
    verifyCallback(account, { method, path, headers, body }) {
      if (body.length > BODY_MAX_BYTES) return undefined
      const request = { account_id: account.account_id, method, path, body }
      return verifySignedRequest(account.key, request, headers) ? parseReport(body) : undefined
    },
  }
}

async function exchange(
  http: HttpClient,
  account: ProviderAccount,
  { method, path, body, timeout_ms, signal }: Exchange,
): Promise<Reply> {
  const url = new URL(account.base_url + path)
  const request = { account_id: account.account_id, method, path: url.pathname, body: Buffer.from(body) }
  try {
    const response = await http.request({
      method,
      url: url.href,
      headers: { 'content-type': 'application/json', ...signRequest(account.key, request) },
      ...(method === 'POST' ? { body: request.body } : {}),
      timeout_ms,
      response_max_bytes: BODY_MAX_BYTES,
      ...(signal === undefined ? {} : { signal }),
    })
    const answer = parseAnswer(response.body)
    if (answer === undefined) return unknown(`HTTP ${response.status} with a body that is not the protocol's`)
    return { kind: 'answer', http_status: response.status, answer }
  } catch (error) {
    if (error instanceof HttpFailure) return { kind: error.kind, reason: error.reason }
    // Nobody knows how far a fault of ours let the request get.
    lines.error({ error, provider_account: account.account_id }, 'a request to a provider met a fault')
    return unknown('a fault of this system')
  }
}

/** What an answer to a create means, by P4. */
function toOutcome(order: ProviderOrder, http_status: number, answer: Answer): ProviderOutcome {
  if (answer.kind === 'report') return toVerdict(order, http_status, answer)
  if (answer.provider_code === KEY_OF_ANOTHER_CODE) return unknown('the key stands for another operation')
  if (order.repeated) return unknown('refused, after an earlier request whose fate is not known')
  return { kind: 'declined', ...toCode(answer.provider_code, 7001) }
}

/** What an answer to a look-up means. A refusal of the look-up says nothing about the operation. */
function toLookUpOutcome(
  asked: { readonly idempotency_key: string; readonly kind: OperationKind },
  http_status: number,
  answer: Answer,
): LookUpOutcome {
  if (answer.kind === 'report') return toVerdict(asked, http_status, answer)
  return answer.provider_code === NOT_FOUND_CODE ? { kind: 'not_found' } : unknown('the look-up was refused')
}

/** A report counts only in a successful answer and about the very operation that was asked about. */
function toVerdict(
  asked: { readonly idempotency_key: string; readonly kind: OperationKind },
  http_status: number,
  { report }: Extract<Answer, { kind: 'report' }>,
): Exclude<LookUpOutcome, { kind: 'not_found' }> {
  if (http_status < 200 || http_status > 299) return unknown(`HTTP ${http_status} with a report`)
  const same = report.idempotency_key === asked.idempotency_key && report.kind === asked.kind
  return same ? report.verdict : unknown('a report about another operation')
}

function unknown(reason: string): Unknown {
  return { kind: 'unknown', reason }
}

function requireKey(idempotency_key: string): void {
  if (!isIdempotencyKey(idempotency_key))
    throw new TypeError('not an idempotency key of the provider protocol')
}
