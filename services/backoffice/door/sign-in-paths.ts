import type { ServerResponse } from 'node:http'
import { Code } from '@connectrpc/connect'
import type { Keyring } from '#lib/base/crypto/keyring.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { networkOf } from '#lib/http/network-of.ts'
import { RpcStatusError, toCallerError } from '#lib/rpc/errors.ts'
import { log } from '#lib/telemetry/log.ts'
import type { Principal } from '../domain/principal.ts'
import type { Site } from '../sessions/site.ts'
import type { OpenId, OpenIdPerson, SignInState } from '../sign-in/open-id.ts'
import { type HttpExchange, type HttpPath, readFields, sendJson } from './http-paths.ts'
import type { SignIn } from './operator-call.ts'
import { createRates } from './rates.ts'
import { sessionCookie } from './session-paths.ts'

/** A session that began, and whose it is. */
export interface SignedIn extends Pick<Principal, 'principal_id' | 'name'> {
  readonly secret: Secret
}

interface SignInDeps {
  readonly open_id: Omit<OpenId, 'close'>
  /** Begins the session of a person. Throws PERMISSION_DENIED for a person without a right. */
  readonly signIn: (person: OpenIdPerson, how: Pick<SignIn, 'method' | 'address'>) => Promise<SignedIn>
  readonly site: Site
  /** Seals what a browser or a command line keeps while a person signs in. */
  readonly keyring: Keyring
  readonly now_ms: () => number
}

const SIGN_IN_MS = 10 * 60_000
/** A device asks every 5 s. */
const REQUESTS_PER_MINUTE = 120

/** The paths by which people sign in with the OpenID provider (O21). */
export function createSignInPaths(deps: SignInDeps): readonly HttpPath[] {
  const rates = createRates(REQUESTS_PER_MINUTE)
  const limited = (path: HttpPath): HttpPath => ({
    ...path,
    async serve(exchange) {
      if (!rates.of(networkOf(exchange.caller.address)).use())
        throw new RpcStatusError(
          Code.ResourceExhausted,
          'too many sign-ins from this address; try again in a minute',
        )
      await path.serve(exchange)
    },
  })
  const paths: readonly HttpPath[] = [
    { method: 'GET', path: '/session/oidc', serve: (exchange) => sendToProvider(deps, exchange) },
    { method: 'GET', path: '/session/callback', serve: (exchange) => endSignIn(deps, exchange) },
    { method: 'POST', path: '/session/device', serve: (exchange) => signInDevice(deps, exchange) },
  ]
  return paths.map(limited)
}

async function sendToProvider(deps: SignInDeps, { response, header }: HttpExchange): Promise<void> {
  const { site, open_id } = deps
  site.demandOwnHost(header)
  const { url, kept } = await open_id.begin()
  const value = seal(deps, 'sign-in', kept, SIGN_IN_MS)
  response.writeHead(302, {
    location: url,
    'cache-control': 'no-store',
    'set-cookie': site.setCookie('sign-in', header, { value, max_seconds: SIGN_IN_MS / 1_000 }),
  })
  response.end()
}

/**
 * Answers the browser that the provider has sent back. The page is 200 and navigates by itself: after a redirect the browser would
 * not send the cookie of the session, because another site began the navigation.
 */
async function endSignIn(deps: SignInDeps, exchange: HttpExchange): Promise<void> {
  const { response, header, url, caller } = exchange
  const { site, open_id } = deps
  site.demandOwnHost(header)
  const ended = site.setCookie('sign-in', header, { value: '', max_seconds: 0 })
  try {
    const kept = open<SignInState>(deps, 'sign-in', site.cookie('sign-in', header) ?? '')
    const person = await open_id.end(url.search, kept)
    const { secret } = await deps.signIn(person, { method: 'open_id', address: caller.address })
    const page = '<meta http-equiv="refresh" content="0;url=/"><p>You are signed in. <a href="/">Go on</a>'
    sendPage(response, 200, page, [ended, sessionCookie(site, header, secret.reveal())])
  } catch (error) {
    const { rawMessage } = toCallerError(error)
    log.warn({ error, part: 'backoffice' }, 'a person could not sign in')
    sendPage(response, 403, `<p>You are not signed in: ${escapeHtml(rawMessage)}. <a href="/">Back</a>`, [
      ended,
    ])
  }
}

/** Begins a sign-in of a command line, or asks whether it was confirmed. */
async function signInDevice(deps: SignInDeps, exchange: HttpExchange): Promise<void> {
  const { site, open_id } = deps
  const { response, header, caller } = exchange
  if (header('origin') !== undefined) site.demandOwnSite(header)
  const { device } = await readFields(exchange, ['device'])
  if (device === undefined) {
    const { device_code, ...shown } = await open_id.beginDevice()
    const sealed = seal(deps, 'device', { device_code }, shown.expires_in_seconds * 1_000)
    return sendJson(response, { ...shown, device: sealed })
  }
  const { device_code } = open<{ readonly device_code: string }>(deps, 'device', device)
  const person = await open_id.pollDevice(device_code)
  if (person === undefined) return sendJson(response, { status: 'pending' }, { status: 202 })
  const how = { method: 'device', address: caller.address } as const
  const { principal_id, name, secret } = await deps.signIn(person, how)
  sendJson(response, { status: 'signed_in', session: secret.reveal(), principal_id, name })
}

type Owner = 'sign-in' | 'device'

function seal({ keyring, now_ms }: SignInDeps, owner: Owner, kept: object, valid_ms: number): string {
  return keyring.seal(new Secret(JSON.stringify({ kept, ends_ms: now_ms() + valid_ms })), owner)
}

function open<T>({ keyring, now_ms }: SignInDeps, owner: Owner, sealed: string): T {
  try {
    const { kept, ends_ms } = JSON.parse(keyring.unseal(sealed, owner).reveal())
    if (ends_ms > now_ms()) return kept
  } catch {
    // It is refused like one that has ended.
  }
  throw new RpcStatusError(Code.Unauthenticated, 'the sign-in has ended or did not begin here; begin again')
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Sends a page without scripts, which no other page may frame. */
function sendPage(response: ServerResponse, status: number, body: string, cookies: readonly string[]): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy':
      "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'set-cookie': [...cookies],
  })
  response.end(`<!doctype html><html lang="en"><meta charset="utf-8"><title>Multihub</title>${body}</html>`)
}
