import { readFile } from 'node:fs/promises'
import { isNativeError } from 'node:util/types'
import { z } from 'zod'
import type { Environment } from '#lib/contract/environment.ts'
import { isAccountId } from '#lib/contract/provider-account-id.ts'
import { ConfigError } from '#lib/platform/config/config.ts'
import { readSecretVariable, type Variables } from '#lib/platform/config/variables.ts'
import { Secret } from '#lib/platform/crypto/secret.ts'

/** The connectors that an account can name. The sandbox uses the HTTP protocol too, but is never a real provider. */
const CONNECTOR_NAMES = ['sandbox', 'http'] as const

/** The name of a connector. */
export type ConnectorName = (typeof CONNECTOR_NAMES)[number]

/** The operator's account at a provider. */
export interface ProviderAccount {
  readonly account_id: string
  readonly connector: ConnectorName
  readonly environment: Environment
  /** The URL of the provider's API, without a slash at the end. */
  readonly base_url: string
  /** Signs the requests to the provider and the provider's callbacks. */
  readonly key: Secret
}

/** All configured accounts. */
export interface ProviderAccounts {
  /**
   * The account, if it belongs to the environment. Every access names the environment, so that a test payment never
   * reaches a production account, nor the reverse (spec: What the service does, 7).
   */
  get(account_id: string, environment: string): ProviderAccount | undefined
  /** The URLs of all accounts. */
  readonly base_urls: readonly string[]
}

/** Where the accounts are read from. Without the sandbox's key there are no sandbox accounts. */
export interface ProviderAccountSources {
  readonly sandbox: { readonly base_url: string; readonly key: Secret } | undefined
  /** The path of a JSON file with further accounts. docs/provider-protocol.md describes its form. */
  readonly providers_file: string | undefined
}

/** Nothing listens on the reserved port 1, so that this URL behaves as a provider that is down. */
const NOWHERE_URL = 'http://127.0.0.1:1'

const FILE_MAX_BYTES = 1024 * 1024
const KEY_MIN = 32

const isProduction = ({ environment }: { readonly environment: Environment }): boolean =>
  environment === 'production'

const accountSchema = z
  .strictObject({
    account_id: z
      .string()
      .refine(isAccountId, 'must be 1 to 64 of a-z 0-9 _ - and begin with a letter or digit'),
    connector: z.enum(CONNECTOR_NAMES),
    environment: z.enum(['test', 'production']),
    base_url: z.string().max(2048).refine(isBaseUrl, 'must be an http(s) URL of host, port and path only'),
    key: z.string().min(KEY_MIN).max(512).optional(),
    key_env: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/)
      .refine((name) => !name.startsWith('MULTIHUB_'), 'must not begin with MULTIHUB_, as settings do')
      .optional(),
  })
  .refine((account) => (account.key === undefined) !== (account.key_env === undefined), {
    path: ['key'],
    message: 'exactly one of key and key_env is needed',
  })
  .refine((account) => !isProduction(account) || account.base_url.startsWith('https:'), {
    path: ['base_url'],
    message: 'a production account needs https',
  })
  .refine((account) => !isProduction(account) || account.connector !== 'sandbox', {
    path: ['connector'],
    message: 'the sandbox cannot be used in production',
  })

const fileSchema = z.strictObject({ accounts: z.array(accountSchema).max(1000) })

type FileAccount = z.infer<typeof accountSchema>

/**
 * Reads all accounts once, at start: the built-in sandbox accounts (`sandbox`, and `sandbox-down`, where nothing
 * listens) and those of the file. Throws one `ConfigError` with all problems, none of which contains a value.
 */
export async function readProviderAccounts(
  { sandbox, providers_file }: ProviderAccountSources,
  variables: Variables,
): Promise<ProviderAccounts> {
  const problems: string[] = []
  const accounts = new Map(sandboxAccounts(sandbox).map((account) => [account.account_id, account]))
  const given = providers_file === undefined ? [] : await readAccountsFile(providers_file, problems)
  for (const [index, account] of given.entries()) {
    const { account_id, key_env } = account
    const key = account.key ?? readKey(key_env, problems, variables)
    if (accounts.has(account_id)) problems.push(problem(['accounts', index, 'account_id'], 'is used twice'))
    if (key === undefined || key.length < KEY_MIN) {
      problems.push(
        problem(['accounts', index, 'key_env'], `must name a variable with at least ${KEY_MIN} characters`),
      )
    } else accounts.set(account_id, toAccount(account, key))
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return {
    get(account_id, environment) {
      const account = accounts.get(account_id)
      return account?.environment === environment ? account : undefined
    },
    base_urls: [...accounts.values()].map(({ base_url }) => base_url),
  }
}

/** Reads a key from its variable, or from the file that `<VARIABLE>_FILE` names (R7). */
function readKey(key_env = '', problems: string[], variables: Variables): string | undefined {
  const found = readSecretVariable(key_env, variables)
  if (found.ok) return found.text
  problems.push(found.problem)
  return undefined
}

function sandboxAccounts(sandbox: ProviderAccountSources['sandbox']): ProviderAccount[] {
  if (sandbox === undefined) return []
  const common = { connector: 'sandbox', environment: 'test', key: sandbox.key } as const
  return [
    { ...common, account_id: 'sandbox', base_url: withoutSlash(sandbox.base_url) },
    { ...common, account_id: 'sandbox-down', base_url: NOWHERE_URL },
  ]
}

function toAccount(
  { account_id, connector, environment, base_url }: FileAccount,
  key: string,
): ProviderAccount {
  return { account_id, connector, environment, base_url: withoutSlash(base_url), key: new Secret(key) }
}

async function readAccountsFile(path: string, problems: string[]): Promise<readonly FileAccount[]> {
  try {
    const bytes = await readFile(path)
    if (bytes.length > FILE_MAX_BYTES) throw new RangeError(`over ${FILE_MAX_BYTES} bytes`)
    const parsed = fileSchema.safeParse(JSON.parse(bytes.toString()))
    if (parsed.success) return parsed.data.accounts
    problems.push(...parsed.error.issues.map(({ path, message }) => problem(path, message)))
  } catch (error) {
    // The message of a syntax error contains a part of the file, which may be a key.
    const reason = error instanceof SyntaxError || !isNativeError(error) ? 'not JSON' : error.message
    problems.push(`MULTIHUB_PROVIDERS_FILE cannot be read: ${reason}`)
  }
  return []
}

/** The messages of Zod contain types and field names but never values, so that no key can reach a log. */
function problem(path: readonly PropertyKey[], message: string): string {
  return `MULTIHUB_PROVIDERS_FILE ${path.map(String).join('.') || 'content'}: ${message}`
}

function isBaseUrl(text: string): boolean {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return false
  return url.username === '' && url.password === '' && url.search === '' && url.hash === ''
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '')
}
