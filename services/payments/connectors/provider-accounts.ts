import { readFileSync } from 'node:fs'
import { isNativeError } from 'node:util/types'
import { ConfigError, readSecretVariable, type Variables } from '#lib/base/config/config.ts'
import { constantTimeEqual } from '#lib/base/crypto/hash.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { accountsFileSchema, type FileAccount, isCredential } from './account-schema.ts'
import { CONNECTORS } from './connector-table.ts'
import { newAccount, type ProviderAccount } from './provider-account.ts'

/** Nothing listens on the reserved port 1, so that this URL behaves as a provider that is down. */
const NOWHERE_URL = 'http://127.0.0.1:1'

/**
 * The accounts of the sandbox, which need no file: `sandbox`, and `sandbox-down`, where nothing listens. The sandbox of this
 * process is the same provider at whatever port it listens after a restart (P4).
 */
function sandboxAccounts(
  { sandbox_url: base_url, own_sandbox_url }: ProviderAccountSettings,
  key: Secret,
): readonly ProviderAccount[] {
  const place = base_url === own_sandbox_url ? { place: 'this process' } : {}
  const common = { connector: 'sandbox', credentials: { key }, settings: {}, is_simulated: true }
  return [
    newAccount('test', { ...common, account_id: 'sandbox', base_url, ...place }),
    newAccount('test', { ...common, account_id: 'sandbox-down', base_url: NOWHERE_URL }),
  ]
}

/**
 * The fields that two accounts of different environments share and must not: `base_url`, when one URL is the other one or
 * leads to it, and the names of equal credentials. The types keep the environments apart inside the process; this keeps
 * them apart in the configuration, where one URL or key could be written down for both (spec: What the service does, 7).
 */
function sharedAcrossEnvironments(added: ProviderAccount, other: ProviderAccount): readonly string[] {
  if (added.environment === other.environment) return []
  const is_nested = leadsTo(added.base_url, other.base_url) || leadsTo(other.base_url, added.base_url)
  const others = Object.values(other.credentials).map((secret) => secret.reveal())
  const shared_names = Object.entries(added.credentials)
    .filter(([, secret]) => others.some((text) => constantTimeEqual(text, secret.reveal())))
    .map(([name]) => name)
  return is_nested ? ['base_url', ...shared_names] : shared_names
}

function leadsTo(base_url: string, url: string): boolean {
  return url === base_url || url.startsWith(`${base_url}/`)
}

/** Where the accounts are read from. Without the sandbox's key there are no sandbox accounts. */
export interface ProviderAccountSettings {
  readonly sandbox_url: string
  /** The URL of the sandbox that runs in this process; `undefined` without one. */
  readonly own_sandbox_url?: string | undefined
  readonly sandbox_key: Secret | undefined
  /** The path of a JSON file with further accounts. docs/provider-protocol.md describes its form. */
  readonly providers_file: string | undefined
}

const FILE_MAX_BYTES = 1024 * 1024

/**
 * Reads all accounts once, at start: the built-in sandbox accounts (`sandbox`, and `sandbox-down`, where nothing
 * listens) and those of the file. Throws one `ConfigError` with all problems, none of which contains a value.
 */
export function readProviderAccounts(
  settings: ProviderAccountSettings,
  variables: Variables,
): readonly ProviderAccount[] {
  const { sandbox_key, providers_file } = settings
  const problems: string[] = []
  const accounts = sandbox_key === undefined ? [] : [...sandboxAccounts(settings, sandbox_key)]
  const in_file = providers_file === undefined ? [] : readAccountsFile(providers_file, problems)
  for (const [index, account] of in_file.entries()) {
    const refuse = (field: string, message: string): void =>
      void problems.push(problem(['accounts', index, field], message))
    if (accounts.some(({ account_id }) => account_id === account.account_id))
      refuse('account_id', 'is used twice')
    const credentials = readCredentials(account, variables, problems, refuse)
    if (credentials === undefined) continue
    const added = newAccount(account.environment, { ...account, credentials })
    const shared = accounts.flatMap((other) => sharedAcrossEnvironments(added, other))
    for (const field of new Set(shared)) refuse(field, 'is that of an account of the other environment')
    accounts.push(added)
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return accounts
}

/** The secrets of an account by name; `undefined`, with the problems recorded, when one is missing or not valid. */
function readCredentials(
  account: FileAccount,
  variables: Variables,
  problems: string[],
  refuse: (field: string, message: string) => void,
): Readonly<Record<string, Secret>> | undefined {
  const secrets: Record<string, Secret> = {}
  for (const [name, source] of Object.entries(account.credentials)) {
    // From the accounts file itself, from the variable that it names, or from the file that `<VARIABLE>_FILE` names (R7).
    const found =
      'text' in source
        ? ({ ok: true, text: source.text } as const)
        : readSecretVariable(source.variable, variables)
    if (!found.ok) problems.push(found.problem)
    const rule = CONNECTORS[account.connector]?.credentials[name]
    if (rule && found.ok && isCredential(found.text, rule)) secrets[name] = new Secret(found.text)
    else
      refuse(
        `${name}_env`,
        `must name a variable with at least ${rule?.length_min} characters that the protocol can carry`,
      )
  }
  return Object.keys(secrets).length === Object.keys(account.credentials).length ? secrets : undefined
}

function readAccountsFile(path: string, problems: string[]): readonly FileAccount[] {
  try {
    const bytes = readFileSync(path)
    if (bytes.length > FILE_MAX_BYTES) throw new RangeError(`over ${FILE_MAX_BYTES} bytes`)
    const parsed = accountsFileSchema.safeParse(JSON.parse(bytes.toString()))
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
