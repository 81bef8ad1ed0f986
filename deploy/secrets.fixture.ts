import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseAllDocuments } from 'yaml'

/** The manifests that `make-secrets.sh kubernetes` makes with these variables, in a folder of its own. */
export function makeSecretManifests(env: NodeJS.ProcessEnv): readonly unknown[] {
  const folder = mkdtempSync(join(tmpdir(), 'multihub-secrets-'))
  try {
    const script = resolve(import.meta.dirname, 'make-secrets.sh')
    execFileSync(script, ['kubernetes'], { cwd: folder, env, stdio: 'pipe' })
    const text = readFileSync(join(folder, '.local/secrets.yaml'), 'utf8')
    return parseAllDocuments(text).map((document) => document.toJS() as unknown)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
