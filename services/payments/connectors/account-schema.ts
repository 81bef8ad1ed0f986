import { z } from 'zod'
import type { Environment } from '#lib/contract/environment.ts'
import { isAccountId } from '#lib/contract/provider-account-id.ts'
import type { ConnectorDefinition, CredentialRule } from './connector.ts'
import { CONNECTORS } from './connector-table.ts'

/** An account of the file, valid for its connector. `credentials` has the secret or the variable of each name. */
export interface FileAccount {
  readonly account_id: string
  readonly connector: string
  readonly environment: Environment
  readonly base_url: string
  readonly credentials: Readonly<Record<string, CredentialSource>>
  readonly settings: object
}

/** Where a secret comes from: the file itself, or a variable of the process. */
export type CredentialSource = { readonly text: string } | { readonly variable: string }

const CREDENTIAL_MAX = 512
const ACCOUNTS_MAX = 1_000

const variableSchema = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/)
  .refine((name) => !name.startsWith('MULTIHUB_'), 'must not begin with MULTIHUB_, as settings do')

const commonFields = {
  account_id: z
    .string()
    .refine(isAccountId, 'must be 1 to 64 of a-z 0-9 _ - and begin with a letter or digit'),
  environment: z.enum(['test', 'production']),
  base_url: z.string().max(2048).refine(isBaseUrl, 'must be an http(s) URL of host, port and path only'),
}

/** The schema of the accounts file. Each account is checked by the definition of its connector. */
export const accountsFileSchema: z.ZodType<{ readonly accounts: readonly FileAccount[] }> = z.strictObject({
  accounts: z
    .array(z.looseObject({ connector: z.enum(Object.keys(CONNECTORS)) }).transform(checkByConnector))
    .max(ACCOUNTS_MAX),
})

function checkByConnector(account: { readonly connector: string }, context: z.RefinementCtx): FileAccount {
  const definition = CONNECTORS[account.connector]
  const parsed = definition && accountSchema(account.connector, definition).safeParse(account)
  for (const { path, message } of parsed?.error?.issues ?? [])
    context.issues.push({ code: 'custom', path: [...path], message, input: undefined })
  return parsed?.data ?? z.NEVER
}

function accountSchema(
  connector: string,
  { credentials, environments, settings }: ConnectorDefinition,
): z.ZodType<FileAccount> {
  const names = Object.entries(credentials)
  const credentialFields = Object.fromEntries(
    names.flatMap(([name, rule]) => [
      [
        name,
        z
          .string()
          .refine(
            (text) => isCredential(text, rule),
            `must have ${rule.length_min} to ${CREDENTIAL_MAX} characters that the protocol can carry`,
          )
          .optional(),
      ],
      [`${name}_env`, variableSchema.optional()],
    ]),
  )
  return z
    .strictObject({
      ...commonFields,
      connector: z.literal(connector),
      settings: settings.prefault({}),
      ...credentialFields,
    })
    .superRefine((account, context) => {
      const refuse = (field: string, message: string): void =>
        context.addIssue({ code: 'custom', path: [field], message })
      const fields: Readonly<Record<string, unknown>> = account
      for (const [name] of names)
        if ((fields[name] === undefined) === (fields[`${name}_env`] === undefined))
          refuse(name, `exactly one of ${name} and ${name}_env is needed`)
      if (!environments.includes(account.environment))
        refuse('connector', `the ${connector} connector cannot be used in ${account.environment}`)
      if (account.environment === 'production' && !account.base_url.startsWith('https:'))
        refuse('base_url', 'a production account needs https')
    })
    .transform(({ account_id, environment, base_url, settings: given, ...rest }) => {
      const fields: Readonly<Record<string, unknown>> = rest
      const sources = names.map(([name]): [string, CredentialSource] => {
        const text = fields[name]
        return [name, typeof text === 'string' ? { text } : { variable: String(fields[`${name}_env`]) }]
      })
      return {
        account_id,
        connector,
        environment,
        base_url,
        settings: given,
        credentials: Object.fromEntries(sources),
      }
    })
}

/** Whether a text can be the secret of an account. */
export function isCredential(text: string, { length_min, pattern = /^/ }: CredentialRule): boolean {
  return text.length >= length_min && text.length <= CREDENTIAL_MAX && pattern.test(text)
}

function isBaseUrl(text: string): boolean {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return false
  return url.username === '' && url.password === '' && url.search === '' && url.hash === ''
}
