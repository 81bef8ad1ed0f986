import { generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type Listening, listen } from '#lib/http/network.ts'

/** What tests use of the provider's class, which has no types. */
interface Provider {
  callback(): (request: IncomingMessage, response: ServerResponse) => void
  interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>
}

/** A real OpenID provider in the process of a test. */
export interface TestOpenIdProvider extends AsyncDisposable {
  readonly issuer: string
  /** The groups of each person, by their ids. */
  readonly groups: Map<string, readonly string[]>
  /** Who is in front of the browser. */
  person: string
}

/** The client that the provider knows. */
export const OPEN_ID_CLIENT = { id: 'backoffice', secret: 'a secret of the back office'.repeat(2) } as const

/** Starts a provider that confirms each sign-in at once, as the person who is in front of the browser. */
export async function startOpenIdProvider(redirect_uri: string): Promise<TestOpenIdProvider> {
  // @ts-expect-error the package has no types
  const { default: openIdProvider } = await import('oidc-provider')
  let provider: Provider | undefined
  const server = createServer((request, response) => {
    if (provider === undefined) response.destroy()
    else if (request.url?.startsWith('/interaction/'))
      void provider.interactionFinished(request, response, { login: { accountId: state.person } })
    else provider.callback()(request, response)
  })
  const listening: Listening = await listen(server, { host: '127.0.0.1', port: 0, variable: 'none' })
  const state: TestOpenIdProvider = {
    issuer: `http://${listening.host_and_port}`,
    groups: new Map(),
    person: 'asha',
    [Symbol.asyncDispose]: () => listening.close(0),
  }
  provider = new openIdProvider(state.issuer, configurationOf(redirect_uri, state.groups))
  return state
}

function configurationOf(redirect_uri: string, groups: ReadonlyMap<string, readonly string[]>): object {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return {
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig', kid: 'test' }] },
    cookies: { keys: ['test'] },
    clients: [
      {
        client_id: OPEN_ID_CLIENT.id,
        client_secret: OPEN_ID_CLIENT.secret,
        redirect_uris: [redirect_uri],
        grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    claims: { openid: ['sub'], profile: ['name'], groups: ['groups'] },
    features: { devInteractions: { enabled: false }, deviceFlow: { enabled: true } },
    interactions: { url: (_context: unknown, { uid }: { readonly uid: string }) => `/interaction/${uid}` },
    findAccount: (_context: unknown, accountId: string) => ({
      accountId,
      claims: async () => ({
        sub: accountId,
        name: `Person ${accountId}`,
        groups: groups.get(accountId) ?? [],
      }),
    }),
    async loadExistingGrant({ oidc }: GrantContext) {
      const { Grant } = oidc.provider
      const grant = new Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId })
      grant.addOIDCScope('openid profile groups')
      await grant.save()
      return grant
    },
    ttl: { AccessToken: 60, IdToken: 60, DeviceCode: 60, Grant: 60, Interaction: 60, Session: 60 },
  }
}

interface GrantContext {
  readonly oidc: {
    readonly provider: Readonly<Record<'Grant', new (fields: object) => Grant>>
    readonly client: { readonly clientId: string }
    readonly session: { readonly accountId: string }
  }
}

interface Grant {
  addOIDCScope(scopes: string): void
  save(): Promise<string>
}

/** A browser that keeps the cookies of each site, and follows redirects. */
export function createTestBrowser() {
  const jars = new Map<string, Map<string, string>>()
  const jarOf = (url: string): Map<string, string> => {
    const { origin } = new URL(url)
    const jar = jars.get(origin) ?? new Map<string, string>()
    jars.set(origin, jar)
    return jar
  }
  const cookiesOf = (url: string): string =>
    Array.from(jarOf(url), ([name, value]) => `${name}=${value}`).join('; ')

  async function send(url: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers)
    headers.set('cookie', cookiesOf(url))
    const response = await fetch(url, { ...init, headers, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') jarOf(url).delete(name)
      else jarOf(url).set(name, value)
    }
    return response
  }

  return {
    /** The Cookie header for a site. */
    cookiesOf,
    /** Follows redirects up to an address that begins so, which it returns without opening it. */
    async openUntil(url: string, beginning: string): Promise<string> {
      for (let next = url; ; ) {
        if (next.startsWith(beginning)) return next
        const location = (await send(next, {})).headers.get('location')
        if (location === null) throw new Error(`${next} is the end`)
        next = new URL(location, next).href
      }
    },
    /** Opens an address and follows redirects. Returns the last response, its address and its text. */
    async open(url: string, init: RequestInit = {}) {
      let next = url
      let options = init
      for (let redirects = 0; redirects < 20; redirects += 1) {
        const response = await send(next, options)
        const { status, headers } = response
        const location = headers.get('location')
        if (location === null) return { url: next, status, headers, text: await response.text() }
        next = new URL(location, next).href
        options = {}
      }
      throw new Error('too many redirects')
    },
  }
}

/** What `createTestBrowser` makes. */
export type TestBrowser = ReturnType<typeof createTestBrowser>
