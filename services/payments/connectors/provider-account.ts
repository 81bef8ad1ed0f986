import type { Secret } from '#lib/base/crypto/secret.ts'
import type { Environment } from '#lib/contract/environment.ts'

declare const ENVIRONMENT: unique symbol

/** Exists for the compiler only. The function type makes `test` and `production` incompatible in both directions. */
interface BelongsTo<E extends Environment> {
  readonly [ENVIRONMENT]: (environment: E) => E
}

/** The URL of a provider's API in one environment, without a slash at the end. */
export type BaseUrl<E extends Environment> = string & BelongsTo<E>

/** A secret that a provider gave for one environment: a key, a token. */
export type ProviderSecret<E extends Environment> = Secret & BelongsTo<E>

/**
 * The operator's account at a provider, in one environment. Its credentials and its base URL have the environment in
 * their types, so code that sends a test credential to a production URL does not compile.
 */
export interface AccountOf<
  E extends Environment,
  Names extends string = string,
  Settings extends object = object,
> {
  readonly account_id: string
  readonly connector: string
  readonly environment: E
  readonly base_url: BaseUrl<E>
  /** What stands for the base URL where that says nothing about the account, because its port is a free one (P4). */
  readonly place?: string
  /** By name. They sign or authorize the requests to the provider, and verify its callbacks. */
  readonly credentials: Readonly<Record<Names, ProviderSecret<E>>>
  /** What else the connector needs to know about the account. */
  readonly settings: Settings
  /** Whether it is a built-in account of the sandbox. Its failures say nothing: merchants choose them by the amount. */
  readonly is_simulated: boolean
}

/** The operator's account at a provider. Its `environment` says which of the two types it has. */
export type ProviderAccount<Names extends string = string, Settings extends object = object> =
  | AccountOf<'test', Names, Settings>
  | AccountOf<'production', Names, Settings>

/** The fields of an account before its environment is part of their types. */
export interface AccountFields<Names extends string, Settings extends object> {
  readonly account_id: string
  readonly connector: string
  readonly base_url: string
  readonly place?: string
  readonly credentials: Readonly<Record<Names, Secret>>
  readonly settings: Settings
  readonly is_simulated?: boolean
}

/**
 * Makes an account of an environment: the only place where a URL and a secret get an environment. The URL gets its
 * canonical form, without a slash at the end. Throws `TypeError` for a production account without https.
 */
export function newAccount<Names extends string, Settings extends object>(
  environment: Environment,
  fields: AccountFields<Names, Settings>,
): ProviderAccount<Names, Settings> {
  return environment === 'test' ? accountOf('test', fields) : accountOf('production', fields)
}

function accountOf<E extends Environment, Names extends string, Settings extends object>(
  environment: E,
  { base_url, credentials, is_simulated = false, ...fields }: AccountFields<Names, Settings>,
): AccountOf<E, Names, Settings> {
  if (environment === 'production' && new URL(base_url).protocol !== 'https:')
    throw new TypeError('a production account needs https')
  return {
    ...fields,
    environment,
    base_url: new URL(base_url).href.replace(/\/+$/, '') as BaseUrl<E>,
    credentials: credentials as AccountOf<E, Names>['credentials'],
    is_simulated,
  }
}
