import { join } from 'node:path'
import { Secret } from '#lib/base/crypto/secret.ts'
import type { ProviderFaults } from './provider/faults.ts'
import { createFormProvider } from './provider/form-provider.ts'
import { combineProviders, createProvider, type Provider, type ProviderDeps } from './provider/provider.ts'

/** The origin of the account `sandbox`. */
export const SANDBOX_ORIGIN = 'http://provider.example.com:9092'
/** The origin of the account `sandbox-down`. Nothing is there during the load when the sandbox is the provider. */
export const DOWN_ORIGIN = 'http://127.0.0.1:1'
/** The origins of the accounts of `provider-accounts.json`, which have circuit breakers. */
const ACME_ORIGINS = ['https://acme.example.com', 'https://acme-backup.example.com']
/** The origin at which `provider-accounts-moved.json` has the account `acme`. Other books are there. */
const MOVED_ORIGIN = 'https://acme-moved.example.com'
const FORMS_ORIGIN = 'https://forms.example.com'
/** The origins of all accounts that can be down for some time. */
export const PROVIDER_ORIGINS: readonly string[] = [...ACME_ORIGINS, FORMS_ORIGIN]
/** The accounts of `provider-accounts.json`, which the operator switches. */
export const SWITCHED_ACCOUNTS = ['acme', 'acme-backup', 'forms'] as const
const PROVIDER_KEY = 'k'.repeat(64)
// The test environment and production never share a secret.
const ACME_KEY = 'a'.repeat(64)
const FORMS_TOKEN = 'f'.repeat(64)

/** The origin of one of these accounts, unless it has moved. */
export function originOfAccount(account_id: string): string {
  return `https://${account_id}.example.com`
}

/** A file of provider accounts. */
const accountsFile = (name: string): string => join(import.meta.dirname, 'provider', name)

/** The settings of all processes that are about providers. */
export const PROVIDER_VARIABLES = {
  MULTIHUB_SANDBOX_URL: SANDBOX_ORIGIN,
  MULTIHUB_SANDBOX_KEY: PROVIDER_KEY,
  MULTIHUB_PROVIDERS_FILE: accountsFile('provider-accounts.json'),
  SIMULATED_ACME_KEY: ACME_KEY,
  SIMULATED_FORMS_TOKEN: FORMS_TOKEN,
}

/** Where the provider account `acme` is, as the accounts file says that processes get when they start. */
export interface AccountPlace {
  /** Whether that is at other books than before. */
  is_moved: boolean
  /** Whether both books know what the other ones have, so that the operator may confirm the account. */
  readonly is_joined: boolean
  joinBooks(): void
  /** The settings of a process that starts now. */
  variables(): Readonly<Record<string, string>>
}

/** The providers of all accounts. `sandbox` has the accounts of the test environment when it is one of the processes. */
export function createProviders(
  deps: Omit<ProviderDeps, 'key'>,
  faults: ProviderFaults,
  sandbox: Provider | undefined,
): { readonly provider: Provider; readonly account_place: AccountPlace } {
  const test = { ...deps, key: new Secret(PROVIDER_KEY) }
  const production = { ...deps, key: new Secret(ACME_KEY) }
  const acme = createProvider(production, faults, ACME_ORIGINS)
  const moved = createProvider(production, faults, [MOVED_ORIGIN])
  const provider = combineProviders([
    sandbox ?? createProvider(test, faults, [SANDBOX_ORIGIN, DOWN_ORIGIN]),
    acme,
    createFormProvider({ ...deps, key: new Secret(FORMS_TOKEN), origin: FORMS_ORIGIN }, faults),
    moved,
  ])
  let is_joined = false
  const account_place: AccountPlace = {
    is_moved: false,
    get is_joined() {
      return is_joined
    },
    joinBooks() {
      is_joined = true
      acme.books.join(moved.books)
      moved.books.join(acme.books)
    },
    variables: () =>
      account_place.is_moved ? { MULTIHUB_PROVIDERS_FILE: accountsFile('provider-accounts-moved.json') } : {},
  }
  return { provider, account_place }
}
