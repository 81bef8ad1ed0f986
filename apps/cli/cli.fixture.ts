import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { doorOf, FIRST_TOKEN, type TestDoor } from '../../services/backoffice/backoffice.fixture.ts'
import { type SupportClient, startSupport } from '../../test/integration/support.fixture.ts'
import { freePort } from '../../test/support/free-port.ts'
import {
  OPEN_ID_CLIENT,
  startOpenIdProvider,
  type TestOpenIdProvider,
} from '../../test/support/open-id-provider.ts'
import { type RunOptions, type RunResult, runHere } from './run-command.fixture.ts'

/** One whole system for all tests of commands, and the commands. */
export interface TestCli extends AsyncDisposable {
  readonly door: TestDoor
  readonly provider: TestOpenIdProvider
  /** A merchant with a route for deposits. */
  readonly shop: SupportClient
  /** A principal with every right. */
  readonly token: string
  /** The home folder of the person. */
  readonly home: string
  readonly variables: Readonly<Record<string, string>>
  /** Runs a command in this process. */
  run(words: readonly string[], options?: Partial<RunOptions>): Promise<RunResult>
  /** Runs a command with --json, and returns what it printed. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads any part of an answer
  json(...words: readonly string[]): Promise<any>
}

/** Starts all roles in this process, with an OpenID provider. */
export async function startTestCli(): Promise<TestCli> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const provider = await startOpenIdProvider(`${url}/session/callback`)
  const system = await startSupport(undefined, {
    MULTIHUB_BACKOFFICE_PORT: `${port}`,
    MULTIHUB_BACKOFFICE_FIRST_TOKEN: sha256Hex(FIRST_TOKEN),
    MULTIHUB_BACKOFFICE_URL: url,
    MULTIHUB_OIDC_ISSUER: provider.issuer,
    MULTIHUB_OIDC_CLIENT_ID: OPEN_ID_CLIENT.id,
    MULTIHUB_OIDC_CLIENT_SECRET: OPEN_ID_CLIENT.secret,
    MULTIHUB_OIDC_SCOPES: 'openid profile groups',
    MULTIHUB_OIDC_GROUPS: '/support=support',
  })
  const door = doorOf(system.roles)
  const shop = await system.newMerchant()
  const { token } = await door.newPrincipal(['admin', 'money', 'support', 'reveal'])
  const home = mkdtempSync(join(tmpdir(), 'multihub-cli-'))
  const variables = { MULTIHUB_URL: door.url, MULTIHUB_TOKEN: token, HOME: home }
  const run: TestCli['run'] = (words, options) => runHere(words, { variables, directory: home, ...options })
  return {
    door,
    provider,
    shop,
    token,
    home,
    variables,
    run,
    json: async (...words) => JSON.parse((await run([...words, '--json'])).out),
    async [Symbol.asyncDispose]() {
      await system[Symbol.asyncDispose]()
      await provider[Symbol.asyncDispose]()
      rmSync(home, { recursive: true })
    },
  }
}
