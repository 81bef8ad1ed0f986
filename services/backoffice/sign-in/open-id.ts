import { Code } from '@connectrpc/connect'
import {
  AuthorizationResponseError,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientSecretPost,
  type Configuration,
  type CustomFetch,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  genericGrantRequest,
  initiateDeviceAuthorization,
  None,
  ResponseBodyError,
  type TokenEndpointResponse,
  type TokenEndpointResponseHelpers,
} from 'openid-client'
import { randomHex } from '#lib/base/crypto/random.ts'
import type { Secret } from '#lib/base/crypto/secret.ts'
import { clock } from '#lib/base/time.ts'
import { allowAnyAddress } from '#lib/http/address-policy.ts'
import { createHttpClient, type HttpClient } from '#lib/http/client.ts'
import { HttpFailure } from '#lib/http/http-failure.ts'
import { RpcStatusError } from '#lib/rpc/errors.ts'
import { log } from '#lib/telemetry/log.ts'

/** The settings of the OpenID provider. */
export interface OpenIdOptions {
  readonly issuer: string
  readonly client_id: string
  /** Absent for a public client, which proves itself by PKCE alone. */
  readonly client_secret: Secret | undefined
  readonly scopes: string
  readonly group_claim: string
  /** The address to which the provider sends browsers back. */
  readonly redirect_url: string
}

/** A person whom the provider has authenticated. */
export interface OpenIdPerson {
  readonly issuer: string
  readonly subject: string
  readonly name: string
  readonly groups: readonly string[]
}

/** What a browser keeps until the provider sends it back. */
export interface SignInState {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** A sign-in that a person confirms in a browser of any device. */
export interface DeviceFlow {
  readonly device_code: string
  readonly user_code: string
  readonly verification_uri: string
  readonly verification_uri_complete: string | undefined
  readonly expires_in_seconds: number
  readonly interval_seconds: number
}

/**
 * The errors of OAuth 2.0, its device flow and OpenID Connect that refuse a sign-in. Others are not shown, nor a cause in the log: a
 * visitor that begins a sign-in writes the text of its callback.
 */
const SHOWN_ERRORS: ReadonlySet<string> = new Set([
  'access_denied',
  'account_selection_required',
  'consent_required',
  'expired_token',
  'interaction_required',
  'invalid_client',
  'invalid_grant',
  'invalid_request',
  'invalid_scope',
  'login_required',
  'server_error',
  'temporarily_unavailable',
  'unauthorized_client',
  'unsupported_grant_type',
  'unsupported_response_type',
])

/** An OpenID provider. All functions throw an `RpcStatusError` for people: UNAVAILABLE where the provider does not answer. */
export type OpenId = ReturnType<typeof createOpenId>

const DISCOVERED_MS = 3_600_000
const REQUEST_TIMEOUT_MS = 10_000
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
/** Errors of the token endpoint that mean: ask again later. */
const PENDING: ReadonlySet<string> = new Set(['authorization_pending', 'slow_down'])

/** Creates the client of an OpenID provider. It reads what the provider says of itself at the first use, and once per hour. */
export function createOpenId(options: OpenIdOptions) {
  const { scopes: scope, redirect_url: redirect_uri } = options
  const http = createHttpClient({ allow: allowAnyAddress })
  const configuration = createConfiguration(options, http)

  return {
    /** Begins a sign-in: where the browser goes, and what it keeps. */
    begin: () =>
      translated(async () => {
        const kept: SignInState = { state: randomHex(32), nonce: randomHex(32), verifier: randomHex(32) }
        const url = buildAuthorizationUrl(await configuration(), {
          redirect_uri,
          scope,
          state: kept.state,
          nonce: kept.nonce,
          code_challenge: await calculatePKCECodeChallenge(kept.verifier),
          code_challenge_method: 'S256',
        })
        return { url: url.href, kept }
      }),
    /** Ends a sign-in with the query of the callback. Throws UNAUTHENTICATED where the provider did not confirm it. */
    end: (query: string, { state, nonce, verifier }: SignInState): Promise<OpenIdPerson> =>
      translated(async () => {
        const config = await configuration()
        const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier }
        return personOf(
          options,
          config,
          await authorizationCodeGrant(config, new URL(redirect_uri + query), checks),
        )
      }),
    /** Begins a sign-in without a browser of its own. */
    beginDevice: (): Promise<DeviceFlow> =>
      translated(async () => {
        const config = await configuration()
        if (config.serverMetadata().device_authorization_endpoint === undefined)
          throw new RpcStatusError(Code.Unimplemented, 'the OpenID provider has no device flow')
        const flow = await initiateDeviceAuthorization(config, { scope })
        return {
          device_code: flow.device_code,
          user_code: flow.user_code,
          verification_uri: flow.verification_uri,
          verification_uri_complete: flow.verification_uri_complete,
          expires_in_seconds: flow.expires_in,
          interval_seconds: flow.interval ?? 5,
        }
      }),
    /** Asks once whether the person has confirmed; `undefined` while not. */
    pollDevice: (device_code: string): Promise<OpenIdPerson | undefined> =>
      translated(async () => {
        const config = await configuration()
        try {
          return await personOf(
            options,
            config,
            await genericGrantRequest(config, DEVICE_GRANT, { device_code }),
          )
        } catch (error) {
          if (error instanceof ResponseBodyError && PENDING.has(error.error)) return undefined
          throw error
        }
      }),
    close: () => http.close(),
  }
}

