import { execFileSync } from 'node:child_process'

/** SHA-512 of bytes or of a text's UTF-8, computed by openssl. */
export function opensslSha512(bytes: string | Uint8Array): string {
  return openssl(['-sha512'], bytes)
}

/** SHA-256, computed by openssl. */
export function opensslSha256(bytes: string | Uint8Array): string {
  return openssl(['-sha256'], bytes)
}

/** An HMAC with the UTF-8 of a secret as its key, computed by openssl. */
export function opensslHmac(
  algorithm: 'sha256' | 'sha512',
  secret: string,
  bytes: string | Uint8Array,
): string {
  return openssl([`-${algorithm}`, '-hmac', secret], bytes)
}

/** The output of openssl is `<hex> *stdin`. */
function openssl(parameters: readonly string[], input: string | Uint8Array): string {
  const [hex = ''] = execFileSync('openssl', ['dgst', ...parameters, '-r'], { input })
    .toString()
    .split(' ')
  return hex
}
