import { Agent, request } from 'node:http'
import { RESEND_METHOD } from '#lib/contract/methods.ts'
import { PUBLIC_METHODS } from '../../gateway/methods/public-methods.ts'
import { COMMON_REFUSALS, withRefusals } from '../../gateway/methods/refusals.ts'
import { eventually } from './eventually.ts'

/** A response of the public API. */
export interface PublicResponse {
  readonly http_status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly raw: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads any part of a response
  readonly body: any
}

/** A request to the public API. A header that is `undefined` is not sent. */
export interface PublicRequest {
  readonly path: string
  readonly verb?: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string | Buffer
}

const RESPONSE_LIMIT_MS = 100_000

const shared_agent = new Agent({ keepAlive: true, maxSockets: 1_000 })

/**
 * Sends a request and returns the response, whatever its status. Throws if a signed refusal has a code that the descriptor of
 * its method does not list: the API reference is made from these lists.
 */
export async function send(
  base_url: string,
  sent: PublicRequest,
  agent = shared_agent,
): Promise<PublicResponse> {
  const response = await exchange(base_url, sent, agent)
  if (!isListed(sent, response))
    throw new Error(`the method does not list the refusal HTTP ${response.http_status} ${response.raw}`)
  return response
}

const REFUSALS = new Map(PUBLIC_METHODS.map(({ name, refusals }) => [name as string, withRefusals(refusals)]))

/** Whether a response is as the descriptor of its method promises. Without a method only the common codes are. */
function isListed(
  { path, body: sent }: PublicRequest,
  { http_status, headers, body }: PublicResponse,
): boolean {
  const is_signed = headers['x-data-hash'] !== undefined || headers['x-data-signature'] !== undefined
  const code: number | undefined = body?.error?.code
  if (!is_signed || code === undefined) return true
  const name = path.endsWith('/webhook/resend') ? RESEND_METHOD : Object(parseJson(sent.toString())).method
  const refusals = REFUSALS.get(name) ?? COMMON_REFUSALS
  return refusals.get(http_status)?.some((listed) => listed === code) ?? false
}

function exchange(
  base_url: string,
  { path, verb = 'POST', headers, body }: PublicRequest,
  agent: Agent,
): Promise<PublicResponse> {
  const sent_headers = Object.entries({
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    ...headers,
  }).filter((header): header is [string, string] => header[1] !== undefined)
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(base_url)
    const options = { hostname, port, path, method: verb, headers: Object.fromEntries(sent_headers), agent }
    const sent = request({ ...options, timeout: RESPONSE_LIMIT_MS }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const raw = Buffer.concat(chunks).toString()
        const response_headers = response.headers as Record<string, string | undefined>
        resolve({
          http_status: response.statusCode ?? 0,
          headers: response_headers,
          raw,
          body: parseJson(raw),
        })
      })
    })
    sent.on('error', reject)
    sent.on('timeout', () => sent.destroy(new Error('no response within 100 s')))
    sent.end(body)
  })
}

/** Repeats a request while it gets HTTP 503, as merchants do: on a busy server some work takes longer than a call. */
export function untilAvailable(send: () => Promise<PublicResponse>): Promise<PublicResponse> {
  return eventually(send, (response) => response?.http_status !== 503)
}

function parseJson(raw: string): unknown {
  try {
    return JSON.parse(raw)
  } catch {
    return undefined
  }
}
