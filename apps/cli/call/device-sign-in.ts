import { clock, sleep } from '#lib/base/time.ts'
import { cleanText } from '#lib/contract/clean-text.ts'
import { CommandError, type Output } from '../terminal.ts'

/** What the back office says of a sign-in that a person confirms in a browser. */
interface DeviceSignIn {
  readonly device: string
  readonly user_code: string
  readonly verification_uri: string
  readonly verification_uri_complete?: string
  readonly expires_in_seconds: number
  readonly interval_seconds: number
}

/**
 * Signs a person in with the OpenID provider of the back office: shows an address and a code, and waits until the person has confirmed.
 * Returns the session, which is a token that ends. Throws `CommandError`.
 */
export async function signInByDevice(url: string, stderr: Output): Promise<string> {
  const begun = (await post(url, {})) as unknown as DeviceSignIn
  const { device, user_code, interval_seconds, expires_in_seconds } = begun
  const where = cleanText(begun.verification_uri_complete ?? begun.verification_uri)
  stderr.write(
    `open ${where}\nand confirm the code ${cleanText(user_code)} there (for ${Math.round(expires_in_seconds / 60)} min; Ctrl-C ends)\n`,
  )
  const ends_ms = clock.monotonic_ms() + expires_in_seconds * 1_000
  while (clock.monotonic_ms() < ends_ms) {
    await sleep(interval_seconds * 1_000)
    const session = await askForSession(url, device)
    if (session !== undefined) return session
  }
  throw new CommandError(1, 'nobody has confirmed the code in time; run it again')
}

/** The session, once the person has confirmed. A back office that is away for a moment is asked again: the code still counts. */
async function askForSession(url: string, device: string): Promise<string | undefined> {
  try {
    const { session } = await post(url, { device })
    return typeof session === 'string' ? session : undefined
  } catch (error) {
    if (error instanceof CommandError && error.exit_code === 3) return undefined
    throw error
  }
}

/** Ends a session at the back office. A session that has already ended is not a failure. Throws `CommandError`. */
export async function endSession(url: string, session: string): Promise<void> {
  const headers = { authorization: `Bearer ${session}` }
  const { ok, status } = await send(url, '/session', { method: 'DELETE', headers })
  if (!ok && status !== 401)
    throw new CommandError(status >= 500 ? 3 : 1, `${url} did not end the session (HTTP ${status})`)
}

async function post(url: string, fields: object): Promise<Readonly<Record<string, unknown>>> {
  const response = await send(url, '/session/device', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(fields),
  })
  const body = (await response.json().catch(() => ({}))) as Readonly<Record<string, unknown>>
  if (response.ok) return body
  const reason = cleanText(String(body['message'] ?? `HTTP ${response.status}`))
  if (response.status === 404 || response.status === 501)
    throw new CommandError(1, `${url} has no sign-in with OpenID Connect (${reason}): use a token`)
  throw new CommandError(response.status >= 500 ? 3 : 1, `refused ${reason}`)
}

/** How long an answer of the back office is waited for. */
const ANSWER_MAX_MS = 30_000

/** Sends a request and reads the whole answer in time. Throws `CommandError` 3. */
async function send(url: string, path: string, init: RequestInit): Promise<Response> {
  const controller = new AbortController()
  const timeout = clock.after(ANSWER_MAX_MS, () => controller.abort())
  try {
    const response = await fetch(url + path, { ...init, redirect: 'error', signal: controller.signal })
    const { status, headers } = response
    return new Response(status === 204 ? null : await response.text(), { status, headers })
  } catch (error) {
    throw new CommandError(3, `no back office answers at ${url}`, { cause: error })
  } finally {
    timeout.cancel()
  }
}
