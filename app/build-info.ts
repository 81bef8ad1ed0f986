import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What this process runs. `commit` is empty unless the image was built with it. */
export interface BuildInfo {
  readonly version: string
  readonly commit: string
}

/** Reads the version of the product, and the commit that the build of the image left next to it. */
export function readBuildInfo(): BuildInfo {
  const manifest = readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')
  const { version, commit = '' } = JSON.parse(manifest)
  return { version, commit }
}
