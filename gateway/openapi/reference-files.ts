import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PublicFile } from '../http/public-file.ts'
import { type ApiVersion, openApiDocument } from './document.ts'

const FOLDER = join(import.meta.dirname, '..', 'reference')

const DOCUMENT_PATHS: Readonly<Record<ApiVersion, string>> = {
  v1: '/openapi.json',
  v2: '/openapi-v2.json',
}

/**
 * The styles that Redoc adds: the text for its scroll bars, and an empty element that it fills with rules by script, which a policy
 * permits. A new version of Redoc can need another hash; the browser then names it, and the test of the page fails.
 */
const REDOC_STYLES = [
  "'sha256-QMIg+bpjm3JdElJ388KYke01izlUW0UoNOeKjpMxdgc='",
  "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='",
].join(' ')

/** Redoc searches in a worker that it makes from a text. Nothing comes from another host. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  `style-src 'self' ${REDOC_STYLES}`,
  "img-src 'self' data:",
  "connect-src 'self'",
  'worker-src blob:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const HTML: Pick<PublicFile, 'content_type' | 'headers'> = {
  content_type: 'text/html; charset=utf-8',
  headers: { 'Content-Security-Policy': POLICY, 'Referrer-Policy': 'no-referrer' },
}

/** The files of the API reference, made once: the page, all that it loads, and the documents. */
export function referenceFiles(): readonly PublicFile[] {
  const read = (name: string): Buffer => readFileSync(join(FOLDER, name))
  const script = { content_type: 'text/javascript; charset=utf-8' }
  const page = read('page.html')
  const documents = (Object.keys(DOCUMENT_PATHS) as ApiVersion[]).map((version) => ({
    path: DOCUMENT_PATHS[version],
    content: Buffer.from(JSON.stringify(openApiDocument(version))),
    content_type: 'application/json; charset=utf-8',
  }))
  return [
    ...documents,
    { path: '/reference', content: page, ...HTML },
    { path: '/reference/v2', content: page, ...HTML },
    { path: '/reference/page.js', content: read('page.js'), ...script },
    {
      path: '/reference/page.css',
      content: read('page.css'),
      content_type: 'text/css; charset=utf-8',
    },
    { path: '/reference/redoc.js', content: read('redoc.standalone.js'), ...script },
  ]
}
