import { execFileSync, spawnSync } from 'node:child_process'

const found = spawnSync('openssl', ['version'])

/** Why nothing can be computed a second time by openssl here; `undefined` when it can. */
export const OPENSSL_MISSING: string | undefined = found.status === 0 ? undefined : 'openssl is not installed'

/** SHA-512 of a text's UTF-8, by another program. */
export function opensslSha512(text: string): string {
  return openssl(['-sha512'], text)
}

/** SHA-256 of a text's UTF-8, by another program. */
export function opensslSha256(text: string): string {
  return openssl(['-sha256'], text)
}

/** An HMAC keyed with the UTF-8 of a secret, by another program. */
export function opensslHmac(algorithm: 'sha256' | 'sha512', secret: string, text: string): string {
  return openssl([`-${algorithm}`, '-hmac', secret], text)
}

/** Prints are `<hex> *stdin`. */
function openssl(parameters: readonly string[], input: string): string {
  const [hex = ''] = execFileSync('openssl', ['dgst', ...parameters, '-r'], { input })
    .toString()
    .split(' ')
  return hex
}