/** What the provider says of itself, with the proof of this client. */
function createConfiguration(
  { issuer: issuer_url, client_id, client_secret }: OpenIdOptions,
  http: HttpClient,
): () => Promise<Configuration> {
  const issuer = new URL(issuer_url)
  let discovered: { readonly at_ms: number; readonly value: Promise<Configuration> } | undefined
  return () => {
    const now_ms = clock.monotonic_ms()
    if (discovered !== undefined && now_ms - discovered.at_ms < DISCOVERED_MS) return discovered.value
    const value = discovery(
      issuer,
      client_id,
      undefined,
      client_secret === undefined ? None() : ClientSecretPost(client_secret.reveal()),
      {
        [customFetch]: fetchBy(http),
        execute: [
          enableNonRepudiationChecks,
          ...(issuer.protocol === 'http:' ? [allowInsecureRequests] : []),
        ],
      },
    )
    const fresh = { at_ms: now_ms, value }
    discovered = fresh
    value.catch(() => {
      if (discovered === fresh) discovered = undefined
    })
    return value
  }
}

/** Who the tokens are about. Groups that are not in the ID token are asked for at the provider. */
async function personOf(
  { group_claim }: OpenIdOptions,
  config: Configuration,
  tokens: TokenEndpointResponse & TokenEndpointResponseHelpers,
): Promise<OpenIdPerson> {
  const claims = tokens.claims()
  if (claims === undefined) throw refusal('the OpenID provider sent no ID token')
  const asks = claims[group_claim] === undefined && config.serverMetadata().userinfo_endpoint !== undefined
  const all = asks ? { ...(await fetchUserInfo(config, tokens.access_token, claims.sub)), ...claims } : claims
  return {
    issuer: claims.iss,
    subject: claims.sub,
    name: textOf(all['name']) ?? textOf(all['preferred_username']) ?? textOf(all['email']) ?? claims.sub,
    groups: listOf(all[group_claim]),
  }
}

/** Requests of the library go the way of all others: with time limits, and through the network of a simulation. */
function fetchBy(http: HttpClient): CustomFetch {
  return async (url, { method, headers, body }) => {
    const sent = body === null || body === undefined ? undefined : Buffer.from(String(body))
    const response = await http.request({
      method: method as 'GET' | 'POST',
      url,
      createHeaders: () => headers,
      timeout_ms: REQUEST_TIMEOUT_MS,
      ...(sent === undefined ? {} : { body: sent }),
    })
    return new Response(Buffer.from(response.body), { status: response.status, headers: response.headers })
  }
}

/** Does what asks the provider. The log has what goes wrong; it is never shown, because it may tell about the installation. */
async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof RpcStatusError) throw error
    const refused =
      error instanceof AuthorizationResponseError || error instanceof ResponseBodyError
        ? error.error
        : undefined
    log.warn({ error, part: 'sign-in', status: refused }, 'the OpenID provider did not confirm a sign-in')
    if (refused !== undefined)
      throw refusal(
        `the OpenID provider refused the sign-in: ${SHOWN_ERRORS.has(refused) ? refused : 'an error of its own'}`,
      )
    if (failureIn(error))
      throw new RpcStatusError(Code.Unavailable, 'the OpenID provider is unavailable; try again')
    throw refusal('the answer of the OpenID provider does not prove the sign-in; begin again')
  }
}

/** Whether the provider could not be asked. */
function failureIn(error: unknown): boolean {
  return error instanceof HttpFailure || (error instanceof Error && error.cause instanceof HttpFailure)
}

function refusal(reason: string): RpcStatusError {
  return new RpcStatusError(Code.Unauthenticated, reason)
}

function textOf(claim: unknown): string | undefined {
  return typeof claim === 'string' && claim !== '' ? claim : undefined
}

function listOf(claim: unknown): readonly string[] {
  return (Array.isArray(claim) ? claim : [claim]).filter((one) => typeof one === 'string')
}
