import { createHash } from 'node:crypto'
import { stripTypeScriptTypes } from 'node:module'

/**
 * How Jest loads TypeScript: as Node.js does outside of tests. Types become spaces, so line numbers need no source map; that
 * takes less time than a compiler, and a third of the memory.
 */
export default {
  process: (text) => ({ code: stripTypeScriptTypes(text) }),
  /** Depends on the file alone, so that the results of earlier runs stay valid when a test file is added. */
  getCacheKey: (text, path) =>
    createHash('sha256').update(`${process.version}\0${path}\0${text}`).digest('hex'),
}
