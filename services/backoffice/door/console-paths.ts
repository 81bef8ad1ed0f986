import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import { plain, sendText } from '#lib/http/network.ts'
import type { HttpExchange, HttpPath } from './http-paths.ts'

/** The bundle of the console, which is built and committed with its sources, compressed with brotli. */
const BUNDLE = join(import.meta.dirname, '..', '..', '..', 'apps', 'console', 'bundle')

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** The pages run scripts and styles of this server only, speak to it only, and are shown in no frame. */
const PAGE_HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
}

/** The page and the script that loads the rest change with each release; the name of an asset has the hash of its content. */
const NEVER_KEPT = 'no-store'
const KEPT_PERMANENTLY = 'public, max-age=31536000, immutable'

interface BundleFile {
  readonly type: string
  readonly brotli: Uint8Array
  /** For the few clients that do not take brotli; made when the first one asks. */
  plain?: Uint8Array
}

/**
 * Reads the console and creates its paths: its page at every address that a page can have, and the files that the page loads. It reads
 * before anything else happens, so that a start of the simulation does not depend on a real disk.
 */
export function readConsole(folder: string = BUNDLE): readonly HttpPath[] {
  const files = readBundle(folder)
  const servePage = async (exchange: HttpExchange): Promise<void> => {
    const { page = '' } = exchange.parameters
    // Paths of RPCs have dots; a program that reads one by mistake gets no page.
    sendFile(exchange, page.includes('.') ? undefined : files.get('index.html'), NEVER_KEPT)
  }
  return [
    { method: 'GET', path: '/', serve: servePage },
    { method: 'GET', path: '/:page', serve: servePage },
    { method: 'GET', path: '/:page/:id', serve: servePage },
    {
      method: 'GET',
      path: '/start.js',
      serve: async (exchange) => sendFile(exchange, files.get('start.js'), NEVER_KEPT),
    },
    {
      method: 'GET',
      path: '/assets/:name',
      serve: async (exchange) =>
        sendFile(exchange, files.get(`assets/${exchange.parameters['name']}`), KEPT_PERMANENTLY),
    },
  ]
}

function readBundle(folder: string): ReadonlyMap<string, BundleFile> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return new Map(
    paths.map((path) => {
      const name = path.slice(folder.length + 1).replace(/\.br$/, '')
      const type = TYPES[extname(name)] ?? 'application/octet-stream'
      return [name, { type, brotli: readFileSync(path) }]
    }),
  )
}

function plainBytes(file: BundleFile): Uint8Array {
  file.plain ??= brotliDecompressSync(file.brotli)
  return file.plain
}

function sendFile({ response, header }: HttpExchange, file: BundleFile | undefined, cache: string): void {
  // During an update the file can be one of another release: no cache keeps this answer.
  if (file === undefined) {
    sendText(response, plain(404, 'Not Found'))
    return
  }
  const takes_brotli = /\bbr\b/.test(header('accept-encoding') ?? '')
  const body = takes_brotli ? file.brotli : plainBytes(file)
  response.writeHead(200, {
    'content-type': file.type,
    'content-length': body.length,
    'cache-control': cache,
    vary: 'accept-encoding',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
    ...(takes_brotli && { 'content-encoding': 'br' }),
    ...(file.type === TYPES['.html'] && PAGE_HEADERS),
  })
  response.end(body)
}
