import { createServer } from 'node:http'
import { listen } from '#lib/platform/process/listen.ts'
import { type Answer, type Knock, knock } from '../support/public-client.ts'

/** A request with its answer, as they passed by. */
export interface Passage {
  readonly sent: Knock
  readonly answer: Answer
}

/** Stands between merchants and a gateway, passes everything on and remembers it. */
export interface Recorder {
  readonly base_url: string
  readonly passages: readonly Passage[]
  stop(): Promise<void>
}

const HEADERS = [
  'content-type',
  'x-data-application-id',
  'x-data-hash',
  'x-data-signature',
  'x-data-timestamp',
  'x-data-nonce',
]

/** Starts a recorder before the gateway of `baseUrl`. Signatures hold: they cover neither host nor port. */
export async function startRecorder(baseUrl: () => string): Promise<Recorder> {
  const passages: Passage[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const given = HEADERS.map((name) => [name, request.headers[name]?.toString()] as const)
    const sent = {
      path: request.url ?? '',
      verb: request.method ?? '',
      headers: { 'Content-Type': undefined, ...Object.fromEntries(given) },
      body: Buffer.concat(chunks),
    }
    const answer = await knock(baseUrl(), sent)
    passages.push({ sent, answer })
    response.writeHead(answer.http_status, answer.headers).end(answer.raw)
  })
  const listening = await listen(server, { host: '127.0.0.1', port: 0, variable: 'none' })
  return { base_url: `http://${listening.authority}`, passages, stop: () => listening.close(0) }
}
