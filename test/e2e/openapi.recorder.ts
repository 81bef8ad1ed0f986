import { createServer } from 'node:http'
import { listen } from '#lib/http/network.ts'
import { type PublicRequest, type PublicResponse, send } from '../support/public-client.ts'

/** A recorded request and its response. */
export interface RecordedExchange {
  readonly sent: PublicRequest
  readonly response: PublicResponse
}

/** A proxy between merchants and a gateway that records every exchange. */
export interface Recorder {
  readonly base_url: string
  readonly exchanges: readonly RecordedExchange[]
  stop(): Promise<void>
}

const FORWARDED_HEADERS = [
  'content-type',
  'x-data-application-id',
  'x-data-hash',
  'x-data-signature',
  'x-data-timestamp',
  'x-data-nonce',
]

/** Starts a recorder in front of the gateway at `baseUrl`. Signatures stay valid: they cover neither host nor port. */
export async function startRecorder(baseUrl: () => string): Promise<Recorder> {
  const exchanges: RecordedExchange[] = []
  const server = createServer(async (request, server_response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const headers = FORWARDED_HEADERS.map((name) => [name, request.headers[name]?.toString()] as const)
    const sent = {
      path: request.url ?? '',
      verb: request.method ?? '',
      headers: { 'Content-Type': undefined, ...Object.fromEntries(headers) },
      body: Buffer.concat(chunks),
    }
    const response = await send(baseUrl(), sent)
    exchanges.push({ sent, response })
    server_response.writeHead(response.http_status, response.headers).end(response.raw)
  })
  const listening = await listen(server, { host: '127.0.0.1', port: 0, variable: 'none' })
  return { base_url: `http://${listening.host_and_port}`, exchanges, stop: () => listening.close(0) }
}
