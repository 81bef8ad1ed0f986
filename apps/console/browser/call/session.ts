import { ConnectError } from '@connectrpc/connect'
import { codeOfHttp, failureOf } from '../../values/problem.ts'

/** What the back office says of this browser before anybody has signed in. */
export interface SessionState {
  readonly signed_in: boolean
  /** Whether people can sign in by OpenID Connect. */
  readonly oidc: boolean
}

/** The path at which a sign-in by OpenID Connect begins. */
export const OPEN_ID_PATH = '/session/oidc'

/** Whether this browser has a session that counts. */
export async function readSession(): Promise<SessionState> {
  return (await send('GET')).json()
}

/** Begins a session with a token, which stays in no place that a script can read. Throws `ConnectError`. */
export async function beginSession(token: string): Promise<void> {
  await send('POST', JSON.stringify({ token }))
}

/** Ends the session of this browser on the server. */
export async function endSession(): Promise<void> {
  await send('DELETE')
}

async function send(method: string, body?: string): Promise<Response> {
  const response = await fetch('/session', {
    method,
    headers: { 'x-multihub-csrf': '1', 'content-type': 'application/json' },
    ...(body !== undefined && { body }),
  }).catch((error: unknown) => {
    throw failureOf(error)
  })
  if (response.ok) return response
  const { message = `the back office answered HTTP ${response.status}` } = await response
    .json()
    .catch(() => ({}))
  throw new ConnectError(message, codeOfHttp(response.status))
}
