import type { PublicFile } from '../http/public-file.ts'
import { type ApiVersion, openApiDocument } from './document.ts'

const DOCUMENT_PATHS: Readonly<Record<ApiVersion, string>> = {
  v1: '/openapi.json',
  v2: '/openapi-v2.json',
}

/** The files of the API reference, made once. */
export function referenceFiles(): readonly PublicFile[] {
  return (Object.keys(DOCUMENT_PATHS) as ApiVersion[]).map((version) => ({
    path: DOCUMENT_PATHS[version],
    content: Buffer.from(JSON.stringify(openApiDocument(version))),
    content_type: 'application/json; charset=utf-8',
  }))
}
