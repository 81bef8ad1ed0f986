import { clock } from '#lib/base/time.ts'
import type { Tls } from '#lib/http/tls.ts'

/** What a check found that keeps nothing from working now. A warning says what will fail, and what to do. */
export interface Finding {
  readonly status: 'ok' | 'warning'
  readonly text: string
}

/** One part of the environment, as `doctor` looks at it. `run` changes nothing, and throws an error that says what to do. */
export interface EnvironmentCheck {
  readonly subject: string
  run(): Promise<Finding>
}

/** What the checks of a role know about the process that they look for. */
export interface CheckContext {
  readonly variables: Readonly<Record<string, string | undefined>>
  /** The TLS material with which the process calls other processes; `undefined` means plain text. */
  readonly tls: Tls | undefined
  /** Whether the process runs a role itself, so that it does not call it over the network. */
  runs(role: string): boolean
}

/** A certificate that ends sooner is a warning. Most authorities give certificates for at least 90 days. */
const RENEWAL_MS = 30 * 24 * 60 * 60 * 1_000

/** Everything is as it should be. */
export function ok(text: string): Finding {
  return { status: 'ok', text }
}

/** Something works now, and will not work, or works for a part only. */
export function warning(text: string): Finding {
  return { status: 'warning', text }
}

/** The finding of a part with a valid certificate: a warning when that ends within 30 days. `owner` is such as `its`. */
export function withExpiry(text: string, owner: string, expires_at: Date): Finding {
  const day = expires_at.toISOString().slice(0, 10)
  if (expires_at.getTime() - clock.now_ms() > RENEWAL_MS)
    return ok(`${text}, ${owner} certificate is valid until ${day}`)
  return warning(`${text}, but ${owner} certificate ends on ${day}: renew it`)
}
