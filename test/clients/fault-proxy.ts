import { createHash } from 'node:crypto'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http'
import { listen } from '#lib/http/network.ts'

/**
 * What happens to one request. `late` breaks the connection and delivers the request after the next one was answered, so a
 * look-up overtakes it; `hang` delivers it and never answers; `stale` answers with the answer before; `old_refusal` delivers it
 * and answers with the last 6004.
 */
export type Fault =
  | 'pass'
  | 'drop_before'
  | 'drop_after'
  | 'late'
  | 'hang'
  | 'repeat'
  | 'truncate'
  | 'break_off'
  | 'alter'
  | 'stale'
  | 'old_refusal'
  | 'unsigned_429'
  | 'unsigned_3001'
  | 'huge'

/** A request as it arrived. */
export interface SeenRequest {
  readonly path: string
  readonly body: string
  readonly nonce: string | undefined
}

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** A proxy on the loopback address between a client and the running system. */
export interface FaultProxy {
  readonly url: string
  /** Forgets what it has seen, and applies these faults to the next requests, then the last one to all others. */
  plan(...faults: readonly Fault[]): void
  /** Until the next plan, answers the requests that contain a text itself, signed for v1. */
  answer(to: string, body: string, secret: string): void
  readonly seen: readonly SeenRequest[]
  /** Waits until every request that it holds was delivered. */
  settle(): Promise<void>
  stop(): Promise<void>
}

/** Starts a proxy in front of a system. */
export async function startFaultProxy(target: string): Promise<FaultProxy> {
  let faults: readonly Fault[] = ['pass']
  let seen: SeenRequest[] = []
  let prepared: { readonly to: string; readonly answer: Answer } | undefined
  let before: Answer | undefined
  let refused: Answer | undefined
  let held: (() => Promise<unknown>)[] = []
  const deliveries = new Set<Promise<unknown>>()

  const forward = (incoming: IncomingMessage, body: Buffer): Promise<Answer> => {
    const answer = new Promise<Answer>((resolve, reject) => {
      const { host: _, connection: __, ...headers } = incoming.headers
      const sent = request(target + incoming.url, { method: incoming.method, headers }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const { statusCode: status = 0, headers: answered } = response
          resolve({ status, headers: answered, body: Buffer.concat(chunks) })
        })
      })
      sent.on('error', reject)
      sent.end(body)
    })
    deliveries.add(answer)
    answer.catch(() => undefined).finally(() => deliveries.delete(answer))
    return answer
  }

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const fault = faults[seen.length] ?? faults.at(-1) ?? 'pass'
    const nonce = incoming.headers['x-data-nonce']?.toString()
    seen.push({ path: incoming.url ?? '', body: body.toString(), nonce })
    if (prepared !== undefined && body.includes(prepared.to)) {
      write(response, prepared.answer)
      return
    }
    const direct = UNSIGNED[fault]
    if (direct !== undefined || fault === 'drop_before' || fault === 'late') {
      if (fault === 'late') held.push(() => forward(incoming, body))
      if (direct === undefined) drop(response)
      else write(response, direct)
      return
    }
    const answer = await forward(incoming, body)
    const shown = fault === 'repeat' ? await forward(incoming, body) : answer
    spoil(response, shown, fault, fault === 'old_refusal' ? refused : before)
    before = answer
    if (answer.body.includes('"code":6004')) refused = answer
    const late = held
    held = []
    for (const deliver of late) await deliver()
  }

  const server = createServer((incoming, response) => {
    handle(incoming, response).catch(() => response.destroy())
  })
  const listening = await listen(server, { host: '127.0.0.1', port: 0, variable: 'none' })
  return {
    url: `http://${listening.host_and_port}`,
    plan(...wanted) {
      faults = wanted
      seen = []
      prepared = undefined
    },
    answer(to, text, secret) {
      const hash = createHash('sha512').update(text).update(secret).digest('hex')
      prepared = { to, answer: { status: 200, headers: { 'x-data-hash': hash }, body: Buffer.from(text) } }
    },
    get seen() {
      return seen
    },
    async settle() {
      await Promise.allSettled(deliveries)
    },
    stop: () => listening.close(0),
  }
}

const refusal = (code: number, message: string): Buffer =>
  Buffer.from(
    JSON.stringify({ success: false, result: null, error: { code, message, details: null, context: null } }),
  )

/** Answers that no system has signed. */
const UNSIGNED: Readonly<Partial<Record<Fault, Answer>>> = {
  unsigned_429: { status: 429, headers: {}, body: refusal(1000, 'flood') },
  unsigned_3001: { status: 400, headers: {}, body: refusal(3001, 'no application id') },
  huge: { status: 200, headers: {}, body: Buffer.alloc(17 * 1024 * 1024, ' ') },
}

function spoil(response: ServerResponse, answer: Answer, fault: Fault, before: Answer | undefined): void {
  const half = answer.body.subarray(0, answer.body.length >> 1)
  if (fault === 'hang') return
  if (fault === 'drop_after') drop(response)
  else if (fault === 'break_off') {
    response.writeHead(answer.status, answer.headers)
    response.write(half, () => drop(response))
  } else if (fault === 'truncate') write(response, { ...answer, body: half })
  else if (fault === 'alter') write(response, { ...answer, body: altered(answer.body) })
  else write(response, ((fault === 'stale' || fault === 'old_refusal') && before) || answer)
}

/** Changes one bit of the value of `success`. */
function altered(body: Buffer): Buffer {
  const copy = Buffer.from(body)
  const at = copy.indexOf('"success":') + 12
  copy.writeUInt8((copy[at] ?? 0) ^ 1, at)
  return copy
}

function write(response: ServerResponse, { status, headers, body }: Answer): void {
  const { 'transfer-encoding': _, connection: __, 'keep-alive': ___, ...kept } = headers
  response.writeHead(status, { ...kept, 'content-length': body.length }).end(body)
}

function drop(response: ServerResponse): void {
  response.socket?.destroy()
}
