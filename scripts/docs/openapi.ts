import { openApiDocument } from '../../gateway/openapi/document.ts'

/** The text of docs/merchants/openapi.json. */
export function openApiText(): string {
  return `${JSON.stringify(openApiDocument(), undefined, 2)}\n`
}
