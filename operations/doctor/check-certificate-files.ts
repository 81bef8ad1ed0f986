import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { StartError } from '#lib/base/start-error.ts'
import { clock } from '#lib/base/time.ts'
import { type EnvironmentCheck, withExpiry } from '#lib/role/environment-check.ts'

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/**
 * The checks of the certificates that this process shows, and of the authorities that it trusts, by the variable that names
 * the file. A file may have several: the first is the one shown, and one valid authority is enough.
 */
export function certificateFileChecks(
  files: Readonly<Record<string, string | undefined>>,
): readonly EnvironmentCheck[] {
  return Object.entries(files).flatMap(([variable, path]) =>
    path === undefined ? [] : [{ subject: variable, run: () => checkFile(path, variable.endsWith('_CA')) }],
  )
}

async function checkFile(path: string, is_authority: boolean): ReturnType<EnvironmentCheck['run']> {
  const pem = await readFile(path, 'latin1')
  const ends = (pem.match(CERTIFICATE) ?? []).map((text) => new X509Certificate(text).validToDate)
  if (is_authority) ends.sort((one, other) => other.getTime() - one.getTime())
  const [expires_at] = ends
  if (expires_at === undefined) throw new StartError('the file has no certificate: replace it')
  if (expires_at.getTime() <= clock.now_ms())
    throw new StartError(`the certificate expired on ${expires_at.toISOString().slice(0, 10)}: renew it`)
  return withExpiry('readable', 'the', expires_at)
}
