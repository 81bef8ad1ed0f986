import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Reads the version of the product, and the commit that the build of the image left next to it; empty without one. */
export function readBuildInfo(): { readonly version: string; readonly commit: string } {
  const manifest = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')
  const { version, commit = '' } = JSON.parse(manifest)
  return { version, commit }
}
