import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { listen } from '#lib/http/network.ts'

/** One address in front of two releases of the console, as a load balancer is during a rolling update. */
export interface TwoReleases extends AsyncDisposable {
  readonly url: string
  /** Which release answers: `mixed` sends the page of the new one, and asks the old one for its files, which it does not have. */
  serve(which: 'old' | 'new' | 'mixed'): void
  /** The paths of the pages that were asked for. */
  readonly pages: readonly string[]
}

const HASH = /-([0-9A-Z]{8})\.(js|css|svg)/g
const STATIC = /^\/(start\.js|assets\/.*|[a-z]*|[a-z]+\/[\w-]+)$/

/** The other release is the same bundle with other hashes in the names of its files. */
function rename(text: string): string {
  return text.replace(HASH, (_all, hash: string, type: string) => `-${[...hash].reverse().join('')}.${type}`)
}

/** Starts the address in front of a back office. Calls go through; pages and their files come from either release. */
export async function startTwoReleases(back_office: string): Promise<TwoReleases> {
  let serves: Parameters<TwoReleases['serve']>[0] = 'old'
  const pages: string[] = []

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/' } = request
    const { pathname } = new URL(url, back_office)
    const is_static = method === 'GET' && STATIC.test(pathname) && pathname !== '/session'
    const is_page = is_static && !/\.\w+$/.test(pathname)
    if (is_page) pages.push(pathname)
    const is_new = is_static && (serves === 'new' || (serves === 'mixed' && is_page))
    const headers = new Headers()
    for (const [name, value] of Object.entries(request.headers))
      if (!['host', 'connection', 'content-length', 'accept-encoding', 'origin'].includes(name))
        headers.set(name, String(value))
    if (request.headers.origin !== undefined) headers.set('origin', back_office)
    const body: Buffer[] = []
    for await (const chunk of request) body.push(chunk)
    const answer = await fetch(new URL(is_new ? rename(url) : url, back_office), {
      method,
      headers,
      redirect: 'manual',
      ...(body.length > 0 && { body: Buffer.concat(body) }),
    })
    const bytes = Buffer.from(await answer.arrayBuffer())
    for (const [name, value] of answer.headers)
      if (!['content-length', 'content-encoding', 'connection', 'set-cookie'].includes(name))
        response.setHeader(name, value)
    for (const cookie of answer.headers.getSetCookie()) response.appendHeader('set-cookie', cookie)
    response.writeHead(answer.status)
    response.end(is_new ? rename(bytes.toString()) : bytes)
  }

  const server = createServer((request, response) => {
    forward(request, response).catch(() => response.destroy())
  })
  const listening = await listen(server, { host: '127.0.0.1', port: 0, variable: 'none' })
  return {
    url: `http://${listening.host_and_port}`,
    serve(which) {
      serves = which
    },
    pages,
    [Symbol.asyncDispose]: () => listening.close(0),
  }
}
