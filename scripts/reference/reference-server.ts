import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { type Listening, listen } from '#lib/http/network.ts'
import type { PublicFile } from '../../gateway/http/public-file.ts'
import { referenceFiles } from '../../gateway/openapi/reference-files.ts'
import { applicationsOf, type DemoSource, RefusedTry, trySend } from './try-request.ts'

const HOST = '127.0.0.1'
const REQUEST_MAX_BYTES = 64 * 1024

/**
 * Serves the API reference of the local run on loopback, with a panel that signs requests with the secrets of the
 * demonstration. A gateway that serves the same page has no such panel.
 */
export function startReference(port: number, demo: DemoSource): Promise<Listening> {
  const files = new Map(filesWithPanel().map((file) => [file.path, file]))
  const server = createServer((request, response) => {
    const { port } = request.socket.address() as { port: number }
    answer(request, response, port, files, demo).catch((error: unknown) => {
      const refusal = error instanceof RefusedTry ? error : new RefusedTry(500, 'the request was not sent')
      sendJson(response, refusal.http_status, { message: refusal.message })
    })
  })
  server.requestTimeout = 60_000
  return listen(server, { host: HOST, port, variable: 'MULTIHUB_REFERENCE_PORT' })
}

function filesWithPanel(): readonly PublicFile[] {
  const panel = readFileSync(join(import.meta.dirname, 'try-panel.js'), 'utf8')
  const script = (file: PublicFile): PublicFile =>
    file.path === '/reference/page.js' ? { ...file, content: Buffer.from(`${file.content}\n${panel}`) } : file
  return referenceFiles().map(script)
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  port: number,
  files: ReadonlyMap<string, PublicFile>,
  demo: DemoSource,
): Promise<void> {
  const { method = '', url = '', headers } = request
  checkSender(request, port)
  if (url === '/reference/try' && method === 'GET')
    return sendJson(response, 200, { applications: await applicationsOf(demo) })
  if (url === '/reference/try' && method === 'POST') {
    if (headers['content-type'] !== 'application/json')
      throw new RefusedTry(415, 'send Content-Type: application/json')
    return sendJson(response, 200, await trySend(await readJson(request), demo))
  }
  const file = method === 'GET' ? files.get(url) : undefined
  if (file === undefined) throw new RefusedTry(404, 'there is nothing at this address')
  response.writeHead(200, {
    'Content-Type': file.content_type,
    'Content-Length': file.content.length,
    'Cache-Control': 'no-cache',
    'X-Content-Type-Options': 'nosniff',
    ...file.headers,
  })
  response.end(file.content)
}

/**
 * Refuses a page of another site: a name that it has made lead to this machine is in `Host`, and a request that it sends
 * from a browser has its own `Origin`, or none that a form of ours has.
 */
function checkSender({ method, headers: { host = '', origin } }: IncomingMessage, port: number): void {
  if (host !== `${HOST}:${port}` && host !== `localhost:${port}`)
    throw new RefusedTry(403, 'the Host header is not the address of this page')
  const is_ours = origin === `http://${host}`
  if (method === 'GET' ? origin !== undefined && !is_ours : !is_ours)
    throw new RefusedTry(403, 'the Origin header is not the address of this page')
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request) {
    length += chunk.length
    if (length > REQUEST_MAX_BYTES) throw new RefusedTry(413, `at most ${REQUEST_MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString())
  } catch {
    throw new RefusedTry(400, 'the body is not JSON')
  }
}

function sendJson(response: ServerResponse, http_status: number, body: object): void {
  if (response.headersSent) return void response.destroy()
  response.writeHead(http_status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...(http_status >= 400 && { Connection: 'close' }),
  })
  response.end(JSON.stringify(body))
}
